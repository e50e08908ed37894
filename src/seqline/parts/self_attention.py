"""Multi-head attention over a memory, and causal self-attention that remembers what it read in a cache.

Source: Vaswani et al. 2017 (1706.03762), section 3.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import nn

from seqline.parts.attention import KeyValues, masked_softmax
from seqline.shapes import Bool, Float, Tensor
from seqline.watch import show

BLOCK_LENGTH = 64


class MultiHeadAttention(nn.Module):
    """softmax(Q K^T / sqrt(E)) V in each head, heads side by side, then W^O.

    Args:
        width: of queries, keys and values alike.
        num_heads: divides `width`; E = width / num_heads.
    """

    def __init__(self, width: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads, self.head_size = num_heads, width // num_heads
        self.query, self.key, self.value, self.output = (nn.Linear(width, width) for _ in range(4))
        for projection in (self.query, self.key, self.value, self.output):
            nn.init.xavier_uniform_(projection.weight)
            nn.init.zeros_(projection.bias)

    def split(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B H T E"]:
        """Cut the width into heads."""
        return x.unflatten(-1, (self.num_heads, self.head_size)).transpose(1, 2)

    def prepare(self, x: Float[Tensor, "B S D"], is_real: Bool[Tensor, "B S"]) -> KeyValues:
        """Project what will be attended to: keys and values [B H S E], once for all queries."""
        return KeyValues(self.split(self.key(x)), self.split(self.value(x)), is_real)

    def attend(
        self, x: Float[Tensor, "B T D"], pieces: Sequence[KeyValues], is_allowed: Bool[Tensor, "B 1 #T S"]
    ) -> Float[Tensor, "B T D"]:
        """Attend from x to the pieces, which together hold S entries; no piece is copied."""
        query = self.split(self.query(x)) * self.head_size**-0.5
        scores = torch.cat([query @ piece.keys.transpose(2, 3) for piece in pieces], dim=-1)
        weights = masked_softmax(scores, is_allowed)
        shares = weights.split([piece.keys.shape[2] for piece in pieces], dim=-1)
        context = torch.stack([w @ piece.values for w, piece in zip(shares, pieces, strict=True)]).sum(0)
        show("multi-head attention", query=query, scores=scores, weights=weights, context=context)
        return self.output(context.transpose(1, 2).flatten(2))

    def forward(self, x: Float[Tensor, "B T D"], memory: KeyValues) -> Float[Tensor, "B T D"]:
        """Attend from every position of x to every real entry of the memory."""
        return self.attend(x, [memory], memory.is_real[:, None, None])


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
    """Each position attends to itself and the real positions before it, those of earlier calls included."""

    def __init__(self, width: int, num_heads: int) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(width, num_heads)

    def initial_state(self, batch_size: int) -> KVCache:
        """Return an empty cache of `batch_size` rows."""
        heads = self.attention.query.weight.new_zeros(batch_size, self.attention.num_heads, 0, self.attention.head_size)
        is_real = torch.zeros(batch_size, 0, dtype=torch.bool, device=heads.device)
        return KVCache((), KeyValues(heads, heads.clone(), is_real))

    def forward(
        self, x: Float[Tensor, "B T D"], cache: KVCache, mask: Bool[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B T D"], KVCache]:
        """Attend from the new positions to the cache and, causally, to one another."""
        length = x.shape[1]
        is_real = torch.ones(x.shape[:2], dtype=torch.bool, device=x.device) if mask is None else mask
        new = self.attention.prepare(x, is_real)
        before = [piece for piece in (*cache.blocks, cache.tail) if piece.is_real.shape[1]]
        causal = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
        is_allowed = torch.cat(
            [*(piece.is_real[:, None].expand(-1, length, -1) for piece in before), causal & is_real[:, None]], dim=-1
        )
        return self.attention.attend(x, [*before, new], is_allowed[:, None]), cache.extended(new)
