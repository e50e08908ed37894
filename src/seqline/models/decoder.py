"""Decoders that run a whole target in one call: the recurrent one without feedback from its reading, and the Transformer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, cast

import torch
from torch import nn

from seqline.models.readers import Reader
from seqline.parts.attention import KeyValues
from seqline.parts.embeddings import Embedding
from seqline.parts.feed_forward import FeedForward
from seqline.parts.heads import VocabularyHead
from seqline.parts.positions import positions_from, sinusoid
from seqline.parts.residual import PostNorm
from seqline.parts.self_attention import CausalSelfAttention, KVCache, MultiHeadAttention
from seqline.shapes import Bool, Float, Int, Tensor
from seqline.state import Encoded


class RecurrentMemory(NamedTuple):
    """What a recurrent decoder keeps of a source: the first state, and what its reader reads."""

    first_state: Any
    read: Any


class RecurrentDecoder(nn.Module):
    """h_n = f(h_{n-1}, reader.before(y_{n-1})); z_n = reader.after(h_n); logits = W g(z_n).

    Args:
        embedding: of target ids.
        bridge: the encoder's final states to the stack's first state.
        reader: how the memory is read.
        stack: a SequenceLayer, such as a Stack.
        readout: z_n to the head's input.
        head: to logits.
    """

    def __init__(
        self,
        embedding: Embedding,
        bridge: nn.Module,
        reader: Reader,
        stack: nn.Module,
        readout: nn.Module,
        head: VocabularyHead,
    ) -> None:
        super().__init__()
        self.embedding, self.bridge, self.reader = embedding, bridge, reader
        self.stack, self.readout, self.head = stack, readout, head

    def prepare(self, encoded: Encoded) -> RecurrentMemory:
        """Compute what a source gives once."""
        return RecurrentMemory(self.bridge(encoded.final), self.reader.prepare(encoded))

    def initial_state(self, memory: RecurrentMemory, batch_size: int) -> Any:
        """Return the state the bridge made; it holds `batch_size` rows."""
        return memory.first_state

    def forward(
        self, ids: Int[Tensor, "B T"], state: Any, memory: RecurrentMemory, mask: Bool[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B T V"], Any]:
        """Read target ids and return the logits of the next ones."""
        x = self.reader.before(self.embedding.dropout(self.embedding(ids)), memory.read)
        h, state = self.stack(x, state, mask)
        z = self.reader.after(self.embedding.dropout(h), memory.read)
        return self.head(self.embedding.dropout(self.readout(z))), state


class TransformerDecoderLayer(nn.Module):
    """Causal self-attention, attention to the source, a feed-forward map, each in a residual connection."""

    def __init__(self, width: int, num_heads: int, inner_size: int, dropout: float) -> None:
        super().__init__()
        self.self_attention, self.after_self = CausalSelfAttention(width, num_heads), PostNorm(width, dropout)
        self.cross_attention, self.after_cross = MultiHeadAttention(width, num_heads), PostNorm(width, dropout)
        self.feed_forward = FeedForward(width, inner_size, dropout)
        self.after_feed_forward = PostNorm(width, dropout)

    def forward(
        self, x: Float[Tensor, "B T D"], cache: KVCache, memory: KeyValues, mask: Bool[Tensor, "B T"] | None
    ) -> tuple[Float[Tensor, "B T D"], KVCache]:
        """Read new positions behind those in the cache."""
        change, cache = self.self_attention(x, cache, mask)
        x = self.after_self(x, change)
        x = self.after_cross(x, self.cross_attention(x, memory))
        return self.after_feed_forward(x, self.feed_forward(x)), cache


class TransformerState(NamedTuple):
    """One cache a layer, and how many real tokens each row has read [B]."""

    caches: tuple[KVCache, ...]
    num_read: Tensor


class TransformerDecoder(nn.Module):
    """Embedding plus sinusoid, layers, head; the memory is each layer's keys and values of the source."""

    def __init__(self, embedding: Embedding, layers: Sequence[TransformerDecoderLayer], head: VocabularyHead) -> None:
        super().__init__()
        self.embedding, self.layers, self.head = embedding, nn.ModuleList(layers), head

    def _layers(self) -> Iterator[TransformerDecoderLayer]:
        return (cast("TransformerDecoderLayer", layer) for layer in self.layers)

    def prepare(self, encoded: Encoded) -> tuple[KeyValues, ...]:
        """Project the source into each layer's keys and values, once."""
        return tuple(layer.cross_attention.prepare(encoded.outputs, encoded.is_real) for layer in self._layers())

    def initial_state(self, memory: Any, batch_size: int) -> TransformerState:
        """Return empty caches."""
        caches = tuple(layer.self_attention.initial_state(batch_size) for layer in self._layers())
        return TransformerState(caches, torch.zeros(batch_size, dtype=torch.long, device=self.head.bias.device))

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        state: TransformerState,
        memory: tuple[KeyValues, ...],
        mask: Bool[Tensor, "B T"] | None = None,
    ) -> tuple[Float[Tensor, "B T V"], TransformerState]:
        """Read target ids and return the logits of the next ones."""
        is_real = torch.ones_like(ids, dtype=torch.bool) if mask is None else mask
        x = self.embedding(ids)
        positions = positions_from(state.num_read, is_real)
        x = self.embedding.dropout(x + sinusoid(positions, x.shape[-1], x.dtype))
        caches = []
        for layer, cache, keys_values in zip(self._layers(), state.caches, memory, strict=True):
            x, cache = layer(x, cache, keys_values, mask)
            caches.append(cache)
        return self.head(x), TransformerState(tuple(caches), state.num_read + is_real.sum(1))
