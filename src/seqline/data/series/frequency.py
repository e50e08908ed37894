"""How far apart the points of a series are: a number of units, counted in calendar units from a day on.

Units below a day and row numbers are steps of fixed size between instants, whatever local clocks do: a day on which the
clock changes has 23 or 25 hours. Days, weeks, months, quarters and years step on the local calendar and keep the local
time of day; months keep the day of the month where it exists and take the month's last day where it does not. A
business day is Monday to Friday; holidays are not known and show as gaps.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from seqline.data.series import Times
from seqline.data.series.zones import DAY, FIRST, LAST, SECOND, local_of, utc_of
from seqline.errors import UserError

FIXED = {"row": 1, "us": 1, "ms": 1000, "s": SECOND, "min": 60 * SECOND, "h": 3600 * SECOND}
"""Size of the units that step between instants: microseconds, or rows."""
IN_DAYS = {"d": 1, "b": 1, "w": 7}
IN_MONTHS = {"month": 1, "quarter": 3, "year": 12}
UNITS = (*FIXED, *IN_DAYS, *IN_MONTHS)
_WORDS = {"us": "microsecond", "ms": "millisecond", "s": "second", "min": "minute", "h": "hour", "d": "day"}
_WORDS |= {"b": "business day", "w": "week"}
_PERIODS = {"ms": 1000, "s": 3600, "min": 1440, "h": 24, "d": 7, "b": 5, "w": 52, "month": 12, "quarter": 4}
_NAME = re.compile(r"([1-9]\d{0,8})?(" + "|".join(sorted(UNITS, key=len, reverse=True)) + r")(-end)?", re.ASCII)
_MOST_ROWS = 1 << 62
_MOST_DAYS = 366 * 10_000


class Frequency(NamedTuple):
    """A step of `n` units.

    Attributes:
        n: at least 1.
        unit: one of `UNITS`.
        is_end: every point is the last day of its month (units of months only).
    """

    n: int
    unit: str
    is_end: bool = False

    @property
    def name(self) -> str:
        """The short name, as `frequency_of` reads it: `1h`, `15min`, `1month-end`."""
        return f"{self.n}{self.unit}{'-end' if self.is_end else ''}"

    @property
    def words(self) -> str:
        """The name in words: "1 hour", "15 minutes", "1 month, at its end"."""
        word = _WORDS.get(self.unit, self.unit)
        return f"{self.n} {word}{'s' if self.n > 1 else ''}{', at its end' if self.is_end else ''}"

    @property
    def is_row(self) -> bool:
        """Whether times are row numbers, with no calendar behind them."""
        return self.unit == "row"

    @property
    def is_below_day(self) -> bool:
        """Whether local clocks matter: a unit of time below a day."""
        return self.unit in FIXED and not self.is_row

    @property
    def size(self) -> int:
        """How long a step is, in microseconds or rows; a month counts 30 days, a business day one."""
        unit = FIXED.get(self.unit) or IN_DAYS.get(self.unit, 0) * DAY or IN_MONTHS[self.unit] * 30 * DAY
        return self.n * unit

    @property
    def season(self) -> int:
        """Steps of the season one may expect, 1 where there is none or it is no whole number of steps.

        The period is a second for milliseconds, an hour for seconds, a day for minutes and hours, a week for days and
        business days, 52 weeks for weeks, a year for months and quarters; none for rows, microseconds and years.
        """
        period = _PERIODS.get(self.unit, 1)
        return period // self.n if period % self.n == 0 else 1

    def step(self, start: int, k: Times, zone: str, day: int = 0) -> Times:
        """Return the times `k` steps after `start`.

        Args:
            start: microseconds since 1970 UTC, or a row number.
            k: [N] steps, also negative.
            zone: the zone whose calendar counts; "" = the time as written.
            day: day of the month that the series keeps where a month has it; 0 = the day of `start`.

        Returns:
            [N]. A local time that the clock skips moves on by the size of the gap; of two, the first is taken.

        Raises:
            OverflowError: a time before the year 1 or after 9999.
        """
        least, most = (int(k.min()), int(k.max())) if len(k) else (0, 0)
        if self.unit in FIXED:
            size = self.n * FIXED[self.unit]
            first, last = (-_MOST_ROWS, _MOST_ROWS) if self.is_row else (FIRST, LAST)
            if not first <= start + least * size <= start + most * size <= last:
                raise OverflowError("beyond the years 1 to 9999")
            return start + k * size
        if max(-least, most) * self.n > _MOST_DAYS:
            raise OverflowError("beyond the years 1 to 9999")
        local = int(local_of(np.array([start], dtype=np.int64), zone)[0])
        days, rest = divmod(local, DAY)
        moved = self._days(days, k, day)
        times = utc_of(moved * DAY + rest, zone).first
        if len(times) and not FIRST <= int(times.min()) <= int(times.max()) <= LAST:
            raise OverflowError("beyond the years 1 to 9999")
        return times

    def nearest(self, start: int, times: Times, zone: str) -> Times:
        """Return how many whole steps lie between `start` and each of `times` [N], at or just before it.

        Where a time is on the grid of `start`, `step` of the result is that time.
        """
        if self.unit in FIXED:
            return (times - start) // (self.n * FIXED[self.unit])
        local = local_of(np.append(times, start), zone)
        days = local // DAY
        if self.unit == "b":
            dates = days.astype("datetime64[D]")
            return np.busday_count(np.full(len(times), dates[-1]), dates[:-1]).astype(np.int64) // self.n
        if self.unit in IN_DAYS:
            return (days[:-1] - days[-1]) // (self.n * IN_DAYS[self.unit])
        months = months_of(days)
        return (months[:-1] - months[-1]) // (self.n * IN_MONTHS[self.unit])

    def _days(self, start: int, k: Times, day: int) -> Times:
        """Return the days since 1970 that are `k` steps after the day `start`."""
        if self.unit == "b":
            first = np.datetime64(start, "D")
            return np.busday_offset(first, k * self.n, roll="forward").astype(np.int64)
        if self.unit in IN_DAYS:
            return start + k * self.n * IN_DAYS[self.unit]
        start_days = np.array([start], dtype=np.int64)
        months = months_of(start_days) + k * self.n * IN_MONTHS[self.unit]
        first_days, last_days = first_of(months), first_of(months + 1) - 1
        kept = 31 if self.is_end else day or int(day_of_month(start_days)[0])
        return np.minimum(first_days + kept - 1, last_days)


def frequency_of(name: str, where: str = "frequency") -> Frequency:
    """Read a frequency's name: a number and a unit, `1h`, `15min`, `month`, `1quarter-end`.

    Raises:
        UserError: no such name.
    """
    found = _NAME.fullmatch(name)
    if not found or (found[3] and found[2] not in IN_MONTHS):
        raise UserError(
            f"no frequency {name[:40]!r}", where=where, fix=f"a number and one of {', '.join(UNITS)}; month-end, too"
        )
    return Frequency(int(found[1] or 1), found[2], bool(found[3]))


def months_of(days: Times) -> Times:
    """Return the months since January 1970 of days since 1970 [N]."""
    return days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)


def first_of(months: Times) -> Times:
    """Return the first day, in days since 1970, of months since January 1970 [N]."""
    return months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)


def day_of_month(days: Times) -> Times:
    """Return the day of the month, 1 to 31, of days since 1970 [N]."""
    return days - first_of(months_of(days)) + 1
