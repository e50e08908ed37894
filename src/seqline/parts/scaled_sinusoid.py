"""Positions for embeddings that are drawn small, to be shared with a head."""

from __future__ import annotations

from seqline.parts.positions import PositionScheme, sinusoid
from seqline.shapes import Bool, Float, Int, Tensor
from seqline.watch import show


class ScaledSinusoid(PositionScheme):
    """sqrt(D) x + PE(p): values of order 1 beside sines of order 1, where the embedding itself does not scale.

    Source: Vaswani et al. 2017 (1706.03762), sections 3.4 and 3.5.
    """

    def forward(
        self, x: Float[Tensor, "B T D"], positions: Int[Tensor, "B T"], is_real: Bool[Tensor, "B T"]
    ) -> Float[Tensor, "B T D"]:
        """Return x with its positions."""
        added = sinusoid(positions, x.shape[-1], x.dtype)
        show("positions", positions=positions, added=added)
        return x * x.shape[-1] ** 0.5 + added
