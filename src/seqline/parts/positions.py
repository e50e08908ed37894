"""Positions: where in its row a token stands, as a vector."""

from __future__ import annotations

import torch

from seqline.shapes import Bool, Float, Int, Tensor


def positions_from(start: Int[Tensor, " B"], is_real: Bool[Tensor, "B T"]) -> Int[Tensor, "B T"]:
    """Return each entry's position: the number of real entries before it in its row.

    Args:
        start: real entries read before this piece, a row.
        is_real: the piece's mask.
    """
    return start[:, None] + is_real.long().cumsum(1) - is_real.long()


def sinusoid(positions: Int[Tensor, "B T"], width: int, dtype: torch.dtype) -> Float[Tensor, "B T D"]:
    """Return PE(p, 2i) = sin(p / 10000^(2i/D)), PE(p, 2i+1) = cos of the same angle.

    Any position has a value, so nothing is too long; computed in float64 for the distinct positions only.

    Source: Vaswani et al. 2017 (1706.03762), section 3.5.
    """
    p = torch.arange(int(positions.max()) + 1, dtype=torch.float64, device=positions.device)
    rate = 10000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64, device=positions.device) / width)
    angle = p[:, None] * rate
    table = torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)[:, :width]
    return table.to(dtype)[positions]
