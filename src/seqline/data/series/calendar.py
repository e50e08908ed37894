"""What a time says by itself: where it lies in the hour, the day, the week and the year; and the times to come.

Each cycle is a pair of features, sin(2 pi p) and cos(2 pi p) of the phase p in [0, 1) of the local time in it. A cycle
is there when the step is at most a third of it, for fewer points a cycle show no wave; so hours have day, week and year,
days have week and year, weeks, months and quarters have the year, years and row numbers have none. Steps of months and
quarters take the number of the month for the phase, so that months are equally far apart; else the phase moves evenly
with the local clock, in a year of 365 or 366 days.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqline.data.series import Floats, Panel, Series, Times
from seqline.data.series.frequency import FIXED, IN_MONTHS, Frequency, first_of, months_of
from seqline.data.series.gaps import anchor_day
from seqline.data.series.zones import DAY, local_of
from seqline.errors import UserError

_CYCLES = {"hour": FIXED["h"], "day": DAY, "week": 7 * DAY, "year": 365 * DAY}
_FEWEST = 3


class ForecastTimes(NamedTuple):
    """The times of a forecast.

    Attributes:
        instants: [H] microseconds since 1970 UTC, or row numbers.
        written: the same in the form of the input: text, or integers where it had integers.
    """

    instants: Times
    written: list[str] | list[int]


def calendar_names(frequency: Frequency) -> tuple[str, ...]:
    """Return the names of the K calendar features, `sin(day)`, `cos(day)`, ..., of a frequency."""
    return tuple(f"{wave}({cycle})" for cycle in _cycles(frequency) for wave in ("sin", "cos"))


def calendar_features(times: Times, frequency: Frequency, zone: str) -> Floats:
    """Return where local times lie in their cycles.

    Args:
        times: [N] microseconds since 1970 UTC.
        frequency: says which cycles there are.
        zone: of the local time; "" = the time as it is.

    Returns:
        [N K] in [-1, 1], K = the number of `calendar_names`; K = 0 for years and row numbers.
    """
    cycles = _cycles(frequency)
    if not cycles:
        return np.zeros((len(times), 0))
    local = local_of(times, zone)
    phases = np.stack([_phase(local, cycle, frequency) for cycle in cycles], axis=1)
    return np.stack([np.sin(2 * np.pi * phases), np.cos(2 * np.pi * phases)], axis=2).reshape(
        len(times), 2 * len(cycles)
    )


def future_times(panel: Panel, series: Series, horizon: int) -> Times:
    """Return the times that follow a series.

    Args:
        panel: whose frequency and zone count.
        series: one of its series.
        horizon: how many, at least 0.

    Returns:
        [horizon] microseconds since 1970 UTC, or row numbers.

    Raises:
        UserError: a time after the year 9999.
    """
    day = anchor_day(series.times, panel.frequency, panel.zone)
    try:
        return panel.frequency.step(int(series.times[-1]), np.arange(1, horizon + 1), panel.zone, day)
    except OverflowError as error:
        name = f"series {series.id[:60]!r}: " if series.id else ""
        raise UserError(
            f"{name}the forecast leaves the years 1 to 9999", where="horizon", fix="ask for less"
        ) from error


def forecast_times(panel: Panel, series: Series, horizon: int) -> ForecastTimes:
    """Return the times that follow a series, also in the form that the input wrote its times in.

    A date stays a date; a local time stays one of the same zone; an offset is that of its own instant; integers stay
    integers of their unit.

    Raises:
        UserError: as `future_times`.
    """
    instants = future_times(panel, series, horizon)
    return ForecastTimes(instants, written_times(panel, instants))


def written_times(panel: Panel, times: Times) -> list[str] | list[int]:
    """Write times [N] of a panel in the form of its input."""
    return panel.form.write(times, panel.zone)


def _cycles(frequency: Frequency) -> tuple[str, ...]:
    if frequency.is_row:
        return ()
    return tuple(name for name, cycle in _CYCLES.items() if frequency.size * _FEWEST <= cycle)


def _phase(local: Times, cycle: str, frequency: Frequency) -> Floats:
    """Return the phase of local times [N] in a cycle, in [0, 1)."""
    if cycle == "week":
        return (local + 3 * DAY) % (7 * DAY) / (7 * DAY)  # 1970 began on a Thursday
    if cycle != "year":
        return local % _CYCLES[cycle] / _CYCLES[cycle]
    months = months_of(local // DAY)
    if frequency.unit in IN_MONTHS:
        return months % 12 / 12
    start, end = first_of(months // 12 * 12), first_of(months // 12 * 12 + 12)
    return (local - start * DAY) / ((end - start) * DAY)
