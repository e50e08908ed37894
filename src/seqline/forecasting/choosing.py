"""Whether the level of a history says something of what comes, or each history is better scaled by itself.

Where a level has a meaning of its own (a temperature, that returns to that of the season), a forecaster that sees all histories
on one scale knows more; where series wander, or each has a level of its own, it must not learn any. Two linear forecasts decide,
fitted on the first part of the training spans and scored on the rest of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from seqline.data.series import Panel
from seqline.forecasting.coder import fit_coder, series_unit
from seqline.forecasting.inputs import InputOptions, Inputs
from seqline.forecasting.windows import Windows, training_windows
from seqline.models.forecaster import History
from seqline.models.skips import MOST_LAGS, LinearSkip

MOST_WINDOWS = 2048
SHARE_SCORED = 0.25
SEASONS_SEEN = 7
GAIN = 0.95  # a forecast that moves with its history is given up for a twentieth, which is more than chance makes of it
SMALLEST = 0.01  # of the variance: below it both forecasts are right


class Errors(NamedTuple):
    """Mean squared errors of linear forecasts in units of the variance of each series; NaN where there was none.

    own: of histories scaled by themselves. alike: of histories scaled alike.
    """

    own: float
    alike: float

    @property
    def level_counts(self) -> bool:
        """Whether histories are better scaled alike, by enough to give up that a forecast moves with its history."""
        return self.own > SMALLEST and self.alike < GAIN * self.own

    def __str__(self) -> str:
        """Say what was found."""
        if self.level_counts:
            what = "all histories are scaled alike, for their level says something"
        else:
            what = "each history is scaled by itself"
        if math.isnan(self.own):
            return what
        return f"{what} (squared error of a linear forecast: {self.own:.3g} by itself, {self.alike:.3g} alike)"


def squared_errors(panel: Panel, ends: Sequence[int], *, horizon: int, longest: int, season: int) -> Errors:
    """Measure two linear forecasts of the last quarter of the training spans: of histories scaled by themselves, and alike.

    Args:
        panel: the series.
        ends: where the training span of each ends; nothing after it is read.
        horizon: steps to forecast.
        longest: most points of a history; seven seasons or horizons are enough to tell.
        season: steps, 1 = none.

    Returns:
        The errors; NaN where the spans are too short to tell.
    """
    longest = min(longest, SEASONS_SEEN * max(season, horizon))
    firsts = np.array([end - max(horizon, int(end * SHARE_SCORED)) for end in ends])
    masks = [one.is_observed[:end] for one, end in zip(panel.series, ends, strict=True)]
    fitting = training_windows(
        [mask[: max(0, first)] for mask, first in zip(masks, firsts.tolist(), strict=True)],
        horizon,
        longest,
        full_share=1.0,
    )
    scored = training_windows(masks, horizon, longest, full_share=1.0)
    inside = np.flatnonzero(scored.origin >= np.maximum(firsts, 1)[scored.series]) if len(scored) else np.zeros(0)
    if not len(fitting) or not len(inside):
        return Errors(float("nan"), float("nan"))
    coder = fit_coder(panel, np.maximum(firsts, 0).tolist(), horizon=horizon, longest=longest, season=season)
    units = np.stack(
        [
            series_unit(one.values[:end], mask, coder.floor)
            for one, end, mask in zip(panel.series, ends, masks, strict=True)
        ]
    )
    fitted = fitting.draw(0, 0, fitting.order(0, 0)[:MOST_WINDOWS])
    count = min(len(inside), MOST_WINDOWS)
    wanted = scored.draw(0, 0, inside[np.arange(count) * len(inside) // count])

    num_recent = max(1, min(season, longest, MOST_LAGS))

    def error(has_instance_norm: bool) -> float:
        inputs = Inputs(coder, InputOptions(1, num_recent, has_instance_norm), panel, 0)
        return _squared_error(inputs, fitted, wanted, units)

    return Errors(error(True), error(False))


def _squared_error(inputs: Inputs, fitted: Windows, scored: Windows, units: np.ndarray) -> float:
    """Fit a linear forecast on windows, and return its error on others."""
    shape, options = inputs.coder.vocabulary, inputs.options
    skip = LinearSkip(
        shape.num_targets, options.num_recent, shape.num_known, shape.horizon, has_level=not options.has_instance_norm
    ).double()

    def read(windows: Windows) -> tuple[History, torch.Tensor, torch.Tensor]:
        batch = inputs.batch(windows, shape.horizon, has_target=True, dtype=torch.float64)
        unit = torch.tensor(batch.scale.scale / units[windows.series][:, None])
        return batch.history, batch.target, batch.is_wanted * unit**2

    history, target, weight = read(fitted)
    skip.fit(history.recent, history.num_recent, history.future, target, weight)
    history, target, weight = read(scored)
    found = skip(history.recent, history.num_recent, history.future)
    return float(((found - target) ** 2 * weight).sum() / (weight > 0).sum().clamp(min=1))
