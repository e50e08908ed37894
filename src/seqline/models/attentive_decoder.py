"""Recurrent decoders that attend: before the cell, after it, and after it with what was read fed into the next step.

Where the cell needs what was read, a target runs step by step; attention after the cell alone runs its layers in one call.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import torch
from torch import nn

from seqline.models.decoder import RecurrentMemory
from seqline.parts.attention import SourceAttention
from seqline.parts.cells import Cell
from seqline.parts.recurrent import Stack, unroll
from seqline.parts.values import StepEmbedding, StepHead
from seqline.shapes import Bool, Float, Shaped, Tensor
from seqline.state import Encoded


class FeedState(NamedTuple):
    """The stack's state, the attentional vector of the step before [B Z], and the attention's state."""

    layers: Any
    feed: Tensor
    reading: Any


class AttendingState(NamedTuple):
    """The state of the cell or of the stack, and the attention's."""

    layers: Any
    reading: Any


class AttentiveDecoder(nn.Module, ABC):
    """What they have in common: the memory is the bridged first state and what the attention needs of the source.

    Args:
        embedding: of target ids.
        bridge: an encoded source to the first state of the cell or stack.
        attention: reads the source.
        readout: what it takes to the head's input.
        head: to logits.
    """

    def __init__(
        self,
        embedding: StepEmbedding,
        bridge: nn.Module,
        attention: SourceAttention,
        readout: nn.Module,
        head: StepHead,
    ) -> None:
        super().__init__()
        self.embedding, self.bridge, self.attention = embedding, bridge, attention
        self.readout, self.head = readout, head

    def prepare(self, encoded: Encoded) -> RecurrentMemory:
        """Compute what a source gives once."""
        return RecurrentMemory(self.bridge(encoded), self.attention.prepare(encoded.outputs, encoded.is_real))

    def initial_state(self, memory: RecurrentMemory, batch_size: int) -> Any:
        """Return the state the bridge made, and that of an attention that has read nothing."""
        return AttendingState(memory.first_state, self.attention.initial_state(memory.read))

    @abstractmethod
    def forward(
        self,
        ids: Shaped[Tensor, "B T *F"],
        state: Any,
        memory: RecurrentMemory,
        mask: Bool[Tensor, "B T"] | None = None,
    ) -> tuple[Float[Tensor, "B T V"], Any]:
        """Read target ids and return the logits of the next ones."""


class InputFeedingDecoder(AttentiveDecoder):
    """h_n = f(h_{n-1}, [y_{n-1}; z~_{n-1}]);  C_n by attention from h_n;  z~_n = g([h_n; C_n]);  logits = W z~_n.

    Source: Luong et al. 2015 (1508.04025), section 3.3.
    """

    def __init__(
        self,
        embedding: StepEmbedding,
        bridge: nn.Module,
        attention: SourceAttention,
        stack: Stack,
        readout: nn.Module,
        head: StepHead,
    ) -> None:
        super().__init__(embedding, bridge, attention, readout, head)
        self.stack = stack
        self.feed_size = head.weight.shape[1]

    def initial_state(self, memory: RecurrentMemory, batch_size: int) -> FeedState:
        """Return the bridged state, and zeros for the vector that no step has made yet."""
        feed = self.head.weight.new_zeros(batch_size, self.feed_size)
        return FeedState(memory.first_state, feed, self.attention.initial_state(memory.read))

    def forward(
        self,
        ids: Shaped[Tensor, "B T *F"],
        state: FeedState,
        memory: RecurrentMemory,
        mask: Bool[Tensor, "B T"] | None = None,
    ) -> tuple[Float[Tensor, "B T V"], FeedState]:
        """Read target ids and return the logits of the next ones."""

        def step(y: Tensor, state: FeedState) -> tuple[Tensor, FeedState]:
            h, layers = self.stack(torch.cat([y, state.feed], dim=-1)[:, None], state.layers)
            context, reading = self.attention.read(h, memory.read, state.reading)
            z = self.embedding.dropout(self.readout(torch.cat([self.embedding.dropout(h), context], dim=-1)))[:, 0]
            return z, FeedState(layers, z, reading)

        z, state = unroll(step, self.embedding.dropout(self.embedding(ids)), state, mask)
        return self.head(z), state


class AttendFirstDecoder(AttentiveDecoder):
    """C_n by attention from s_{n-1};  s_n = f(s_{n-1}, [y_{n-1}; C_n]);  logits = W g([s_n; y_{n-1}; C_n]).

    Source: Bahdanau et al. 2015 (1409.0473), section 3.1 and A.2.
    """

    def __init__(
        self,
        embedding: StepEmbedding,
        bridge: nn.Module,
        attention: SourceAttention,
        cell: Cell,
        readout: nn.Module,
        head: StepHead,
    ) -> None:
        super().__init__(embedding, bridge, attention, readout, head)
        self.cell = cell

    def forward(
        self,
        ids: Shaped[Tensor, "B T *F"],
        state: AttendingState,
        memory: RecurrentMemory,
        mask: Bool[Tensor, "B T"] | None = None,
    ) -> tuple[Float[Tensor, "B T V"], AttendingState]:
        """Read target ids and return the logits of the next ones."""

        def step(y: Tensor, state: AttendingState) -> tuple[tuple[Tensor, Tensor], AttendingState]:
            query = self.cell.output_of(state.layers)[:, None]
            context, reading = self.attention.read(query, memory.read, state.reading)
            s, cell_state = self.cell(torch.cat([y, context[:, 0]], dim=-1), state.layers)
            return (s, context[:, 0]), AttendingState(cell_state, reading)

        y = self.embedding.dropout(self.embedding(ids))
        (s, context), state = unroll(step, y, state, mask)
        t = self.readout(torch.cat([self.embedding.dropout(s), y, context], dim=-1))
        return self.head(self.embedding.dropout(t)), state


class AttendAfterDecoder(AttentiveDecoder):
    """h_n = f(h_{n-1}, y_{n-1});  C_n by attention from h_n;  logits = W g([h_n; C_n]).

    Source: Luong et al. 2015 (1508.04025), section 3, without input feeding.
    """

    def __init__(
        self,
        embedding: StepEmbedding,
        bridge: nn.Module,
        attention: SourceAttention,
        stack: Stack,
        readout: nn.Module,
        head: StepHead,
    ) -> None:
        super().__init__(embedding, bridge, attention, readout, head)
        self.stack = stack

    def forward(
        self,
        ids: Shaped[Tensor, "B T *F"],
        state: AttendingState,
        memory: RecurrentMemory,
        mask: Bool[Tensor, "B T"] | None = None,
    ) -> tuple[Float[Tensor, "B T V"], AttendingState]:
        """Read target ids and return the logits of the next ones."""
        h, layers = self.stack(self.embedding.dropout(self.embedding(ids)), state.layers, mask)
        h = self.embedding.dropout(h)
        context, reading = self.attention.read(h, memory.read, state.reading, mask)
        z = self.readout(torch.cat([h, context], dim=-1))
        return self.head(self.embedding.dropout(z)), AttendingState(layers, reading)
