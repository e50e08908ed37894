"""Residual connections and where the normalization stands."""

from __future__ import annotations

from torch import nn

from seqline.shapes import Float, Tensor


class PostNorm(nn.Module):
    """LayerNorm(x + dropout(f(x))), the arrangement of Vaswani et al. 2017 (1706.03762), section 3.1 and 5.4."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "B T D"], change: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """Add the sub-layer's output f(x) = `change` to its input and normalize."""
        return self.norm(x + self.dropout(change))
