"""Bridges: how the encoder's end becomes the decoder's beginning. A bridge reads its row's source only."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from seqline.shapes import Float, Tensor


class LastBridge(nn.Module):
    """Decoder layer l starts from the state in which encoder layer l ended (h and c both, for an LSTM)."""

    def forward(self, final: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the encoder's final states, layer by layer."""
        return final


class BackwardTanhBridge(nn.Module):
    """s_0 = tanh(W_s h_1), h_1 the backward encoder's state at the first word.

    Source: Bahdanau et al. 2015 (1409.0473), section A.2.2.
    """

    def __init__(self, encoder_size: int, hidden_size: int) -> None:
        super().__init__()
        self.project = nn.Linear(encoder_size, hidden_size)

    def forward(self, final: tuple[tuple[Tensor, Tensor], ...]) -> Float[Tensor, "B D"]:
        """Take the top layer's (forward, backward) pair and return the decoder cell's first state."""
        _, backward = final[-1]
        return torch.tanh(self.project(backward))
