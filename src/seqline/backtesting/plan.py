"""What a backtest forecasts from where: the last windows of each series, and the span before them to fit on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from seqline.data.series import Floats, Panel, Series, Times
from seqline.data.series.zones import local_of
from seqline.errors import UserError
from seqline.evaluation.series_metrics import seasonal_scale
from seqline.forecasting.history import Setting, Span
from seqline.forecasting.windows import Windows, backtest_origins

DEFAULT_WINDOWS = 10
_MOST_NAMED = 5


class Asked(NamedTuple):
    """What a backtest is to do.

    horizon: steps of a forecast. num_windows: forecasts of each series. step: points between two of them; None = the horizon,
    so that targets touch and no point is scored twice. season: steps in a season; None = the one of the frequency.
    skip_short: leave out, and name, series that hold fewer windows, instead of refusing them.
    """

    horizon: int
    num_windows: int = DEFAULT_WINDOWS
    step: int | None = None
    season: int | None = None
    skip_short: bool = False

    @property
    def reach(self) -> int:
        """Points from the first origin to the end of a series."""
        return self.horizon + (self.num_windows - 1) * (self.horizon if self.step is None else self.step)


@dataclass(frozen=True, eq=False)
class Plan:
    """A backtest before anything is forecast.

    Attributes:
        panel: the S series that are scored.
        asked: with the season that is used.
        origins: [S] first point of the first target of each series: where its training span ends.
        notes: what was left out.
    """

    panel: Panel
    asked: Asked
    origins: tuple[int, ...]
    notes: tuple[str, ...]

    @property
    def setting(self) -> Setting:
        """What baselines are fitted for."""
        return Setting(self.asked.horizon, self.asked.season or 1, is_calendar=not self.panel.frequency.is_row)

    @property
    def windows(self) -> Windows:
        """Every window, series by series, in the order of time; each history is all that lies before its origin."""
        asked = self.asked
        found = [
            backtest_origins(len(one), asked.horizon, asked.num_windows, step=asked.step) for one in self.panel.series
        ]
        number = np.repeat(np.arange(len(found)), asked.num_windows).astype(np.int64)
        return Windows(number, np.zeros(len(number), np.int64), np.array(found, dtype=np.int64).reshape(-1))

    @property
    def training(self) -> list[Span]:
        """The span before the first origin of each series."""
        return [
            Span(one.values[:end], one.is_observed[:end], self.local(one.times[:end]))
            for one, end in zip(self.panel.series, self.origins, strict=True)
        ]

    @property
    def scales(self) -> Floats:
        """What MASE divides by, [S F]: how far the seasonal naive forecast is off in each training span; NaN = undefined."""
        return np.stack([seasonal_scale(span.values, self.setting.period, span.mask) for span in self.training])

    def num_scored(self, until: int) -> tuple[int, int]:
        """Count the points that are forecast at a time or before it, and all; a point of two windows counts twice."""
        times = self.windows.targets([one.times for one in self.panel.series], self.asked.horizon)
        return int((times <= until).sum()), times.size

    def local(self, times: Times) -> Times:
        """Return local times, or the numbers of steps where times are row numbers."""
        frequency = self.panel.frequency
        return times // frequency.n if frequency.is_row else local_of(times, self.panel.zone)

    def before(self) -> Panel:
        """Return the panel as it was at the first origins: what a model may be trained on."""
        pairs = zip(self.panel.series, self.origins, strict=True)
        return replace(self.panel, series=tuple(_first(one, end) for one, end in pairs))


def make_plan(panel: Panel, asked: Asked) -> Plan:
    """Place the windows of a backtest at the end of each series.

    Args:
        panel: the series.
        asked: what is wanted.

    Raises:
        UserError: series that are too short, each by name, without `skip_short`; or all of them.
    """
    sizes = [size for size in (asked.horizon, asked.num_windows, asked.step, asked.season) if size is not None]
    if min(sizes) < 1:
        raise UserError(f"expected sizes of 1 or more, got {asked}", where="backtest", fix="ask for 1 at least")
    short = [one for one in panel.series if not _is_long_enough(one, asked)]
    kept = tuple(one for one in panel.series if _is_long_enough(one, asked))
    needed = f"{asked.num_windows} windows of {asked.horizon} steps need {asked.reach + 1:,} points"
    if short and not (asked.skip_short and kept):
        most = max((_num_windows(one, asked) for one in short), default=0)
        fix = f"ask for {most} windows at most" if most else "ask for a shorter horizon or give longer series"
        fix += ", or leave such series out with `skip_short`" if kept else ""
        raise UserError(
            f"{_named(short, panel)}: too short: {needed}, the first one observed", where="windows", fix=fix
        )
    notes = (f"left out: {_named(short, panel)}: {needed}",) if short else ()
    season = asked.season or panel.frequency.season
    origins = tuple(len(one) - asked.reach for one in kept)
    return Plan(replace(panel, series=kept), asked._replace(season=season), origins, notes)


def _is_long_enough(series: Series, asked: Asked) -> bool:
    """Whether each target has a value before the first origin."""
    first = len(series) - asked.reach
    return first > 0 and bool(series.is_observed[:first].any(axis=0).all())


def _num_windows(series: Series, asked: Asked) -> int:
    """Count the windows that a series holds."""
    seen = int(series.is_observed.argmax(axis=0).max()) + 1  # before here some target has no value
    step = asked.horizon if asked.step is None else asked.step
    return max(0, (len(series) - seen - asked.horizon) // step + 1)


def _named(series: Sequence[Series], panel: Panel) -> str:
    if len(panel.series) == 1 and not series[0].id:
        return f"a series of {len(series[0]):,} points"
    shown = ", ".join(f"{one.id[:60]!r} ({len(one):,} points)" for one in series[:_MOST_NAMED])
    more = f" and {len(series) - _MOST_NAMED:,} more" if len(series) > _MOST_NAMED else ""
    return f"series {shown}{more}"


def _first(series: Series, end: int) -> Series:
    """Return the first points of a series, and nothing of what comes after them."""
    return replace(
        series, times=series.times[:end], values=series.values[:end], is_observed=series.is_observed[:end],
        known=series.known[:end], past=series.past[:end],
    )  # fmt: skip
