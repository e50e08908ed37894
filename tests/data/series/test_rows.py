"""Faults F3 to F6: duplicates, unsorted rows, clocks that change, mixed zones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqline.data.series import SeriesOptions
from seqline.data.series.reading import read_panel
from seqline.data.series.zones import local_of

from .files import MASK, PLAIN, SORT, days, outcome, refusal, series, write

CHANGES = (
    ("Europe/Berlin", "2024-03-30T20:00", "2024-10-26T20:00"),
    ("America/New_York", "2024-03-10T03:00", "2024-11-03T02:00"),
    ("Australia/Lord_Howe", "2024-10-05T12:00", "2024-04-06T12:00"),
)
MINUTE = 60_000_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("series")


@pytest.mark.parametrize("second", ["1", "2", "NA"])
@pytest.mark.parametrize("how", [PLAIN, SORT, MASK, SeriesOptions(fill=True, missing="mask")])
def test_f3_duplicates_are_refused_with_both_lines(folder: Path, second: str, how: SeriesOptions) -> None:
    rows = ["2024-01-01,1", "2024-01-02,1", "2024-01-03,1", f"2024-01-02,{second}"]
    message = refusal(write(folder, "ds,y", *rows), how)
    assert message.startswith("F:5: 2024-01-02: a second row for this time, the first is F:3 (1 duplicate in all)")
    assert "name the column that tells series apart with `id`" in message


@given(st.lists(st.tuples(st.sampled_from("pq"), st.integers(0, 9)), min_size=2, max_size=12), st.booleans())
def test_f3_duplicates_are_always_found(folder: Path, keys: list[tuple[str, int]], sort: bool) -> None:
    lines = [f"{name},{days(10)[day]},1" for name, day in keys]
    how = SeriesOptions(sort=sort, fill=True, missing="mask", frequency="1d")
    path = write(folder, "unique_id,ds,y", *lines)
    if len(set(keys)) < len(keys):
        assert "a second row for this time" in refusal(path, how)
    else:
        found = outcome(path, how)
        if isinstance(found, str):
            assert "a second row" not in found
        else:
            assert sum(int(one.is_observed.sum()) for one in found.series) == len(keys)


@given(st.randoms(use_true_random=False), st.sampled_from(["d", "month", "h"]))
def test_f4_sorting_any_order_gives_the_same_panel(folder: Path, random: Random, unit: str) -> None:
    times = {
        "d": days(6), "month": [f"2024-{m:02d}-{31 if m in (1, 3, 5) else 30 if m > 2 else 29}" for m in range(1, 7)],
        "h": [f"2024-03-31 {h:02d}:00" for h in (0, 1, 3, 4, 5, 6)],
    }[unit]  # fmt: skip
    rows = [f"{name},{t},{n}.5,{n},{name}" for name in ("b", "a", "c") for n, t in enumerate(times)]
    how = SeriesOptions(sort=True, past=("x",), static=("k",), zone="Europe/Berlin" if unit == "h" else "")
    header = "unique_id,ds,y,x,k"
    expected = read_panel(write(folder, header, *sorted(rows)), how=how)
    assert expected.notes[1] == "0 rows moved by sorting"
    shuffled = list(rows)
    random.shuffle(shuffled)
    path = write(folder, header, *shuffled)
    panel = read_panel(path, how=how)
    assert [one.id for one in panel.series] == ["a", "b", "c"]
    for one, other in zip(panel.series, expected.series, strict=True):
        assert (one.id, one.static) == (other.id, other.static)
        for name in ("times", "values", "past", "is_observed"):
            assert np.array_equal(getattr(one, name), getattr(other, name))
    moved = sum(a != b for a, b in zip(shuffled, sorted(rows), strict=True))
    assert panel.notes[1].startswith(f"{moved} row")
    assert panel.frequency == expected.frequency


def test_f4_unsorted_and_interleaved_rows_are_refused(folder: Path) -> None:
    backwards = write(folder, "ds,y", "2024-01-01,1", "2024-01-03,3", "2024-01-02,2")
    assert "F:4: 2024-01-02: comes after a later time (1 such place); sort the rows, or ask for `sort`" in refusal(
        backwards
    )
    mixed = write(folder, "unique_id,ds,y", "p,2024-01-01,1", "q,2024-01-01,3", "p,2024-01-02,2", "q,2024-01-02,2")
    assert "F:4: series 'p', 2024-01-02: comes after another series began (2 such places)" in refusal(mixed)
    assert [one.values[:, 0].tolist() for one in read_panel(mixed, how=SORT).series] == [[1, 2], [3, 2]]


def local_rows(zone: str, start: str, step: int, count: int) -> tuple[list[str], list[int]]:
    instants = np.datetime64(start, "us").astype(np.int64) + np.arange(count) * step * MINUTE
    texts = local_of(instants, zone).astype("datetime64[us]").astype("datetime64[m]").astype(str).tolist()
    return texts, instants.tolist()


@pytest.mark.parametrize("step", [60, 30, 15])
@pytest.mark.parametrize(("zone", "spring", "autumn"), CHANGES)
def test_f5_days_with_a_change_keep_their_real_steps(
    folder: Path, zone: str, spring: str, autumn: str, step: int
) -> None:
    for start in (spring, autumn):
        texts, instants = local_rows(zone, start, step, 24 * 60 // step)
        path = write(folder, "ds,y", *(f"{t},{n}" for n, t in enumerate(texts)))
        rule = "refuse"
        if start == autumn:
            assert f"this local time comes twice in {zone}" in refusal(path, SeriesOptions(zone=zone))
            # Hours on a clock that goes back by half an hour show one time of the two: which, the order cannot tell.
            rule = "order" if len(set(texts)) < len(texts) else "second"
        panel = read_panel(path, how=SeriesOptions(zone=zone, repeated=rule))
        assert panel.series[0].times.tolist() == instants
        assert panel.frequency.name == ("1h" if step == 60 else f"{step}min")
        assert panel.form.write(panel.series[0].times, panel.zone) == texts
        offsets = write(folder, "ds,y", *(f"{t}Z,{n}" for n, t in enumerate(np.array(instants, "datetime64[us]").astype(
            "datetime64[m]").astype(str).tolist())))  # fmt: skip
        assert read_panel(offsets).series[0].times.tolist() == instants


@pytest.mark.parametrize(("zone", "spring", "autumn"), CHANGES)
def test_f5_a_missing_hour_is_a_gap_and_a_skipped_one_no_time(
    folder: Path, zone: str, spring: str, autumn: str
) -> None:
    texts, instants = local_rows(zone, spring, 15, 96)
    jumps = [n for n in range(95) if np.datetime64(texts[n + 1]) - np.datetime64(texts[n]) > np.timedelta64(15, "m")]
    assert len(jumps) == 1
    skipped = str(np.datetime64(texts[jumps[0]]) + np.timedelta64(15, "m"))
    rows = [f"{t},{n}" for n, t in enumerate(texts)]
    rows.insert(jumps[0] + 1, f"{skipped},9")
    path = write(folder, "ds,y", *rows)
    message = refusal(path, SeriesOptions(zone=zone))
    assert f"F:{jumps[0] + 3}: {skipped}: this local time does not exist in {zone} (1 such row)" in message
    panel = read_panel(path, how=SeriesOptions(zone=zone, skipped="drop"))
    assert panel.series[0].times.tolist() == instants
    assert panel.notes[1] == f"1 row dropped: their local times do not exist in {zone}"
    texts, instants = local_rows(zone, autumn, 15, 96)
    first = next(n for n in range(96) if texts.count(texts[n]) == 2)
    second = texts.index(texts[first], first + 1)
    del texts[second], instants[second]
    path = write(folder, "ds,y", *(f"{t},{n}" for n, t in enumerate(texts)))
    assert "the first missing row; 1 missing" in refusal(path, SeriesOptions(zone=zone, repeated="order"))
    filled = read_panel(path, how=SeriesOptions(zone=zone, repeated="order", fill=True, missing="mask")).series[0]
    assert len(filled) == 96
    assert not filled.is_observed[second, 0]


def test_f5_a_file_of_skipped_times_alone_has_no_row_left(folder: Path) -> None:
    path = write(folder, "ds,y", "2024-03-31T02:00,1", "2024-03-31T02:30,2")
    assert "F: no row is left; check the zone" in refusal(path, SeriesOptions(zone="Europe/Berlin", skipped="drop"))


def test_f5_one_of_two_instants_may_be_stated(folder: Path) -> None:
    path = write(folder, "ds,y", "2024-10-27T02:00,1")
    how = SeriesOptions(zone="Europe/Berlin", frequency="1h")
    hour = np.datetime64("2024-10-27T00:00", "us").astype(np.int64)
    assert read_panel(path, how=replace(how, repeated="first")).series[0].times.tolist() == [hour]
    assert read_panel(path, how=replace(how, repeated="second")).series[0].times.tolist() == [hour + 60 * MINUTE]
    thrice = write(folder, "ds,y", *["2024-10-27T02:00,1"] * 3)
    assert "a second row for this time" in refusal(thrice, replace(how, repeated="order"))


def test_f5_naive_times_below_a_day_need_a_zone(folder: Path) -> None:
    path = write(folder, "ds,y", "2024-01-01 00:00,1", "2024-01-01 01:00,2")
    assert "F: times 1 hour apart have no time zone; state the zone of the clock" in refusal(path)
    assert read_panel(path, how=SeriesOptions(zone="+01:00")).zone == "+01:00"
    one = write(folder, "ds,y", "2024-01-01 00:00,1")
    assert "have no time zone" in refusal(one, SeriesOptions(frequency="15min"))
    daily = write(folder, "ds,y", "2024-01-01 06:00,1", "2024-01-02 06:00,2")
    assert read_panel(daily).frequency.name == "1d"


def test_f5_days_of_a_zone_are_days_across_the_change(folder: Path) -> None:
    cells = ("2024-03-30T00:00+01:00", "2024-03-31T00:00+01:00", "2024-04-01T00:00+02:00", "2024-04-02T00:00+02:00")
    path = write(folder, "ds,y", *(f"{c},1" for c in cells))
    panel = read_panel(path, how=SeriesOptions(zone="Europe/Berlin"))
    assert panel.frequency.name == "1d"
    assert panel.form.write(panel.series[0].times, panel.zone) == list(cells)
    assert "off the grid of 1 day" in refusal(path)  # in UTC one of these days has 23 hours
    steady = write(folder, "ds,y", *(f"2024-03-{d}T00:00Z,1" for d in (29, 30, 31)), "2024-04-01T00:00Z,1")
    assert read_panel(steady, how=SeriesOptions(zone="Europe/Berlin")).frequency.name == "24h"


def test_f6_offsets_are_converted_and_mixtures_refused(folder: Path) -> None:
    panel = series(
        folder, [("2024-01-01T00:00Z", "1"), ("2024-01-01T02:00+01:00", "2"), ("2024-01-01T07:45+05:45", "3")]
    )
    assert panel.series[0].times.tolist() == [1_704_067_200_000_000 + h * 60 * MINUTE for h in range(3)]
    assert panel.zone == "UTC"
    assert panel.notes[-1].startswith("offsets differ from row to row")
    for cells in (
        ("2024-01-01T00:00Z", "2024-01-01T01:00"),
        ("2024-01-01", "2024-01-02 00:00"),
        ("2024-01-01", "2/1/2024"),
    ):
        assert refusal(write(folder, "ds,y", *(f"{c},1" for c in cells))).startswith("F:3: column 'ds': ")


def test_f6_a_stated_form_and_dates_of_a_zone(folder: Path) -> None:
    path = write(folder, "ds,y", "31.12.2023,1", "1.1.2024,2")
    assert "the order of day and month is not guessed" in refusal(path)
    panel = read_panel(path, how=SeriesOptions(time_format="%d.%m.%Y", zone="Europe/Berlin"))
    assert panel.frequency.name == "1d"
    assert panel.notes[-1] == "zone Europe/Berlin is not used: the times have no clock"
