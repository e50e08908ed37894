"""Times as cells: one form a column, no guessing, every form written back as it was."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqline.data.series.forms import TimeForm
from seqline.data.series.times import ReadTimes, TimeCells, read_times
from seqline.errors import UserError

HOUR = 3_600_000_000
moments = st.lists(st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 28)), min_size=1, max_size=8)


def read(*cells: str, unit: str = "", pattern: str = "") -> ReadTimes:
    return read_times(TimeCells(list(cells), "ds", lambda row: f"f.csv:{row + 2}"), unit, pattern)


def outcome(cells: list[str]) -> ReadTimes | str:
    try:
        return read(*cells)
    except UserError as error:
        return str(error)


def refusal(*cells: str, unit: str = "", pattern: str = "") -> str:
    with pytest.raises(UserError) as caught:
        read(*cells, unit=unit, pattern=pattern)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def microseconds(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1)) // timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("form", "step"),
    [
        ("%Y-%m-%d", timedelta(days=1)), ("%Y-%m-%dT%H:%M", timedelta(minutes=1)),
        ("%Y-%m-%d %H:%M:%S", timedelta(seconds=1)), ("%Y-%m-%dT%H:%M:%S.%f", timedelta(microseconds=1)),
    ],
)  # fmt: skip
@given(moments)
def test_iso_times_are_read_and_written_back(form: str, step: timedelta, given_moments: list[datetime]) -> None:
    start = datetime(1, 1, 1)
    moments = [start + (moment - start) // step * step for moment in given_moments]
    cells = [moment.isoformat(" " if " " in form else "T", "microseconds") for moment in moments]
    cut = {"%Y-%m-%d": 10, "%Y-%m-%dT%H:%M": 16, "%Y-%m-%d %H:%M:%S": 19, "%Y-%m-%dT%H:%M:%S.%f": 26}[form]
    cells = [cell[:cut] for cell in cells]
    found = read(*cells)
    assert found.times.tolist() == [microseconds(moment) for moment in moments]
    assert found.is_naive == ("%H" in form)
    if any(moment.microsecond for moment in moments) or "%f" not in form:
        assert found.form == TimeForm(form)
        assert found.form.write(found.times, "") == cells


@given(moments, st.lists(st.sampled_from(["Z", "+00:00", "+05:45", "-0330", "+02"]), min_size=8, max_size=8))
def test_offsets_lead_to_utc(moments: list[datetime], offsets: list[str]) -> None:
    sizes = {"Z": 0, "+00:00": 0, "+05:45": 345, "-0330": -210, "+02": 120}
    moments = [moment.replace(second=0, microsecond=0) for moment in moments]
    cells = [moment.isoformat("T", "minutes") + offset for moment, offset in zip(moments, offsets, strict=False)]
    found = read(*cells)
    expected = [microseconds(m) - sizes[o] * 60_000_000 for m, o in zip(moments, offsets, strict=False)]
    assert found.times.tolist() == expected
    assert not found.is_naive
    same = len({sizes[offset] for offset in offsets[: len(moments)]}) == 1
    assert found.zone == ("UTC" if not same or set(offsets[: len(moments)]) == {"Z"} else found.zone)
    again = read(*[str(text) for text in found.form.write(found.times, found.zone)])
    assert again.times.tolist() == expected


def test_one_offset_stays() -> None:
    found = read("2024-07-01 00:00:00+02:00", "2024-07-01 01:00:00+02:00")
    assert (found.zone, found.form.pattern) == ("+02:00", "%Y-%m-%d %H:%M:%S%z")
    assert found.form.write(found.times, found.zone) == ["2024-07-01 00:00:00+02:00", "2024-07-01 01:00:00+02:00"]
    assert read("2024-07-01T00:00Z").form.write(np.array([HOUR]), "Europe/Berlin") == ["1970-01-01T01:00Z"]


def test_months_are_times() -> None:
    found = read("2024-01", "2024-02")
    assert found.form.write(found.times, "") == ["2024-01", "2024-02"]
    assert not found.is_naive


@pytest.mark.parametrize("cell", [
    "1/2/2024", "01/02/2024", "13.02.2024", "2024/01/02", "1-2-2024", "2024-1-2", "20240102T000000", "Jan 2, 2024",
    "2024-W01", "2024-01-02T", "2024-01-02T01", "2024-01-02t01:00", "2024-01-02T01:00:00.", "2024-01-02T01:00.5", "",
    "2024-01-02T01:00:00z", "2024-01-02T01:00 +01:00", "２０２４-01-02", "2024-01-02T01:00:00.1234567890", "x", "1.5",
    "2024-01-02T01:00+24:00", "2024-01-02T01:00+01:60", "1e3", "0x10", "--5", "+5", "99999999999999999999",
])  # fmt: skip
def test_what_is_no_time_is_refused_with_its_line(cell: str) -> None:
    message = refusal(cell)
    assert message.startswith("f.csv:2: column 'ds': ")
    assert refusal("2024-01-02", cell).startswith("f.csv:3: column 'ds': ")


@pytest.mark.parametrize("cell", ["1/2/2024", "13.02.2024 10:00", "1-2-2024"])
def test_the_order_of_day_and_month_is_not_guessed(cell: str) -> None:
    assert "the order of day and month is not guessed" in refusal(cell)
    assert "time_format" in refusal(cell)


@pytest.mark.parametrize(("cell", "why"), [
    ("2023-02-29", "no such time"), ("2024-02-30", "no such time"), ("2024-13-01", "no such time"),
    ("2024-00-01", "no such time"), ("2024-01-01T24:00", "no such time"), ("2024-01-01T23:60", "no such time"),
    ("2016-12-31T23:59:60", "leap seconds"), ("2016-12-31T23:59:60Z", "leap seconds"), ("0000-12-31", "year from 1"),
    ("0001-01-01T00:00+01:00", "year from 1"), ("9999-12-31T23:30-01:00", "year from 1"), ("9999999999999999999", "year from 1"),
    ("2024-01-01T00:00:00.1234567", "whole microseconds"), ("2024-01-01T00:00+18:30", "no such offset"),
])  # fmt: skip
def test_times_that_do_not_exist(cell: str, why: str) -> None:
    assert why in refusal(cell)


@pytest.mark.parametrize("cells", [
    ("2024-01-01", "2024-01-02T00:00"), ("2024-01-01T00:00", "2024-01-01 01:00"), ("2024-01-01T00:00", "2024-01-01T01:00Z"),
    ("2024-01-01T00:00", "2024-01-01T01:00:00"), ("2024-01-01", "2024-02"), ("2024-01-01", "7"), ("7", "2024-01"),
])  # fmt: skip
def test_two_forms_in_one_column_are_refused(cells: tuple[str, str]) -> None:
    assert f"f.csv:3: column 'ds': expected the form of the first row, '{cells[0]}', got '{cells[1]}'" in refusal(
        *cells
    )


def test_the_calendars_reach() -> None:
    cells = ["0001-01-01", "1677-09-20", "1900-02-28", "2000-02-29", "2262-04-12", "9999-12-31"]
    found = read(*cells)
    assert found.form.write(found.times, "") == cells


def test_integers_are_rows_or_count_a_stated_unit() -> None:
    assert read("-1", "0", "7").times.tolist() == [-1, 0, 7]
    assert read("7").form == TimeForm()
    for unit, cell in (
        ("s", "1700000000"),
        ("ms", "1700000000000"),
        ("us", "1700000000000000"),
        ("ns", "17" + "0" * 17),
    ):
        found = read(cell, unit=unit)
        assert found.times.tolist() == [1_700_000_000_000_000]
        assert found.form.write(found.times, "") == [int(cell)]
        assert found.zone == "UTC"
    assert read("20000000", unit="row").times.tolist() == [20_000_000]


@pytest.mark.parametrize(("cell", "unit", "why"), [
    ("1700000000", "", "expected a row number"), ("20240131", "", "expected a row number"),
    ("1700000000000", "s", "year from 1 to 9999"), ("1700000000000000000", "us", "year from 1 to 9999"),
    ("1", "ns", "whole microseconds"), ("2024-01-01", "s", "expected integers"),
    ("99999999999999999", "row", "expected a row number"), ("-62135596801", "s", "year from 1 to 9999"),
])  # fmt: skip
def test_integers_out_of_place(cell: str, unit: str, why: str) -> None:
    assert why in refusal(cell, unit=unit)


def test_a_stated_form() -> None:
    cells = ("1/2/2024 0:00", "1/2/2024 13:00", "12/31/2024 23:00")
    found = read(*cells, pattern="%m/%d/%Y %H:%M")
    assert found.times.tolist() == [microseconds(datetime(2024, 1, 2, hour)) for hour in (0, 13)] + [
        microseconds(datetime(2024, 12, 31, 23))
    ]
    assert found.is_naive
    assert found.form.write(found.times, "") == list(cells)
    assert read("31.01.2024", pattern="%d.%m.%Y").times.tolist() == [microseconds(datetime(2024, 1, 31))]
    assert read("{2024}", pattern="{%Y}").form.write(np.array([0]), "") == ["{1970}"]


@pytest.mark.parametrize(("cell", "why"), [
    ("2024-01-02", "expected the form"), ("31/1/2024", "no such time"), ("0/1/2024", "no such time"),
    ("2/29/2023", "no such time"), ("1/1/0000", "no such time"), ("1/1/2024 ", "expected the form"),
    ("１/1/2024", "expected the form"),
])  # fmt: skip
def test_cells_unlike_the_stated_form(cell: str, why: str) -> None:
    assert why in refusal(cell, pattern="%m/%d/%Y")


@pytest.mark.parametrize("pattern", ["%d.%m", "%Y%Y", "%", "%B %Y", "%H:%M", "text", "%Y-%m-%dT%H:%MZ", "%Y %H"])
def test_forms_that_cannot_be(pattern: str) -> None:
    assert refusal("2024", pattern=pattern).startswith("time_format: ")
    assert "state one" in refusal("2024", pattern="%Y", unit="s")


@given(st.lists(st.text(max_size=12).map(lambda text: re.sub("[\n\r]", "", text)), min_size=1, max_size=4))
def test_any_text_is_a_time_or_refused(cells: list[str]) -> None:
    found = outcome(cells)
    if isinstance(found, str):
        assert found.startswith("f.csv:")
    else:
        assert [str(cell) for cell in found.form.write(found.times, found.zone)]
