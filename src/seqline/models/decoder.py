"""The recurrent decoder without attention: a whole target runs in one call."""

from __future__ import annotations

from typing import Any, NamedTuple

from torch import nn

from seqline.models.readers import Reader
from seqline.parts.values import StepEmbedding, StepHead
from seqline.shapes import Bool, Float, Shaped, Tensor
from seqline.state import Encoded


class RecurrentMemory(NamedTuple):
    """What a recurrent decoder keeps of a source: the first state, and what its reader reads."""

    first_state: Any
    read: Any


class RecurrentDecoder(nn.Module):
    """h_n = f(h_{n-1}, reader.before(y_{n-1})); logits = W g(h_n).

    Args:
        embedding: of target ids.
        bridge: the encoded source to the stack's first state.
        reader: how the memory is read.
        stack: a SequenceLayer, such as a Stack.
        readout: h_n to the head's input.
        head: to logits.
    """

    def __init__(
        self,
        embedding: StepEmbedding,
        bridge: nn.Module,
        reader: Reader,
        stack: nn.Module,
        readout: nn.Module,
        head: StepHead,
    ) -> None:
        super().__init__()
        self.embedding, self.bridge, self.reader = embedding, bridge, reader
        self.stack, self.readout, self.head = stack, readout, head

    def prepare(self, encoded: Encoded) -> RecurrentMemory:
        """Compute what a source gives once."""
        return RecurrentMemory(self.bridge(encoded), self.reader.prepare(encoded))

    def initial_state(self, memory: RecurrentMemory, batch_size: int) -> Any:
        """Return the state the bridge made; it holds `batch_size` rows."""
        return memory.first_state

    def forward(
        self,
        ids: Shaped[Tensor, "B T *F"],
        state: Any,
        memory: RecurrentMemory,
        mask: Bool[Tensor, "B T"] | None = None,
    ) -> tuple[Float[Tensor, "B T V"], Any]:
        """Read target ids and return the logits of the next ones."""
        x = self.reader.before(self.embedding.dropout(self.embedding(ids)), memory.read)
        h, state = self.stack(x, state, mask)
        z = self.readout(self.embedding.dropout(h))
        return self.head(self.embedding.dropout(z)), state
