"""Attention: scores to weights to a context, and the one masked softmax of the package.

A decoder reads its source by a `SourceAttention`: `Attention` here, with coverage in parts/coverage.py, with several heads in
parts/head_attention.py. What a window or a coverage has to remember from query to query is its state, a value like any other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import torch
from torch import nn

from seqline.intervene import by_hand
from seqline.parts.scores import Score
from seqline.parts.windows import Everywhere, View, Window
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


def windowed_weights(scores: Float[Tensor, "*shape S"], view: View) -> Float[Tensor, "*shape S"]:
    """Return the softmax over what a window lets see, scaled by the window's factor where it has one."""
    weights = masked_softmax(scores, view.is_allowed)
    return weights if view.factor is None else weights * view.factor


class SourceAttention(nn.Module, ABC):
    """How queries read a source: contexts, and a state carried from query to query (None where nothing is)."""

    @abstractmethod
    def prepare(self, outputs: Float[Tensor, "B S D"], is_real: Bool[Tensor, "B S"]) -> KeyValues:
        """Compute what depends on the source alone."""

    @abstractmethod
    def initial_state(self, memory: KeyValues) -> Any:
        """Return the state of rows that have asked nothing yet."""

    @abstractmethod
    def read(
        self, query: Float[Tensor, "B T Q"], memory: KeyValues, state: Any, mask: Bool[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B T C"], Any]:
        """Return the context of each query and the next state; a False column of `mask` changes no state."""

    def forward(self, query: Float[Tensor, "B T Q"], memory: KeyValues) -> Float[Tensor, "B T C"]:
        """Return the context of each query, the first one being the row's first."""
        return self.read(query, memory, self.initial_state(memory))[0]


class Attention(SourceAttention):
    """C_t = sum over s of a_ts v_s, a_t = softmax over s of score(q_t, k_s); keys and values are the encoder's outputs.

    Args:
        score: compares a query and a key.
        window: which positions a query may see; everywhere when not given.
        dropout: share of the weights set to zero in training; what is shown are the weights before it.
    """

    def __init__(self, score: Score, window: Window | None = None, dropout: float = 0.0) -> None:
        super().__init__()
        self.score, self.window, self.dropout = score, window or Everywhere(), nn.Dropout(dropout)

    def prepare(self, outputs: Float[Tensor, "B S D"], is_real: Bool[Tensor, "B S"]) -> KeyValues:
        """Compute what the score needs of the source."""
        keys = self.score.prepare(outputs, is_real)
        show("keys and values", keys=keys, values=outputs)
        return KeyValues(keys, outputs, is_real)

    def initial_state(self, memory: KeyValues) -> Any:
        """Return the window's state before the first query."""
        return self.window.initial_state(memory.is_real)

    def read(
        self, query: Float[Tensor, "B T Q"], memory: KeyValues, state: Any, mask: Bool[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B T C"], Any]:
        """Return the contexts and the window's next state; show scores and weights [B T S]."""
        view = self.window(query, memory.is_real, state, mask)
        scores = self.score(query, memory.keys)
        weights = by_hand(self, windowed_weights(scores, view))
        context = self.dropout(weights) @ memory.values
        show("attention", query=query, scores=scores, weights=weights, context=context, mask=view.is_allowed)
        return context, view.state
