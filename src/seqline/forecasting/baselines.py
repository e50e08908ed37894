"""The forecasts that any model has to beat: naive, seasonal naive, drift, mean, climatology, and a linear map.

Each is fitted on training spans and then forecasts from any history of one point or more:

- naive: the last value.
- seasonal naive: the value one season before, or more seasons where that was not observed; the last value where the history
  is shorter than a season.
- drift: the line through the first and the last value, carried on; the last value where there is one.
- mean: of the history.
- climatology: the mean at the same place of the calendar in the training span (see climatology.py).
- linear: a linear map of the last values (see linear.py).

A forecast is made of what is handed in and of nothing else. Quantiles add what the forecast was off by in the training span.

*Source*: Hyndman and Athanasopoulos 2021, "Forecasting: Principles and Practice", section 5.2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from seqline.errors import UserError, did_you_mean
from seqline.forecasting.climatology import fit_climatology
from seqline.forecasting.history import Array, Forecast, Past, Setting, Span, as_past, first_seen, last_seen
from seqline.forecasting.linear import fit_linear
from seqline.forecasting.residuals import Residuals, fit_residuals

__all__ = ["BASELINES", "Baseline", "Setting", "Span", "fit", "fit_baselines"]

Make: TypeAlias = Callable[[Sequence[Span], Setting], Forecast]
"""(training spans, what is to be forecast) -> a forecast."""


@dataclass(frozen=True)
class Baseline:
    """A fitted baseline. name: as in `BASELINES`."""

    name: str
    forecast: Forecast
    residuals: Residuals

    def predict(
        self,
        history: ArrayLike,
        horizon: int,
        *,
        is_observed: ArrayLike | None = None,
        when: ArrayLike | None = None,
        series: int | None = None,
    ) -> Array:
        """Forecast the steps after a history.

        Args:
            history: [N F], N at least 1, in the units of the series.
            horizon: H, steps to forecast, 1 or more; up to the fitted one for `linear`.
            is_observed: [N F]; None = all. Each column needs one observed point.
            when: [H] of the steps forecast, what `Span.when` is of the training span; climatology looks at it, and gives
                the mean of the training span without it.
            series: number of the training span that this history belongs to; None = none of them, or the only one.

        Returns:
            [H F] finite, in the units of the series.

        Raises:
            ValueError: other shapes, nothing observed, values not finite, or a horizon that was not fitted.
        """
        return self.forecast(as_past(history, horizon, is_observed, when, series), horizon)

    def quantiles(
        self,
        history: ArrayLike,
        horizon: int,
        levels: Sequence[float],
        *,
        is_observed: ArrayLike | None = None,
        when: ArrayLike | None = None,
        series: int | None = None,
    ) -> Array:
        """Forecast quantiles: the forecast and the quantiles of what it was off by, step by step, in the training span.

        Args:
            history: as in `predict`, and so are `horizon`, `is_observed`, `when` and `series`.
            horizon: up to the fitted one.
            levels: over 0 and under 1.

        Returns:
            [H F Q] in the order of `levels`; they do not cross.

        Raises:
            ValueError: as in `predict`.
        """
        past = as_past(history, horizon, is_observed, when, series)
        return self.residuals.around(self.forecast(past, horizon), past, levels)


def fit(name: str, training: Sequence[Span], setting: Setting) -> Baseline:
    """Fit one baseline.

    Args:
        name: a key of `BASELINES`.
        training: the training span of each series, and nothing after it; one point or more each, the same columns in all.
        setting: horizon and period.

    Raises:
        UserError: a name that is none.
        ValueError: no training span or an empty one, or a horizon or period under 1.
    """
    if name not in BASELINES:
        raise UserError(f"there is no baseline {name!r}", where="baseline", fix=did_you_mean(name, BASELINES))
    if not training or not all(len(span.values) for span in training) or min(setting.horizon, setting.period) < 1:
        raise ValueError(
            f"expected training spans of a point or more, horizon and period, got {len(training)}, {setting}"
        )
    forecast = BASELINES[name](training, setting)
    return Baseline(name, forecast, fit_residuals(forecast, training, setting))


def fit_baselines(training: Sequence[Span], setting: Setting) -> dict[str, Baseline]:
    """Fit every baseline, in the order of `BASELINES`; see `fit`."""
    return {name: fit(name, training, setting) for name in BASELINES}


def _naive(past: Past, horizon: int) -> Array:
    return np.repeat(past.values[-1:], horizon, axis=0)  # a gap at the end holds the last observed value


def _seasonal_naive(past: Past, horizon: int, period: int) -> Array:
    """Repeat the last season; at a phase never observed in it, the season before, and so on back."""
    if len(past.values) < period:
        return _naive(past, horizon)
    num_seasons = len(past.values) // period
    shape = (num_seasons, period, past.values.shape[1])
    values = past.values[-num_seasons * period :].reshape(shape)
    seen = past.is_observed[-num_seasons * period :].reshape(shape)
    newest = num_seasons - 1 - seen[::-1].argmax(axis=0)
    season = np.take_along_axis(values, newest[None], axis=0)[0]
    season = np.where(seen.any(axis=0), season, past.values[-1])
    return season[np.arange(horizon) % period]


def _drift(past: Past, horizon: int) -> Array:
    columns = np.arange(past.values.shape[1])
    first, last = first_seen(past.is_observed), last_seen(past.is_observed)
    start, end = past.values[first, columns], past.values[last, columns]
    slope = (end - start) / np.maximum(last - first, 1)
    steps = np.arange(horizon)[:, None] + (len(past.values) - last)
    return end + slope * steps


def _mean(past: Past, horizon: int) -> Array:
    seen = past.is_observed
    start = past.values[0]  # from here on, so that the mean of a constant is that constant to the last bit
    mean = start + np.where(seen, past.values - start, 0.0).sum(axis=0) / seen.sum(axis=0)
    return np.repeat(mean[None], horizon, axis=0)


BASELINES: dict[str, Make] = {
    "naive": lambda training, setting: _naive,
    "seasonal naive": lambda training, setting: lambda past, horizon: _seasonal_naive(past, horizon, setting.period),
    "drift": lambda training, setting: _drift,
    "mean": lambda training, setting: _mean,
    "climatology": fit_climatology,
    "linear": fit_linear,
}
