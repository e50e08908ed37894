"""Faults F11 and F12: columns are matched by their names; rows of the future need their covariates."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from seqline.data.series import SeriesOptions
from seqline.data.series.reading import read_panel

from .files import CARRY, MASK, PLAIN, days, refusal, write


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("series")


@pytest.mark.parametrize(("how", "target", "why"), [
    (PLAIN, "temp_mx", "target: no column 'temp_mx'; did you mean 'temp_max'?"),
    (PLAIN, "WIND", "no column 'WIND'; did you mean 'wind'?"),
    (PLAIN, "", "target: no column ''"), (SeriesOptions(time="when"), "temp_max", "time: no column 'when'"),
    (SeriesOptions(id="station"), "temp_max", "id: no column 'station'"),
    (SeriesOptions(known=("wnd",)), "temp_max", "known: no column 'wnd'; did you mean 'wind'?"),
    (SeriesOptions(past=("wind",), known=("wind",)), "temp_max", "column 'wind' is asked for twice"),
    (SeriesOptions(static=("date",)), "temp_max", "looks like times; state `time=stamp`"), (PLAIN, "date", "state `time=stamp`"),
])  # fmt: skip
def test_f11_columns_are_matched_by_their_exact_name(folder: Path, how: SeriesOptions, target: str, why: str) -> None:
    path = write(folder, "date,temp_max,wind,Timestamp", *(f"{d},1,2,3" for d in days(3)))
    assert why.replace("stamp", "Timestamp") in refusal(path, how, target)


def test_f11_order_and_more_columns_do_not_matter(folder: Path) -> None:
    expected = read_panel(write(folder, "ds,y", *(f"{d},{n}" for n, d in enumerate(days(3)))))
    panel = read_panel(write(folder, "more,y,ds", *(f"text,{n},{d}" for n, d in enumerate(days(3)))))
    assert np.array_equal(panel.series[0].values, expected.series[0].values)
    assert panel.notes[-1] == "1 column not used: 'more'"
    both = write(folder, "ds,date,y", "2024-01-01,2024-01-01,1", "2024-01-02,2024-01-02,1")
    assert "both ds and date could be the time" in refusal(both)
    assert "state `time=Date`" in refusal(write(folder, "Date,y", "2024-01-01,1"))
    assert "no column is left" in refusal(write(folder, "ds", "2024-01-01"))
    assert "expected the id of a series" in refusal(write(folder, "unique_id,ds,y", "a,2024-01-01,1", ",2024-01-02,1"))


def test_f11_a_static_column_says_one_thing(folder: Path) -> None:
    how = SeriesOptions(static=("k",))
    assert "F:3: column 'k': expected 'u' as in the row before of its series, got 'v'" in refusal(
        write(folder, "ds,y,k", "2024-01-01,1,u", "2024-01-02,1,v"), how
    )
    assert "F:2: column 'k': a missing value" in refusal(write(folder, "ds,y,k", "2024-01-01,1,", "2024-01-02,1,"), how)


@pytest.mark.parametrize("how", [PLAIN, MASK, CARRY])
def test_f12_future_rows_need_their_known_covariates(folder: Path, how: SeriesOptions) -> None:
    how = replace(how, known=("x",))
    rows = ["2024-01-01,1,5", "2024-01-02,2,5", "2024-01-03,,6", "2024-01-04,,"]
    assert "F:5: 2024-01-04, column 'x': a missing value" in refusal(write(folder, "ds,y,x", *rows), how)
    panel = read_panel(write(folder, "ds,y,x", *rows[:3]), how=how)
    assert (len(panel.series[0]), panel.series[0].num_future) == (2, 1)
    assert "has no value in the whole series" in refusal(write(folder, "ds,y,x", *rows[2:3], "2024-01-04,,7"), how)
