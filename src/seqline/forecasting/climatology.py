"""Climatology: what is usual at this time of the year and of the day, from the training span.

The mean of the training values at the same minute of the local day, at most 15 days of the year away (a circle of 366 days,
29 February has its own place). A place of the calendar without such a value takes the mean at its minute of the day over the
whole span, and without that the mean of the span; so does a span that covers less than a year, of whose other seasons it
knows nothing. Without a calendar the place is the phase in the season, `row number % period`.

*Source*: the means of day and hour of the World Meteorological Organization (Guidelines on the Calculation of Climate Normals,
WMO-No. 1203, 2017), smoothed by a running window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from seqline.forecasting.history import Array, Forecast, Mask, Past, Setting, Span, Times

_MINUTE, _DAY = 60_000_000, 86_400_000_000
_DAYS = 366
_REACH = 15  # days of the year on each side
_WHOLE_YEAR = 360 * _DAY  # a span this long knows every season
_MONTHS = np.array([31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
_BEFORE = np.array([0, *accumulate(_MONTHS[:-1].tolist())])


@dataclass(frozen=True)
class _Table:
    """Means of one training span. slots: [S] the minutes or phases that were seen, ascending. means: [D S F]. overall: [F]."""

    slots: Times
    means: Array
    overall: Array

    def at(self, day: NDArray[np.int64], slot: Times) -> Array:
        """Look up places of the calendar, [H F]."""
        column = np.minimum(np.searchsorted(self.slots, slot), len(self.slots) - 1)
        found = self.means[day % len(self.means), column]
        return np.where((self.slots[column] == slot)[:, None], found, self.overall)


def fit_climatology(training: Sequence[Span], setting: Setting) -> Forecast:
    """Average each training span by its calendar.

    A forecast for a series that is none of several training spans is the mean of its history: no calendar of another
    series says anything about its level.

    Args:
        training: the spans; one without `when` has its overall mean alone.
        setting: whether `when` is a calendar, and the season where it is none.
    """
    tables = [_table(span, setting) for span in training]

    def forecast(past: Past, horizon: int) -> Array:
        number = 0 if len(tables) == 1 else past.series
        if number is None:
            return np.repeat(_mean(past.values, past.is_observed)[None], horizon, axis=0)
        table = tables[number]
        # A column that the span never saw has no mean there.
        usual = np.where(np.isnan(table.overall), _mean(past.values, past.is_observed), table.overall)
        if past.when is None:
            return np.repeat(usual[None], horizon, axis=0)
        found = table.at(*_places(past.when, setting))
        return np.where(np.isnan(found), usual, found)

    return forecast


def _table(span: Span, setting: Setting) -> _Table:
    seen = span.mask
    overall = np.where(seen.any(axis=0), _mean(span.values, seen), np.nan)
    when = np.zeros(len(span.values), np.int64) if span.when is None else span.when
    day, slot = _places(when, setting)
    slots, column = np.unique(slot, return_inverse=True)
    is_year = setting.is_calendar and int(when[-1] - when[0]) >= _WHOLE_YEAR
    sums = np.zeros((_DAYS if is_year else 1, len(slots), span.values.shape[1]))
    counts = np.zeros_like(sums)
    # Sums of distances from the mean, so that a constant has that constant everywhere.
    distance = np.where(seen, span.values - np.nan_to_num(overall), 0.0)
    np.add.at(sums, (day % len(sums), column), distance)
    np.add.at(counts, (day % len(sums), column), seen)
    slot_mean = _divide(sums.sum(axis=0), counts.sum(axis=0), np.zeros(sums.shape[1:]))
    if is_year:
        sums, counts = _running(sums), _running(counts)
    return _Table(slots, overall + _divide(sums, counts, np.broadcast_to(slot_mean, sums.shape)), overall)


def _places(when: Times, setting: Setting) -> tuple[NDArray[np.int64], Times]:
    """Return the day of a leap year, from 0, and the minute of the day; or 0 and the phase in the season."""
    if not setting.is_calendar:
        return np.zeros(len(when), np.int64), when % setting.period
    dates = (when // _DAY).astype("datetime64[D]")
    months = dates.astype("datetime64[M]")
    day_of_month = (dates - months).astype(np.int64)
    return _BEFORE[months.astype(np.int64) % 12] + day_of_month, when % _DAY // _MINUTE


def _running(by_day: Array) -> Array:
    """Sum over the days at most `_REACH` away, around the circle."""
    ends = np.concatenate([by_day[-_REACH:], by_day, by_day[:_REACH]])
    windows = np.lib.stride_tricks.sliding_window_view(ends, 2 * _REACH + 1, axis=0)
    return windows.sum(axis=-1)


def _divide(sums: Array, counts: Array, default: Array) -> Array:
    return np.divide(sums, counts, out=np.array(default, dtype=np.float64), where=counts > 0)


def _mean(values: Array, seen: Mask) -> Array:
    """Return the mean of each column's observed points, [F]; exact for a constant, 0 for a column without any."""
    columns = np.arange(values.shape[1])
    first = np.where(seen.any(axis=0), values[seen.argmax(axis=0), columns], 0.0)
    return first + np.where(seen, values - first, 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
