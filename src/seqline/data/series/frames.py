"""Tables from Python: polars and pandas frames, anything in Arrow's form, dictionaries of columns; and Parquet files.

polars is imported only where it is needed, pandas never: a pandas frame is read through its own methods.
"""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from seqline.data.series.forms import TimeForm
from seqline.data.series.numbers import count_inexact
from seqline.data.series.table import CellColumn, Column, InstantColumn, NumberColumn, Place, Table
from seqline.data.series.times import ReadTimes
from seqline.data.series.zones import DAY, FIRST, LAST, SECOND, check_zone
from seqline.errors import UserError
from seqline.files import read_bytes

Read = Callable[[str, Place], Column]


class FrameTable(Table):
    """A table whose columns a frame holds with their types."""

    def __init__(self, source: str, names: Sequence[Any], num_rows: int, read: Read) -> None:
        self.source, self.num_rows, self.read = source, num_rows, read
        self.names = tuple(str(name) for name in names)
        if len(set(self.names)) != len(self.names):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise UserError(f"two columns are called {twice[:60]!r}", where=source, fix="rename one")

    def place(self, row: int) -> str:
        """See `Table`: the row, counted from 0."""
        return f"{self.source} row {row}"

    def columns(self, names: Sequence[str]) -> dict[str, Column]:
        """See `Table`."""
        return {name: self.read(name, self.place) for name in names}


def read_parquet(path: str) -> FrameTable:
    """Read a Parquet file.

    Raises:
        UserError: polars is not installed, no such file, no Parquet.
    """
    pl = require_polars("reading Parquet")
    data = read_bytes(path)
    try:
        frame = pl.read_parquet(io.BytesIO(data), use_statistics=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        raise UserError(
            f"cannot be read as Parquet: {first_line(error)}", where=path, fix="write the file again"
        ) from error
    return _polars_table(frame, path)


def read_frame(data: Any, source: str = "frame") -> FrameTable:
    """Read a polars or pandas frame, an object in Arrow's form, or a mapping of names to columns.

    Raises:
        UserError: none of these, or columns of different lengths.
    """
    if isinstance(data, Mapping):
        return _mapping_table(data, source)
    if all(hasattr(data, name) for name in ("iloc", "columns", "index")):
        return _pandas_table(data, source)
    if hasattr(data, "iloc"):
        raise UserError("is one column", where=source, fix="call to_frame() or reset_index() first")
    if hasattr(data, "__arrow_c_stream__"):
        pl = require_polars("reading a frame")
        try:
            return _polars_table(data if hasattr(data, "get_column") else pl.DataFrame(data), source)
        except pl.exceptions.PolarsError as error:
            raise UserError(f"cannot be read: {first_line(error)}", where=source) from error
    raise UserError(
        f"expected a file name, a polars or pandas frame, or a dict of columns, got {type(data).__name__}", where=source,
        fix="a lazy frame: collect it first",
    )  # fmt: skip


def require_polars(what: str) -> Any:
    """Import polars, or say how to install it.

    Raises:
        UserError: it is not installed.
    """
    if importlib.util.find_spec("polars") is None:
        raise UserError(f"{what} needs polars, which is not installed", fix='pip install "seqline[forecast]"')
    return importlib.import_module("polars")


def _polars_table(frame: Any, source: str) -> FrameTable:
    def read(name: str, place: Place) -> Column:
        try:
            return _polars_column(frame.get_column(name), name, place)
        except (TypeError, ValueError, OverflowError, require_polars("a frame").exceptions.PolarsError) as error:
            return _refuse(name, place, 0, f"cannot be read: {first_line(error)}")

    return FrameTable(source, frame.columns, frame.height, read)


def _polars_column(column: Any, name: str, place: Place) -> Column:
    pl = require_polars("reading a frame")
    dtype = column.dtype
    if dtype.is_integer():
        lost = count_inexact(column.drop_nulls().to_numpy())
        values = column.cast(pl.Float64).to_numpy() if column.null_count() else column.to_numpy()
        return NumberColumn(name, place, values, lost)
    if dtype.is_numeric() or dtype == pl.Boolean:
        return NumberColumn(name, place, column.cast(pl.Float64).to_numpy())
    if dtype == pl.Date or dtype == pl.Datetime:
        if column.null_count():
            _refuse(name, place, int(column.is_null().arg_max()), "expected a time, found nothing")
        unit = None if dtype == pl.Date else dtype.time_unit
        factor = {None: DAY, "ms": 1000, "us": 1, "ns": 0}[unit]
        numbers = column.to_physical().cast(pl.Int64).to_numpy()
        return _instants(name, place, numbers, factor, None if unit is None else dtype.time_zone or "")
    if dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null):
        return CellColumn(name, place, column.cast(pl.String).to_list())
    return _refuse(name, place, 0, f"expected numbers, text or times, got {dtype}")


def _pandas_table(frame: Any, source: str) -> FrameTable:
    if getattr(frame.index, "nlevels", 1) > 1 or getattr(frame.columns, "nlevels", 1) > 1:
        raise UserError("has an index of several levels", where=source, fix="call reset_index() first")
    columns = {str(name): frame.iloc[:, i] for i, name in enumerate(frame.columns)}
    names: list[Any] = list(frame.columns)
    index, is_time = frame.index, frame.index.dtype.kind == "M"
    if hasattr(index, "to_timestamp") and not is_time:
        raise UserError("has an index of periods", where=source, fix="call to_timestamp() first")
    if index.name is None and not is_time and index.dtype.kind not in "iu":
        raise UserError(
            "has an index without a name", where=source, fix="name it, or call reset_index(drop=True) first"
        )
    name = str(index.name or "ds")
    has_own = name not in columns and (is_time or index.name is not None)
    if has_own:
        columns[name] = index.to_series()
        names.insert(0, name)

    def read(name: str, place: Place) -> Column:
        try:
            return _pandas_column(columns[name], name, place)
        except (TypeError, ValueError, OverflowError, NotImplementedError) as error:
            return _refuse(name, place, 0, f"cannot be read: {first_line(error)}")

    table = FrameTable(source, names, len(frame), read)
    table.time_index = name if has_own and is_time else ""
    return table


def _pandas_column(column: Any, name: str, place: Place) -> Column:
    kind = column.dtype.kind
    absent: NDArray[np.bool_] = column.isna().to_numpy(dtype=bool)
    if kind == "M":
        if absent.any():
            _refuse(name, place, int(absent.argmax()), "expected a time, found nothing")
        zone = getattr(column.dtype, "tz", None) or getattr(column.dt, "tz", None)
        plain = column if zone is None else column.dt.tz_convert("UTC").dt.tz_localize(None)
        return _from_array(plain.to_numpy(), name, place, "" if zone is None else str(zone))
    if kind in "iu":
        lost = count_inexact(column[~absent].to_numpy(dtype=np.uint64 if kind == "u" else np.int64))
        if absent.any():
            return NumberColumn(name, place, column.to_numpy(dtype=np.float64, na_value=np.nan), lost)
        return NumberColumn(name, place, column.to_numpy(dtype=np.uint64 if kind == "u" else np.int64), lost)
    if kind in "fb":
        return NumberColumn(name, place, column.to_numpy(dtype=np.float64, na_value=np.nan))
    cells = [None if is_absent else cell for cell, is_absent in zip(column.tolist(), absent, strict=True)]
    return CellColumn(name, place, cells)


def _mapping_table(data: Mapping[Any, Any], source: str) -> FrameTable:
    columns = {str(name): column for name, column in data.items()}
    for name, column in columns.items():
        if isinstance(column, str) or not hasattr(column, "__len__"):
            what = f"column {name!r}: expected a list or an array, got {type(column).__name__}"
            raise UserError(what, where=source, fix="give one value a row")
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise UserError(f"columns differ in length: {str(lengths)[:200]}", where=source, fix="give each the same")

    def read(name: str, place: Place) -> Column:
        try:
            return _listed(columns[name], name, place)
        except (TypeError, ValueError, OverflowError) as error:
            return _refuse(name, place, 0, f"cannot be read: {first_line(error)}")

    return FrameTable(source, list(data), next(iter(lengths.values()), 0), read)


def _listed(column: Any, name: str, place: Place) -> Column:
    """Take a list or an array; what a masked array hides is missing."""
    if isinstance(column, np.ma.MaskedArray):
        hidden = np.ma.getmaskarray(column)
        if hidden.any():
            column = [None if is_hidden else cell for cell, is_hidden in zip(column.data.tolist(), hidden, strict=True)]
        else:
            column = column.data
    if any(cell is None or isinstance(cell, str) for cell in column):
        return CellColumn(name, place, column)
    if all(isinstance(cell, datetime) and cell.tzinfo is None for cell in column):
        column = np.asarray(column, dtype="datetime64[us]")
    return _from_array(np.asarray(column), name, place, "")


def _from_array(values: NDArray[Any], name: str, place: Place, zone: str) -> Column:
    """Take an array by its kind; datetimes are naive, or UTC where a zone is given."""
    kind = values.dtype.kind
    if values.ndim != 1:
        _refuse(name, place, 0, f"expected one value a row, got {values.ndim - 1} more dimensions")
    if kind in "iu":
        return NumberColumn(name, place, values.astype(np.int64 if kind == "i" else np.uint64), count_inexact(values))
    if kind in "fb":
        return NumberColumn(name, place, values.astype(np.float64))
    if kind == "M":
        is_nanosecond = values.dtype.str.endswith("[ns]")
        absent = np.isnat(values)
        if absent.any():
            _refuse(name, place, int(absent.argmax()), "expected a time, found nothing")
        numbers = values.astype(np.int64) if is_nanosecond else values.astype("datetime64[us]").astype(np.int64)
        return _instants(name, place, numbers, 0 if is_nanosecond else 1, zone)
    return CellColumn(name, place, values.tolist())


def _instants(name: str, place: Place, numbers: NDArray[np.int64], factor: int, zone: str | None) -> Column:
    """Make a column of times from counts of `factor` microseconds (0 = nanoseconds); zone None = dates."""
    if not factor and (numbers % 1000).any():
        _refuse(name, place, int((numbers % 1000).argmax()), "expected whole microseconds")
    least, most = (FIRST // factor, LAST // factor) if factor else (FIRST * 1000, LAST * 1000)
    is_out = np.zeros(len(numbers), dtype=bool) if least < -(2**63) else (numbers < least) | (numbers > most)
    if is_out.any():
        _refuse(name, place, int(is_out.argmax()), "expected a year from 1 to 9999")
    times = numbers * factor if factor else numbers // 1000
    if zone is None or (not zone and not (times % DAY).any()):
        return InstantColumn(name, place, ReadTimes(times, TimeForm("%Y-%m-%d")))
    digits = "%S.%f" if (times % SECOND).any() else "%S"
    if not zone:
        return InstantColumn(name, place, ReadTimes(times, TimeForm(f"%Y-%m-%d %H:%M:{digits}"), is_naive=True))
    return InstantColumn(name, place, ReadTimes(times, TimeForm(f"%Y-%m-%d %H:%M:{digits}%z"), zone=_zone_name(zone)))


def _zone_name(zone: str) -> str:
    """Return the name of a frame's zone; UTC where it has none that is known."""
    name = zone.removeprefix("UTC") or "UTC"
    try:
        check_zone(name)
    except UserError:
        return "UTC"
    return name


def first_line(error: BaseException) -> str:
    """Return the beginning of what another library says."""
    return (str(error).splitlines() or ["damaged"])[0][:200]


def _refuse(name: str, place: Place, row: int, why: str) -> NoReturn:
    raise UserError(f"column {name!r}: {why}", where=place(row))
