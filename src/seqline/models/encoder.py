"""Encoders: a source to `Encoded`, one vector a position and the states the reading ended in."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from seqline.parts.embeddings import Embedding
from seqline.parts.feed_forward import FeedForward
from seqline.parts.positions import positions_from, sinusoid
from seqline.parts.recurrent import Bidirectional, Stack
from seqline.parts.residual import PostNorm
from seqline.parts.self_attention import MultiHeadAttention
from seqline.shapes import Bool, Float, Int, Tensor
from seqline.state import Encoded
from seqline.watch import show


class RecurrentEncoder(nn.Module):
    """Reads left to right: h_t = f(h_{t-1}, x_t); `final` is one state a layer after the last real token."""

    def __init__(self, embedding: Embedding, stack: Stack) -> None:
        super().__init__()
        self.embedding, self.stack = embedding, stack

    def forward(self, ids: Int[Tensor, "B S"], is_real: Bool[Tensor, "B S"]) -> Encoded:
        """Encode right-padded sources."""
        x = self.embedding.dropout(self.embedding(ids))
        outputs, final = self.stack(x, self.stack.initial_state(len(ids)), is_real)
        show("encoder", ids=ids, outputs=outputs)
        return Encoded(outputs, is_real, final)


class BidirectionalEncoder(nn.Module):
    """Reads both ways: h_j = [forward h_j; backward h_j]; `final` is a (forward, backward) pair of states a layer."""

    def __init__(self, embedding: Embedding, layers: Sequence[Bidirectional], dropout: float) -> None:
        super().__init__()
        self.embedding, self.layers = embedding, nn.ModuleList(layers)
        self.dropout = nn.Dropout(dropout)

    def forward(self, ids: Int[Tensor, "B S"], is_real: Bool[Tensor, "B S"]) -> Encoded:
        """Encode right-padded sources."""
        x, final = self.embedding.dropout(self.embedding(ids)), []
        for depth, layer in enumerate(self.layers):
            x, ends = layer(self.dropout(x) if depth else x, is_real)
            final.append(ends)
        show("encoder", ids=ids, outputs=x)
        return Encoded(x, is_real, tuple(final))


class TransformerEncoderLayer(nn.Module):
    """Full self-attention, then a feed-forward map, each in a residual connection."""

    def __init__(self, width: int, num_heads: int, inner_size: int, dropout: float) -> None:
        super().__init__()
        self.attention, self.after_attention = MultiHeadAttention(width, num_heads), PostNorm(width, dropout)
        self.feed_forward = FeedForward(width, inner_size, dropout)
        self.after_feed_forward = PostNorm(width, dropout)

    def forward(self, x: Float[Tensor, "B S D"], is_real: Bool[Tensor, "B S"]) -> Float[Tensor, "B S D"]:
        """Let every position read every real one."""
        x = self.after_attention(x, self.attention(x, self.attention.prepare(x, is_real)))
        return self.after_feed_forward(x, self.feed_forward(x))


class TransformerEncoder(nn.Module):
    """Embedding plus sinusoid, then layers; `final` is None, for nothing is carried along time."""

    def __init__(self, embedding: Embedding, layers: Sequence[TransformerEncoderLayer]) -> None:
        super().__init__()
        self.embedding, self.layers = embedding, nn.ModuleList(layers)

    def forward(self, ids: Int[Tensor, "B S"], is_real: Bool[Tensor, "B S"]) -> Encoded:
        """Encode right-padded sources."""
        x = self.embedding(ids)
        start = torch.zeros(len(ids), dtype=torch.long, device=ids.device)
        x = self.embedding.dropout(x + sinusoid(positions_from(start, is_real), x.shape[-1], x.dtype))
        for layer in self.layers:
            x = layer(x, is_real)
        show("encoder", ids=ids, outputs=x)
        return Encoded(x, is_real, None)
