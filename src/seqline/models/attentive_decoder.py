"""Recurrent decoders whose reading feeds back into the cell, so that a target is read step by step."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import nn

from seqline.models.decoder import RecurrentMemory
from seqline.parts.attention import Attention
from seqline.parts.cells import Cell
from seqline.parts.embeddings import Embedding
from seqline.parts.heads import VocabularyHead
from seqline.parts.recurrent import Stack, unroll
from seqline.shapes import Bool, Float, Int, Tensor
from seqline.state import Encoded


class FeedState(NamedTuple):
    """The stack's state and the attentional vector of the step before [B Z]."""

    layers: Any
    feed: Tensor


class InputFeedingDecoder(nn.Module):
    """h_n = f(h_{n-1}, [y_{n-1}; z~_{n-1}]);  C_n by attention from h_n;  z~_n = g([h_n; C_n]);  logits = W z~_n.

    Source: Luong et al. 2015 (1508.04025), section 3.3.
    """

    def __init__(
        self,
        embedding: Embedding,
        bridge: nn.Module,
        attention: Attention,
        stack: Stack,
        readout: nn.Module,
        head: VocabularyHead,
    ) -> None:
        super().__init__()
        self.embedding, self.bridge, self.attention = embedding, bridge, attention
        self.stack, self.readout, self.head = stack, readout, head
        self.feed_size = head.weight.shape[1]

    def prepare(self, encoded: Encoded) -> RecurrentMemory:
        """Compute what a source gives once."""
        return RecurrentMemory(self.bridge(encoded.final), self.attention.prepare(encoded.outputs, encoded.is_real))

    def initial_state(self, memory: RecurrentMemory, batch_size: int) -> FeedState:
        """Return the bridged state, and zeros for the vector that no step has made yet."""
        return FeedState(memory.first_state, self.head.weight.new_zeros(batch_size, self.feed_size))

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        state: FeedState,
        memory: RecurrentMemory,
        mask: Bool[Tensor, "B T"] | None = None,
    ) -> tuple[Float[Tensor, "B T V"], FeedState]:
        """Read target ids and return the logits of the next ones."""

        def step(y: Tensor, state: FeedState) -> tuple[Tensor, FeedState]:
            h, layers = self.stack(torch.cat([y, state.feed], dim=-1)[:, None], state.layers)
            context = self.attention(h, memory.read)
            z = self.embedding.dropout(self.readout(torch.cat([self.embedding.dropout(h), context], dim=-1)))[:, 0]
            return z, FeedState(layers, z)

        z, state = unroll(step, self.embedding.dropout(self.embedding(ids)), state, mask)
        return self.head(z), state


class AttendFirstDecoder(nn.Module):
    """C_n by attention from s_{n-1};  s_n = f(s_{n-1}, [y_{n-1}; C_n]);  logits = W g([s_n; y_{n-1}; C_n]).

    Source: Bahdanau et al. 2015 (1409.0473), section 3.1 and A.2.
    """

    def __init__(
        self,
        embedding: Embedding,
        bridge: nn.Module,
        attention: Attention,
        cell: Cell,
        readout: nn.Module,
        head: VocabularyHead,
    ) -> None:
        super().__init__()
        self.embedding, self.bridge, self.attention = embedding, bridge, attention
        self.cell, self.readout, self.head = cell, readout, head

    def prepare(self, encoded: Encoded) -> RecurrentMemory:
        """Compute what a source gives once."""
        return RecurrentMemory(self.bridge(encoded.final), self.attention.prepare(encoded.outputs, encoded.is_real))

    def initial_state(self, memory: RecurrentMemory, batch_size: int) -> Any:
        """Return the state the bridge made."""
        return memory.first_state

    def forward(
        self, ids: Int[Tensor, "B T"], state: Any, memory: RecurrentMemory, mask: Bool[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B T V"], Any]:
        """Read target ids and return the logits of the next ones."""

        def step(y: Tensor, state: Any) -> tuple[tuple[Tensor, Tensor], Any]:
            context = self.attention(self.cell.output_of(state)[:, None], memory.read)[:, 0]
            s, state = self.cell(torch.cat([y, context], dim=-1), state)
            return (s, context), state

        y = self.embedding.dropout(self.embedding(ids))
        (s, context), state = unroll(step, y, state, mask)
        t = self.readout(torch.cat([self.embedding.dropout(s), y, context], dim=-1))
        return self.head(self.embedding.dropout(t)), state
