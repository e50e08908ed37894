"""What a baseline is fitted on and what it forecasts from: checked records of plain arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]
Times: TypeAlias = NDArray[np.int64]


class Span(NamedTuple):
    """The training span of one series, and nothing after it.

    values: [N F] in the units of the series; what stands at unobserved points does not matter.
    is_observed: [N F]; None = all.
    when: [N] local times as microseconds since 1970, or row numbers; None = unknown.
    """

    values: Array
    is_observed: Mask | None = None
    when: Times | None = None

    @property
    def mask(self) -> Mask:
        """Which points were observed, [N F]."""
        return np.ones(self.values.shape, bool) if self.is_observed is None else self.is_observed


class Setting(NamedTuple):
    """What is to be forecast. horizon: steps, 1 or more. period: steps in a season, 1 = no season.

    is_calendar: `when` holds local times; False = row numbers, whose calendar is the season alone.
    """

    horizon: int
    period: int
    is_calendar: bool = True


class Past(NamedTuple):
    """A history and what is known of the steps to forecast.

    values: [N F] finite, N at least 1; an unobserved point holds the last observed value before it, or the first one after.
    is_observed: [N F], at least one of each column.
    when: [H] of the steps to forecast; None = unknown.
    series: number of its training span; None = unknown.
    """

    values: Array
    is_observed: Mask
    when: Times | None
    series: int | None


Forecast: TypeAlias = Callable[[Past, int], Array]
"""(history, horizon H) -> [H F] finite."""


def as_past(
    history: ArrayLike,
    horizon: int,
    is_observed: ArrayLike | None = None,
    when: ArrayLike | None = None,
    series: int | None = None,
) -> Past:
    """Check a history and fill its gaps with what came before.

    Raises:
        ValueError: other shapes, a column without an observed point, an observed value that is not finite, a horizon
            under 1.
    """
    values = np.asarray(history, dtype=np.float64)
    if values.ndim != 2 or not len(values) or horizon < 1:
        raise ValueError(f"expected a history [N F] of one point or more and a horizon, got {values.shape}, {horizon}")
    seen = np.ones(values.shape, bool) if is_observed is None else np.asarray(is_observed, dtype=bool)
    times = None if when is None else np.asarray(when, dtype=np.int64)
    if seen.shape != values.shape or (times is not None and times.shape != (horizon,)):
        shape = None if times is None else times.shape
        raise ValueError(f"mask {seen.shape} or times {shape} do not fit history {values.shape} and horizon {horizon}")
    if not seen.any(axis=0).all():
        raise ValueError("a column of the history has no observed point")
    if not np.isfinite(values[seen]).all():
        raise ValueError("an observed value of the history is not finite")
    return Past(values if seen.all() else filled(values, seen), seen, times, series)


def filled(values: Array, seen: Mask) -> Array:
    """Return values [N F] with each unobserved point as the last observed before it, or the first observed of the column.

    A column without any observed point becomes 0.
    """
    rows = np.arange(len(values))[:, None]
    last = np.maximum.accumulate(np.where(seen, rows, -1), axis=0)
    source = np.where(last < 0, seen.argmax(axis=0), last)
    return np.where(seen.any(axis=0), np.take_along_axis(values, source, axis=0), 0.0)


def first_seen(seen: Mask) -> NDArray[np.intp]:
    """Return the first observed row of each column, [F]; 0 where there is none."""
    return seen.argmax(axis=0)


def last_seen(seen: Mask) -> NDArray[np.intp]:
    """Return the last observed row of each column, [F]; the last row where there is none."""
    return len(seen) - 1 - seen[::-1].argmax(axis=0)
