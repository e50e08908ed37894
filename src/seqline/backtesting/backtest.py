"""A backtest: every contestant forecasts the same windows, is scored alike, and stands in one table beside the baselines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from seqline.backtesting.contestants import Contestant, Done, Forecasted, baselines_of
from seqline.backtesting.plan import Plan
from seqline.data.series import Flags, Floats
from seqline.evaluation.series_metrics import SeriesScore, Tally, score_forecasts
from seqline.forecasting.distributions import LEVELS

Counting: TypeAlias = Callable[[int], AbstractContextManager[Done]]
"""Given how many windows all contestants forecast together, opens what is told how many more are done."""


class Row(NamedTuple):
    """How one contestant did.

    name: as the table calls it. is_baseline: whether it is one. score: over all windows. by_step: [H] MAE of each step, None
    where nothing was observed. by_target: MAE of each target.
    """

    name: str
    is_baseline: bool
    score: SeriesScore
    by_step: tuple[float | None, ...]
    by_target: tuple[float | None, ...]


@dataclass(frozen=True)
class Backtest:
    """What a backtest found.

    Attributes:
        rows: every contestant, the best first by `metric`.
        metric: what decides: "MAE"; "MASE" where several series or targets are scored, whose sizes may differ, and each
            has its scale.
        levels: of the quantiles that were scored.
        plan: what was forecast.
        doubts: what makes the numbers look better than they are.
    """

    rows: tuple[Row, ...]
    metric: str
    levels: tuple[float, ...]
    plan: Plan
    doubts: tuple[str, ...] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """One plain sentence a model: which baselines it loses to, or that it beats them all, with the numbers."""
        baselines = [row for row in self.rows if row.is_baseline]
        return tuple(_sentence(row, baselines, self.metric) for row in self.rows if not row.is_baseline)

    @property
    def heading(self) -> str:
        """What was forecast, in one line."""
        asked, panel = self.plan.asked, self.plan.panel
        windows = f"{asked.num_windows} windows" if asked.num_windows > 1 else "1 window"
        few = self.levels and len(self.levels) < len(LEVELS)
        scored = f"; quantiles that all give: {', '.join(f'{level:g}' for level in self.levels)}" if few else ""
        many = f"of each of {len(panel.series):,} series" if len(panel.series) > 1 else "of one series"
        step = asked.horizon if asked.step is None else asked.step
        return (
            f"{', '.join(panel.targets)}: the last {windows} {many}, {step} points apart, {asked.horizon} steps of "
            f"{panel.frequency.words} each; season: {asked.season} steps{scored}"
        )

    def table(self) -> list[str]:
        """Return the table as lines of text."""
        cover = [f"in {interval.level:.0%}" for interval in _intervals(self.rows)]
        cells = [["", "MAE", "RMSE", "sMAPE", "MASE", "CRPS", *cover]]
        cells += [[row.name, *map(_shown, _numbers(row.score, len(cover)))] for row in self.rows]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        return [
            "  ".join(
                [line[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(line[1:], widths[1:], strict=True))]
            )
            for line in cells
        ]

    def lines(self) -> list[str]:
        """Return all that is printed."""
        return [self.heading, "", *self.table(), "", *self.sentences, *self.doubts]

    def as_json(self) -> dict[str, Any]:
        """Return everything as plain values."""
        asked, panel = self.plan.asked, self.plan.panel
        return {
            "targets": list(panel.targets),
            "series": [one.id for one in panel.series],
            "frequency": panel.frequency.name,
            "horizon": asked.horizon,
            "windows": asked.num_windows,
            "step": asked.horizon if asked.step is None else asked.step,
            "season": asked.season,
            "levels": list(self.levels),
            "metric": self.metric,
            "rows": [_row_json(row, panel.targets) for row in self.rows],
            "sentences": list(self.sentences),
            "doubts": list(self.doubts),
            "notes": list(self.plan.notes),
        }


def backtest(
    plan: Plan, models: Sequence[Contestant], counting: Counting = lambda _: nullcontext(lambda _: None)
) -> Backtest:
    """Let models and baselines forecast the windows of a plan.

    Args:
        plan: what is forecast.
        models: those beside the baselines.
        counting: follows how far it is.
    """
    contestants: list[Contestant] = [*models, *baselines_of(plan)]
    levels = _common([one.given(LEVELS) for one in contestants])
    target, seen, scale = _targets(plan)
    rows = []
    with counting(len(target) * len(contestants)) as on_done:
        for one in contestants:
            own = tuple(level for level in one.given(LEVELS) if level in levels)
            found = one.forecast(plan, own, on_done)
            tally = Tally(own)
            tally.add(target, found.mean, is_observed=seen, quantiles=found.quantiles, scale=scale)
            rows.append(_row(one, tally.result(), target, found, seen))
    metric = _metric(plan, rows)
    return Backtest(tuple(sorted(rows, key=lambda row: _order(row, metric))), metric, levels, plan)


def _targets(plan: Plan) -> tuple[Floats, Flags, Floats]:
    """Return what came [W H F], what of it was observed, and what MASE divides by [W 1 F]."""
    windows, horizon, series = plan.windows, plan.asked.horizon, plan.panel.series
    target = windows.targets([one.values for one in series], horizon)
    seen = windows.targets([one.is_observed for one in series], horizon)
    return target, seen, plan.scales[windows.series][:, None]


def _common(given: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    """Return the levels that everyone gives who gives any."""
    some = [set(levels) for levels in given if levels]
    return tuple(sorted(set.intersection(*some))) if some else ()


def _row(one: Contestant, score: SeriesScore, target: Floats, found: Forecasted, seen: Flags) -> Row:
    def mae(cut: tuple[Any, ...]) -> float | None:
        return score_forecasts(target[cut], found.mean[cut], is_observed=seen[cut]).mae

    by_step = tuple(mae((slice(None), slice(h, h + 1))) for h in range(target.shape[1]))
    by_target = tuple(mae((slice(None), slice(None), slice(f, f + 1))) for f in range(target.shape[2]))
    return Row(one.name, one.is_baseline, score, by_step, by_target)


def _metric(plan: Plan, rows: Sequence[Row]) -> str:
    is_one = len(plan.panel.series) * len(plan.panel.targets) == 1
    has_scales = all(row.score.num_scaled == row.score.num_points > 0 for row in rows)
    return "MASE" if has_scales and not is_one else "MAE"


def _value(row: Row, metric: str) -> float | None:
    return row.score.mase if metric == "MASE" else row.score.mae


def _order(row: Row, metric: str) -> tuple[float, bool]:
    value = _value(row, metric)
    return (np.inf if value is None else value, row.is_baseline)


def _sentence(row: Row, baselines: Sequence[Row], metric: str) -> str:
    own = _value(row, metric)
    if own is None:
        return f"{row.name}: nothing was observed to score it by."
    beaten_by = [(one.name, value) for one in baselines if (value := _value(one, metric)) is not None and value <= own]
    if not beaten_by:
        best = min(baselines, key=lambda one: _order(one, metric))
        other = _value(best, metric) or 0.0
        return (
            f"{row.name} beats every baseline: {metric} {_shown(own)} against {_shown(other)} of the best, {best.name} "
            f"({(other - own) / other:.1%} less)."
        )
    names = _listed([name for name, _ in beaten_by])
    values = _listed([_shown(value) for _, value in beaten_by])
    if all(value == own for _, value in beaten_by):
        return f"{row.name} is no better than {names}: {metric} {_shown(own)} each."
    return f"{row.name} loses to {names}: {metric} {_shown(own)} against {values}."


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _intervals(rows: Sequence[Row]) -> tuple[Any, ...]:
    """Return the intervals of the table: of 80 % and 90 % where they are there, else the widest."""
    found = max((row.score.intervals for row in rows), key=len, default=())
    wanted = [interval for interval in found if interval.level in (0.9, 0.8)]
    return tuple(wanted or found[:1])


def _numbers(score: SeriesScore, num_intervals: int) -> list[float | str | None]:
    plain: list[float | str | None] = [score.mae, score.rmse, score.smape, score.mase, score.crps]
    shown = [interval for interval in score.intervals if interval.level in (0.9, 0.8)] or list(score.intervals[:1])
    cover = [f"{interval.coverage:.0%}" for interval in shown]
    return [*plain, *cover, *[None] * (num_intervals - len(cover))]


def _shown(value: float | str | None) -> str:
    """Write a number with four digits, as people do."""
    if value is None or isinstance(value, str):
        return value or "-"
    if value == 0 or 1e-3 <= abs(value) < 1e4:
        return f"{value:#.4g}".rstrip(".")
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.3e}"


def _row_json(row: Row, targets: Sequence[str]) -> dict[str, Any]:
    score = row.score._asdict() | {
        "pinball": {str(level): value for level, value in row.score.pinball},
        "intervals": [interval._asdict() for interval in row.score.intervals],
    }
    by_target = dict(zip(targets, row.by_target, strict=True))
    kind = "baseline" if row.is_baseline else "model"
    return {"name": row.name, "kind": kind, **score, "mae_by_step": list(row.by_step), "mae_by_target": by_target}
