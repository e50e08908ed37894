"""Faults F1 and F2: missing cells and gaps are refused or treated by a stated rule, and always found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqline.data.series import SeriesOptions
from seqline.data.series.reading import read_panel

from .files import CARRY, MASK, PLAIN, days, refusal, write


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("series")


@pytest.mark.parametrize("cell", ["", "NA", "-", "NaN", "inf", "-Infinity", "null"])
@pytest.mark.parametrize("at", [0, 2, 4])
def test_f1_missing_cells(folder: Path, cell: str, at: int) -> None:
    pairs = [(d, cell if n == at else str(n + 1)) for n, d in enumerate(days(5))]
    path = write(folder, "ds,y", *(f"{d},{y}" for d, y in pairs))
    message = refusal(path)
    assert message.startswith(f"F:{at + 2}: {pairs[at][0]}, column 'y': a missing value (1 such cell); give it, or say")
    masked = read_panel(path, how=MASK)
    assert masked.series[0].is_observed[:, 0].tolist() == [n != at for n in range(5)]
    assert masked.series[0].values[:, 0].tolist() == [0 if n == at else n + 1 for n in range(5)]
    assert masked.notes[-1] == "1 missing cell masked"
    if at == 0:
        assert "missing at the start, with no value before it" in refusal(path, CARRY)
    else:
        carried = read_panel(path, how=CARRY).series[0]
        assert carried.values[:, 0].tolist() == [at if n == at else n + 1 for n in range(5)]
        assert carried.is_observed.all()


def test_f1_the_series_and_the_count_are_named(folder: Path) -> None:
    lines = [
        "unique_id,ds,y",
        *(f"{i},{d},{'NA' if i == 'q' and n else n}" for i in "pq" for n, d in enumerate(days(4))),
    ]
    path = write(folder, *lines)
    assert "F:7: series 'q', 2024-02-28, column 'y': a missing value (3 such cells)" in refusal(path)
    assert read_panel(path, how=CARRY).series[1].values[:, 0].tolist() == [0, 0, 0, 0]


def test_f1_a_value_of_another_series_is_never_carried_over(folder: Path) -> None:
    lines = ["unique_id,ds,y", "p,2024-01-01,1", "p,2024-01-02,2", "q,2024-01-01,NA", "q,2024-01-02,3"]
    assert "series 'q', 2024-01-01, column 'y': missing at the start" in refusal(write(folder, *lines), CARRY)


@pytest.mark.parametrize("how", [PLAIN, MASK, CARRY])
def test_f1_a_series_without_any_value_is_refused(folder: Path, how: SeriesOptions) -> None:
    lines = ["unique_id,ds,y", "p,2024-01-01,1", "p,2024-01-02,2", "q,2024-01-01,NA", "q,2024-01-02,"]
    message = refusal(write(folder, *lines), how)
    assert "F:4: series 'q', 2024-01-01: column 'y' has no value in the whole series" in message


def test_f1_covariates_are_not_masked(folder: Path) -> None:
    path = write(folder, "ds,y,x", "2024-01-01,1,5", "2024-01-02,2,NA", "2024-01-03,NA,6", "2024-01-04,4,7")
    assert "column 'x': a missing value" in refusal(path, replace(MASK, past=("x",)))
    panel = read_panel(path, how=replace(CARRY, past=("x",)))
    assert panel.series[0].past[:, 0].tolist() == [5, 5, 6, 7]
    assert panel.notes[-1] == "2 missing cells filled with the last value before"


@given(st.sets(st.integers(1, 28), min_size=1, max_size=27), st.booleans())
def test_f2_gaps_are_always_found(folder: Path, missing: set[int], two: bool) -> None:
    lines = ["unique_id,ds,y"]
    for name in ("p", "q") if two else ("q",):
        lines += [f"{name},{d},{n + 1}" for n, d in enumerate(days(30)) if name == "p" or n not in missing]
    path = write(folder, *lines)
    how = replace(PLAIN, frequency="1d")
    first = days(30)[min(missing)]
    every_step_longer = not two and all({n, n + 1} & missing for n in range(29))
    if every_step_longer:
        assert "expected steps of 1 day, every step is longer" in refusal(path, how)
        return
    message = refusal(path, how)
    assert f"series 'q', {first}: the first missing row; {len(missing)} missing" in message
    filled = read_panel(path, how=replace(how, fill=True, missing="mask")).series[-1]
    assert len(filled) == 30
    assert np.flatnonzero(~filled.is_observed[:, 0]).tolist() == sorted(missing)
    assert filled.values[:, 0].tolist() == [0 if n in missing else n + 1 for n in range(30)]
    assert np.diff(filled.times).tolist() == [86_400_000_000] * 29


def test_f2_filling_needs_a_rule_for_the_cells(folder: Path) -> None:
    path = write(folder, "ds,y", "2024-01-01,1", "2024-01-02,2", "2024-01-05,5")
    assert "2024-01-03, column 'y': a missing value (2 such cells)" in refusal(path, SeriesOptions(fill=True))
    panel = read_panel(path, how=replace(CARRY, fill=True))
    assert panel.series[0].values[:, 0].tolist() == [1, 2, 2, 2, 5]
    assert "2 rows put into gaps" in panel.notes


def test_f2_a_gap_of_ages_is_not_filled(folder: Path) -> None:
    path = write(folder, "ds,y", "0001-01-01T00:00:00Z,1", "0001-01-01T00:00:01Z,2", "9999-12-31T00:00:00Z,5")
    assert "too long to fill" in refusal(path, SeriesOptions(fill=True, missing="mask"))


def test_f2_a_step_beyond_the_calendar_is_off_the_grid(folder: Path) -> None:
    cells = (
        "9999-08-31T23:00-12:00",
        "9999-09-30T23:00-12:00",
        "9999-10-31T23:00-12:00",
        "9999-11-30T23:00-12:00",
        "9999-12-15T23:00-12:00",
    )
    message = refusal(write(folder, "ds,y", *(f"{c},1" for c in cells)), SeriesOptions(frequency="1month"))
    assert "F:6: 9999-12-15T23:00-12:00: off the grid of 1 month" in message


def test_f2_times_off_the_grid(folder: Path) -> None:
    path = write(
        folder, "ds,y", *(f"2024-01-01T{h}Z,1" for h in ("00:00", "01:00", "02:00", "02:30", "03:00", "04:00"))
    )
    assert "F:5: 2024-01-01T02:30Z: off the grid of 1 hour that starts at 2024-01-01T00:00Z" in refusal(path)
