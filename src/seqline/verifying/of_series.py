"""A forecasting run under the laws: its model in float64, the precision that is served, and what users get."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from seqline.data.series import Panel
from seqline.evaluation.subject import Finding, Worst
from seqline.evaluation.verify import Law
from seqline.predictor import Forecasts, Predictor
from seqline.run_folder import Run
from seqline.verifying.checks import Findings, Seen, check_laws
from seqline.verifying.forecast_laws import FORECAST_LAWS, ForecastSubject, laws_of
from seqline.verifying.made_series import FEW_SERIES, choose

MOST_SERIES, LARGE_MODEL = 8, 20_000_000  # from so many parameters on, few series
TOLERANCE = 1e-5
"""In the precision that is served, of the scale of a history."""


def examine(run: Run, data: Any, findings: Findings, reading: Mapping[str, Any]) -> Seen:
    """Check a forecasting run on series.

    Args:
        run: for forecasting.
        data: the user's series, as `Predictor.read` takes them; None: made in the run's scales.
        findings: where each check is taken down.
        reading: what is other in the reading of `data` than in that of the run's own: fields of `SeriesOptions`.

    Raises:
        UserError: series that do not fit the run, or none that can be forecast.
    """
    predictor = Predictor.of(run)
    most = MOST_SERIES if sum(p.numel() for p in run.model.parameters()) < LARGE_MODEL else FEW_SERIES
    given = None if data is None else predictor.read(data, replace(predictor.options, **reading))
    panel, windows, notes = choose(predictor.coder, given, most)
    exact = Predictor(copy.deepcopy(run.model).double(), run.series, run.config)
    names = tuple(
        f"{panel.series[n].id or 'the series'} ({length:,} points)"
        for n, length in zip(windows.series.tolist(), windows.lengths.tolist(), strict=True)
    )
    with torch.no_grad():
        check_laws(laws_of(exact), ForecastSubject(exact, panel, windows), findings, _named(names))
        check_laws(SERVED_LAWS, ForecastSubject(predictor, panel, windows), findings, _named(names))
    return Seen(names, notes if given is None else (*given.notes, *notes))


def _named(names: tuple[str, ...]) -> Callable[[int | None], str]:
    return lambda row: "a history" if row is None else f"the history of {names[row]}"


def served_law(subject: ForecastSubject) -> Finding:
    """In the precision that is served a forecast is that of its history alone, but for rounding."""
    worst, together = Worst("float32"), subject.parameters(subject.rows)
    for row in subject.rows:
        worst.compare(together[row], subject.parameters([row])[0], "in a batch", row)
    return worst.result()


def outputs_law(subject: ForecastSubject) -> Finding:
    """A series is forecast alike alone, among others and in any order, and stands under its own name and times."""
    worst, predictor = Worst("outputs"), subject.predictor
    panel = _cut(subject)
    levels = () if predictor.info.levels is None else predictor.info.levels or (0.1, 0.9)
    scales = subject.batch(subject.rows).scale.scale[:, 0]
    alone = [predictor.predict(replace(panel, series=(one,)), quantiles=levels)[0] for one in panel.series]
    for how, order in (("among others", subject.rows), ("in another order", subject.rows[::-1])):
        found = predictor.predict(replace(panel, series=tuple(panel.series[n] for n in order)), quantiles=levels)
        for row, one in zip(order, found, strict=True):
            other, own = alone[row], panel.series[row]
            is_own = one.id == other.id == own.id and np.array_equal(one.times, other.times)
            is_own = is_own and int(one.times[0]) > int(own.times[-1])
            worst.add(0.0 if is_own else float("inf"), f"{how}, under another name or time", row)
            worst.compare(_scaled(one, scales[row]), _scaled(other, scales[row]), how, row)
    return worst.result()


def _cut(subject: ForecastSubject) -> Panel:
    """Return the histories of the windows as series of their own, with the covariates known of the steps to come."""
    cut = []
    for n, start, origin in zip(*(column.tolist() for column in subject.windows), strict=True):
        one = subject.panel.series[n]
        cut.append(
            replace(
                one,
                times=one.times[start:origin],
                values=one.values[start:origin],
                past=one.past[start:origin],
                is_observed=one.is_observed[start:origin],
                known=one.known[start : origin + subject.horizon],
            )
        )
    return replace(subject.panel, series=tuple(cut))


def _scaled(one: Forecasts, scale: Any) -> torch.Tensor:
    return torch.tensor(np.stack([one.mean, *one.quantiles.values()]) / scale)


_LAWS = tuple(FORECAST_LAWS)

SERVED_LAWS: dict[str, Law] = {
    "float32": Law(
        served_law,
        "the same forecasts in the precision that is served",
        "{text} gets another forecast in a batch than alone ({size} of its scale): in float64 the laws hold, so a part computes "
        "too coarsely in the precision that is served",
        _LAWS,
        TOLERANCE,
    ),
    "outputs": Law(
        outputs_law,
        "forecasts do not depend on what is computed with them",
        "{text} gets another forecast {where} than alone ({size} of its scale), although the laws of the model hold: forecasts "
        "are put back in another order, or something is kept between calls; until it is mended, forecast one series at a time",
        (*_LAWS, "float32"),
        TOLERANCE,
    ),
}
"""Laws of what is served, in the run's own precision."""
