"""What is more than chance: numbers of sentences drawn anew, and the interval of whatever is computed of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Rows: TypeAlias = NDArray[np.intp]


class Estimate(NamedTuple):
    """A number and its 95 % interval by bootstrap."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """Write all three."""
        return f"{self.value:.3g} (95 % interval {self.low:.3g} to {self.high:.3g})"

    def above(self, limit: float) -> bool | None:
        """Tell whether it lies above a limit; None where the interval holds the limit."""
        return None if self.low <= limit <= self.high or self.low != self.low else self.low > limit


def bootstrap(value: Callable[[Rows], float], count: int, *, resamples: int = 500, seed: int = 1) -> Estimate:
    """Estimate a number that is computed of some of `count` rows.

    Args:
        value: rows -> a number; rows may stand several times.
        count: of rows.
        resamples: how often rows are drawn.
        seed: of the draws.

    *Source*: Efron & Tibshirani 1993, percentile intervals.
    """
    draws = np.random.Generator(np.random.PCG64(seed))
    found = np.sort([value(draws.integers(count, size=count)) for _ in range(resamples)])
    cut = resamples // 40
    return Estimate(value(np.arange(count)), float(found[cut]), float(found[-1 - cut]))


def slope(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Return the slope of the least-squares line; nan of fewer than two places."""
    ok = np.isfinite(x) & np.isfinite(y)
    if ok.sum() < 2:
        return float("nan")
    centred = x[ok] - x[ok].mean()
    return float((centred * (y[ok] - y[ok].mean())).sum() / (centred**2).sum())
