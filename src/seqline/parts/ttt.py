"""Test-time training: a layer whose hidden state is the weights of an inner model, and whose update is a step of learning.

Source: Sun et al. 2024 (2407.04620), "Learning to (learn at test time): RNNs with expressive hidden states".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import nn

from seqline.parts.attention_positions import rotate, rotation
from seqline.parts.inner_models import (
    InnerModel,
    Weights,
    learned,
    norm_of,
    residual_while_learning,
    scaled,
    summed,
)
from seqline.parts.positions import positions_from
from seqline.parts.recurrent import is_right_padded, keep_where, unroll
from seqline.shapes import Bool, Float, Int, Tensor
from seqline.state import map_tensors
from seqline.watch import is_watched, show

Turn = Callable[[Tensor, Tensor], Tensor]


def without_positions(x: Float[Tensor, "B H T E"], positions: Int[Tensor, "B T"]) -> Float[Tensor, "B H T E"]:
    """Return x as it is."""
    return x


def with_rotary(x: Float[Tensor, "B H T E"], positions: Int[Tensor, "B T"]) -> Float[Tensor, "B H T E"]:
    """Turn each pair of x by an angle that grows with its position (Su et al. 2021, 2104.09864)."""
    return rotate(x, rotation(positions, x.shape[-1], x.dtype))


class TTTState(NamedTuple):
    """W where the running inner batch began, the sum of its steps since, and how many tokens it has read [B]."""

    start: Weights
    change: Weights
    num_read: Tensor


class Tokens(NamedTuple):
    """What the inner model learns from and answers to, [... E], and the inner learning rate of each token [... 1]."""

    query: Tensor
    key: Tensor
    value: Tensor
    rate: Tensor


class TTT(nn.Module):
    """W_t = W' - sum over s = t' ... t of eta_s grad l(W'; k_s, v_s);  z_t = f(q_t; W_t);  y_t = W_o LN(z_t).

    Tokens come in inner batches of b: W' is W at the end of the last one, t' the first token of the running one. So all
    gradients of a batch are taken at the same weights, and one batch needs matrix products only. A SequenceLayer.

    Symbols: q, k, v = W_q x, W_k x, W_v x (theta_Q, theta_K, theta_V), split into heads; l and f the inner loss and model;
        eta_t = (eta_base / E) sigma(w_h . x_t + c_h) in head h (theta_lr).

    Args:
        width: D of x and y.
        inner: the inner model; its heads divide D.
        inner_batch: b.
        inner_learning_rate: eta_base.
        turn: what is done to queries and keys at their position within the inner batch, such as `with_rotary`.

    Source: Sun et al. 2024 (2407.04620), sections 2.3 to 2.7.
    Differs: eta is divided by E, as in the authors' code; a LayerNorm stands before W_o, also theirs.
    """

    def __init__(self, width: int, inner: InnerModel, inner_batch: int, inner_learning_rate: float, turn: Turn) -> None:
        super().__init__()
        self.inner, self.inner_batch, self.turn = inner, inner_batch, turn
        self.num_heads, self.head_size = inner.num_heads, inner.head_size
        self.base_rate = inner_learning_rate / self.head_size
        self.project = nn.Linear(width, 3 * width, bias=False)
        nn.init.normal_(self.project.weight, std=width**-0.5)  # so that values have order 1 at any width
        self.rate = nn.Linear(width, self.num_heads)
        nn.init.normal_(self.rate.weight, std=0.02)
        nn.init.zeros_(self.rate.bias)
        self.norm, self.output = nn.LayerNorm(width, eps=1e-6), nn.Linear(width, width, bias=False)

    def initial_state(self, batch_size: int) -> TTTState:
        """Return W_0, which is learned, at the start of an inner batch."""
        start = self.inner.initial_weights(batch_size)
        count = torch.zeros(batch_size, dtype=torch.long, device=self.rate.bias.device)
        return TTTState(start, map_tensors(torch.zeros_like, start), count)

    def forward(
        self, x: Float[Tensor, "B T D"], state: TTTState, mask: Bool[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B T D"], TTTState]:
        """Learn from each token, then answer it; one inner batch at a time, or token by token while watched."""
        is_real = torch.ones(x.shape[:2], dtype=torch.bool, device=x.device) if mask is None else mask
        tokens = self.tokens(x * is_real[..., None], positions_from(state.num_read, is_real) % self.inner_batch)
        one_by_one = is_watched("ttt") or x.shape[1] == 1
        z, state = (self.one_by_one if one_by_one else self.in_batches)(tokens, state, is_real)
        return self.output(self.norm(z.transpose(1, 2).flatten(2))), state

    def tokens(self, x: Float[Tensor, "B T D"], positions: Int[Tensor, "B T"]) -> Tokens:
        """Project x to what the inner model reads: tensors [B H T E] and [B H T 1]."""
        heads = self.project(x).unflatten(-1, (3, self.num_heads, self.head_size))
        query, key, value = heads.transpose(1, 3).unbind(2)
        rate = self.base_rate * torch.sigmoid(self.rate(x)).transpose(1, 2)[..., None]
        return Tokens(self.turn(query, positions), self.turn(key, positions), value, rate)

    def one_by_one(
        self, tokens: Tokens, state: TTTState, is_real: Bool[Tensor, "B T"]
    ) -> tuple[Float[Tensor, "B H T E"], TTTState]:
        """Take one step of learning a token: the readable form."""
        z, state = unroll(self.step, map_tensors(lambda t: t.transpose(1, 2), tokens), state, is_real)
        return z.transpose(1, 2), state

    def step(self, token: Tokens, state: TTTState) -> tuple[Float[Tensor, "B H E"], TTTState]:
        """Learn from one token [B H E] a row, then answer it."""
        query, key, value, rate = map_tensors(lambda t: t[:, :, None], token)
        steps = self.inner.backpropagate(key, value, state.start)
        change = map_tensors(torch.add, state.change, summed(scaled(steps, rate)))
        weights = map_tensors(torch.sub, state.start, change)
        z = self.inner.finish(query, self.inner.residual(query, weights))[:, :, 0]
        if is_watched("ttt"):
            self.show_step(token, map_tensors(torch.sub, state.start, state.change), weights, z)
        num_read = state.num_read + 1
        return z, self.closed(TTTState(state.start, change, num_read), num_read == self.inner_batch)

    def show_step(self, token: Tokens, before: Weights, after: Weights, z: Float[Tensor, "B H E"]) -> None:
        """Show one step of learning: the inner loss and the first layer's weights around it, and how far all weights went."""
        key, value = token.key[:, :, None], token.value[:, :, None]
        show(
            "ttt",
            inner_loss=self.inner.loss(key, value, before)[..., 0],
            inner_loss_after=self.inner.loss(key, value, after)[..., 0],
            learning_rate=token.rate[..., 0],
            weights_before=before[0].weight,
            weights=after[0].weight,
            weights_norm=norm_of(after),
            change_norm=norm_of(map_tensors(torch.sub, after, before)),
            z=z,
        )

    def closed(self, state: TTTState, is_full: Bool[Tensor, " B"]) -> TTTState:
        """Let the rows whose inner batch is full begin a new one, at the weights they have reached."""
        if not bool(is_full.any()):
            return state
        new = TTTState(
            map_tensors(torch.sub, state.start, state.change),
            map_tensors(torch.zeros_like, state.change),
            torch.zeros_like(state.num_read),
        )
        return new if bool(is_full.all()) else keep_where(is_full, new, state)

    def in_batches(
        self, tokens: Tokens, state: TTTState, is_real: Bool[Tensor, "B T"]
    ) -> tuple[Float[Tensor, "B H T E"], TTTState]:
        """Do the same by the dual form, a whole inner batch of all rows at once.

        Each row's tokens are put into slots that begin at its own count, so the inner batches of all rows end together; slots
        without a token have learning rate 0.
        """
        ends = state.num_read + is_real.sum(1)
        slots = Slots(state.num_read, is_real, self.inner_batch)
        batches = Tokens(*(slots.fill(t) for t in tokens._replace(rate=tokens.rate * is_real[:, None, :, None])))
        outputs = []
        for number, (query, key, value, rate) in enumerate(zip(*(t.unbind(0) for t in batches), strict=True)):
            steps = scaled(self.inner.backpropagate(key, value, state.start), rate)
            is_full = ends >= (number + 1) * self.inner_batch
            if number and bool(is_full.all()):  # the common case: all rows began this inner batch and end it
                outputs.append(residual_while_learning(query, state.start, steps))
                state = state._replace(start=learned(state.start, steps))
            else:
                weights = map_tensors(torch.sub, state.start, state.change)
                outputs.append(residual_while_learning(query, weights, steps))
                change = map_tensors(torch.add, state.change, summed(steps))
                state = self.closed(state._replace(change=change), is_full)
        z = self.inner.finish(batches.query, torch.stack(outputs))
        return slots.read(z), state._replace(num_read=ends % self.inner_batch)


class Slots:
    """Where the tokens of a piece stand in inner batches, for every row the number of its tokens before.

    Args:
        count: tokens that each row's running inner batch has read before [B].
        is_real: the piece's mask [B T].
        inner_batch: slots of a batch.
    """

    def __init__(self, count: Int[Tensor, " B"], is_real: Bool[Tensor, "B T"], inner_batch: int) -> None:
        self.length, self.inner_batch = is_real.shape[1], inner_batch
        self.is_in_place = not bool(count.any()) and is_right_padded(is_real)
        longest = self.length if self.is_in_place else int((count + is_real.sum(1)).max())
        self.num_batches = max(1, -(-longest // inner_batch))
        # What is not real goes to one slot more, which nobody reads.
        self.rows = torch.arange(len(count), device=count.device)[:, None]
        self.slot = positions_from(count, is_real).masked_fill(~is_real, self.num_batches * inner_batch)

    def fill(self, x: Float[Tensor, "B H T E"]) -> Float[Tensor, "N B H C E"]:
        """Return the tokens in their slots, batch after batch; zeros where there is none."""
        total = self.num_batches * self.inner_batch
        if self.is_in_place:
            x = nn.functional.pad(x, (0, 0, 0, total - self.length))
        else:
            empty = x.new_zeros(x.shape[0], total + 1, x.shape[1], x.shape[3])
            x = empty.index_put((self.rows, self.slot), x.transpose(1, 2))[:, :total].transpose(1, 2)
        return x.unflatten(2, (self.num_batches, self.inner_batch)).movedim(2, 0).contiguous()

    def read(self, x: Float[Tensor, "N B H C E"]) -> Float[Tensor, "B H T E"]:
        """Return the tokens where they stood in the piece."""
        x = x.movedim(0, 2).flatten(2, 3)
        if self.is_in_place:
            return x[:, :, : self.length]
        return x.transpose(1, 2)[self.rows, self.slot.clamp(max=x.shape[2] - 1)].transpose(1, 2)
