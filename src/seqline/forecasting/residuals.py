"""Quantiles around a point forecast, from what it was off by at rolling origins of the training span.

Residuals are kept relative to the standard deviation of their training span (with a floor, see scaling.py), step by step, so
that one set serves series of all sizes. The forecast plus the empirical quantile times the scale of the series, or that of the
history where the series is unknown, is the quantile: they cannot cross, and a forecast that was never off has all its
quantiles on itself.

*Source*: Hyndman and Athanasopoulos 2021, section 5.5, with the empirical distribution of the residuals in place of a normal one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from seqline.forecasting.history import Array, Forecast, Past, Setting, Span, as_past
from seqline.forecasting.scaling import Floor, fit_floor, instance_scale

_MOST_ORIGINS = 500


class Residuals(NamedTuple):
    """values: [R H F] relative to the scale, each step and column ascending; NaN, at the end, where nothing was observed.

    scales: [S F] of the training spans. floor: of the scale of other series. Without any residual (training spans too short
    for a window) there are no quantiles.
    """

    values: Array
    scales: Array
    floor: Floor

    def around(self, forecast: Array, past: Past, levels: Sequence[float]) -> Array:
        """Return the quantiles [H F Q] of a forecast [H F].

        Raises:
            ValueError: no residuals, more steps than were fitted, or a level out of range.
        """
        horizon = len(forecast)
        counts = np.isfinite(self.values).sum(axis=0)[:horizon]
        if horizon > self.values.shape[1] or not counts.size or not counts.all():
            raise ValueError(f"no residuals for {horizon} steps: the training spans hold no such window")
        if not all(0 < level < 1 for level in levels):
            raise ValueError(f"expected levels between 0 and 1, got {tuple(levels)}")
        scale = self._scale(past)
        place = np.asarray(levels, dtype=np.float64) * (counts[..., None] - 1)
        below = np.floor(place).astype(np.int64)
        sorted_last = np.moveaxis(self.values[:, :horizon], 0, -1)
        low = np.take_along_axis(sorted_last, below, axis=-1)
        high = np.take_along_axis(sorted_last, np.minimum(below + 1, counts[..., None] - 1), axis=-1)
        # Never under the lower neighbour nor over the upper one, whatever rounding does.
        return forecast[..., None] + scale[:, None] * np.clip(low + (place - below) * (high - low), low, high)

    def _scale(self, past: Past) -> Array:
        number = 0 if len(self.scales) == 1 else past.series
        if number is not None:
            return self.scales[number]
        return instance_scale(past.values, past.is_observed, floor=self.floor).scale


def fit_residuals(forecast: Forecast, training: Sequence[Span], setting: Setting) -> Residuals:
    """Measure a forecast at up to 500 origins, evenly spread over the training spans.

    A history is all that lies before its origin: two seasons or more where the span has them.

    Args:
        forecast: what is measured; one that was fitted on these spans is a little too sure of itself.
        training: the spans.
        setting: horizon and period.
    """
    floor = fit_floor([span.values for span in training], [span.mask for span in training])
    origins = [_origins(len(span.values), setting) for span in training]
    ends = np.cumsum([len(some) for some in origins])
    chosen = np.unique(np.linspace(0, ends[-1] - 1, min(ends[-1], _MOST_ORIGINS)).astype(np.int64))
    numbers = np.searchsorted(ends, chosen, side="right").tolist()
    scales = np.stack([instance_scale(span.values, span.mask, floor=floor).scale for span in training])
    kept: list[Array] = []
    for place, n in zip(chosen.tolist(), numbers, strict=True):
        origin = origins[n][place - int(ends[n]) + len(origins[n])]
        off = _residual(forecast, training[n], n, origin, setting.horizon)
        if off is not None:
            kept.append(off / scales[n])
    values = np.sort(np.stack(kept), axis=0) if kept else np.zeros((0, setting.horizon, scales.shape[1]))
    return Residuals(values, scales, floor)


def _origins(length: int, setting: Setting) -> range:
    last = length - setting.horizon
    return range(max(1, min(2 * setting.period, last)), last + 1)


def _residual(forecast: Forecast, span: Span, number: int, origin: int, horizon: int) -> Array | None:
    """Return what the forecast from an origin was off by, [H F]; None where nothing was observed before it."""
    seen = span.mask
    if not seen[:origin].any(axis=0).all():
        return None
    when = None if span.when is None else span.when[origin : origin + horizon]
    past = as_past(span.values[:origin], horizon, seen[:origin], when, number)
    off = span.values[origin : origin + horizon] - forecast(past, horizon)
    return np.where(seen[origin : origin + horizon], off, np.nan)
