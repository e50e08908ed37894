"""Instants and local clocks: against the standard library's own arithmetic, around every kind of change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqline.data.series import Times
from seqline.data.series.zones import FIRST, LAST, check_zone, local_of, seconds_of, utc_of
from seqline.errors import UserError

EPOCH = datetime(1970, 1, 1)
ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Casablanca", "UTC")

# zone, change, first local time that is skipped or comes twice, for how many minutes
SKIPPED = (
    ("Europe/Berlin", "2024-03-31T02:00", 60),
    ("America/New_York", "2024-03-10T02:00", 60),
    ("Australia/Lord_Howe", "2024-10-06T02:00", 30),
)
TWICE = (
    ("Europe/Berlin", "2024-10-27T02:00", 60),
    ("America/New_York", "2024-11-03T01:00", 60),
    ("Australia/Lord_Howe", "2024-04-07T01:30", 30),
)


def microseconds(*texts: str) -> Times:
    return np.array(texts, dtype="datetime64[us]").astype(np.int64)


def oracle(instant: int, zone: str) -> int:
    local = (EPOCH.replace(tzinfo=UTC) + timedelta(microseconds=instant)).astimezone(ZoneInfo(zone))
    return (local.replace(tzinfo=None) - EPOCH) // timedelta(microseconds=1)


def minutes_around(first: str, minutes: int) -> tuple[Times, np.ndarray]:
    """Return local minutes from three hours before to three hours after, and which of them are within the change."""
    offsets = np.arange(-180, minutes + 180)
    return microseconds(first)[0] + offsets * 60_000_000, (offsets >= 0) & (offsets < minutes)


@given(st.sampled_from(ZONES), st.lists(st.integers(-(2 * 10**15), 4 * 10**15), min_size=1, max_size=20))
def test_local_times_are_those_of_the_standard_library(zone: str, instants: list[int]) -> None:
    times = np.array(instants, dtype=np.int64)
    local = local_of(times, zone)
    assert local.tolist() == [oracle(instant, zone) for instant in instants]
    back = utc_of(local, zone)
    assert not back.is_skipped.any()
    assert ((back.first == times) | (back.second == times)).all()


@pytest.mark.parametrize(("zone", "first", "minutes"), SKIPPED)
def test_skipped_local_times(zone: str, first: str, minutes: int) -> None:
    local, within = minutes_around(first, minutes)
    found = utc_of(local, zone)
    assert found.is_skipped.tolist() == within.tolist()
    assert not found.is_repeated.any()
    assert (local_of(found.first, zone) - local == np.where(within, minutes * 60_000_000, 0)).all()


@pytest.mark.parametrize(("zone", "first", "minutes"), TWICE)
def test_local_times_that_come_twice(zone: str, first: str, minutes: int) -> None:
    local, within = minutes_around(first, minutes)
    found = utc_of(local, zone)
    assert not found.is_skipped.any()
    assert found.is_repeated.tolist() == within.tolist()
    assert (found.second - found.first == np.where(within, minutes * 60_000_000, 0)).all()
    assert (local_of(found.first, zone) == local).all()
    assert (local_of(found.second, zone) == local).all()


def test_the_ends_of_the_calendar_have_offsets() -> None:
    ends = np.array([FIRST, LAST], dtype=np.int64)
    assert np.abs(local_of(ends, "Europe/Berlin") - ends).max() < 2 * 3_600_000_000
    assert len(utc_of(ends, "Australia/Lord_Howe").first) == 2


def test_offsets_and_no_zone() -> None:
    noon = microseconds("2024-07-01T12:00")
    assert local_of(noon, "").tolist() == noon.tolist()
    assert local_of(noon, "-03:30").tolist() == microseconds("2024-07-01T08:30").tolist()
    assert utc_of(noon, "+0200").first.tolist() == microseconds("2024-07-01T10:00").tolist()
    assert [seconds_of(text) for text in ("Z", "+01", "-0030", "+14:00")] == [0, 3600, -1800, 50400]
    for bad in ("", "1:00", "+1:00", "+19:00", "+01:60", "+01:00 ", "UTC"):
        with pytest.raises(ValueError, match="offset"):
            seconds_of(bad)


@pytest.mark.parametrize(
    "name", ["Europe/Berlinn", "nowhere", "../../etc/passwd", "a\0b", "/etc/localtime", "x" * 5000]
)
def test_unknown_zones_are_refused(name: str) -> None:
    with pytest.raises(UserError, match=r"^zone: no time zone") as caught:
        check_zone(name)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_machine_without_zones_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seqline.data.series.zones.available_timezones", set)
    with pytest.raises(UserError, match="this machine has no time zones; pip install tzdata"):
        check_zone("Moon/Base")


def test_a_near_name_is_told() -> None:
    with pytest.raises(UserError, match="did you mean 'Europe/Berlin'"):
        check_zone("Europe/Berln")
    check_zone("")
    check_zone("+05:45")
