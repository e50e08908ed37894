"""Steps in calendar units: against day-by-day arithmetic, at month ends, leap days, changes of clocks, ends of time."""

from __future__ import annotations

import calendar
from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqline.data.series import Times
from seqline.data.series.frequency import UNITS, Frequency, frequency_of
from seqline.data.series.zones import DAY, local_of
from seqline.errors import UserError

EPOCH = date(1970, 1, 1)
NAMES = st.sampled_from(UNITS)


def at(*texts: str) -> Times:
    return np.array(texts, dtype="datetime64[us]").astype(np.int64)


def days(first: str, frequency: Frequency, count: int, day: int = 0) -> list[str]:
    times = frequency.step(int(at(first)[0]), np.arange(count), "", day)
    return times.astype("datetime64[us]").astype("datetime64[D]").astype(str).tolist()


@given(st.integers(1, 999), NAMES, st.booleans())
def test_names_are_read_as_they_are_written(n: int, unit: str, is_end: bool) -> None:
    frequency = Frequency(n, unit, is_end and unit in ("month", "quarter", "year"))
    assert frequency_of(frequency.name) == frequency
    assert str(n) in frequency.words


@pytest.mark.parametrize("name", ["", "0h", "-1h", "1 h", "H", "1.5h", "hour", "1d-end", "1h1h", "²h", "9" * 30 + "h"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(UserError, match=r"^frequency: no frequency"):
        frequency_of(name)


def test_a_unit_alone_is_one_of_it() -> None:
    assert frequency_of("h") == Frequency(1, "h")
    assert Frequency(1, "month", True).words == "1 month, at its end"
    assert Frequency(15, "min").words == "15 minutes"


def test_months_keep_their_day_where_there_is_one() -> None:
    assert days("2024-01-31", Frequency(1, "month"), 4) == ["2024-01-31", "2024-02-29", "2024-03-31", "2024-04-30"]
    assert days("2023-02-28", Frequency(1, "month"), 3, 30) == ["2023-02-28", "2023-03-30", "2023-04-30"]
    assert days("2023-02-28", Frequency(1, "month"), 3) == ["2023-02-28", "2023-03-28", "2023-04-28"]
    assert days("2023-02-28", Frequency(1, "month", True), 3) == ["2023-02-28", "2023-03-31", "2023-04-30"]
    assert days("2023-11-30", Frequency(1, "quarter", True), 3) == ["2023-11-30", "2024-02-29", "2024-05-31"]
    assert days("2024-02-29", Frequency(1, "year"), 5)[1:] == ["2025-02-28", "2026-02-28", "2027-02-28", "2028-02-29"]


def test_business_days_leave_weekends_out() -> None:
    assert days("2024-05-03", Frequency(1, "b"), 4) == ["2024-05-03", "2024-05-06", "2024-05-07", "2024-05-08"]
    assert days("2024-05-03", Frequency(5, "b"), 2) == ["2024-05-03", "2024-05-10"]


@given(
    st.dates(date(1900, 1, 1), date(2200, 1, 1)), st.integers(1, 13), st.integers(-50, 50), st.sampled_from([1, 3, 12]),
)  # fmt: skip
def test_months_against_the_standard_calendar(start: date, n: int, k: int, size: int) -> None:
    unit = {1: "month", 3: "quarter", 12: "year"}[size]
    index = start.year * 12 + start.month - 1 + n * k * size
    year, month = divmod(index, 12)
    expected = date(year, month + 1, min(start.day, calendar.monthrange(year, month + 1)[1]))
    found = Frequency(n, unit).step((start - EPOCH).days * DAY, np.array([k]), "")
    assert EPOCH + timedelta(days=int(found[0]) // DAY) == expected


@given(
    NAMES, st.integers(1, 40), st.integers(0, 10**15), st.lists(st.integers(-60, 60), min_size=1, max_size=9),
    st.sampled_from(["", "UTC", "+05:30"]),
)  # fmt: skip
def test_nearest_is_the_inverse_of_step(unit: str, n: int, start: int, steps: list[int], zone: str) -> None:
    frequency = Frequency(n, unit)
    if unit == "b" and (local_of(np.array([start]), zone)[0] // DAY + 3) % 7 > 4:
        start += 2 * DAY
    k = np.array(steps)
    assert frequency.nearest(start, frequency.step(start, k, zone), zone).tolist() == steps


@pytest.mark.parametrize("unit", ["d", "w", "month"])
def test_days_keep_the_local_time_of_day_across_a_change_of_clocks(unit: str) -> None:
    start = int(at("2024-03-01T11:00")[0])  # noon in Berlin
    times = Frequency(1, unit).step(start, np.arange(40), "Europe/Berlin")
    assert set((local_of(times, "Europe/Berlin") % DAY).tolist()) == {DAY // 2}
    assert len(set((times % DAY).tolist())) == 2


def test_hours_are_real_hours_across_a_change_of_clocks() -> None:
    times = Frequency(1, "h").step(int(at("2024-03-30T23:00")[0]), np.arange(24), "Europe/Berlin")
    assert set(np.diff(times).tolist()) == {3_600_000_000}
    local = local_of(times, "Europe/Berlin")
    assert (int(local[-1]) - int(local[0])) // 3_600_000_000 == 24  # 23 steps, the clock went 24 hours


@pytest.mark.parametrize("unit", UNITS)
def test_the_years_1_to_9999_and_no_further(unit: str) -> None:
    if unit == "row":
        assert Frequency(1, unit).step(0, np.array([10**12]), "").tolist() == [10**12]
        return
    for start, far in (
        ("9999-12-01", 1 << 62),
        ("0001-02-01", -(1 << 62)),
        ("9999-12-01", 10**13),
        ("0001-02-01", -(10**13)),
    ):
        with pytest.raises(OverflowError):
            Frequency(1, unit).step(int(at(start)[0]), np.array([0, far]), "UTC")


def test_the_season_is_a_whole_number_of_steps() -> None:
    table = {
        "1h": 24, "2h": 12, "5h": 1, "15min": 96, "1min": 1440, "1s": 3600, "1d": 7, "1b": 5, "1w": 52, "1month": 12,
        "2month": 6, "1quarter": 4, "1year": 1, "1row": 1, "24h": 1,
    }  # fmt: skip
    assert {name: frequency_of(name).season for name in table} == table
