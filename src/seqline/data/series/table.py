"""Tables with named columns, whatever they come from: what a column can be read as, and tables of CSV files.

A CSV file is lines, read by the rule of every text here; the first names the columns, commas separate cells, a cell that
holds a comma or a quote stands in double quotes, and no cell spans lines. Blanks around a cell do not belong to it.
Cells stay text until it is known what their column is.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from seqline.data.lines import read_lines
from seqline.data.series import SeriesOptions
from seqline.data.series.numbers import Numbers, parse_numbers
from seqline.data.series.times import ReadTimes, TimeCells, from_integers, read_times
from seqline.errors import UserError

MOST_COLUMNS = 100_000
_CHUNK = 1 << 15
_CELL = re.compile(r'[ \t]*("(?:[^"]|"")*"|[^",]*)[ \t]*(,|$)')

Place: TypeAlias = Callable[[int], str]
Numeric: TypeAlias = NDArray[np.float64 | np.int64 | np.uint64]


class Column(ABC):
    """One column of a table.

    Attributes:
        name: as the header has it.
        place: names a row in an error, as `file:line`.
    """

    def __init__(self, name: str, place: Place) -> None:
        self.name, self.place = name, place

    @abstractmethod
    def numbers(self) -> Numbers:
        """Return the cells as numbers; UserError where one is none."""

    @abstractmethod
    def times(self, how: SeriesOptions) -> ReadTimes:
        """Return the cells as times; UserError where one is none."""

    @abstractmethod
    def texts(self) -> list[str]:
        """Return the cells as text, "" where missing."""

    def keys(self) -> list[str]:
        """Return the cells as ids of series, "" where missing; UserError where two ids would have one text."""
        return self.texts()

    def refuse(self, row: int, why: str, fix: str = "") -> NoReturn:
        """Refuse the cell of one row.

        Raises:
            UserError: always.
        """
        raise UserError(f"column {self.name!r}: {why}", where=self.place(row), fix=fix)


class TextColumn(Column):
    """Cells as text, with the quotes that they had."""

    def __init__(self, name: str, place: Place, cells: Sequence[str]) -> None:
        super().__init__(name, place)
        self.cells = cells

    def numbers(self) -> Numbers:
        """See `Column`; quotes are refused."""
        return parse_numbers(self.cells, self.name, self.place)

    def times(self, how: SeriesOptions) -> ReadTimes:
        """See `Column`."""
        return read_times(TimeCells(self.texts(), self.name, self.place), how.time_unit, how.time_format)

    def texts(self) -> list[str]:
        """See `Column`; without their quotes."""
        is_quoted = '"' in "".join(self.cells)
        return [_unquote(cell) for cell in self.cells] if is_quoted else list(self.cells)


class CellColumn(TextColumn):
    """Cells of a frame, as texts without the blanks around them; as ids they are taken to the letter."""

    def __init__(self, name: str, place: Place, cells: Sequence[Any]) -> None:
        self.given = ["" if cell is None or cell != cell else cell for cell in cells]
        super().__init__(name, place, [_line(cell) for cell in self.given])

    def keys(self) -> list[str]:
        """See `Column`."""
        first: dict[str, Any] = {}
        for row, cell in enumerate(self.given):
            text = str(cell)
            if "\n" in text or "\r" in text:
                self.refuse(row, f"expected the id of a series on one line, got {text[:40]!r}", "rename it")
            if type(first.setdefault(text, cell)) is not type(cell):
                self.refuse(row, f"the ids {first[text]!r} and {cell!r} have one text", "give all of them one type")
        return [str(cell) for cell in self.given]


class NumberColumn(Column):
    """Numbers of a frame: integers, or floats with NaN where missing."""

    def __init__(self, name: str, place: Place, values: Numeric, num_inexact: int = 0) -> None:
        super().__init__(name, place)
        self.values, self.num_inexact = values, num_inexact

    def numbers(self) -> Numbers:
        """See `Column`; infinities count as missing."""
        values = self.values.astype(np.float64)
        return Numbers(np.where(np.isfinite(values), values, np.nan), self.num_inexact)

    def times(self, how: SeriesOptions) -> ReadTimes:
        """See `Column`; integers only."""
        if how.time_format:
            self.refuse(0, "expected text, for time_format is stated", "leave `time_format` out")
        if self.values.dtype.kind not in "iu" or (self.values > np.iinfo(np.int64).max).any():
            self.refuse(0, "expected times or integers, got other numbers", "name the time column with `time`")
        cells = TimeCells(self.texts(), self.name, self.place)
        return from_integers(self.values.astype(np.int64), how.time_unit, cells)

    def texts(self) -> list[str]:
        """See `Column`."""
        return ["" if value != value else str(value) for value in self.values.tolist()]

    def keys(self) -> list[str]:
        """See `Column`; integers only."""
        if self.values.dtype.kind not in "iu":
            self.refuse(0, "expected texts or whole numbers as ids of series", "turn them into texts first")
        return self.texts()


class InstantColumn(Column):
    """Dates or times of a frame, never missing."""

    def __init__(self, name: str, place: Place, found: ReadTimes) -> None:
        super().__init__(name, place)
        self.found = found

    def numbers(self) -> Numbers:
        """See `Column`; always refused."""
        self.refuse(0, "expected numbers, got times", "name the time column with `time`")

    def times(self, how: SeriesOptions) -> ReadTimes:
        """See `Column`."""
        if how.time_unit or how.time_format:
            self.refuse(0, "its times need no time_unit and no time_format", "leave them out")
        return self.found

    def texts(self) -> list[str]:
        """See `Column`."""
        return [str(text) for text in self.found.form.write(self.found.times, "")]

    def keys(self) -> list[str]:
        """See `Column`; always refused."""
        self.refuse(0, "expected texts or whole numbers as ids of series, got times", "turn them into texts first")


def _line(cell: Any) -> str:
    """Write a cell as text of one line."""
    return "" if cell is None or cell != cell else str(cell).replace("\n", "\\n").replace("\r", "\\r").strip(" \t")


class Table(ABC):
    """A table with a header.

    Attributes:
        source: the file's name or "frame", for errors.
        names: its columns, different from each other.
        num_rows: rows below the header.
        time_index: the column of times that is the index of a frame; "" = it has none.
    """

    source: str
    names: tuple[str, ...]
    num_rows: int
    time_index: str = ""

    @abstractmethod
    def place(self, row: int) -> str:
        """Name a row, counted from 0, in an error."""

    @abstractmethod
    def columns(self, names: Sequence[str]) -> dict[str, Column]:
        """Return some of the columns."""


class CsvTable(Table):
    """A table from the lines of a CSV file."""

    def __init__(self, source: str, lines: list[str]) -> None:
        while lines and not lines[-1].strip():
            lines.pop()
        if not lines:
            raise UserError("is empty", where=source, fix="its first line names the columns")
        self.source, self.lines, self.num_rows = source, lines, len(lines) - 1
        self.names = self._header(lines[0])

    def place(self, row: int) -> str:
        """See `Table`: file and line."""
        return f"{self.source}:{row + 2}"

    def columns(self, names: Sequence[str]) -> dict[str, Column]:
        """See `Table`.

        Raises:
            UserError: a line with another number of cells than the header, or a stray quote; with its number.
        """
        wanted = [self.names.index(name) for name in names]
        parts: list[list[str]] = [[] for _ in wanted]
        for start in range(0, self.num_rows, _CHUNK):
            cells = self._flat(start, self.lines[start + 1 : start + 1 + _CHUNK])
            for part, column in zip(parts, wanted, strict=True):
                part += cells[column :: len(self.names)]
        return {name: TextColumn(name, self.place, part) for name, part in zip(names, parts, strict=True)}

    def _flat(self, start: int, lines: list[str]) -> list[str]:
        """Return the cells of neighbouring lines in one list, row after row."""
        text = "\n".join(lines)
        if '"' in text:
            rows = [self._cells(line, start + i) if '"' in line else line.split(",") for i, line in enumerate(lines)]
            counts, cells = list(map(len, rows)), list(chain.from_iterable(rows))
        else:
            counts, cells = [line.count(",") + 1 for line in lines], ",".join(lines).split(",")
        if set(counts) != {len(self.names)}:
            self._refuse_ragged(start, lines, counts)
        is_padded = any(mark in f"\n{text}\n" for mark in (" ,", ", ", " \n", "\n ", "\t"))
        return [cell.strip(" \t") for cell in cells] if is_padded else cells

    def _header(self, line: str) -> tuple[str, ...]:
        cells = [_unquote(cell.strip(" \t")) for cell in self._cells(line, -1)]
        if len(cells) > MOST_COLUMNS:
            raise UserError(f"has {len(cells):,} columns, more than {MOST_COLUMNS:,}", where=self.place(-1))
        for i, name in enumerate(cells):
            if "\ufeff" in name:
                self._refuse_header(f"a byte order mark inside column {i + 1}", "remove it")
        if len(cells) == 1 and (";" in line or "\t" in line):
            self._refuse_header("cells are not separated by commas", "save the file with commas, and decimal points")
        if all(re.fullmatch(r"[+-]?[\d.]+|\d{4}-\d\d-\d\d.*", cell, re.ASCII) for cell in cells):
            self._refuse_header("expected names of columns, got numbers", "put a line such as ds,y above")
        twice = next((name for name, count in Counter(cells).items() if count > 1 and name), None)
        if twice is not None:
            self._refuse_header(f"two columns are called {twice[:60]!r}", "rename one")
        return tuple(cells)

    def _refuse_header(self, what: str, fix: str) -> NoReturn:
        raise UserError(what, where=self.place(-1), fix=fix)

    def _cells(self, line: str, row: int) -> list[str]:
        """Split a line that may hold quotes; quoted cells keep their quotes."""
        cells: list[str] = []
        position, separator = 0, ","
        while separator:
            found = _CELL.match(line, position)
            if not found:
                raise UserError(
                    f"column {len(cells) + 1}: a quote that does not enclose a cell of this line", where=self.place(row),
                    fix='write "..." around the whole cell and "" for a quote inside; a cell cannot span lines',
                )  # fmt: skip
            cells.append(found[1].strip(" \t"))
            position, separator = found.end(), found[2]
        return cells

    def _refuse_ragged(self, start: int, lines: list[str], counts: list[int]) -> NoReturn:
        at = next(i for i, count in enumerate(counts) if count != len(self.names))
        fix = "give every line one cell for each column"
        if not lines[at].strip():
            fix = "remove the blank line"
        elif counts[at] > len(self.names):
            fix = "numbers have a decimal point and no marks between digits; text with a comma stands in quotes"
        raise UserError(
            f"expected {len(self.names)} cells as in the header, got {counts[at]}",
            where=self.place(start + at),
            fix=fix,
        )


def read_csv(path: str) -> CsvTable:
    """Read a CSV file, plain or gzip; `-` is standard input.

    Raises:
        UserError: see `read_lines`; an empty file, a header that is none or names a column twice.
    """
    return CsvTable("standard input" if path == "-" else path, read_lines(path))


def _unquote(cell: str) -> str:
    return cell[1:-1].replace('""', '"') if cell[:1] == '"' and cell[-1:] == '"' and len(cell) > 1 else cell
