"""Times as text or integers: one written form for a whole column, read strictly.

ISO 8601 dates, months and date-times are known by their look; any other form must be stated, so that nobody guesses
whether 3/4 is in March or in April. Integers are row numbers, or counts since 1970 of a unit that is stated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple, NoReturn

import numpy as np

from seqline.data.series import Times
from seqline.data.series.forms import EPOCH_UNITS, TimeForm, offset_text
from seqline.data.series.frequency import first_of
from seqline.data.series.zones import DAY, FIRST, LAST, SECOND, seconds_of
from seqline.errors import UserError

LARGEST_ROW = 10_000_000
"""Integers from here on are more likely dates or seconds than row numbers, so their unit must be stated."""
_EXAMPLE = "write times as 2012-01-31 or 2012-01-31T18:00:00+01:00, or state how they are written with `time_format`"
_DIGITS = str.maketrans("123456789", "000000000")
_SHAPE = re.compile(
    r"0000-00(?P<day>-00(?:(?P<sep>[T ])00:00(?P<sec>:00)?(?P<frac>\.0{1,9})?(?P<zone>Z|[+-]00:?00|[+-]00)?)?)?"
)
_INTEGER = re.compile(r"-?0{1,19}")
_SLASHES = re.compile(r"0{1,4}[./-]0{1,2}[./-]0{1,4}( .*)?")
_FIELDS = {"Y": r"\d{4}", "m": r"\d{1,2}", "d": r"\d{1,2}", "H": r"\d{1,2}", "M": r"\d{1,2}", "S": r"\d{1,2}"}
_MOST = {"H": 23, "M": 59, "S": 59}


class ReadTimes(NamedTuple):
    """A column of times.

    Attributes:
        times: [N] microseconds since 1970; local where `is_naive`. Row numbers where the form says so.
        form: how they were written.
        is_naive: they have a clock and no offset, so a zone must tell the instant.
        zone: the offset that all of them have (`+02:00`), "UTC" where it differs, "" where there is none.
    """

    times: Times
    form: TimeForm
    is_naive: bool = False
    zone: str = ""


class TimeCells(NamedTuple):
    """The cells of a time column, and how to name one of them in an error."""

    cells: Sequence[str]
    name: str
    place: Callable[[int], str]

    def refuse(self, row: int, why: str, fix: str = _EXAMPLE) -> NoReturn:
        """Refuse one cell.

        Raises:
            UserError: always.
        """
        cell = self.cells[row]
        shown = cell if len(cell) <= 40 else cell[:40] + "..."
        raise UserError(f"column {self.name!r}: {why}, got {shown!r}", where=self.place(row), fix=fix)

    def first(self, is_bad: Callable[[str], bool]) -> int:
        """Return the first row whose cell is bad; there must be one."""
        return next(row for row, cell in enumerate(self.cells) if is_bad(cell))


def read_times(column: TimeCells, unit: str = "", pattern: str = "") -> ReadTimes:
    """Read a column of times; each different cell once, for the series of a panel share their times.

    Args:
        column: at least one cell.
        unit: what integers count, see `SeriesOptions.time_unit`.
        pattern: how times are written, see `SeriesOptions.time_format`; "" = ISO 8601 or integers.

    Raises:
        UserError: a cell that is no time, two forms in one column, a time that no calendar has.
    """
    numbers = {cell: number for number, cell in enumerate(dict.fromkeys(column.cells))}
    which = np.array(list(map(numbers.__getitem__, column.cells)), dtype=np.int64)
    unique = TimeCells(list(numbers), column.name, lambda number: column.place(int((which == number).argmax())))
    found = _read_unique(unique, unit, pattern)
    return found._replace(times=found.times[which])


def _read_unique(column: TimeCells, unit: str, pattern: str) -> ReadTimes:
    if pattern:
        if unit:
            raise UserError("time_unit is for integers, time_format for text", where="time_unit", fix="state one")
        return _read_pattern(column, pattern)
    shapes = "\n".join(column.cells).translate(_DIGITS).split("\n")
    kinds = {shape: _kind_of(shape) for shape in set(shapes)}
    if set(kinds.values()) != {kinds[shapes[0]]} or not kinds[shapes[0]]:
        _refuse_kinds(column, shapes, kinds)
    if kinds[shapes[0]] == "integer":
        return _read_integers(column, unit)
    if unit:
        column.refuse(0, f"expected integers, for the time unit is {unit}", "leave time_unit out")
    return _read_iso(column, shapes)


def _refuse_kinds(column: TimeCells, shapes: list[str], kinds: dict[str, str]) -> NoReturn:
    """Refuse the first cell that is no time or has another form than the first row."""
    row = next(row for row, shape in enumerate(shapes) if not kinds[shape] or kinds[shape] != kinds[shapes[0]])
    if not shapes[row]:
        column.refuse(row, "expected a time, found an empty cell")
    if kinds[shapes[row]]:
        column.refuse(row, f"expected the form of the first row, {column.cells[0][:40]!r}", "write one form")
    is_order = _SLASHES.fullmatch(shapes[row])
    column.refuse(row, "the order of day and month is not guessed" if is_order else "expected a time")


def _kind_of(shape: str) -> str:
    """Name what must be the same in every row; "" where the shape is no time."""
    if _INTEGER.fullmatch(shape):
        return "integer"
    found = _SHAPE.fullmatch(shape)
    if not found or (found["frac"] and not found["sec"]):
        return ""
    return f"{bool(found['day'])} {found['sep']} {found['sec']} {bool(found['zone'])}"


def _read_integers(column: TimeCells, unit: str) -> ReadTimes:
    numbers = [int(cell) for cell in column.cells]
    for row, number in enumerate(numbers):
        if abs(number) >= 1 << 63:
            column.refuse(row, "expected a year from 1 to 9999", "check the unit with `time_unit`")
    return from_integers(np.array(numbers, dtype=np.int64), unit, column)


def from_integers(numbers: Times, unit: str, column: TimeCells) -> ReadTimes:
    """Take integers [N] for times; `column` names them in errors.

    Raises:
        UserError: a large number without a unit, nanoseconds that are no whole microsecond, out of range.
    """
    if unit in EPOCH_UNITS:
        size = EPOCH_UNITS[unit]
        if not size and len(uneven := np.flatnonzero(numbers % 1000)):
            column.refuse(int(uneven[0]), "expected whole microseconds", "round the nanoseconds")
        least, most = (FIRST * 1000, LAST * 1000) if not size else (FIRST // size, LAST // size)
        is_out = np.array([not least <= number <= most for number in numbers.tolist()], dtype=bool)
        if is_out.any():
            column.refuse(int(is_out.argmax()), "expected a year from 1 to 9999", "check the unit with `time_unit`")
        return ReadTimes(numbers * size if size else numbers // 1000, TimeForm(unit=unit), zone="UTC")
    limit = 1 << 53 if unit else LARGEST_ROW
    is_large = (numbers >= limit) | (numbers <= -limit)
    if is_large.any():
        column.refuse(
            int(is_large.argmax()),
            "expected a row number",
            "state what the integers count with `time_unit` (row, s, ms, us, ns), or write dates as 2012-01-31",
        )
    return ReadTimes(numbers, TimeForm())


def _read_iso(column: TimeCells, shapes: list[str]) -> ReadTimes:
    """Read texts whose shapes are known to be ISO 8601 of one kind."""
    found = _SHAPE.fullmatch(shapes[0])
    assert found is not None
    ends = {shape: match.end("sec" if found["sec"] else "day") for shape in set(shapes)
            if (match := _SHAPE.fullmatch(shape))} if found["sep"] else {}  # fmt: skip
    bodies = [c[: ends[s]] for c, s in zip(column.cells, shapes, strict=True)] if found["sec"] else list(column.cells)
    if found["sep"] and not found["sec"]:
        bodies = [cell[: len("0000-00-00T00:00")] for cell in column.cells]
    times = _calendar(column, bodies) + _fractions(column, shapes, ends)
    pattern = "%Y-%m" + ("-%d" if found["day"] else "")
    if found["sep"]:
        pattern += f"{found['sep']}%H:%M" + (":%S" if found["sec"] else "") + (".%f" if (times % SECOND).any() else "")
    if not found["zone"]:
        return _in_range(column, ReadTimes(times, TimeForm(pattern), is_naive=bool(found["sep"])))
    texts = [_zone_text(cell) for cell in column.cells]
    seconds: dict[str, int] = {}
    for text in set(texts):
        try:
            seconds[text] = seconds_of(text)
        except ValueError:
            column.refuse(column.first(lambda cell, text=text: _zone_text(cell) == text), "no such offset from UTC")
    times = times - np.array([seconds[text] for text in texts], dtype=np.int64) * SECOND
    zone = "UTC" if len(set(seconds.values())) > 1 or set(texts) == {"Z"} else offset_text(seconds[texts[0]] * SECOND)
    form = TimeForm(pattern + ("Z" if set(texts) == {"Z"} else "%z"))
    return _in_range(column, ReadTimes(times, form, zone=zone))


def _calendar(column: TimeCells, bodies: list[str]) -> Times:
    """Parse date-times without offset and fraction; NumPy knows the calendar."""
    try:
        return np.array(bodies, dtype="datetime64[us]").astype(np.int64)
    except ValueError:
        row = next(row for row, body in enumerate(bodies) if not _exists(body))
        is_leap = len(bodies[row]) == len("0000-00-00T00:00:00") and bodies[row].endswith(":60")
        column.refuse(row, "leap seconds have no place on a regular grid" if is_leap else "no such time")


def _exists(body: str) -> bool:
    try:
        np.datetime64(body, "us")
    except ValueError:
        return False
    return True


def _fractions(column: TimeCells, shapes: list[str], ends: dict[str, int]) -> Times:
    """Return the fractions of seconds in microseconds [N]."""
    places = {shape: match.span("frac") for shape in ends if (match := _SHAPE.fullmatch(shape)) and match["frac"]}
    fractions = np.zeros(len(shapes), dtype=np.int64)
    if places:
        for row, (cell, shape) in enumerate(zip(column.cells, shapes, strict=True)):
            if shape in places:
                digits = cell[slice(*places[shape])][1:].ljust(9, "0")
                if digits[6:] != "000":
                    column.refuse(row, "expected whole microseconds", "round the times")
                fractions[row] = int(digits[:6])
    return fractions


def _zone_text(cell: str) -> str:
    return "Z" if cell.endswith("Z") else cell[max(cell.rfind("+"), cell.rfind("-")) :]


def _in_range(column: TimeCells, found: ReadTimes) -> ReadTimes:
    is_out = (found.times < FIRST) | (found.times > LAST)
    if is_out.any():
        column.refuse(int(is_out.argmax()), "expected a year from 1 to 9999")
    return found


def _read_pattern(column: TimeCells, pattern: str) -> ReadTimes:
    """Read texts by a stated pattern."""
    names, expression = _compile(pattern)
    rows: list[tuple[str, ...]] = []
    for row, cell in enumerate(column.cells):
        found = expression.fullmatch(cell)
        if not found:
            column.refuse(row, f"expected the form {pattern!r}", "correct the cell or `time_format`")
        rows.append(found.groups())
    texts = dict(zip(names, zip(*rows, strict=True), strict=True))
    fields = {name: np.array(list(map(int, cells)), dtype=np.int64) for name, cells in texts.items()}
    for name in ("m", "d", "H", "M", "S"):
        fields.setdefault(name, np.full(len(rows), 1 if name in "md" else 0, dtype=np.int64))
    months = (fields["Y"] - 1970) * 12 + fields["m"] - 1
    lengths = first_of(months + 1) - first_of(months)
    is_bad = (fields["Y"] < 1) | (fields["m"] < 1) | (fields["m"] > 12) | (fields["d"] < 1) | (fields["d"] > lengths)
    for name, most in _MOST.items():
        is_bad |= fields[name] > most
    if is_bad.any():
        column.refuse(
            int(is_bad.argmax()), f"no such time in the form {pattern!r}", "correct the cell or `time_format`"
        )
    seconds = fields["H"] * 3600 + fields["M"] * 60 + fields["S"]
    times = (first_of(months) + fields["d"] - 1) * DAY + seconds * SECOND
    for name, cells in texts.items():
        if name != "Y" and any(len(cell) == 1 for cell in cells):
            pattern = pattern.replace(f"%{name}", f"%-{name}")
    return ReadTimes(times, TimeForm(pattern), is_naive="H" in texts)


def _compile(pattern: str) -> tuple[list[str], re.Pattern[str]]:
    """Turn a time_format into the names of its fields and an expression with a group for each."""
    names: list[str] = []
    expression = ""
    for part in re.split(r"(%.?)", pattern):
        if part.startswith("%"):
            if part[1:] not in _FIELDS or part[1:] in names:
                raise UserError(
                    f"expected each of %Y %m %d %H %M %S at most once, got {part!r} in {pattern[:60]!r}",
                    where="time_format", fix="for instance '%d.%m.%Y %H:%M'",
                )  # fmt: skip
            names.append(part[1:])
            expression += f"({_FIELDS[part[1:]]})"
        else:
            expression += re.escape(part)
    order = "YmdHMS"
    if not names or set(names) != set(order[: len(names)]) or pattern.endswith("Z"):
        raise UserError(
            f"expected a year and no gap down to the smallest field, got {pattern[:60]!r}",
            where="time_format", fix="for instance '%d.%m.%Y %H:%M'; times in UTC: leave Z out and state `zone=UTC`",
        )  # fmt: skip
    return names, re.compile(expression, re.ASCII)
