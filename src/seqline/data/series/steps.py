"""Which frequency a panel has: the commonest step between neighbours, in the unit of the calendar that fits it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from seqline.data.series import Times
from seqline.data.series.frequency import FIXED, Frequency, day_of_month, first_of, months_of
from seqline.data.series.zones import DAY, local_of

_SHORTEST_MONTH = 28
_NEARLY_DAY = DAY - 2 * FIXED["h"]  # the shortest day on which a clock changes


def find_frequency(series: Sequence[Times], zone: str) -> Frequency | None:
    """Find the frequency of a panel.

    Steps below a day are sizes between instants. From a day on, the local calendar decides: months if the day of the
    month stays (or is the last one, or the last one where the month is too short), business days if no time is at a
    weekend and some step leads over one, weeks if the days are a multiple of seven, days otherwise. Points a day apart
    whose local time of day changes, while they are exactly 24 hours apart, are hours.

    Args:
        series: ascending times of each series, microseconds since 1970 UTC.
        zone: the zone whose calendar counts; "" = times as written.

    Returns:
        The frequency; None if no series has two points.
    """
    longer = [times for times in series if len(times) > 1]
    if not longer:
        return None
    size = _commonest(np.concatenate([np.diff(times) for times in longer]))
    if size < _NEARLY_DAY:
        return _fixed(size)
    local = np.split(local_of(np.concatenate(longer), zone), np.cumsum([len(times) for times in longer])[:-1])
    if any((times % DAY != times[0] % DAY).any() for times in local) and all(
        (np.diff(times) % size == 0).all() for times in longer
    ):
        return _fixed(size)
    days = [times // DAY for times in local]
    step = _commonest(np.concatenate([np.diff(times) for times in days]))
    if step >= _SHORTEST_MONTH and all(_keeps_day(times) for times in days):
        return _in_months(days)
    if step == 1 and _skips_weekends(days):
        return Frequency(1, "b")
    return Frequency(step // 7, "w") if step % 7 == 0 else Frequency(max(step, 1), "d")


def find_row_step(series: Sequence[Times]) -> int:
    """Return the commonest step of row numbers, 1 where no series has two."""
    steps = [np.diff(rows) for rows in series if len(rows) > 1]
    return _commonest(np.concatenate(steps)) if steps else 1


def kept_day(days: Times) -> int:
    """Return the day of the month that a monthly series keeps: the largest one seen in days since 1970 [N]."""
    return int(day_of_month(days).max())


def _commonest(steps: Times) -> int:
    """Return the commonest step, the smallest of several."""
    sizes, counts = np.unique(steps, return_counts=True)
    return int(sizes[counts.argmax()])


def _fixed(size: int) -> Frequency:
    unit = next(unit for unit in ("h", "min", "s", "ms", "us") if size % FIXED[unit] == 0)
    return Frequency(size // FIXED[unit], unit)


def _keeps_day(days: Times) -> bool:
    """Whether days since 1970 have one day of the month, clipped where a month is too short."""
    months = months_of(days)
    lengths = first_of(months + 1) - first_of(months)
    return bool((day_of_month(days) == np.minimum(kept_day(days), lengths)).all())


def _in_months(days: list[Times]) -> Frequency:
    n = _commonest(np.concatenate([np.diff(months_of(times)) for times in days]))
    is_end = all((day_of_month(times + 1) == 1).all() for times in days)
    if n % 12 == 0:
        return Frequency(n // 12, "year", is_end)
    return Frequency(1, "quarter", is_end) if n == 3 else Frequency(n, "month", is_end)


def _skips_weekends(days: list[Times]) -> bool:
    """Whether no day is a Saturday or Sunday, and some Monday follows its Friday."""
    weekdays = [(times + 3) % 7 for times in days]  # 1970 began on a Thursday; Monday = 0
    if any((weekday > 4).any() for weekday in weekdays):
        return False
    return any(
        ((np.diff(times) == 3) & (weekday[:-1] == 4)).any() for times, weekday in zip(days, weekdays, strict=True)
    )
