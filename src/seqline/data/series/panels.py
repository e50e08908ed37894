"""A panel as the columns that `read_panel` makes it from, so that series in memory can be trained on as a file is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from seqline.data.series import Floats, Panel, Series, SeriesOptions, Times
from seqline.data.series.calendar import future_times
from seqline.data.series.forms import TimeForm
from seqline.data.series.roles import ID_NAME, TIME_NAMES
from seqline.data.series.writing import Columns
from seqline.data.series.zones import SECOND


def panel_rows(panel: Panel, how: SeriesOptions) -> Columns:
    """Put a panel into columns: id, time, targets, covariates and static columns, under their names.

    Times are dates or instants in UTC, or what `how` states; what was not observed is an empty cell. Rows of the future, with
    known covariates alone, stay. `reading_back` says how the columns are read.

    Args:
        panel: what is written.
        how: how it was read.
    """
    keys = [panel.id_column or ID_NAME] if panel.id_column or len(panel.series) > 1 else []
    time = [panel.time_column or TIME_NAMES[0]] if _has_times(panel) else []
    names = (*keys, *time, *panel.targets, *panel.known, *panel.past, *panel.static)
    columns: Columns = {name: [] for name in names}
    form = panel.form if how.time_unit or how.time_format else _plain_form(panel)
    zone = panel.zone if form == panel.form else ""
    for one in panel.series:
        size = len(one.known) if panel.known else len(one)
        for key in keys:
            columns[key] += [one.id] * size
        for name in time:
            columns[name] += form.write(_times(panel, one, size), zone)
        for name, cells in _cells(panel, one, size):
            columns[name] += cells
    return columns


def reading_back(panel: Panel, how: SeriesOptions) -> SeriesOptions:
    """Return how the columns of `panel_rows` are read so that the same panel comes out.

    The rules stay: what they were asked for is done, and more data of that kind will need them again.

    Args:
        panel: what is written.
        how: how it was read.
    """
    return replace(how, zone=panel.zone, frequency=panel.frequency.name)


def _has_times(panel: Panel) -> bool:
    """Whether times are written; rows that count from 0 need none."""
    return not panel.frequency.is_row or bool(panel.time_column)


def _plain_form(panel: Panel) -> TimeForm:
    """Return the form that says an instant without a clock's two times for one."""
    if panel.frequency.is_row:
        return TimeForm()
    if not panel.form.has_clock:
        return TimeForm("%Y-%m-%d")
    is_fine = any((one.times % SECOND).any() for one in panel.series)
    return TimeForm(f"%Y-%m-%dT%H:%M:%S{'.%f' if is_fine else ''}{'Z' if panel.zone else ''}")


def _times(panel: Panel, one: Series, size: int) -> Times:
    return np.concatenate([one.times, future_times(panel, one, size - len(one))]) if size > len(one) else one.times


def _cells(panel: Panel, one: Series, size: int) -> Iterator[tuple[str, list[Any]]]:
    """Yield the name and the cells of each column, "" where nothing was observed."""
    gone = np.full((size - len(one), len(panel.targets)), np.nan)
    values = np.concatenate([np.where(one.is_observed, one.values, np.nan), gone])
    yield from _columns(panel.targets, values)
    yield from _columns(panel.known, one.known)
    yield from _columns(panel.past, np.concatenate([one.past, np.full((size - len(one), len(panel.past)), np.nan)]))
    for name, value in zip(panel.static, one.static, strict=True):
        yield name, [value] * size


def _columns(names: tuple[str, ...], values: Floats) -> Iterator[tuple[str, list[Any]]]:
    for name, column in zip(names, values.T, strict=True):
        yield name, ["" if cell != cell else cell for cell in column.tolist()]
