"""Rows of a table on their way to a panel: instants of local times, duplicates, order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from seqline.data.series import Floats, Repeated, SeriesOptions, Times
from seqline.data.series.forms import TimeForm
from seqline.data.series.table import Table
from seqline.data.series.zones import Utc
from seqline.errors import UserError, counted


class Rows(NamedTuple):
    """N rows.

    Attributes:
        row: [N] their place in the table, counted from 0.
        series: [N] the number of their series.
        times: [N] microseconds since 1970 UTC, or row numbers.
        cells: [N C] targets, known and past covariates, NaN where missing.
    """

    row: Times
    series: Times
    times: Times
    cells: Floats

    def take(self, index: NDArray[np.intp] | NDArray[np.bool_]) -> Rows:
        """Return some of the rows, or all in another order."""
        return Rows(self.row[index], self.series[index], self.times[index], self.cells[index])

    def cuts(self) -> list[slice]:
        """Return where each series stands, for rows of which those of a series are neighbours."""
        starts = np.flatnonzero(np.diff(self.series, prepend=-1))
        return [slice(int(a), int(b)) for a, b in zip(starts, [*starts[1:], len(self.series)], strict=True)]


@dataclass(frozen=True)
class Naming:
    """What a row is called in errors and notes."""

    table: Table
    ids: tuple[str, ...]
    id_column: str
    form: TimeForm
    zone: str

    def time(self, instant: int) -> str:
        """Write one time as the input does."""
        return str(self.form.write(np.array([instant], dtype=np.int64), self.zone)[0])

    def at(self, series: int, instant: int) -> str:
        """Name a series, where there are several, and a time."""
        time = self.time(instant)
        time = f"row {time}" if self.form.is_row else time
        return f"series {self.ids[series][:60]!r}, {time}" if self.id_column else time

    def refuse(self, row: int, what: str, fix: str) -> NoReturn:
        """Refuse the input at a row of the table.

        Raises:
            UserError: always.
        """
        raise UserError(what, where=self.table.place(row), fix=fix)


def settle_clock(rows: Rows, utc: Utc, how: SeriesOptions, naming: Naming) -> tuple[Rows, list[str]]:
    """Turn local times into instants, by the rules for times that the clock skips or shows twice.

    Args:
        rows: their times are local.
        utc: what the clock says of each.
        how: the rules.
        naming: for errors.

    Returns:
        The rows with instants, those dropped that the clock never shows; and notes.

    Raises:
        UserError: such a time and no rule.
    """
    notes: list[str] = []
    twice = np.flatnonzero(utc.is_repeated)
    if len(twice) and how.repeated == "refuse":
        _refuse_clock(
            rows, twice, naming, "comes twice", "state with `repeated` what it means (order, first or second)"
        )
    skipped = np.flatnonzero(utc.is_skipped)
    if len(skipped) and how.skipped == "refuse":
        _refuse_clock(rows, skipped, naming, "does not exist", "check the zone, or drop such rows with `skipped=drop`")
    if len(skipped):
        notes.append(f"{counted(len(skipped), 'row')} dropped: their local times do not exist in {naming.zone}")
    if len(twice):
        notes.append(
            f"{counted(len(twice), 'local time')} that come twice in {naming.zone} read by the rule {how.repeated}"
        )
    times = np.where(_takes_second(rows, how.repeated), utc.second, utc.first)
    return rows._replace(times=times).take(~utc.is_skipped), notes


def put_in_order(rows: Rows, naming: Naming, sort: bool) -> tuple[Rows, list[str]]:
    """Return rows of which each series is one block with ascending times, and notes.

    Args:
        rows: in the order of the table.
        naming: for errors.
        sort: bring rows into order, by id and time, instead of refusing those out of order.

    Raises:
        UserError: two rows with one time in one series; unsorted or interleaved rows and no `sort`.
    """
    order = np.lexsort((rows.row, rows.times, rows.series))
    _refuse_twins(rows.take(order), naming)
    if not sort:
        _refuse_disorder(rows, naming)
        return rows, []
    rank = np.empty(len(naming.ids), dtype=np.int64)
    rank[sorted(range(len(naming.ids)), key=naming.ids.__getitem__)] = np.arange(len(naming.ids))
    order = np.lexsort((rows.row, rows.times, rank[rows.series]))
    moved = int((order != np.arange(len(order))).sum())
    return rows.take(order), [f"{counted(moved, 'row')} moved by sorting"]


def _takes_second(rows: Rows, rule: Repeated) -> NDArray[np.bool_]:
    """Return which rows mean the second instant of a repeated local time: [N]."""
    if rule != "order":
        return np.full(len(rows.row), rule == "second", dtype=bool)
    order = np.lexsort((rows.row, rows.times, rows.series))
    series, times = rows.series[order], rows.times[order]
    is_later = np.zeros(len(order), dtype=bool)
    is_later[order[1:]] = (series[1:] == series[:-1]) & (times[1:] == times[:-1])
    return is_later


def _refuse_clock(rows: Rows, bad: NDArray[np.intp], naming: Naming, why: str, fix: str) -> NoReturn:
    first = int(bad[0])
    local = naming.form.write(rows.times[first : first + 1], "")[0]
    series = f"series {naming.ids[int(rows.series[first])][:60]!r}, " if naming.id_column else ""
    what = f"{series}{local}: this local time {why} in {naming.zone} ({counted(len(bad), 'such row')})"
    naming.refuse(int(rows.row[first]), what, fix)


def _refuse_twins(rows: Rows, naming: Naming) -> None:
    """Refuse neighbours with one series and time."""
    twins = np.flatnonzero((np.diff(rows.series) == 0) & (np.diff(rows.times) == 0))
    if len(twins):
        at = twins[rows.row[twins + 1].argmin()]
        first, second = (int(row) for row in rows.row[at : at + 2])
        what = f"{naming.at(int(rows.series[at]), int(rows.times[at]))}: a second row for this time, the first is "
        fix = (
            "keep one of them" if naming.id_column else "keep one, or name the column that tells series apart with `id`"
        )
        naming.refuse(second, f"{what}{naming.table.place(first)} ({counted(len(twins), 'duplicate')} in all)", fix)


def _refuse_disorder(rows: Rows, naming: Naming) -> None:
    changes = np.flatnonzero(np.diff(rows.series))
    _, firsts = np.unique(rows.series, return_index=True)
    backwards = (np.diff(rows.series) == 0) & (np.diff(rows.times) < 0)
    returns = np.setdiff1d(changes + 1, firsts)
    bad = np.union1d(np.flatnonzero(backwards) + 1, returns)
    if len(bad):
        at = int(bad[0])
        name = naming.at(int(rows.series[at]), int(rows.times[at]))
        what = "comes after a later time" if backwards[at - 1] else "comes after another series began"
        naming.refuse(
            int(rows.row[at]), f"{name}: {what} ({counted(len(bad), 'such place')})", "sort the rows, or ask for `sort`"
        )
