"""How good forecasts of series are, in the units of the series: errors of points, quantiles and intervals.

Everything is a sum over observed points, divided once: `Tally` takes windows in any batches and any order and gives the same
numbers to the last bit. A point that was not observed counts nowhere, whatever stands in its place. What is not defined is
None, never infinite.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

_ROUNDING = 4 * np.finfo(np.float64).eps  # differences up to this share of the values are rounding


class Interval(NamedTuple):
    """How a central interval did. level: the share it should hold. coverage: the share it held. width: its mean width.

    Coverage: the mean of [lower <= y <= upper]. Width: the mean of upper - lower, in the unit of y.

    Source: Gneiting and Raftery 2007, section 6.2.
    """

    level: float
    coverage: float
    width: float


class SeriesScore(NamedTuple):
    """Errors of forecasts f of observed points y; N points; each point counts alike, whichever window and series it is of.

    num_points: N, observed target points. num_windows: forecasts scored.
    mae: sum |y - f| / N.
    mse: sum (y - f)^2 / N. rmse: its root.
    smape: sum 200 |y - f| / (|y| + |f|) / N, 0 to 200, a point with y = f = 0 adding 0; None where every y is 0.
        Source: Makridakis, Spiliotis and Assimakopoulos 2020, "The M4 Competition", section 2.3; times 100.
    mase: sum |y - f| / scale / N over the points whose series has a scale, `seasonal_scale` of its training span; None where
        none has. Source: Hyndman and Koehler 2006, "Another look at measures of forecast accuracy", section 2.4.
    num_scaled: the points that count for mase.
    pinball: (level q, mean of max(q (y - f_q), (q - 1) (y - f_q))) for each quantile.
        Source: Koenker and Bassett 1978, "Regression Quantiles"; Gneiting and Raftery 2007, section 6.1.
    crps: 2 sum over levels q of w_q pinball_q, w_q the share of 0 to 1 that is nearest to q: the integral over all levels, as far
        as these tell it (of the true normal forecast 1 % too high by eleven levels from 0.05 to 0.95). Source: Gneiting and
        Raftery 2007, section 4.2; Jordan, Krüger and Lerch 2019, section 2 (the quantile decomposition).
    intervals: one for each pair of levels q and 1 - q, the widest first.
    """

    num_points: int
    num_windows: int
    mae: float | None
    mse: float | None
    rmse: float | None
    smape: float | None
    mase: float | None
    num_scaled: int
    pinball: tuple[tuple[float, float], ...]
    crps: float | None
    intervals: tuple[Interval, ...]


class Tally:
    """Adds up the errors of forecasts, window by window.

    Args:
        levels: of the quantile forecasts, ascending, over 0 and under 1; none = point forecasts only.

    Raises:
        ValueError: levels in another order or out of range.
    """

    def __init__(self, levels: Sequence[float] = ()) -> None:
        steps = [0.0, *levels, 1.0]
        if not all(a < b for a, b in pairwise(steps)):
            raise ValueError(f"expected ascending levels between 0 and 1, got {tuple(levels)}")
        self.levels = tuple(float(level) for level in levels)
        middles = [(a + b) / 2 for a, b in pairwise(self.levels)]
        self._shares = [b - a for a, b in pairwise([0.0, *middles, 1.0])]
        # Round, so that 1 - 0.9 meets 0.1.
        place = {round(level, 9): n for n, level in enumerate(self.levels)}
        pairs = [(n, place.get(round(1 - level, 9), n)) for n, level in enumerate(self.levels) if level < 0.5]
        self._pairs = [(low, high) for low, high in pairs if low != high]
        self._sums: dict[str, list[Array]] = {}

    def add(
        self,
        target: ArrayLike,
        forecast: ArrayLike,
        *,
        is_observed: ArrayLike | None = None,
        quantiles: ArrayLike | None = None,
        scale: ArrayLike | None = None,
    ) -> None:
        """Add a batch of forecasts.

        Args:
            target: [W ...] what came; the axes after the first are the points of a window, such as [W H F].
            forecast: [W ...] point forecasts.
            is_observed: [W ...] which targets count; None = all.
            quantiles: [W ... Q] one for each of `levels`; needed where there are levels.
            scale: what `seasonal_scale` gave, broadcast against [W ...]; NaN where there is none. None = nowhere.

        Raises:
            ValueError: other shapes than the target's; an observed target or its forecast that is not finite.
        """
        wanted, given = _as_floats(target), _as_floats(forecast)
        seen = np.ones(wanted.shape, bool) if is_observed is None else np.asarray(is_observed, dtype=bool)
        if wanted.ndim < 1 or not (wanted.shape == given.shape == seen.shape):
            raise ValueError(f"target {wanted.shape}, forecast {given.shape} and mask {seen.shape} differ in shape")
        y, f = _at_seen(wanted, seen, "target"), _at_seen(given, seen, "forecast")
        error = np.abs(y - f)
        size = np.abs(y) + np.abs(f)
        self._keep("points", seen, seen)
        self._keep("absolute", error, seen)
        self._keep("squared", error**2, seen)
        self._keep("relative", np.divide(200 * error, size, out=np.zeros_like(size), where=size > 0), seen)
        self._keep("not zero", y != 0, seen)
        self._add_scaled(error, seen, scale)
        self._add_quantiles(y, seen, quantiles)

    def result(self) -> SeriesScore:
        """Divide the sums."""
        total = {name: math.fsum(np.concatenate(parts).tolist()) for name, parts in self._sums.items()}
        points = total.get("points", 0.0)
        mse = _share(total.get("squared", 0.0), points)
        return SeriesScore(
            num_points=int(points),
            num_windows=sum(map(len, self._sums.get("points", []))),
            mae=_share(total.get("absolute", 0.0), points),
            mse=mse,
            rmse=None if mse is None else math.sqrt(mse),
            smape=_share(total["relative"], points) if total.get("not zero") else None,
            mase=_share(total.get("scaled", 0.0), total.get("scaled points", 0.0)),
            num_scaled=int(total.get("scaled points", 0.0)),
            pinball=tuple((q, total[f"pinball {q}"] / points) for q in self.levels) if points else (),
            crps=_share(total.get("crps", 0.0), points) if self.levels else None,
            intervals=tuple(self._interval(low, high, total, points) for low, high in self._pairs) if points else (),
        )

    def _interval(self, low: int, high: int, total: dict[str, float], points: float) -> Interval:
        level = round(self.levels[high] - self.levels[low], 9)
        return Interval(level, total[f"inside {low}"] / points, total[f"width {low}"] / points)

    def _add_scaled(self, error: Array, seen: Mask, scale: ArrayLike | None) -> None:
        by = np.broadcast_to(np.nan if scale is None else _as_floats(scale), error.shape)
        is_scaled = seen & np.isfinite(by) & (by > 0)
        self._keep("scaled", error / np.where(is_scaled, by, 1.0), is_scaled)
        self._keep("scaled points", is_scaled, is_scaled)

    def _add_quantiles(self, y: Array, seen: Mask, quantiles: ArrayLike | None) -> None:
        """Add pinball losses, their sum over the levels, and intervals."""
        if not self.levels and quantiles is None:
            return
        values = None if quantiles is None else _as_floats(quantiles)
        if values is None or values.shape != (*y.shape, len(self.levels)):
            shape = None if values is None else values.shape
            raise ValueError(f"expected quantiles of shape {(*y.shape, len(self.levels))}, got {shape}")
        values = _at_seen(values, np.broadcast_to(seen[..., None], values.shape), "quantile")
        total = np.zeros_like(y)
        for n, (q, share) in enumerate(zip(self.levels, self._shares, strict=True)):
            rest = y - values[..., n]
            loss = np.maximum(q * rest, (q - 1) * rest)
            total += 2 * share * loss
            self._keep(f"pinball {q}", loss, seen)
        for low, high in self._pairs:
            self._keep(f"inside {low}", (values[..., low] <= y) & (y <= values[..., high]), seen)
            self._keep(f"width {low}", values[..., high] - values[..., low], seen)
        self._keep("crps", total, seen)

    def _keep(self, name: str, values: NDArray[np.generic], seen: Mask) -> None:
        """Keep the sum of each window; they are added exactly, hence in any order, when all are there."""
        rows = np.where(seen, values, 0).astype(np.float64).reshape(len(seen), math.prod(seen.shape[1:]))
        self._sums.setdefault(name, []).append(rows.sum(axis=1))


def score_forecasts(
    target: ArrayLike,
    forecast: ArrayLike,
    *,
    is_observed: ArrayLike | None = None,
    quantiles: ArrayLike | None = None,
    levels: Sequence[float] = (),
    scale: ArrayLike | None = None,
) -> SeriesScore:
    """Score one batch of forecasts that is all there is; see `Tally.add` for what is given and raised."""
    tally = Tally(levels)
    tally.add(target, forecast, is_observed=is_observed, quantiles=quantiles, scale=scale)
    return tally.result()


def seasonal_scale(training: ArrayLike, period: int, is_observed: ArrayLike | None = None) -> Array:
    """Return the mean |y_t - y_(t-m)| of each column of a training span: how far the seasonal naive forecast is off in it.

    Args:
        training: [N F], the training span of one series and nothing after it.
        period: m, steps in a season; 1 = compare with the value before.
        is_observed: [N F]; a pair counts where both points were observed. None = all.

    Returns:
        [F] over 0, or NaN: no pair, or a column that only repeats itself (but for rounding).

    Raises:
        ValueError: a period under 1.

    *Source*: Hyndman and Koehler 2006, section 2.4, with the seasonal naive forecast as the M4 competition has it.
    """
    values = _as_floats(training)
    if values.ndim != 2 or period < 1:
        raise ValueError(f"expected a training span [N F] and a period of 1 or more, got {values.shape} and {period}")
    seen = np.ones(values.shape, bool) if is_observed is None else np.asarray(is_observed, dtype=bool)
    values = _at_seen(values, seen, "training value")
    both = seen[period:] & seen[:-period]
    steps = np.where(both, np.abs(values[period:] - values[:-period]), 0.0)
    count = both.sum(axis=0)
    mean = np.divide(steps.sum(axis=0), count, out=np.full(values.shape[1], np.nan), where=count > 0)
    largest = np.abs(values).max(axis=0, initial=0.0)
    return np.where(mean > _ROUNDING * largest, mean, np.nan)


def _as_floats(values: ArrayLike) -> Array:
    return np.asarray(values, dtype=np.float64)


def _at_seen(values: Array, seen: Mask, name: str) -> Array:
    """Return the values with 0 where nothing was observed."""
    kept = np.where(seen, values, 0.0)
    if not np.isfinite(kept).all():
        raise ValueError(f"a {name} of an observed point is not finite")
    return kept


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None
