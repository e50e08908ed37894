"""Coverage: attention that knows how much of each source position has been read already.

Source: Tu et al. 2016 (1601.04811), section 3.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import nn

from seqline.intervene import by_hand
from seqline.parts.attention import KeyValues, SourceAttention, windowed_weights
from seqline.parts.recurrent import unroll
from seqline.parts.scores import AdditiveScore
from seqline.parts.windows import Everywhere, Window
from seqline.shapes import Bool, Float, Tensor
from seqline.watch import show


class CoverageState(NamedTuple):
    """The window's state, and the weights each source position has received so far [B S]."""

    window: Any
    coverage: Tensor


class CoverageAttention(SourceAttention):
    """e_ts = v_a . tanh(W_a q_t + U_a k_s + V_a b_{t-1,s});  a_t = softmax over s of e_ts;  b_t = b_{t-1} + a_t,  b_0 = 0.

    Symbols: b coverage, V_a a vector, for b is one number a position. Each query needs the one before it, so they run in a loop.

    Args:
        query_size: width of the query.
        key_size: width of the encoder's outputs, keys and values alike.
        attention_size: width inside the score.
        window: which positions a query may see; everywhere when not given.
        dropout: share of the weights set to zero in training; coverage adds up, and `show` gets, the weights before it.
        score_name: additive or concat.

    Source: Tu et al. 2016 (1601.04811), section 3 (coverage in the score; the linguistic form of its update).
    Differs: no fertility: the sum is not divided by how many words a position is expected to become.
    """

    def __init__(
        self,
        query_size: int,
        key_size: int,
        attention_size: int,
        window: Window | None = None,
        dropout: float = 0.0,
        score_name: str = "additive",
    ) -> None:
        super().__init__()
        self.score = AdditiveScore(query_size, key_size, attention_size, score_name)
        self.window, self.dropout = window or Everywhere(), nn.Dropout(dropout)
        self.coverage = nn.Parameter(torch.empty(attention_size).uniform_(-1, 1) * attention_size**-0.5)

    def prepare(self, outputs: Float[Tensor, "B S D"], is_real: Bool[Tensor, "B S"]) -> KeyValues:
        """Compute what the score needs of the source."""
        return KeyValues(self.score.prepare(outputs, is_real), outputs, is_real)

    def initial_state(self, memory: KeyValues) -> CoverageState:
        """Return the window's first state and a coverage of zeros."""
        unread = torch.zeros_like(memory.values[..., 0])
        return CoverageState(self.window.initial_state(memory.is_real), unread)

    def read(
        self,
        query: Float[Tensor, "B T Q"],
        memory: KeyValues,
        state: CoverageState,
        mask: Bool[Tensor, "B T"] | None = None,
    ) -> tuple[Float[Tensor, "B T C"], CoverageState]:
        """Return the contexts and the next coverage; show scores, weights and the coverage before each query [B T S]."""

        def step(q: Tensor, state: CoverageState) -> tuple[Tensor, CoverageState]:
            q, covered = q[:, None], state.coverage
            view = self.window(q, memory.is_real, state.window)
            # V_a b is a term a key, so it may join U_a k before the score adds W_a q to each.
            scores = self.score(q, memory.keys + covered[..., None] * self.coverage)
            weights = by_hand(self, windowed_weights(scores, view))
            context = self.dropout(weights) @ memory.values
            shown = {"query": q, "scores": scores, "weights": weights, "context": context, "mask": view.is_allowed}
            show("attention", **shown, coverage=covered[:, None])
            return context[:, 0], CoverageState(view.state, covered + weights[:, 0])

        return unroll(step, query, state, mask)
