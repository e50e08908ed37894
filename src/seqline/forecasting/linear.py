"""A linear map from the last L values to the next H, for histories of any length.

    forecast = scale (W (last L values - centre) / scale + b) + centre

W and b are fitted by ridge least squares on the windows of all training spans, for several L; a history is forecast with the
largest L that fits into it. Each target column has its own map; all series share it. Gaps hold the last value before them.

*Source*: Zeng et al. 2023, "Are Transformers Effective for Time Series Forecasting?", section 4 (the linear baselines), here
solved in closed form; Hoerl and Kennard 1970, "Ridge Regression".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from seqline.forecasting.history import Array, Forecast, Mask, Past, Setting, Span, filled
from seqline.forecasting.scaling import Floor, Scale, denormalise, fit_floor, instance_scale, normalise

Normalisation: TypeAlias = Literal["window", "last", "training"]
"""window: centre and scale of the L values. last: their last value, and the scale of the training spans. training: both of
the training spans."""

RIDGE = 10.0
_Scaler: TypeAlias = Callable[[Array], Scale]
"""Windows [W L] -> centre and scale, [W 1] each."""

_MOST_LAGS = 1500
_MOST_WORK = 6e9  # windows x L^2
_CHUNK = 4096
_SEASONS = (1, 2, 3, 5, 10, 20)


@dataclass(frozen=True)
class _Map:
    """weights: [L + 1, H], the last row the constant."""

    weights: Array
    scaler: _Scaler

    def __call__(self, values: Array, horizon: int) -> Array:
        """Forecast [H] from the end of a column [N], N at least L."""
        window = values[None, len(values) - len(self.weights) + 1 :]
        scale = self.scaler(window)
        scaled = normalise(window, scale)[0]
        return denormalise(
            scaled @ self.weights[:-1, :horizon] + self.weights[-1, :horizon], Scale(*(s[0] for s in scale))
        )


def fit_linear(
    training: Sequence[Span],
    setting: Setting,
    *,
    lookbacks: Sequence[int] = (),
    normalisation: Normalisation = "window",
    ridge: float = RIDGE,
) -> Forecast:
    """Fit the maps.

    Where the training spans hold no window, or for a history shorter than the shortest L, the forecast is the last value.

    Args:
        training: the spans.
        setting: horizon and period.
        lookbacks: every L; () = 1, 2, 4, ... below a season, then 1, 2, 3, 5, 10 and 20 seasons, up to 1,500 points and
            each with at least twice as many windows as L, which are thinned evenly where W L^2 is over 6e9. An L that is given
            is fitted on every window.
        normalisation: how windows become comparable.
        ridge: added to the diagonal of the normal equations, but for the constant's.

    Returns:
        A forecast that refuses horizons longer than the fitted one with a ValueError.
    """
    columns = range(training[0].values.shape[1])
    maps = [_fit_column(_Column(training, column), setting, lookbacks, normalisation, ridge) for column in columns]

    def forecast(past: Past, horizon: int) -> Array:
        if horizon > setting.horizon:
            raise ValueError(f"the linear map was fitted for {setting.horizon} steps, not {horizon}")
        columns = zip(maps, past.values.T, past.is_observed.T, strict=True)
        return np.stack([_forecast_column(some, v[s.argmax() :], horizon) for some, v, s in columns], axis=1)

    return forecast


class _Column:
    """One target column of all training spans, from its first observed value on, gaps filled from before."""

    def __init__(self, training: Sequence[Span], column: int) -> None:
        self.spans: list[tuple[Array, Mask]] = []
        for span in training:
            values, seen = span.values[:, column : column + 1], span.mask[:, column : column + 1]
            first = int(seen.argmax())
            if seen.any():
                self.spans.append((filled(values[first:], seen[first:])[:, 0], seen[first:, 0]))

    def num_windows(self, size: int) -> int:
        """Count the windows of `size` points."""
        return sum(max(0, len(values) - size + 1) for values, _ in self.spans)

    def windows(self, lookback: int, horizon: int, most_work: float) -> Iterator[Array]:
        """Yield windows [W L+H] whose targets were observed throughout; evenly thinned, so that W L^2 is bounded."""
        size = lookback + horizon
        step = max(1, math.ceil(self.num_windows(size) * lookback**2 / most_work))
        for values, seen in self.spans:
            if len(values) < size:
                continue
            rows = sliding_window_view(values, size)[::step]
            rows = rows[sliding_window_view(seen, size)[::step, lookback:].all(axis=1)] if not seen.all() else rows
            for start in range(0, len(rows), _CHUNK):
                yield rows[start : start + _CHUNK]


def _fit_column(
    column: _Column, setting: Setting, lookbacks: Sequence[int], normalisation: Normalisation, ridge: float
) -> list[_Map]:
    """Fit one map for each L, ascending."""
    scaler = _scaler(column, normalisation)
    chosen = sorted(lookbacks) or _lookbacks(column, setting)
    most_work = math.inf if lookbacks else _MOST_WORK
    batches = ((length, column.windows(length, setting.horizon, most_work)) for length in chosen)
    fitted = (_fit_map(some, length, setting.horizon, scaler, ridge) for length, some in batches)
    return [one for one in fitted if one is not None]


def _fit_map(batches: Iterator[Array], lookback: int, horizon: int, scaler: _Scaler, ridge: float) -> _Map | None:
    """Solve (X'X + ridge I) W = X'Y over windows [W L+H]; None where there is none."""
    products = np.zeros((lookback + 1, lookback + 1 + horizon))
    count = 0
    for rows in batches:
        scaled = normalise(rows, scaler(rows[:, :lookback]))
        inputs = np.concatenate([scaled[:, :lookback], np.ones((len(rows), 1))], axis=1)
        products += inputs.T @ np.concatenate([inputs, scaled[:, lookback:]], axis=1)
        count += len(rows)
    if not count:
        return None
    left = products[:, : lookback + 1]
    left[np.arange(lookback), np.arange(lookback)] += ridge
    return _Map(np.asarray(np.linalg.solve(left, products[:, lookback + 1 :]), dtype=np.float64), scaler)


def _forecast_column(maps: Sequence[_Map], values: Array, horizon: int) -> Array:
    fitting = [one for one in maps if len(one.weights) - 1 <= len(values)]
    return fitting[-1](values, horizon) if fitting else np.repeat(values[-1], horizon)


def _lookbacks(column: _Column, setting: Setting) -> list[int]:
    part = [2**n for n in range(11) if 2**n < setting.period]
    seasons = [n * setting.period for n in _SEASONS if n * setting.period <= _MOST_LAGS]
    lengths = sorted({1, *part, *seasons})
    return [n for n in lengths if n == 1 or column.num_windows(n + setting.horizon) >= 2 * n]


def _scaler(column: _Column, normalisation: Normalisation) -> _Scaler:
    spans = [values[:, None] for values, _ in column.spans]
    if normalisation == "window" or not spans:
        floor = fit_floor(spans) if spans else Floor(np.zeros(1), np.zeros(1))
        return lambda windows: _of_windows(windows, floor)
    centre, scale = instance_scale(np.concatenate(spans))
    if normalisation == "last":
        return lambda windows: Scale(windows[:, -1:], np.broadcast_to(scale, (len(windows), 1)))
    return lambda windows: Scale(*(np.broadcast_to(part, (len(windows), 1)) for part in (centre, scale)))


def _of_windows(windows: Array, floor: Floor) -> Scale:
    """Normalise each window [W L] by itself: each is a column of one history."""
    return Scale(*(part[:, None] for part in instance_scale(windows.T, floor=floor)))
