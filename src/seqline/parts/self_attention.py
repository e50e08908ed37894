"""Multi-head attention over a memory, self-attention, and causal self-attention that remembers what it read in a cache.

Source: Vaswani et al. 2017 (1706.03762), section 3.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import nn

from seqline.intervene import by_hand, is_by_hand
from seqline.parts.attention import KeyValues, masked_softmax
from seqline.parts.attention_positions import AttentionPositions
from seqline.shapes import Bool, Float, Tensor
from seqline.watch import is_watched, show

BLOCK_LENGTH = 64


class MultiHeadAttention(nn.Module):
    """softmax(Q K^T / sqrt(E)) V in each head, heads side by side, then W^O.

    Several query heads may share one head of keys and values: query head h reads key head floor(h K / H).

    Args:
        width: of queries, keys and values alike.
        num_heads: H, divides `width`; E = width / H.
        num_key_heads: K, divides H; None = H (Ainslie et al. 2023, 2305.13245, section 2.2).
        dropout: share of the attention weights set to zero in training.
    """

    score_name = "scaled_dot"

    def __init__(self, width: int, num_heads: int, num_key_heads: int | None = None, dropout: float = 0.0) -> None:
        super().__init__()
        self.num_heads, self.head_size = num_heads, width // num_heads
        self.num_key_heads = num_key_heads or num_heads
        key_size = self.num_key_heads * self.head_size
        self.query, self.output = nn.Linear(width, width), nn.Linear(width, width)
        self.key, self.value = nn.Linear(width, key_size), nn.Linear(width, key_size)
        self.dropout = nn.Dropout(dropout)
        for projection in (self.query, self.key, self.value, self.output):
            nn.init.xavier_uniform_(projection.weight)
            nn.init.zeros_(projection.bias)

    def split(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B H T E"]:
        """Cut the width into heads."""
        return x.unflatten(-1, (-1, self.head_size)).transpose(1, 2)

    def prepare(self, x: Float[Tensor, "B S D"], is_real: Bool[Tensor, "B S"]) -> KeyValues:
        """Project what will be attended to: keys and values [B K S E], once for all queries."""
        return KeyValues(self.split(self.key(x)), self.split(self.value(x)), is_real)

    def attend(
        self,
        query: Float[Tensor, "B H T E"],
        pieces: Sequence[KeyValues],
        is_allowed: Bool[Tensor, "B 1 #T S"],
        bias: Float[Tensor, "#B H T S"] | None = None,
    ) -> Float[Tensor, "B T D"]:
        """Attend to the pieces, which together hold S entries; no piece is copied. `bias` is added to the scores."""
        # torch's kernel takes keys in one piece, shows no weights, and would draw other chances than the formula.
        is_fused = (
            len(pieces) == 1
            and not is_watched("multi-head attention")
            and not is_by_hand(self)
            and not (self.training and self.dropout.p > 0)
        )
        context = (
            self.fused(query, pieces[0], is_allowed, bias)
            if is_fused
            else self.formula(query, pieces, is_allowed, bias)
        )
        return self.output(context.transpose(1, 2).flatten(2))

    def formula(
        self, query: Tensor, pieces: Sequence[KeyValues], is_allowed: Tensor, bias: Tensor | None
    ) -> Float[Tensor, "B H T E"]:
        """Return softmax(Q K^T / sqrt(E) + bias) V of each head, step by step."""
        scaled = query * self.head_size**-0.5
        grouped = scaled.reshape(len(query), self.num_key_heads, -1, self.head_size)  # [B K H/K*T E]
        scores = torch.cat([grouped @ piece.keys.transpose(2, 3) for piece in pieces], dim=-1)
        scores = scores.view(*query.shape[:3], -1)
        if bias is not None:
            scores = scores + bias.to(scores.dtype)
        weights = by_hand(self, masked_softmax(scores, is_allowed))
        shares = self.dropout(weights).view(*grouped.shape[:3], -1).split([p.keys.shape[2] for p in pieces], dim=-1)
        context = torch.stack([w @ piece.values for w, piece in zip(shares, pieces, strict=True)]).sum(0)
        context = context.view_as(query)
        show("multi-head attention", query=scaled, scores=scores, weights=weights, context=context, mask=is_allowed)
        return context

    def fused(
        self, query: Tensor, piece: KeyValues, is_allowed: Tensor, bias: Tensor | None
    ) -> Float[Tensor, "B H T E"]:
        """Return what `formula` returns, by torch's kernel."""
        mask = is_allowed if bias is None else bias.to(query.dtype).masked_fill(~is_allowed, -torch.inf)
        group = self.num_heads // self.num_key_heads
        keys, values = (x.repeat_interleave(group, 1) if group > 1 else x for x in (piece.keys, piece.values))
        return nn.functional.scaled_dot_product_attention(query, keys, values, attn_mask=mask)

    def forward(self, x: Float[Tensor, "B T D"], memory: KeyValues) -> Float[Tensor, "B T D"]:
        """Attend from every position of x to every real entry of the memory."""
        return self.attend(self.split(self.query(x)), [memory], memory.is_real[:, None, None])


class SelfAttention(nn.Module):
    """Each position attends to every real one of its row, before and behind it."""

    def __init__(self, attention: MultiHeadAttention, positions: AttentionPositions | None = None) -> None:
        super().__init__()
        self.attention = attention
        self.positions = positions or AttentionPositions()

    def forward(self, x: Float[Tensor, "B S D"], is_real: Bool[Tensor, "B S"]) -> Float[Tensor, "B S D"]:
        """Let every position read every real one."""
        new = self.attention.prepare(x, is_real)
        query, keys = self.positions.place(self.attention.split(self.attention.query(x)), new.keys, is_real)
        show("keys and values", keys=keys, values=new.values)
        bias = self.positions.bias(x.shape[1], is_real)
        return self.attention.attend(query, [new._replace(keys=keys)], is_real[:, None, None], bias)


class KVCache(NamedTuple):
    """What causal self-attention remembers: full blocks that never change, and a tail that a step copies and extends."""

    blocks: tuple[KeyValues, ...]
    tail: KeyValues

    def extended(self, new: KeyValues) -> KVCache:
        """Return the cache with `new` behind it; the old one stays as it was."""
        is_empty = self.tail.is_real.shape[1] == 0
        tail = (
            new
            if is_empty
            else KeyValues(
                torch.cat([self.tail.keys, new.keys], dim=2),
                torch.cat([self.tail.values, new.values], dim=2),
                torch.cat([self.tail.is_real, new.is_real], dim=1),
            )
        )
        if tail.is_real.shape[1] < BLOCK_LENGTH:
            return KVCache(self.blocks, tail)
        nothing = KeyValues(tail.keys[:, :, :0], tail.values[:, :, :0], tail.is_real[:, :0])
        return KVCache((*self.blocks, tail), nothing)


class CausalSelfAttention(nn.Module):
    """Each position attends to itself and the real positions before it, those of earlier calls included.

    Args:
        attention: the heads.
        positions: what positions do inside attention; None = nothing.
    """

    def __init__(self, attention: MultiHeadAttention, positions: AttentionPositions | None = None) -> None:
        super().__init__()
        self.attention = attention
        self.positions = positions or AttentionPositions()

    def initial_state(self, batch_size: int) -> KVCache:
        """Return an empty cache of `batch_size` rows."""
        attention = self.attention
        heads = attention.query.weight.new_zeros(batch_size, attention.num_key_heads, 0, attention.head_size)
        is_real = torch.zeros(batch_size, 0, dtype=torch.bool, device=heads.device)
        return KVCache((), KeyValues(heads, heads.clone(), is_real))

    def forward(
        self, x: Float[Tensor, "B T D"], cache: KVCache, mask: Bool[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B T D"], KVCache]:
        """Attend from the new positions to the cache and, causally, to one another."""
        length = x.shape[1]
        is_real = torch.ones(x.shape[:2], dtype=torch.bool, device=x.device) if mask is None else mask
        before = [piece for piece in (*cache.blocks, cache.tail) if piece.is_real.shape[1]]
        all_real = torch.cat([*(piece.is_real for piece in before), is_real], dim=1)
        new = self.attention.prepare(x, is_real)
        query, keys = self.positions.place(self.attention.split(self.attention.query(x)), new.keys, all_real)
        new = new._replace(keys=keys)
        show("keys and values", keys=keys, values=new.values)
        causal = torch.ones(length, all_real.shape[1], dtype=torch.bool, device=x.device)
        is_allowed = causal.tril(all_real.shape[1] - length) & all_real[:, None]
        bias = self.positions.bias(length, all_real)
        return self.attention.attend(query, [*before, new], is_allowed[:, None], bias), cache.extended(new)
