"""Faults F8 to F10 and F14: the frequency is found in the units of the calendar, or stated and checked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from seqline.data.series import SeriesOptions
from seqline.data.series.frequency import frequency_of
from seqline.data.series.reading import read_panel

from .files import PLAIN, SORT, days, refusal, series, write


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("series")


def test_f8_a_fallback_stands_only_where_nothing_is_found_or_stated(folder: Path) -> None:
    path = write(folder, "ds,y", "2024-01-31,1")
    assert read_panel(path, fallback="1d").frequency.name == "1d"
    assert read_panel(path, fallback="1d", how=SeriesOptions(frequency="1w")).frequency.name == "1w"
    path = write(folder, "ds,y", "2024-01-01,1", "2024-01-08,2")
    assert read_panel(path, fallback="1d").frequency.name == "1w"


def test_f8_one_point_takes_a_stated_frequency(folder: Path) -> None:
    path = write(folder, "ds,y", "2024-01-31,7")
    assert "F: no series has two points to find the frequency from; state it with `frequency`" in refusal(path)
    panel = read_panel(path, how=SeriesOptions(frequency="1month"))
    assert len(panel.series[0]) == 1
    assert panel.notes == ("frequency: 1 month, 1 row from 2024-01-31 to 2024-01-31",)
    lines = ["unique_id,ds,y", "p,2024-01-01,1", "q,2024-01-01,1", "q,2024-01-02,2"]
    assert [len(one) for one in read_panel(write(folder, *lines)).series] == [1, 2]
    assert refusal(write(folder, "ds,y")) == "F: has no rows; give at least one point"


def test_f9_lost_digits_are_reported(folder: Path) -> None:
    panel = series(folder, [("2024-01-01", "9007199254740993"), ("2024-01-02", "-1e12"), ("2024-01-03", "1e-12")])
    assert panel.notes[-1] == "column 'y': 1 integer above 2^53 lost digits"
    assert panel.series[0].values[1:, 0].tolist() == [-1e12, 1e-12]


@pytest.mark.parametrize(("stated", "why"), [
    ("1h", "expected steps of 1 hour, every step is longer (this one is 24 of them)"), ("1w", "points are mostly 1 day apart"),
    ("1month", "points are mostly 1 day apart, expected 1 month"), ("2d", "points are mostly 1 day apart, expected 2 days"),
    ("1row", "the times are no row numbers"), ("b", "2024-03-02: off the grid of 1 business day"), ("1x", "no frequency '1x'"),
])  # fmt: skip
def test_f10_another_frequency_is_refused(folder: Path, stated: str, why: str) -> None:
    path = write(folder, "ds,y", *(f"{d},1" for d in days(9)))
    assert why in refusal(path, SeriesOptions(frequency=stated))


@pytest.mark.parametrize(("times", "name"), [
    (["2024-01-31", "2024-02-29", "2024-03-31"], "1month-end"), (["2024-01-30", "2024-02-29", "2024-03-30"], "1month"),
    (["2023-02-28", "2023-03-28", "2023-04-28"], "1month"), (["2024-02-29", "2025-02-28", "2026-02-28", "2028-02-29"], ""),
    (["2024-01-01", "2024-04-01", "2024-07-01"], "1quarter"), (["2023-03-31", "2023-06-30", "2023-09-30"], "1quarter-end"),
    (["2023-01-01", "2024-01-01", "2025-01-01"], "1year"), (["2024-01-01", "2024-07-01", "2025-01-01"], "6month"),
    (["2024-01-01", "2024-01-08", "2024-01-15"], "1w"), (["2024-01-01", "2024-01-15", "2024-01-29"], "2w"),
    (["2024-01-01", "2024-01-31", "2024-03-01"], "30d"), (["2024-05-02", "2024-05-03", "2024-05-06"], "1b"),
    (["2024-05-02", "2024-05-03", "2024-05-04"], "1d"), (["2024-01", "2024-02", "2024-03"], "1month"), (["7", "8"], "1row"),
    (["2023-02-28", "2024-02-29", "2025-02-28"], "1year-end"), (["1677-01-01", "1677-01-02"], "1d"),
    (["2262-04-11", "2262-04-12"], "1d"), (["9999-12-30", "9999-12-31"], "1d"),
    (["2024-01-01T00:00:00.0Z", "2024-01-01T00:00:00.25Z"], "250ms"), (["2024-01-01T00:00Z", "2024-01-01T06:00Z"], "6h"),
    (["2024-01-01T00:00Z", "2024-01-01T00:10Z"], "10min"), (["2024-01-01T00:00:00Z", "2024-01-01T00:01:30Z"], "90s"),
])  # fmt: skip
def test_f14_the_unit_of_the_calendar_is_found(folder: Path, times: list[str], name: str) -> None:
    if not name:
        assert "2027-02-28: the first missing row; 1 missing at a step of 1 year" in refusal(
            write(folder, "ds,y", *(f"{t},1" for t in times))
        )
        return
    panel = series(folder, [(t, "1") for t in times])
    assert panel.frequency == frequency_of(name)
    assert f"frequency: {panel.frequency.words}, {len(times)} rows" in panel.notes[0]


def test_f14_integers(folder: Path) -> None:
    epoch = write(folder, "ds,y", "1700000000,1", "1700003600,2")
    assert "state what the integers count with `time_unit`" in refusal(epoch)
    assert read_panel(epoch, how=SeriesOptions(time_unit="s")).frequency.name == "1h"
    assert read_panel(epoch, how=SeriesOptions(time_unit="ms")).frequency.name == "3600ms"
    tens = write(folder, "ds,y", "10,1", "20,2", "30,3")
    assert "the times are integers in steps of 10; state what they count" in refusal(tens)
    assert read_panel(tens, how=SeriesOptions(time_unit="row")).frequency.name == "10row"
    assert "F:4: row 3: the first missing row" in refusal(write(folder, "ds,y", "1,1", "2,2", "4,3"))


def test_rows_are_numbered_where_there_is_no_time(folder: Path) -> None:
    panel = read_panel(write(folder, "y", "5", "6", "7"))
    assert (panel.frequency.name, panel.series[0].times.tolist()) == ("1row", [0, 1, 2])
    panel = read_panel(write(folder, "unique_id,y", "p,5", "q,6", "p,7"), how=SORT)
    assert [one.times.tolist() for one in panel.series] == [[0, 1], [0]]
    assert "zone: there is no time column" in refusal(write(folder, "y", "5"), SeriesOptions(zone="UTC"))


@pytest.mark.parametrize("name", ["missing", "repeated", "skipped", "time_unit", "zone"])
def test_rules_that_do_not_exist(folder: Path, name: str) -> None:
    how = replace(PLAIN, **{name: "guess"})
    assert refusal(write(folder, "y", "1"), how).startswith(f"{name}: no ")
