"""Numbers as cells: one syntax, exact, every other notation refused with its reason."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqline.data.series.numbers import Numbers, count_inexact, parse_numbers
from seqline.errors import UserError


def parse(*cells: str) -> Numbers:
    return parse_numbers(cells, "y", lambda row: f"f.csv:{row + 2}")


def outcome(cells: list[str]) -> Numbers | str:
    try:
        return parse(*cells)
    except UserError as error:
        return str(error)


def refusal(*cells: str) -> str:
    with pytest.raises(UserError) as caught:
        parse(*cells)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_numbers_come_back_bit_for_bit(numbers: list[float]) -> None:
    found = parse(*map(repr, numbers))
    assert [math.copysign(1, number) for number in found.values] == [math.copysign(1, number) for number in numbers]
    assert found.values.tolist() == numbers
    with_gap = parse("NA", *map(repr, numbers)).values
    assert with_gap[1:].tolist() == numbers


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("1", 1),
        ("-1.5", -1.5),
        ("+2e-3", 0.002),
        (".5", 0.5),
        ("5.", 5),
        ("007", 7),
        ("1E5", 1e5),
        ("-0", -0.0),
        ("1e-400", 0),
    ],
)
def test_the_syntax(cell: str, value: float) -> None:
    assert parse(cell).values.tolist() == [value]


@pytest.mark.parametrize(
    "cell",
    ["", "NA", "na", "N/A", "#N/A", "NaN", "nan", "-nan", "null", "NULL", "None", "-", "inf", "-Inf", "+Infinity"],
)
def test_missing_cells(cell: str) -> None:
    assert np.isnan(parse(cell).values).all()
    assert np.isnan(parse("1", cell, "2").values).tolist() == [False, True, False]


@pytest.mark.parametrize(("cell", "reason"), [
    ("1,5", "decimal mark is a point"), ("1.234,5", "decimal mark is a point"), ("1,234,567", "no marks between"),
    ("1.234.567", "no marks between"), ("1'234", "no marks between"), ("1 234", "no marks between"),
    ("1_000", "no marks between"), ("1\u00a0234.5", "no marks between"), ("$5", "header"), ("5 €", "header"), ("5€", "header"),
    ("EUR 5", "header"), ("50%", "header"), ("20 °C", "header"), ("0x1F", "decimal"), ("0b1", "decimal"),
    ('"5"', "without quotes"), ('"1,5"', "without quotes"), ("2024-01-01", "time"), ("１２", "NA"), ("1e", "NA"),
    ("e5", "NA"), (".", "NA"), ("1.2.3", "NA"), ("+-1", "NA"), ("--", "NA"), ("1-2", "NA"), ("infinite", "NA"),
    ("true", "NA"), ("½", "NA"), ("−5", "minus sign"), ("1d5", "NA"), ("1 ", "NA"), ("x" * 999, "NA"),
])  # fmt: skip
def test_other_notations_are_refused_with_line_and_column(cell: str, reason: str) -> None:
    message = refusal("1", cell)
    assert message.startswith("f.csv:3: column 'y': expected a number such as -1.5 or 2e-3, got ")
    assert reason in message
    assert len(message) < 200


def test_numbers_too_large_to_hold() -> None:
    assert "f.csv:3: column 'y': '1e999' is too large to hold" in refusal("1", "1e999")
    assert "too large" in refusal("NA", "-" + "9" * 400)


@pytest.mark.parametrize(("cells", "count"), [
    (("9007199254740992", "1"), 0), (("9007199254740993", "1"), 1), (("-9007199254740993", "NA"), 1),
    (("123456789012345678901234567890", "0" * 5000 + "9007199254740993"), 2), (("1e300", "9007199254740993.0"), 0),
])  # fmt: skip
def test_integers_that_lose_digits_are_counted(cells: tuple[str, ...], count: int) -> None:
    assert parse(*cells).num_inexact == count


def test_integers_of_arrays_that_lose_digits_are_counted() -> None:
    assert count_inexact(np.array([2**53, 2**53 + 1, -(2**53) - 1, 5])) == 2
    assert count_inexact(np.array([2**64 - 1], dtype=np.uint64)) == 1


@given(st.lists(st.text(max_size=8).map(lambda text: re.sub("[\n\r]", "", text)), min_size=1, max_size=4))
def test_any_text_is_a_number_or_refused(cells: list[str]) -> None:
    found = outcome(cells)
    if isinstance(found, str):
        assert found.startswith("f.csv:")
    else:
        assert not np.isinf(found.values).any()
        for cell, value in zip(cells, found.values.tolist(), strict=True):
            assert math.isnan(value) or re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", cell, re.ASCII)
