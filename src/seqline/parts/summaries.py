"""Summaries: a whole source in one vector a row."""

from __future__ import annotations

import torch

from seqline.shapes import Float, Tensor
from seqline.state import Encoded


def final_output(encoded: Encoded) -> Float[Tensor, "B D"]:
    """Return each row's output at its last real position."""
    last = (encoded.is_real.sum(1) - 1).clamp(min=0)
    return encoded.outputs[torch.arange(len(last), device=last.device), last]


def mean_output(encoded: Encoded) -> Float[Tensor, "B D"]:
    """Return each row's mean over its real positions."""
    is_real = encoded.is_real[..., None]
    return (encoded.outputs * is_real).sum(1) / is_real.sum(1).clamp(min=1)
