"""Forecasts in the form their history came in: a pandas frame for a pandas frame, polars for polars, columns for the rest.

Keys keep their type: a column of datetimes comes back as datetimes of the same zone and precision, ids as what they were.
Columns that cannot hold a forecast's key (a time of day in a column of dates) come back as text.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from seqline.data.series import Panel, Times
from seqline.data.series.frames import first_line, require_polars
from seqline.data.series.writing import Columns
from seqline.data.series.zones import local_of
from seqline.errors import UserError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def returned(history: Any, panel: Panel, columns: Columns, times: Times) -> Any:
    """Return columns as the kind of thing that a history was.

    Args:
        history: what `read_panel` read: a pandas or polars frame, an object in Arrow's form, a mapping, or a file name.
        panel: what it read of it.
        columns: of `forecast_rows`.
        times: [rows] the instants of their rows, microseconds since 1970 UTC, or row numbers.

    Returns:
        A pandas frame for one; its time is the index where the history had it there. A polars frame for one and for other
        objects in Arrow's form. Else a dict of columns; datetimes where the history had a list or an array of them.
    """
    if all(hasattr(history, name) for name in ("iloc", "columns", "index")):
        with _fitting(ValueError, OverflowError):
            return _pandas(history, panel, columns, times)
    if hasattr(history, "__arrow_c_stream__"):
        with _fitting(require_polars("a frame of forecasts").exceptions.PolarsError):
            return _polars(history, panel, columns, times)
    return _dict(history, panel, columns, times) if isinstance(history, Mapping) else columns


@contextmanager
def _fitting(*errors: type[Exception]) -> Iterator[None]:
    """Refuse, in place of these errors, types of a history that cannot hold what comes next."""
    try:
        yield
    except errors as error:
        what = f"the types of the history cannot hold the forecast: {first_line(error)}"
        raise UserError(what, where="frame", fix="give times in microseconds, ids as texts or whole numbers") from error


def _dict(history: Mapping[str, Any], panel: Panel, columns: Columns, times: Times) -> dict[str, Any]:
    found: dict[str, Any] = dict(columns)
    history = {str(name): column for name, column in history.items()}
    if panel.time_column:
        found[panel.time_column] = _like(history[panel.time_column], panel, columns, times)
    if panel.id_column:
        known = {str(cell): cell for cell in history[panel.id_column]}
        found[panel.id_column] = [known.get(text, text) for text in columns[panel.id_column]]
    return found


def _like(given: Sequence[Any], panel: Panel, columns: Columns, times: Times) -> Any:
    """Return the times of a dict as what the history's were: an array of datetimes, a list of them, or as written."""
    if isinstance(given, np.ndarray) and given.dtype.kind == "M":
        return local_of(times, panel.zone).astype("datetime64[us]").astype(given.dtype)
    if all(isinstance(cell, datetime) and cell.tzinfo is None for cell in given):
        return [(_EPOCH + timedelta(microseconds=t)).replace(tzinfo=None) for t in local_of(times, panel.zone).tolist()]
    return columns[panel.time_column]


def _pandas(history: Any, panel: Panel, columns: Columns, times: Times) -> Any:
    pd = importlib.import_module("pandas")
    name = panel.time_column
    history = history.set_axis(history.columns.map(str), axis=1)
    is_column = name in history.columns
    frame = pd.DataFrame(columns)
    if name:
        given = history[name] if is_column else history.index.to_series()
        if given.dtype.kind == "M":
            zone = given.dt.tz
            instants = pd.to_datetime(times if zone is not None else local_of(times, panel.zone), unit="us", utc=True)
            instants = instants.tz_localize(None) if zone is None else instants.tz_convert(zone)
            frame[name] = instants.astype(given.dtype)
    key = panel.id_column
    if key:
        frame[key] = frame[key].astype((history[key] if key in history.columns else history.index).dtype)
    index = next((one for one in (name, key) if one and one not in history.columns), None)
    return frame if index is None else frame.set_index(index).rename_axis(history.index.name)


def _polars(history: Any, panel: Panel, columns: Columns, times: Times) -> Any:
    pl = require_polars("a frame of forecasts")
    history = history if hasattr(history, "get_column") else pl.DataFrame(history)
    frame = pl.DataFrame(columns)
    name, schema = panel.time_column, history.schema
    if name and schema[name] == pl.Date:
        frame = frame.with_columns(pl.Series(name, times).cast(pl.Datetime("us")).cast(pl.Date))
    elif name and schema[name] == pl.Datetime:
        zone = schema[name].time_zone
        instants = pl.Series(name, times if zone else local_of(times, panel.zone)).cast(pl.Datetime("us"))
        if zone:
            instants = instants.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
        frame = frame.with_columns(instants.dt.cast_time_unit(schema[name].time_unit))
    if panel.id_column:
        frame = frame.with_columns(pl.col(panel.id_column).cast(schema[panel.id_column]))
    return frame
