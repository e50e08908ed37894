"""Encoders: a source to `Encoded`, one vector a position and the states the reading ended in."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from seqline.parts.recurrent import Bidirectional, Stack, reverse_real
from seqline.parts.values import StepEmbedding
from seqline.shapes import Bool, Shaped, Tensor
from seqline.state import Encoded
from seqline.watch import show


class RecurrentEncoder(nn.Module):
    """Reads left to right: h_t = f(h_{t-1}, x_t); `final` is one state a layer after the last real token."""

    def __init__(self, embedding: StepEmbedding, stack: Stack) -> None:
        super().__init__()
        self.embedding, self.stack = embedding, stack

    def forward(self, ids: Shaped[Tensor, "B S *F"], is_real: Bool[Tensor, "B S"]) -> Encoded:
        """Encode right-padded sources."""
        x = self.embedding.dropout(self.embedding(ids))
        outputs, final = self.stack(x, self.stack.initial_state(len(ids)), is_real)
        show("encoder", ids=ids, outputs=outputs)
        return Encoded(outputs, is_real, final)


class ReversingEncoder(nn.Module):
    """Reads each row's words from the last to the first, then the end mark; output j still belongs to token j.

    `final` is one state a layer after the end mark, as in `RecurrentEncoder`.

    Source: Sutskever et al. 2014 (1409.3215), section 3.3.
    """

    def __init__(self, embedding: StepEmbedding, stack: nn.Module) -> None:
        super().__init__()
        self.embedding, self.stack = embedding, stack

    def forward(self, ids: Shaped[Tensor, "B S *F"], is_real: Bool[Tensor, "B S"]) -> Encoded:
        """Encode right-padded sources, each of which ends in its end mark."""
        # All real entries but the last: the words, without the end mark.
        is_word = is_real & torch.nn.functional.pad(is_real[:, 1:], (0, 1))
        x = reverse_real(self.embedding.dropout(self.embedding(ids)), is_word)
        outputs, final = self.stack(x, self.stack.initial_state(len(ids)), is_real)  # pyright: ignore[reportCallIssue]
        outputs = reverse_real(outputs, is_word)
        show("encoder", ids=ids, outputs=outputs)
        return Encoded(outputs, is_real, final)


class BidirectionalEncoder(nn.Module):
    """Reads both ways: h_j = [forward h_j; backward h_j]; `final` is a (forward, backward) pair of states a layer."""

    def __init__(self, embedding: StepEmbedding, layers: Sequence[Bidirectional], dropout: float) -> None:
        super().__init__()
        self.embedding, self.layers = embedding, nn.ModuleList(layers)
        self.dropout = nn.Dropout(dropout)

    def forward(self, ids: Shaped[Tensor, "B S *F"], is_real: Bool[Tensor, "B S"]) -> Encoded:
        """Encode right-padded sources."""
        x, final = self.embedding.dropout(self.embedding(ids)), []
        for depth, layer in enumerate(self.layers):
            x, ends = layer(self.dropout(x) if depth else x, is_real)
            final.append(ends)
        show("encoder", ids=ids, outputs=x)
        return Encoded(x, is_real, tuple(final))
