"""The slope of a line through measured places: how fast something grows or fades."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def slope(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Return the slope of the least-squares line; nan of fewer than two places."""
    ok = np.isfinite(x) & np.isfinite(y)
    if ok.sum() < 2:
        return float("nan")
    centred = x[ok] - x[ok].mean()
    return float((centred * (y[ok] - y[ok].mean())).sum() / (centred**2).sum())
