"""Numbers as text, by one syntax: digits with a decimal point, a sign and an exponent where wanted.

Everything else is refused with the reason, or is one of a few words for a missing value. Nothing is guessed: `1,234`
may be a thousand or a bit more than one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqline.data.series import Floats
from seqline.errors import UserError

MISSING = {"", "-", "na", "n/a", "#n/a", "nan", "null", "none", "inf", "infinity"}
"""The cells that count as missing, in small letters; infinities, too, may have a sign."""
_OURS = b"0123456789.eE+-\n"  # of these characters alone, Python's float takes our syntax and nothing else
_OTHER = re.compile(r"[^0-9.eE+-]")
_EXACT = 2.0**53
_REASONS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.ASCII), reason)
    for pattern, reason in (
        (r'".*"', "numbers stand without quotes"),
        (r"[+-]?0[xXoObB].*", "numbers are decimal"),
        (r"[+-]?\d+,\d+|[+-]?\d{1,3}(\.\d{3})+,\d+", "the decimal mark is a point"),
        (r"[+-]?\d{1,3}([,.'_ \u00a0\u202f]\d{3})+(\.\d+)?", "digits have no marks between them"),
        (r"[\u2212\u2013]\d.*", "the minus sign is -"),
        (
            r"(?![eE]\d)[^\d\s.+-]{1,3} ?[+-]?\d.*|[+-]?[\d.,]+ ?(?![eE]$)[^\d\s]{1,3}",
            "units and currencies go into the header",
        ),
        (r"[\d-]{6,}.*", "a time? name the time column with `time`"),
    )
)


class Numbers(NamedTuple):
    """A column of numbers: values [N], NaN where missing, and how many integers lost digits (above 2^53)."""

    values: Floats
    num_inexact: int = 0


def parse_numbers(cells: Sequence[str], name: str, place: Callable[[int], str]) -> Numbers:
    """Read a column of cells.

    Args:
        cells: N texts.
        name: the column, for errors.
        place: names a row as `file:line`.

    Raises:
        UserError: a cell that is neither a number nor missing, or too large for a float64.
    """
    try:
        if "\n".join(cells).encode("utf-8", "replace").translate(None, _OURS):
            raise ValueError
        values = np.array(list(map(float, cells)), dtype=np.float64)
    except ValueError:
        values = np.array([_parse(cell, row, name, place) for row, cell in enumerate(cells)], dtype=np.float64)
    if np.isinf(values).any():
        row = int(np.isinf(values).argmax())
        raise UserError(f"column {name!r}: {cells[row][:40]!r} is too large to hold", where=place(row))
    large = np.flatnonzero(np.abs(values) >= _EXACT)
    return Numbers(values, sum(_is_inexact(cells[row], float(values[row])) for row in large.tolist()))


def count_inexact(integers: NDArray[Any]) -> int:
    """Return how many integers [N] a float64 cannot hold."""
    large = integers[(integers >= 1 << 53) | (integers <= -(1 << 53))]
    return sum(int(float(number)) != number for number in large.tolist())


def _parse(cell: str, row: int, name: str, place: Callable[[int], str]) -> float:
    """Read one cell with care."""
    if not _OTHER.search(cell):
        try:
            return float(cell)
        except ValueError:
            pass
    word = cell.lower()
    if word in MISSING or (word[:1] in "+-" and word[1:] in ("nan", "inf", "infinity")):
        return math.nan
    reason = next((reason for pattern, reason in _REASONS if pattern.fullmatch(cell)), "")
    shown = cell if len(cell) <= 40 else cell[:40] + "..."
    raise UserError(
        f"column {name!r}: expected a number such as -1.5 or 2e-3, got {shown!r}", where=place(row),
        fix=reason or "write NA for a missing value, or leave the cell empty",
    )  # fmt: skip


def _is_inexact(cell: str, value: float) -> bool:
    """Whether an integer changed when it became a float64."""
    digits = cell.lstrip("+-").lstrip("0")
    return digits.isdigit() and int(digits) != abs(value)
