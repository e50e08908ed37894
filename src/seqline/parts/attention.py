"""Attention: scores to weights to a context, and the one masked softmax of the package."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import nn

from seqline.parts.scores import Score
from seqline.shapes import Bool, Float, Tensor
from seqline.watch import show


def masked_softmax(scores: Float[Tensor, "*shape S"], is_allowed: Bool[Tensor, "*mask S"]) -> Float[Tensor, "*shape S"]:
    """Return softmax over the allowed keys and exactly 0 elsewhere; 0 throughout where nothing is allowed.

    Args:
        scores: before the softmax.
        is_allowed: broadcasts against `scores`; True = may be attended to.
    """
    # The smallest number rather than -inf: a row with nothing allowed then stays finite, in its gradient too.
    floor = torch.finfo(scores.dtype).min
    return scores.masked_fill(~is_allowed, floor).softmax(dim=-1) * is_allowed


class KeyValues(NamedTuple):
    """A source made ready for attention: what the score needs of the keys, the values, and which are real."""

    keys: Tensor
    values: Tensor
    is_real: Tensor


class Attention(nn.Module):
    """C_t = sum over s of a_ts v_s, a_t = softmax over s of score(q_t, k_s); keys and values are the encoder's outputs."""

    def __init__(self, score: Score) -> None:
        super().__init__()
        self.score = score

    def prepare(self, outputs: Float[Tensor, "B S D"], is_real: Bool[Tensor, "B S"]) -> KeyValues:
        """Compute what depends on the source alone."""
        return KeyValues(self.score.prepare(outputs), outputs, is_real)

    def forward(self, query: Float[Tensor, "B T Q"], memory: KeyValues) -> Float[Tensor, "B T D"]:
        """Return the context of each query; show scores and weights [B T S]."""
        scores = self.score(query, memory.keys)
        weights = masked_softmax(scores, memory.is_real[:, None])
        context = weights @ memory.values
        show("attention", query=query, scores=scores, weights=weights, context=context)
        return context
