"""What a recurrent decoder without attention reads from the memory.

A reader is what differs between a context that enters once and one that enters at every step; all else is shared.
The decoders that attend are in models/attentive_decoder.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from seqline.shapes import Float, Tensor
from seqline.state import Encoded
from seqline.watch import show


class Reader(nn.Module, ABC):
    """Widens the cell's input with what it reads from the memory, or leaves it."""

    input_growth = 0

    @abstractmethod
    def prepare(self, encoded: Encoded) -> Any:
        """Return what reading needs, computed once a source (a tree of tensors, batch first, or None)."""

    def before(self, x: Float[Tensor, "B T E"], memory: Any) -> Float[Tensor, "B T I"]:
        """Return the cell's input."""
        return x


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
