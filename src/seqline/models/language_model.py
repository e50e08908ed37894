"""The language model: p(y) = product over n of p(y_n | y_<n), a decoder without a memory."""

from __future__ import annotations

from typing import Any

from torch import nn

from seqline.parts.values import StepEmbedding, StepHead
from seqline.shapes import Bool, Float, Int, Tensor
from seqline.state import Encoded


class LanguageModel(nn.Module):
    """Embedding, causal layers, head; a Decoder (seqline.state) whose memory is None.

    Args:
        embedding: of ids.
        layers: a SequenceLayer from embeddings to the head's input; positions and dropout are among its parts.
        head: to logits.
    """

    def __init__(self, embedding: StepEmbedding, layers: nn.Module, head: StepHead) -> None:
        super().__init__()
        self.embedding, self.layers, self.head = embedding, layers, head

    def prepare(self, encoded: Encoded | None = None) -> None:
        """Return None: there is no source."""
        return

    def initial_state(self, memory: None, batch_size: int) -> Any:
        """Return the state of rows that have read nothing."""
        return self.layers.initial_state(batch_size)  # pyright: ignore[reportCallIssue]

    def forward(
        self, ids: Int[Tensor, "B T"], state: Any, memory: None = None, mask: Bool[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B T V"], Any]:
        """Read ids and return the logits of the next ones."""
        y, state = self.layers(self.embedding(ids), state, mask)
        return self.head(y), state
