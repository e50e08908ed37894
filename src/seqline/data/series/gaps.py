"""Rows on their grid: steps off it, gaps in it, and what becomes of missing cells."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqline.data.series import Flags, Missing, Times
from seqline.data.series.frequency import IN_MONTHS, Frequency
from seqline.data.series.rows import Naming, Rows
from seqline.data.series.steps import kept_day
from seqline.data.series.zones import DAY, local_of
from seqline.errors import UserError, counted

MOST_ROWS = 20_000_000
"""The most rows that filling gaps may lead to."""


class Layout(NamedTuple):
    """Which columns the cells have, in this order: targets, known covariates, past covariates."""

    targets: tuple[str, ...]
    known: tuple[str, ...]
    past: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """All C names."""
        return self.targets + self.known + self.past

    @property
    def is_target(self) -> Flags:
        """[C]."""
        return np.arange(len(self.names)) < len(self.targets)

    @property
    def is_known(self) -> Flags:
        """[C]."""
        place = np.arange(len(self.names)) - len(self.targets)
        return (place >= 0) & (place < len(self.known))


class Checked(NamedTuple):
    """Rows without NaN, which cells were observed [N C], and notes."""

    rows: Rows
    is_observed: Flags
    notes: list[str]


def anchor_day(times: Times, frequency: Frequency, zone: str) -> int:
    """Return the day of the month that a series [N] keeps, 0 where its frequency has none."""
    return kept_day(local_of(times, zone) // DAY) if frequency.unit in IN_MONTHS else 0


def put_on_grid(rows: Rows, frequency: Frequency, naming: Naming, fill: bool) -> tuple[Rows, list[str]]:
    """Return rows that are one step apart, and notes.

    Args:
        rows: in order.
        frequency: one step.
        naming: for errors.
        fill: put rows of NaN into gaps instead of refusing them.

    Raises:
        UserError: a time off the grid; a gap and no `fill`; gaps too long to fill; steps that are all longer.
    """
    cuts = rows.cuts()
    steps: list[Times] = []
    for number, cut in enumerate(cuts):
        times = rows.times[cut]
        if steps and np.array_equal(times, rows.times[cuts[number - 1]]):  # series of a panel often share their times
            steps.append(steps[-1])
            continue
        k = frequency.nearest(int(times[0]), times, naming.zone)
        off = _off_grid(times, k, frequency, naming.zone)
        if len(off):
            _refuse_off(rows, cut, int(off[0]), frequency, naming)
        steps.append(k)
    gaps = [np.diff(k) - 1 for k in steps]
    num_missing = sum(int(gap.sum()) for gap in gaps)
    if not num_missing:
        return rows, []
    if all((gap > 0).all() for gap in gaps):
        at = next(i for i, gap in enumerate(gaps) if len(gap))
        row = int(rows.row[cuts[at].start + 1])
        what = f"expected steps of {frequency.words}, every step is longer (this one is {int(gaps[at][0]) + 1} of them)"
        naming.refuse(row, what, "give data of that frequency, or state another with `frequency`")
    if not fill:
        _refuse_gap(rows, gaps, frequency, naming)
    if len(rows.row) + num_missing > MOST_ROWS:
        raise UserError(
            f"gaps of {num_missing:,} rows in all are too long to fill",
            where=naming.table.source,
            fix="cut the series apart",
        )
    note = f"{counted(num_missing, 'row')} put into gaps"
    return _filled(rows, cuts, steps, frequency, naming.zone), [note]


def settle_missing(rows: Rows, is_future: Flags, layout: Layout, rule: Missing, naming: Naming) -> Checked:
    """Refuse, mask or fill the missing cells.

    Args:
        rows: on their grid, [N C] cells.
        is_future: [N] rows of the future: only their known covariates are looked at.
        layout: the C columns.
        rule: see `SeriesOptions.missing`.
        naming: for errors.

    Raises:
        UserError: a missing cell that no rule covers; a series without any value.
    """
    names = layout.names
    is_missing = np.isnan(rows.cells)
    is_missing[np.ix_(is_future, ~layout.is_known)] = False
    _refuse_empty(rows, is_future, layout, naming)
    covered = {"refuse": False, "mask": layout.is_target[None, :], "interpolate": ~is_future[:, None]}[rule]
    _refuse_missing(rows, is_missing & ~np.broadcast_to(covered, is_missing.shape), names, rule, naming)
    count = int(is_missing.sum())
    how = "filled with the last value before" if rule == "interpolate" else "masked"
    notes = [f"{counted(count, 'missing cell')} {how}"] if count else []
    if rule == "interpolate":
        return Checked(_carried(rows, is_missing, names, naming), np.ones_like(is_missing), notes)
    return Checked(rows._replace(cells=np.where(is_missing, 0.0, rows.cells)), ~is_missing, notes)


def _refuse_empty(rows: Rows, is_future: Flags, layout: Layout, naming: Naming) -> None:
    """Refuse a series that has no value of some target."""
    is_missing = np.isnan(rows.cells[:, layout.is_target]) | is_future[:, None]
    for cut in rows.cuts():
        is_empty = is_missing[cut].all(axis=0)
        if is_empty.any():
            column = layout.targets[int(is_empty.argmax())]
            at = naming.at(int(rows.series[cut.start]), int(rows.times[cut.start]))
            what = f"{at}: column {column!r} has no value in the whole series"
            naming.refuse(int(rows.row[cut.start]), what, "give at least one, or leave the series out")


def _off_grid(times: Times, k: Times, frequency: Frequency, zone: str) -> NDArray[np.intp]:
    """Return which times are not `k` steps after the first."""
    try:
        return np.flatnonzero(frequency.step(int(times[0]), k, zone, anchor_day(times, frequency, zone)) != times)
    except OverflowError:
        return np.array([len(times) - 1])  # the step that leaves the calendar is the last


def _refuse_off(rows: Rows, cut: slice, at: int, frequency: Frequency, naming: Naming) -> None:
    row = cut.start + at
    series = int(rows.series[row])
    what = (
        f"{naming.at(series, int(rows.times[row]))}: off the grid of {frequency.words} "
        f"that starts at {naming.time(int(rows.times[cut.start]))}"
    )
    naming.refuse(int(rows.row[row]), what, "correct the time, or state the step with `frequency`")


def _refuse_gap(rows: Rows, gaps: list[Times], frequency: Frequency, naming: Naming) -> None:
    number = next(i for i, gap in enumerate(gaps) if gap.any())
    cut = rows.cuts()[number]
    before = cut.start + int(np.flatnonzero(gaps[number])[0])
    times = rows.times[cut]
    k = frequency.nearest(int(times[0]), rows.times[before : before + 1], naming.zone) + 1
    instant = int(frequency.step(int(times[0]), k, naming.zone, anchor_day(times, frequency, naming.zone))[0])
    total, places = sum(int(gap.sum()) for gap in gaps), sum(int((gap > 0).sum()) for gap in gaps)
    what = (
        f"{naming.at(int(rows.series[before]), instant)}: the first missing row; {total:,} missing at a step of "
        f"{frequency.words}, in {counted(places, 'gap')}"
    )
    fix = "add them, or ask for `fill` and say with `missing` what becomes of their cells (mask or interpolate)"
    naming.refuse(int(rows.row[before + 1]), what, fix)


def _filled(rows: Rows, cuts: list[slice], steps: list[Times], frequency: Frequency, zone: str) -> Rows:
    parts: list[Rows] = []
    for cut, k in zip(cuts, steps, strict=True):
        part = rows.take(np.arange(cut.start, cut.stop))
        every = np.arange(int(k[-1]) + 1)
        source = np.searchsorted(k, every, side="right") - 1
        is_new = k[source] != every
        day = anchor_day(part.times, frequency, zone)
        places = part.row[np.searchsorted(k, every)]  # a new row is named by the one that it stands before
        times = frequency.step(int(part.times[0]), every, zone, day)
        part = part.take(source)._replace(times=times, row=places)
        part.cells[is_new] = np.nan
        parts.append(part)
    return Rows(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _refuse_missing(rows: Rows, is_bad: Flags, names: tuple[str, ...], rule: Missing, naming: Naming) -> None:
    if is_bad.any():
        row, column = (int(i) for i in np.argwhere(is_bad)[0])
        count = int(is_bad.sum())
        what = (
            f"{naming.at(int(rows.series[row]), int(rows.times[row]))}, column {names[column]!r}: a missing value "
            f"({counted(count, 'such cell')})"
        )
        fix = {
            "refuse": "give it, or say with `missing` what becomes of it (mask or interpolate)",
            "mask": "give it; covariates are not masked, ask for `missing=interpolate`",
            "interpolate": "give it; known covariates are needed for every future row",
        }[rule]
        naming.refuse(int(rows.row[row]), what, fix)


def _carried(rows: Rows, is_missing: NDArray[np.bool_], names: tuple[str, ...], naming: Naming) -> Rows:
    """Put the last value of the same series into missing cells."""
    at = np.where(is_missing, -1, np.arange(len(is_missing))[:, None])
    last = np.maximum.accumulate(at, axis=0)
    starts = np.zeros(len(is_missing), dtype=np.int64)
    for cut in rows.cuts():
        starts[cut] = cut.start
    is_bad = last < starts[:, None]
    if is_bad.any():
        row, column = (int(i) for i in np.argwhere(is_bad)[0])
        what = (
            f"{naming.at(int(rows.series[row]), int(rows.times[row]))}, column {names[column]!r}: missing at the start"
        )
        naming.refuse(int(rows.row[row]), f"{what}, with no value before it", "leave these rows out")
    return rows._replace(cells=np.take_along_axis(rows.cells, last, axis=0))
