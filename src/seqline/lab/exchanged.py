"""A decoder whose source is exchanged for another sentence's: how much it matters, at which step, and whose words it writes."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from seqline.decoding.greedy import greedy
from seqline.evaluation.significance import Array
from seqline.lab.forced import Batch, kl, log_probs
from seqline.models.encoder_decoder import EncoderDecoder
from seqline.shapes import Bool, Float, Int, Tensor
from seqline.state import Decoder, Encoded, map_tensors, select, tensors_of

STEPS_OF_EXCHANGE = (3, 5, 8)
LONGEST_OUTPUT = 40


def shifted(tree: Any, rows: int) -> Any:
    """Return in each row what stands in the next one, in the last what stands in the first."""
    return select(tree, torch.arange(rows).roll(-1))


def swapped(model: EncoderDecoder, batch: Batch) -> Array:
    """Return KL [B T] between reading the source and reading the next sentence's, from the first step on; nan behind the end."""
    with torch.inference_mode():
        memory = model.decoder.prepare(batch.encoded)
        other = shifted(memory, len(batch.inputs))
        return _masked(kl(log_probs(model, memory, batch), log_probs(model, other, batch)), batch)


def reread(model: EncoderDecoder, batch: Batch, steps: int) -> Array:
    """Return KL [B steps] where the source is exchanged at step n alone: the state still comes from the true one."""
    with torch.inference_mode():
        memory = model.decoder.prepare(batch.encoded)
        other = shifted(memory, len(batch.inputs))
        state, found = model.decoder.initial_state(memory, len(batch.inputs)), []
        for n in range(steps):
            now, real = batch.inputs[:, n : n + 1], batch.is_real[:, n : n + 1]
            theirs, _ = model.decoder(now, state, other, real)
            ours, state = model.decoder(now, state, memory, real)
            found.append(kl(ours.log_softmax(dim=-1), theirs.log_softmax(dim=-1)))
        return _masked(torch.cat(found, dim=1), batch)


def gradient(model: EncoderDecoder, batch: Batch, steps: int) -> Array:
    """Return |d log p_n(y_n) / d encoded| [B steps], over the encoder's outputs and last state together."""
    encoded = Encoded(*(map_tensors(_leaf, tree) for tree in batch.encoded))
    leaves = [leaf for leaf in tensors_of(encoded) if leaf.requires_grad]
    said = log_probs(model, model.decoder.prepare(encoded), batch)
    chosen = said.gather(-1, batch.wanted[..., None])[..., 0]
    found = []
    for n in range(steps):
        pulled = torch.autograd.grad(chosen[:, n].sum(), leaves, retain_graph=True, allow_unused=True)
        squares = [grad.flatten(1).square().sum(dim=1) for grad in pulled if grad is not None]
        found.append(torch.stack(squares).sum(dim=0).sqrt())
    return _masked(torch.stack(found, dim=1), batch)


def _leaf(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().requires_grad_() if tensor.is_floating_point() else tensor


def _masked(values: torch.Tensor, batch: Batch) -> Array:
    found = values.double().numpy(force=True).copy()
    found[~batch.is_real[:, : found.shape[1]].numpy()] = np.nan
    return found


class Exchanged:
    """A decoder that reads the second of two memories from a step on; its state still comes from the first.

    Args:
        decoder: any decoder.
        at: the first step with the second memory, from 1.
    """

    def __init__(self, decoder: Decoder, at: int) -> None:
        self.decoder, self.at = decoder, at

    def initial_state(self, memory: tuple[Any, Any], batch_size: int) -> tuple[Any, Int[Tensor, " B"]]:
        """Return the state that the first memory gives, and the steps done."""
        return self.decoder.initial_state(memory[0], batch_size), torch.zeros(batch_size, dtype=torch.long)

    def prepare(self, encoded: Encoded | None) -> tuple[Any, Any]:
        """Return a batch of sources with the next row's beside each, as a pair of memories."""
        memory = self.decoder.prepare(encoded)
        return memory, shifted(memory, 0 if encoded is None else len(encoded.is_real))

    def __call__(
        self, ids: Int[Tensor, "B 1"], state: Any, memory: tuple[Any, Any], mask: Bool[Tensor, "B 1"] | None = None
    ) -> tuple[Float[Tensor, "B 1 V"], Any]:
        """Take one step."""
        inner, done = state
        is_exchanged = len(done) > 0 and int(done[0]) + 1 >= self.at
        logits, inner = self.decoder(ids, inner, memory[1 if is_exchanged else 0], mask)
        return logits, (inner, done + 1)


def followed(model: EncoderDecoder, encoded: Encoded) -> Array:
    """Return for each exchange and sentence, [exchanges N 2]: words of the first source, and words of only one of the two.

    A word counts where it is written after the exchange and stands in the model's own translation of one of the sources, not of
    the other.
    """
    limits = torch.full((len(encoded.is_real),), LONGEST_OUTPUT)
    own = [best.ids for best in greedy(model.decoder, model.decoder.prepare(encoded), limits)]
    found = []
    for at in STEPS_OF_EXCHANGE:
        decoder = Exchanged(model.decoder, at)
        written = [best.ids[at - 1 :] for best in greedy(decoder, decoder.prepare(encoded), limits)]
        found.append(
            [count(words, mine, other) for words, mine, other in zip(written, own, [*own[1:], own[0]], strict=True)]
        )
    return np.asarray(found, np.float64)


def count(written: tuple[int, ...], first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, int]:
    """Return how many words stand in `first` alone, and how many in `first` or `second` alone."""
    of_first = sum(word in first and word not in second for word in written)
    return of_first, of_first + sum(word in second and word not in first for word in written)
