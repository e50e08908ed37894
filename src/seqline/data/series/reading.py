"""Reads a panel of time series from CSV, Parquet or a frame: each fault has a rule or is refused in one line.

The steps: columns by name, cells to numbers and times, local times to instants, order, frequency, gaps, missing cells.
Rows are never averaged, moved, added or dropped without being asked, and what was done stands in the panel's notes.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from seqline.data.series import Flags, Floats, Panel, Series, SeriesOptions, Times
from seqline.data.series.forms import TimeForm
from seqline.data.series.frames import read_frame, read_parquet
from seqline.data.series.frequency import Frequency, frequency_of
from seqline.data.series.gaps import Checked, Layout, put_on_grid, settle_missing
from seqline.data.series.roles import Roles, find_roles
from seqline.data.series.rows import Naming, Rows, put_in_order, settle_clock
from seqline.data.series.steps import find_frequency, find_row_step
from seqline.data.series.table import Column, Table, read_csv
from seqline.data.series.times import ReadTimes
from seqline.data.series.zones import check_zone, utc_of
from seqline.errors import UserError, counted, did_you_mean

if TYPE_CHECKING:
    from seqline.config import DataConfig

MOST_SIZE = 1e30
_NO_STATIC = {"", "na", "n/a", "#n/a", "nan", "null"}  # a text such as "none" may well be said of a series
_CHOICES = {
    "missing": ("refuse", "mask", "interpolate"),
    "repeated": ("refuse", "order", "first", "second"),
    "skipped": ("refuse", "drop"),
    "time_unit": ("", "row", "s", "ms", "us", "ns"),
}


def options_of(data: DataConfig) -> SeriesOptions:
    """Return how the series of a run are read, as its config says."""
    return SeriesOptions(**{field.name: getattr(data, field.name) for field in fields(SeriesOptions)})


def read_panel(
    data: Any,
    *,
    target: str | Sequence[str] | None = None,
    how: SeriesOptions = SeriesOptions(),  # noqa: B008
    fallback: str = "",
    texts: Sequence[str] = (),
) -> Panel:
    """Read time series.

    Args:
        data: a file name (`.parquet`, else CSV, plain or gzip; `-` is standard input), a polars or pandas frame, an
            object in Arrow's form, or a dict of columns.
        target: the columns to forecast; None = `y`, or the only one left.
        how: names of other columns, and the rules.
        fallback: the frequency where none is stated and no series has two points to find it from; "" = refuse.
        texts: static columns that hold texts, also where all of them look like numbers.

    Returns:
        The panel: at least one series, each with at least one point.

    Raises:
        UserError: anything that no rule covers, with file and line (or row of a frame), series and time.
    """
    _check(how)
    table = open_table(data)
    roles = find_roles(table, target, how)
    if not table.num_rows:
        raise UserError("has no rows", where=table.source, fix="give at least one point")
    columns = table.columns(roles.all)
    ids, rows, notes = _cells(table, roles, columns)
    clock = _times(rows, roles, columns, how)
    zone = (how.zone if clock.form.has_clock else "") or clock.zone
    naming = Naming(table, ids, roles.id, clock.form, zone)
    rows = rows._replace(times=clock.times)
    if clock.is_naive and zone:
        rows, found = settle_clock(rows, utc_of(clock.times, zone), how, naming)
        notes += found
        if not len(rows.row):
            raise UserError("no row is left", where=table.source, fix="check the zone")
    rows, found = put_in_order(rows, naming, how.sort)
    notes += found
    frequency = _frequency(rows, clock, naming, how, fallback)
    rows, found = put_on_grid(rows, frequency, naming, how.fill)
    notes += found
    is_future = _future(rows, roles.layout)
    notes += _future_notes(rows, is_future, roles.layout)
    checked = settle_missing(rows, is_future, roles.layout, how.missing, naming)
    series = _series(checked, is_future, roles, ids, _statics(checked.rows, roles, columns, texts))
    notes = [_summary(series, frequency, naming), *notes, *checked.notes, *_zone_notes(clock, how)]
    layout = roles.layout
    return Panel(
        series=series, frequency=frequency, targets=layout.targets, known=layout.known, past=layout.past,
        static=roles.static, zone=zone, form=clock.form, time_column=roles.time, id_column=roles.id, notes=tuple(notes),
    )  # fmt: skip


def open_table(data: Any) -> Table:
    """Open a file or a frame as a table.

    Raises:
        UserError: see `read_csv`, `read_parquet` and `read_frame`.
    """
    if not isinstance(data, str | os.PathLike):
        return read_frame(data)
    path = os.fsdecode(data)
    return read_parquet(path) if path.lower().endswith((".parquet", ".pq")) else read_csv(path)


def _check(how: SeriesOptions) -> None:
    for name, choices in _CHOICES.items():
        if getattr(how, name) not in choices:
            fix = did_you_mean(str(getattr(how, name)), [choice for choice in choices if choice])
            raise UserError(f"no such rule: {str(getattr(how, name))[:40]!r}", where=name, fix=fix)
    check_zone(how.zone)


def _cells(table: Table, roles: Roles, columns: dict[str, Column]) -> tuple[tuple[str, ...], Rows, list[str]]:
    """Return the ids in order of appearance, rows without times, and notes about columns."""
    notes: list[str] = []
    if roles.unused:
        shown = ", ".join(repr(name[:40]) for name in roles.unused[:8]) + (", ..." if len(roles.unused) > 8 else "")
        notes.append(f"{counted(len(roles.unused), 'column')} not used: {shown}")
    numbers = {name: columns[name].numbers() for name in roles.layout.names}
    for name, column in numbers.items():
        if column.num_inexact:
            notes.append(f"column {name!r}: {counted(column.num_inexact, 'integer')} above 2^53 lost digits")
        _refuse_large(columns[name], column.values, range(table.num_rows))
    cells = np.stack([numbers[name].values for name in roles.layout.names], axis=1)
    count = table.num_rows
    codes = np.zeros(count, dtype=np.int64)
    number_of = {"": 0}
    if roles.id:
        texts = columns[roles.id].keys()
        number_of = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        if "" in number_of:
            columns[roles.id].refuse(texts.index(""), "expected the id of a series, found an empty cell")
        codes = np.array([number_of[text] for text in texts], dtype=np.int64)
    row = np.arange(count)
    return tuple(number_of), Rows(row, codes, row, cells), notes


def _refuse_large(column: Column, values: Floats, rows: Sequence[int]) -> None:
    """Refuse numbers [N] whose squares a model could not hold; rows: where each stands."""
    is_large = np.abs(values) > MOST_SIZE
    if is_large.any():
        at = int(is_large.argmax())
        why = f"expected numbers up to {MOST_SIZE:g} in size, got {values[at]:g}"
        column.refuse(int(rows[at]), why, "count in a larger unit")


def _times(rows: Rows, roles: Roles, columns: dict[str, Column], how: SeriesOptions) -> ReadTimes:
    """Read the time column, or number the rows of each series where there is none."""
    if roles.time:
        return columns[roles.time].times(how)
    if how.time_unit or how.time_format or how.zone:
        what = "time_unit" if how.time_unit else "time_format" if how.time_format else "zone"
        raise UserError("there is no time column", where=what, fix="name it with `time`, or leave this out")
    order = np.argsort(rows.series, kind="stable")
    starts = np.flatnonzero(np.diff(rows.series[order], prepend=-1))
    sizes = np.diff(np.append(starts, len(order)))
    times = np.empty(len(order), dtype=np.int64)
    times[order] = np.arange(len(order)) - np.repeat(starts, sizes)
    return ReadTimes(times, TimeForm())


def _frequency(rows: Rows, clock: ReadTimes, naming: Naming, how: SeriesOptions, fallback: str) -> Frequency:
    """Find the frequency, or take the stated one, and refuse what does not go with the times."""
    source, is_row = naming.table.source, clock.form.is_row
    blocks = [rows.times[cut] for cut in rows.cuts()]
    found = _found(blocks, is_row, naming, how)
    is_alone = max(map(len, blocks)) == 1
    stated = how.frequency or (fallback if is_alone else "")
    frequency = frequency_of(stated) if stated else found
    if frequency is None:
        what = "no series has two points to find the frequency from"
        raise UserError(what, where=source, fix="state it with `frequency`, for instance 1h or 1d")
    if frequency.is_row != is_row:
        what = "the times are row numbers" if is_row else "the times are no row numbers"
        raise UserError(
            f"{what}, the frequency is {frequency.words}", where=source, fix="state another or leave it out"
        )
    if frequency.is_below_day and clock.is_naive and not naming.zone:
        what = f"times {frequency.words} apart have no time zone"
        raise UserError(
            what, where=source, fix="state the zone of the clock that wrote them: Europe/Berlin, +01:00, UTC"
        )
    if found is not None and 1.2 * found.size < frequency.size:
        what = f"points are mostly {found.words} apart, expected {frequency.words}"
        raise UserError(what, where=source, fix="give data of that frequency, or state another with `frequency`")
    return frequency


def _found(blocks: list[Times], is_row: bool, naming: Naming, how: SeriesOptions) -> Frequency | None:
    if not is_row:
        return find_frequency(blocks, naming.zone)
    step = find_row_step(blocks)
    if step > 1 and not how.time_unit:
        what = f"the times are integers in steps of {step}"
        fix = "state what they count with `time_unit` (row, s, ms, us or ns)"
        raise UserError(what, where=naming.table.source, fix=fix)
    return Frequency(step, "row") if not how.frequency or max(map(len, blocks)) > 1 else None


def _future(rows: Rows, layout: Layout) -> Flags:
    """Return which rows are of the future: [N] at the end of a series, without any target, if covariates are known."""
    is_future = np.zeros(len(rows.row), dtype=bool)
    if layout.known:
        has_value = np.any(~np.isnan(rows.cells[:, layout.is_target]), axis=1)
        for cut in rows.cuts():
            seen = np.flatnonzero(np.atleast_1d(has_value)[cut])
            is_future[cut.start + (int(seen[-1]) + 1 if len(seen) else 0) : cut.stop] = True
    return is_future


def _future_notes(rows: Rows, is_future: Flags, layout: Layout) -> list[str]:
    notes: list[str] = []
    if is_future.any():
        notes.append(f"{counted(int(is_future.sum()), 'row')} of the future: covariates only, after the last value")
        ignored = int((~np.isnan(rows.cells[is_future][:, len(layout.targets) + len(layout.known) :])).sum())
        if ignored:
            notes.append(f"{counted(ignored, 'value')} of past covariates in these rows not used")
    return notes


def _statics(
    rows: Rows, roles: Roles, columns: dict[str, Column], as_texts: Sequence[str]
) -> list[tuple[str | float, ...]]:
    """Return the static values of each series, in the order of the rows: numbers where a whole column is numbers."""
    values: list[list[str | float]] = [[] for _ in rows.cuts()]
    for name in roles.static:
        column = columns[name]
        texts = column.texts()
        chosen: list[str] = []
        for cut in rows.cuts():
            own = [texts[row] for row in rows.row[cut].tolist()]
            if len(set(own)) > 1:
                at = next(i for i, text in enumerate(own) if text != own[0])
                why = f"expected {own[0][:40]!r} as in the row before of its series, got {own[at][:40]!r}"
                column.refuse(int(rows.row[cut][at]), why, "a static column says one thing about a series")
            if own[0].lower() in _NO_STATIC:
                fix = "static columns need one; write a text in words"
                column.refuse(int(rows.row[cut][0]), "a missing value", fix)
            chosen.append(own[0])
        read = chosen if name in as_texts else _as_numbers(chosen)
        if numbers := [value for value in read if isinstance(value, float)]:
            _refuse_large(column, np.array(numbers), [int(rows.row[cut.start]) for cut in rows.cuts()])
        for series, value in zip(values, read, strict=True):
            series.append(value)
    return [tuple(series) for series in values]


def _as_numbers(texts: list[str]) -> list[float] | list[str]:
    try:
        numbers = [float(text) for text in texts if text.isascii() and "_" not in text]
    except ValueError:
        return texts
    return numbers if len(numbers) == len(texts) and np.isfinite(numbers).all() else texts


def _series(
    checked: Checked, is_future: Flags, roles: Roles, ids: tuple[str, ...], statics: list[tuple[str | float, ...]]
) -> tuple[Series, ...]:
    rows, layout = checked.rows, roles.layout
    num_targets, num_known = len(layout.targets), len(layout.known)
    found: list[Series] = []
    for cut, static in zip(rows.cuts(), statics, strict=True):
        cells = rows.cells[cut]
        length = int((~is_future[cut]).sum())
        found.append(
            Series(
                id=ids[int(rows.series[cut.start])],
                times=rows.times[cut][:length],
                values=cells[:length, :num_targets],
                is_observed=checked.is_observed[cut][:length, :num_targets],
                known=cells[:, num_targets : num_targets + num_known],
                past=cells[:length, num_targets + num_known :],
                static=static,
            )
        )
    return tuple(found)


def _summary(series: tuple[Series, ...], frequency: Frequency, naming: Naming) -> str:
    """Say what was found, in one sentence."""
    lengths = [len(one) for one in series]
    first, last = min(int(one.times[0]) for one in series), max(int(one.times[-1]) for one in series)
    span = f"from {naming.time(first)} to {naming.time(last)}"
    if len(series) == 1:
        return f"frequency: {frequency.words}, {counted(lengths[0], 'row')} {span}"
    size = f"{min(lengths):,} to {max(lengths):,}" if min(lengths) < max(lengths) else f"{lengths[0]:,}"
    return f"frequency: {frequency.words}, {len(series):,} series of {size} rows {span}"


def _zone_notes(clock: ReadTimes, how: SeriesOptions) -> list[str]:
    if clock.form.has_clock:
        if clock.zone == "UTC" and not how.zone and clock.form.pattern.endswith("%z"):
            return ["offsets differ from row to row: local time is taken as UTC; state `zone` for another"]
        return []
    return [f"zone {how.zone} is not used: the times have no clock"] if how.zone else []
