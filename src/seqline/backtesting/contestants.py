"""What takes part in a backtest: the baselines, and models of runs, behind one interface."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from seqline.backtesting.plan import Plan
from seqline.data.series import Floats, Panel
from seqline.forecasting.baselines import Baseline, fit_baselines
from seqline.forecasting.history import as_past
from seqline.forecasting.windows import Windows
from seqline.predictor import Windowed

_AT_ONCE = 256


class Forecasted(NamedTuple):
    """Forecasts of windows. mean: [W H F], the point forecast. quantiles: [W H F Q]; None = it gives none."""

    mean: Floats
    quantiles: Floats | None


Done = Callable[[int], None]
"""Told how many more windows are forecast."""


class Contestant(Protocol):
    """What forecasts windows. name: in the table. is_baseline: whether a model is held against it."""

    @property
    def name(self) -> str:
        """As the table calls it."""
        ...

    @property
    def is_baseline(self) -> bool:
        """Whether models are held against it."""
        ...

    def given(self, levels: Sequence[float]) -> tuple[float, ...]:
        """Return those of the levels for which it gives quantiles."""
        ...

    def forecast(self, plan: Plan, levels: Sequence[float], on_done: Done) -> Forecasted:
        """Forecast every window of a plan from what lies before its origin."""
        ...


class Forecasting(Protocol):
    """What a contestant needs of a model; `seqline.predictor.Predictor` is one."""

    def windows(
        self, panel: Panel, windows: Windows, horizon: int | None = None, quantiles: Sequence[float] = ()
    ) -> Windowed:
        """Forecast from many origins."""
        ...


class Model:
    """A trained model.

    Args:
        name: in the table.
        predictor: the model.
        levels: it gives quantiles between the least and the greatest of them; () = any, None = none.
    """

    is_baseline = False

    def __init__(self, name: str, predictor: Forecasting, levels: Sequence[float] | None) -> None:
        self.name, self.predictor, self.levels = name, predictor, levels

    def given(self, levels: Sequence[float]) -> tuple[float, ...]:
        """See `Contestant`."""
        if self.levels is None:
            return ()
        low, high = min(self.levels, default=0.0), max(self.levels, default=1.0)
        return tuple(level for level in levels if low <= level <= high)

    def forecast(self, plan: Plan, levels: Sequence[float], on_done: Done) -> Forecasted:
        """See `Contestant`."""
        windows, horizon = plan.windows, plan.asked.horizon
        means: list[Floats] = []
        quantiles: list[Floats] = []
        for start in range(0, len(windows.origin), _AT_ONCE):
            some = windows.take(np.arange(start, min(start + _AT_ONCE, len(windows.origin))))
            found = self.predictor.windows(plan.panel, some, horizon, levels)
            means.append(found.mean)
            if levels:
                quantiles.append(np.stack([found.quantiles[level] for level in levels], axis=-1))
            on_done(len(some.origin))
        return Forecasted(np.concatenate(means), np.concatenate(quantiles) if quantiles else None)


class Fitted:
    """A baseline, fitted on the spans before the backtest."""

    is_baseline = True

    def __init__(self, baseline: Baseline) -> None:
        self.baseline = baseline

    @property
    def name(self) -> str:
        """See `Contestant`."""
        return self.baseline.name

    def given(self, levels: Sequence[float]) -> tuple[float, ...]:
        """See `Contestant`: all, or none where the training spans hold no window to measure residuals in."""
        residuals = self.baseline.residuals.values
        return tuple(levels) if np.isfinite(residuals).any(axis=0).all() and residuals.size else ()

    def forecast(self, plan: Plan, levels: Sequence[float], on_done: Done) -> Forecasted:
        """See `Contestant`."""
        horizon, windows = plan.asked.horizon, plan.windows
        local = [plan.local(one.times) for one in plan.panel.series]
        means: list[Floats] = []
        quantiles: list[Floats] = []
        for n, origin in zip(windows.series.tolist(), windows.origin.tolist(), strict=True):
            one = plan.panel.series[n]
            when = local[n][origin : origin + horizon]
            past = as_past(one.values[:origin], horizon, one.is_observed[:origin], when, n)
            means.append(self.baseline.forecast(past, horizon))
            if levels:
                quantiles.append(self.baseline.residuals.around(means[-1], past, levels))
            on_done(1)
        return Forecasted(np.stack(means), np.stack(quantiles) if quantiles else None)


def baselines_of(plan: Plan) -> list[Fitted]:
    """Fit every baseline on the spans before the backtest."""
    return [Fitted(one) for one in fit_baselines(plan.training, plan.setting).values()]
