"""Several heads that read a source for a recurrent decoder (ours).

A recurrent decoder's query and the encoder's outputs may have different widths, and the layer that follows the context mixes the
heads anyway. So there is a projection for each of them and no output matrix.
"""

from __future__ import annotations

from typing import Any

from torch import nn

from seqline.intervene import by_hand
from seqline.parts.attention import KeyValues, SourceAttention, windowed_weights
from seqline.parts.windows import Everywhere, Window
from seqline.shapes import Bool, Float, Tensor
from seqline.watch import show


class HeadAttention(SourceAttention):
    """head_i = softmax(W_i^Q q (W_i^K k)^T / sqrt(E)) W_i^V v, heads side by side.

    Args:
        query_size: width of the query, and of the context: H heads of E = query_size / H.
        key_size: width of the encoder's outputs.
        num_heads: H; divides `query_size`.
        window: which positions a query may see, the same in all heads; everywhere when not given.
        dropout: share of the weights set to zero in training; what is shown are the weights before it.

    Source: the heads of Vaswani et al. 2017 (1706.03762), section 3.2.2, in the place of the one attention of 1508.04025 or
        1409.0473 (ours).
    Differs: without W^O and without biases.
    """

    score_name = "scaled_dot"

    def __init__(
        self, query_size: int, key_size: int, num_heads: int, window: Window | None = None, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.num_heads, self.head_size = num_heads, query_size // num_heads
        self.query = nn.Linear(query_size, query_size, bias=False)
        self.key, self.value = (nn.Linear(key_size, query_size, bias=False) for _ in range(2))
        self.window, self.dropout = window or Everywhere(), nn.Dropout(dropout)

    def _split(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B H T E"]:
        return x.unflatten(-1, (self.num_heads, self.head_size)).transpose(1, 2)

    def prepare(self, outputs: Float[Tensor, "B S D"], is_real: Bool[Tensor, "B S"]) -> KeyValues:
        """Project keys and values [B H S E]."""
        keys, values = self._split(self.key(outputs)), self._split(self.value(outputs))
        show("keys and values", keys=keys, values=values)
        return KeyValues(keys, values, is_real)

    def initial_state(self, memory: KeyValues) -> Any:
        """Return the window's state before the first query."""
        return self.window.initial_state(memory.is_real)

    def read(
        self, query: Float[Tensor, "B T Q"], memory: KeyValues, state: Any, mask: Bool[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B T Q"], Any]:
        """Return the contexts and the window's next state; show scores and weights [B H T S]."""
        view = self.window(query, memory.is_real, state, mask)
        in_heads = view._replace(
            is_allowed=view.is_allowed[:, None], factor=None if view.factor is None else view.factor[:, None]
        )
        heads = self._split(self.query(query)) * self.head_size**-0.5
        scores = heads @ memory.keys.transpose(2, 3)
        weights = by_hand(self, windowed_weights(scores, in_heads))
        context = self.dropout(weights) @ memory.values
        seen = view.is_allowed[:, None]
        show("multi-head attention", query=heads, scores=scores, weights=weights, context=context, mask=seen)
        return context.transpose(1, 2).flatten(2), view.state
