"""Output heads: a vector to logits over the vocabulary."""

from __future__ import annotations

import torch
from torch import nn

from seqline.shapes import Float, Tensor
from seqline.watch import show


class VocabularyHead(nn.Module):
    """logits = W t + b.

    Args:
        width: of the input.
        vocab_size: number of logits.
        tied: an embedding table [V width] to use as W (Press & Wolf 2017), or None for an own matrix.
    """

    def __init__(self, width: int, vocab_size: int, tied: Tensor | None = None) -> None:
        super().__init__()
        if tied is None:
            tied = nn.Parameter(torch.empty(vocab_size, width).normal_(std=width**-0.5))
        self.weight = tied
        self.bias = nn.Parameter(torch.zeros(vocab_size))

    def forward(self, t: Float[Tensor, "B T D"]) -> Float[Tensor, "B T V"]:
        """Return one logit a vocabulary entry."""
        logits = torch.nn.functional.linear(t, self.weight, self.bias)
        show("head", t=t, logits=logits)
        return logits
