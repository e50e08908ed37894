"""When and how a recurrent decoder reads the memory, where that does not depend on its own state.

A reader is what differs between a fixed context, a context at every step, and attention after the cell; all else is shared.
The two decoders whose reading feeds back into the cell are in models/attentive_decoder.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from seqline.parts.attention import KeyValues, SourceAttention
from seqline.shapes import Float, Tensor
from seqline.state import Encoded
from seqline.watch import show


class Reader(nn.Module, ABC):
    """Widens the cell's input, its output, or neither, with what it reads from the memory."""

    input_growth = 0
    output_growth = 0

    @abstractmethod
    def prepare(self, encoded: Encoded) -> Any:
        """Return what reading needs, computed once a source (a tree of tensors, batch first, or None)."""

    def before(self, x: Float[Tensor, "B T E"], memory: Any) -> Float[Tensor, "B T I"]:
        """Return the cell's input."""
        return x

    def after(self, h: Float[Tensor, "B T D"], memory: Any) -> Float[Tensor, "B T Z"]:
        """Return z, what the output layer sees."""
        return h


class NeverReads(Reader):
    """The memory enters once, as the decoder's first state, and is not read again: z_n = h_n."""

    def prepare(self, encoded: Encoded) -> None:
        return None


class ReadsSummary(Reader):
    """The same summary c enters the cell at every step: input [y_{n-1}; c].

    Args:
        source_size: width of the encoder's outputs.
        summary: encoded source to one vector a row, such as `final_output` or `mean_output`.
    """

    def __init__(self, source_size: int, summary: Callable[[Encoded], Tensor]) -> None:
        super().__init__()
        self.input_growth, self.summary = source_size, summary

    def prepare(self, encoded: Encoded) -> Float[Tensor, "B D"]:
        return self.summary(encoded)

    def before(self, x: Float[Tensor, "B T E"], memory: Float[Tensor, "B D"]) -> Float[Tensor, "B T I"]:
        show("summary", context=memory)
        return torch.cat([x, memory[:, None].expand(-1, x.shape[1], -1)], dim=-1)


class ReadsAfterCell(Reader):
    """Attention from each output h_n: z_n = [h_n; C_n].

    Args:
        attention: one that carries nothing from query to query (else models/attentive_decoder.py).
        context_size: width of its contexts.
    """

    def __init__(self, attention: SourceAttention, context_size: int) -> None:
        super().__init__()
        self.attention, self.output_growth = attention, context_size

    def prepare(self, encoded: Encoded) -> KeyValues:
        return self.attention.prepare(encoded.outputs, encoded.is_real)

    def after(self, h: Float[Tensor, "B T D"], memory: KeyValues) -> Float[Tensor, "B T Z"]:
        return torch.cat([h, self.attention(h, memory)], dim=-1)
