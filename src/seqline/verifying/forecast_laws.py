"""Laws of a forecaster: a forecast belongs to its own history, knows nothing later, and keeps the unit of its series.

batch, row    f(history) is the same alone, beside any others, under any padding
steps         the first h of H steps are what asking for h steps gives
lookahead     what comes after an origin changes no bit, but for the covariates known of the steps to come
scale         forecast = output * scale + centre, with the scale that the history was divided by, also of a constant
unit          f(a x + b) = a f(x) + b above the least scale
lengths       a history of any length gives as many finite numbers as were asked for
quantiles     a higher level has no lower quantile
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import torch
from torch.nn.functional import pad

from seqline.data.series import Flags, Floats, Panel, Series
from seqline.errors import UserError
from seqline.evaluation.subject import Finding, Worst, chance, largest
from seqline.evaluation.verify import LABEL_LAWS, Law
from seqline.evaluation.verify_decoder import is_fixed
from seqline.forecasting.inputs import ForecastBatch, Inputs
from seqline.forecasting.scaling import Scale, denormalise
from seqline.forecasting.windows import Windows
from seqline.models.forecaster import History
from seqline.predictor import Predictor
from seqline.shapes import Tensor

POISON, LATER = 1e4, 1e6
"""What stands in pads, in units of a scaled history; what is added to all that comes after an origin."""
PADDINGS = (7, 3, 1, 0)
MOST_LENGTHS = 128
"""So many lengths of a history are tried one after the other, beyond them some."""
FACTOR = 4.0
CHECKED_LEVELS = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)


@dataclass(frozen=True, eq=False)
class ForecastSubject:
    """A predictor, its model in evaluation mode, and one window of each of some series, of different lengths."""

    predictor: Predictor
    panel: Panel
    windows: Windows

    @property
    def horizon(self) -> int:
        """H, the steps that it was trained for."""
        return self.predictor.coder.horizon

    @property
    def rows(self) -> list[int]:
        """The numbers of the windows."""
        return list(range(len(self.windows.origin)))

    @property
    def num_whole(self) -> int:
        """How many of the first windows have their whole target in the series; those with one stand in front."""
        ends = np.array([len(self.panel.series[n]) for n in self.windows.series])
        return int((self.windows.origin + self.horizon <= ends).sum())

    def batch(
        self, rows: Sequence[int], steps: int | None = None, *, panel: Panel | None = None, has_target: bool = False
    ) -> ForecastBatch:
        """Put windows into tensors, as a forecast does or, with targets, a training."""
        steps = steps or self.horizon
        inputs = self.inputs if panel is None and steps == self.horizon else self._inputs(panel or self.panel, steps)
        dtype = next(self.predictor.model.parameters()).dtype
        return inputs.batch(self.windows.take(rows), steps, has_target=has_target, dtype=dtype)

    @cached_property
    def inputs(self) -> Inputs:
        """What cuts the windows of the whole horizon."""
        return self._inputs(self.panel, self.horizon)

    def _inputs(self, panel: Panel, steps: int) -> Inputs:
        return Inputs(self.predictor.coder, self.predictor.input_options, panel, steps)

    def parameters(self, rows: Sequence[int], steps: int | None = None) -> Tensor:
        """Return what the model says of windows, [B H F P]."""
        return self.predictor.model(self.batch(rows, steps).history)


def finite_law(subject: ForecastSubject) -> Finding:
    """Every number of every forecast is one."""
    worst = Worst("finite")
    for row in subject.rows:
        worst.add(0.0 if largest(subject.parameters([row])) < math.inf else math.inf, f"row {row}", row)
    return worst.result()


def fixed_law(subject: ForecastSubject) -> Finding:
    """Nothing is drawn at random."""
    return is_fixed(subject.predictor.model, lambda: subject.parameters(subject.rows))


def pure_law(subject: ForecastSubject) -> Finding:
    """A call changes neither what it was given nor any parameter; the same call gives the same bits."""
    worst, model, history = Worst("pure"), subject.predictor.model, subject.batch(subject.rows).history
    held = (*history, *model.state_dict().values())
    before = tuple(part.clone() for part in held)
    with chance(0):
        first = model(history).clone()
    worst.compare_trees(held, before, "what it was given (history, parameters)")
    with chance(0):
        worst.compare(model(history), first, "a repeated call")
    return worst.result()


def batch_law(subject: ForecastSubject) -> Finding:
    """Histories of one length stand side by side without any padding, and still none changes another."""
    windows, longest = subject.windows, subject.predictor.coder.longest
    fewest = min(int(windows.origin.min()), longest)
    worst = Worst("batch")
    for length in {1, fewest}:
        even = replace(subject, windows=windows._replace(start=windows.origin - length))
        for rows in (subject.rows, subject.rows[::-1]):
            found = even.parameters(rows)
            for place, row in enumerate(rows):
                where = f"row {row} of order {rows}, {length} points each"
                worst.compare(found[place], even.parameters([row])[0], where, row)
    return worst.result()


def row_law(subject: ForecastSubject) -> Finding:
    """A forecast is that of its history alone, whatever its neighbours, their order, the padding and its content."""
    worst, every, model = Worst("row"), subject.rows, subject.predictor.model
    alone = [subject.parameters([row])[0] for row in every]
    room = _room(subject)
    for rows, padding in ((every, 0), (every[::-1], min(3, room)), (every, room), *(([row], room) for row in every)):
        found = model(padded(subject.batch(rows).history, padding))
        for place, row in enumerate(rows):
            worst.compare(found[place], alone[row], f"row {row} of order {rows}, {padding} steps of padding", row)
    return worst.result()


def padded(history: History, padding: int) -> History:
    """Return a history with more steps behind it that are none; in all pads stand large numbers of both signs."""
    steps, is_real = pad(history.steps, (0, 0, 0, padding)), pad(history.is_real, (0, padding))
    signs = 1 - 2 * (torch.arange(steps.numel()) % 2).view_as(steps).to(steps)
    return history._replace(steps=torch.where(is_real[..., None], steps, POISON * signs), is_real=is_real)


def _room(subject: ForecastSubject) -> int:
    """Return how much padding a model takes; a learned table of positions has an end."""
    for padding in PADDINGS[:-1]:
        try:
            subject.predictor.model(padded(subject.batch(subject.rows).history, padding))
        except UserError:
            continue
        return padding
    return 0


def steps_law(subject: ForecastSubject) -> Finding:
    """The first steps of a forecast are those of a forecast of fewer steps."""
    worst, whole = Worst("steps"), subject.parameters(subject.rows)
    for steps in sorted({1, (subject.horizon + 1) // 2}):
        for row, found in enumerate(subject.parameters(subject.rows, steps)):
            worst.compare(found, whole[row, :steps], f"the first {steps} of {subject.horizon} steps", row)
    return worst.result()


def lookahead_law(subject: ForecastSubject) -> Finding:
    """Whatever stands behind an origin, targets and covariates, and known ones behind the last step, no bit changes."""
    worst, predictor, windows = Worst("lookahead"), subject.predictor, subject.windows
    later = list(subject.panel.series)
    for n, origin in zip(windows.series.tolist(), windows.origin.tolist(), strict=True):
        later[n] = _changed_behind(later[n], origin, origin + subject.horizon)
    other = replace(subject.panel, series=tuple(later))
    one, two = (predictor.windows(panel, windows).mean for panel in (subject.panel, other))
    for row in subject.rows:
        worst.compare(torch.tensor(two[row]), torch.tensor(one[row]), "later values replaced", row)
    if whole := subject.rows[: subject.num_whole]:
        served, trained = (subject.batch(whole, has_target=has_target).history for has_target in (False, True))
        worst.compare_trees(trained, served, "what a training window reads beside what a forecast reads")
    return worst.result()


def _changed_behind(one: Series, origin: int, end: int) -> Series:
    def changed(values: Floats, first: int) -> Floats:
        return np.where(np.arange(len(values))[:, None] < first, values, values + LATER)

    seen = one.is_observed.copy()
    seen[origin:] = ~seen[origin:]
    return replace(
        one, values=changed(one.values, origin), past=changed(one.past, origin), known=changed(one.known, end),
        is_observed=seen,
    )  # fmt: skip


def scale_law(subject: ForecastSubject) -> Finding:
    """What a history is divided by, its forecast is multiplied by, and its target was divided by; also of a constant."""
    worst = Worst("scale")
    for how, panel in (
        ("as it is", subject.panel),
        ("a constant", _flat(subject, 0.0)),
        ("nearly one", _flat(subject, 1e-9)),
    ):
        batch, found = subject.batch(subject.rows, panel=panel), subject.predictor.windows(panel, subject.windows)
        with torch.no_grad():
            points = subject.predictor.model(batch.history)[..., 0].double().numpy()
        _compare_scaled(worst, found.mean, denormalise(points, batch.scale), batch.scale, how)
        if whole := subject.rows[: subject.num_whole]:
            own = subject.batch(whole, panel=panel, has_target=True)
            target, seen = _targets(subject, panel, whole)
            back = denormalise(own.target.double().numpy(), own.scale)
            _compare_scaled(worst, np.where(seen, back, 0.0), target, own.scale, f"{how}, its target and back")
    return worst.result()


def _flat(subject: ForecastSubject, share: float) -> Panel:
    """Return the series as constants of their first values, but for a share of what they are."""
    flat = [replace(one, values=one.values[:1] + share * (one.values - one.values[:1])) for one in subject.panel.series]
    return replace(subject.panel, series=tuple(flat))


def _targets(subject: ForecastSubject, panel: Panel, rows: Sequence[int]) -> tuple[Floats, Flags]:
    """Return what came after windows [W H F], 0 where it was not observed, and what of it was."""
    windows, steps = subject.windows.take(rows), np.arange(subject.horizon)
    places = [(panel.series[n], origin + steps) for n, origin in zip(windows.series, windows.origin, strict=True)]
    seen = np.stack([one.is_observed[at] for one, at in places])
    return np.where(seen, np.stack([one.values[at] for one, at in places]), 0.0), seen


def _compare_scaled(worst: Worst, got: Floats, expected: Floats, scale: Scale, where: str) -> None:
    """Compare in units of the scales, or of the values where they are larger: float64 holds no more digits."""
    unit = np.maximum(scale.scale, np.abs(scale.centre))
    for row, (one, two) in enumerate(zip(got / unit, expected / unit, strict=True)):
        worst.compare(torch.tensor(one), torch.tensor(two), where, row)


def unit_law(subject: ForecastSubject) -> Finding:
    """Histories in another unit have their forecasts in it; those under the least scale are left out."""
    worst, floor = Worst("unit"), subject.predictor.coder.floor
    shift = subject.predictor.coder.pooled.scale
    other = [replace(one, values=FACTOR * one.values + shift) for one in subject.panel.series]
    panels = (subject.panel, replace(subject.panel, series=tuple(other)))
    one, two = (subject.predictor.windows(panel, subject.windows).mean for panel in panels)
    for row, (n, start, origin) in enumerate(zip(*(column.tolist() for column in subject.windows), strict=True)):
        first = max(start, origin - subject.predictor.coder.longest)
        spreads = [_spread(panel.series[n], first, origin) for panel in panels]
        is_free = [s > 2 * np.maximum(np.maximum(floor.absolute, floor.relative * m), 1e-6 * m) for s, m in spreads]
        unit = spreads[0][0]
        for column in np.flatnonzero(is_free[0] & is_free[1]).tolist():
            got = (two[row, :, column] - shift[column]) / FACTOR / unit[column]
            worst.compare(torch.tensor(got), torch.tensor(one[row, :, column] / unit[column]), "another unit", row)
    return worst.result()


def _spread(one: Series, first: int, origin: int) -> tuple[Floats, Floats]:
    """Return deviation and magnitude [F] of the observed points of a history; the deviation is 0 where there are none."""
    values, seen = one.values[first:origin], one.is_observed[first:origin]
    count = np.maximum(seen.sum(axis=0), 1)
    mean = np.where(seen, values, 0.0).sum(axis=0) / count
    deviation = np.sqrt((np.where(seen, values - mean, 0.0) ** 2).sum(axis=0) / count)
    return deviation, np.abs(np.where(seen, values, 0.0)).max(axis=0)


def lengths_law(subject: ForecastSubject) -> Finding:
    """Histories of every length, from one point on, each give a finite number for every step and target."""
    worst, predictor, windows = Worst("lengths"), subject.predictor, subject.windows
    row = int(windows.origin.argmax())
    n, origin = int(windows.series[row]), int(windows.origin[row])
    observed = np.flatnonzero(subject.panel.series[n].is_observed[:origin].any(axis=1))
    shortest = origin - int(observed[-1])
    most = min(origin, predictor.coder.longest + 1)
    some = np.unique(np.linspace(min(MOST_LENGTHS, most), most, 16).astype(np.int64))
    lengths = np.union1d(np.arange(1, min(MOST_LENGTHS, most) + 1), some)
    lengths = lengths[lengths >= shortest]
    every = Windows(np.full(len(lengths), n), origin - lengths, np.full(len(lengths), origin))
    for place in np.flatnonzero(~_are_whole(predictor, subject.panel, every, subject.horizon)).tolist():
        worst.add(math.inf, f"the last {int(lengths[place]):,} points of it", row)
    return worst.result()


def _are_whole(predictor: Predictor, panel: Panel, windows: Windows, horizon: int) -> Flags:
    """Tell of each window whether its forecast has all its numbers; one at a time where some have not."""
    count, width = len(windows.origin), len(predictor.coder.targets)
    try:
        mean = predictor.windows(panel, windows).mean
    except FloatingPointError:
        if count == 1:
            return np.array([False])
        each = [_are_whole(predictor, panel, windows.take([place]), horizon)[0] for place in range(count)]
        return np.array(each, dtype=bool)
    if mean.shape != (count, horizon, width):
        return np.zeros(count, dtype=bool)
    return np.asarray(np.isfinite(mean).all(axis=(1, 2)), dtype=bool)


def quantiles_law(subject: ForecastSubject) -> Finding:
    """Quantiles rise with their levels."""
    worst, given = Worst("quantiles"), subject.predictor.info.levels or ()
    low, high = min(given or (0.0,)), max(given or (1.0,))
    levels = sorted({*given, *(level for level in CHECKED_LEVELS if low <= level <= high)})
    found = subject.predictor.windows(subject.panel, subject.windows, quantiles=levels).quantiles
    for lower, upper in pairwise(levels):
        for row, gap in enumerate(found[lower] - found[upper]):
            worst.add(max(0.0, float(gap.max())), f"levels {lower:g} and {upper:g}", row)
    return worst.result()


_MODEL = ("finite", "fixed", "pure")
_ALONE = (*_MODEL, "batch", "row")

FORECAST_LAWS: dict[str, Law] = {
    "finite": Law(
        finite_law,
        "every forecast is a number",
        "{text} gives forecasts that are no finite numbers: the weights have exploded, or a part divides by zero; train again "
        "with a lower training.learning_rate",
    ),
    "fixed": LABEL_LAWS["fixed"]._replace(check=fixed_law),
    "pure": LABEL_LAWS["pure"]._replace(check=pure_law),
    "batch": Law(
        batch_law,
        "neighbours of the same length in a batch change nothing",
        "{text} gets another forecast ({size}) when others of the same length stand in its batch, without any padding: rows of a "
        "batch mix, so what is forecast together changes the forecasts; until it is mended, forecast one series at a time",
        _MODEL,
    ),
    "row": Law(
        row_law,
        "padding changes nothing: alone, in any batch, any padding",
        "{text} gets another forecast ({size}; {where}) when padding or a longer history stands beside it in the batch: the "
        "model reads padding; until it is mended, forecast one series at a time",
        (*_MODEL, "batch"),
    ),
    "steps": Law(
        steps_law,
        "fewer steps are the first of more",
        "{text} gets other first steps when fewer are asked for ({size}; {where}): a step depends on how many come after it, so "
        "forecasts of another horizon than the trained one are not those that it was trained for",
        _ALONE,
    ),
    "lookahead": Law(
        lookahead_law,
        "nothing after the origin is read but known covariates",
        "{text} gets another forecast when what comes after it is replaced ({size}; {where}): the future is read, so a backtest "
        "of it says nothing",
        _ALONE,
        0.0,
    ),
    "scale": Law(
        scale_law,
        "what a history is divided by, its forecast is multiplied by",
        "{text} is divided by one scale and its forecast multiplied by another ({size}; {where}): forecasts are in the wrong "
        "unit",
        _ALONE,
    ),
    "unit": Law(
        unit_law,
        "the same history in another unit has the same forecast in it",
        "{text}, four times as large and moved, gets another forecast than four times the old one, moved ({size}): the scales "
        "are not those of the history",
        (*_ALONE, "scale"),
    ),
    "lengths": Law(
        lengths_law,
        "histories of every length give a number for every step",
        "{text} is not forecast from {where}: no finite number for every step, so that series of that length cannot be forecast",
        ("finite",),
        0.0,
    ),
    "quantiles": Law(
        quantiles_law,
        "quantiles do not cross",
        "{text} has a lower quantile above a higher one ({size}; {where}): intervals of its forecast mean nothing",
        ("finite",),
        0.0,
    ),
}
"""Laws of forecasters, in float64."""


def laws_of(predictor: Predictor) -> dict[str, Law]:
    """Return the laws that bind a run: `unit` where a history is scaled by itself, `quantiles` where there are some."""
    free = set() if predictor.input_options.has_instance_norm else {"unit"}
    free |= {"quantiles"} if predictor.info.levels is None else set()
    return {name: law for name, law in FORECAST_LAWS.items() if name not in free}
