"""Reading a panel: files long and wide, covariates, and any bytes at all."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqline.data.series import SeriesOptions
from seqline.data.series.reading import read_panel

from .files import days, outcome, refusal, series, write


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("series")


def test_a_long_file(folder: Path) -> None:
    lines = [f"{i},{d},{n}" for i, count in (("b", 3), ("a", 5)) for n, d in enumerate(days(count))]
    panel = read_panel(write(folder, "unique_id,ds,y", *lines))
    assert [(one.id, len(one), one.values[:, 0].tolist()) for one in panel.series] == [
        ("b", 3, [0, 1, 2]), ("a", 5, [0, 1, 2, 3, 4]),
    ]  # fmt: skip
    assert (panel.targets, panel.time_column, panel.id_column, panel.zone) == (("y",), "ds", "unique_id", "")
    assert panel.notes == ("frequency: 1 day, 2 series of 3 to 5 rows from 2024-02-27 to 2024-03-02",)
    assert panel.series[0].is_observed.all()
    assert panel.series[0].known.shape == (3, 0)


def test_a_wide_file_plain_or_gzip(folder: Path) -> None:
    lines = ["date,temp,wind,rain", *(f"{d},{n},{n * 2},0" for n, d in enumerate(days(4)))]
    path = folder / "a.csv.gz"
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    panel = read_panel(path, target=["wind", "temp"])
    assert panel.series[0].id == ""
    assert panel.series[0].values.tolist() == [[0, 0], [2, 1], [4, 2], [6, 3]]
    assert panel.notes[1] == "1 column not used: 'rain'"
    assert "3 columns could be forecast: temp, wind, rain; say which with `target`" in refusal(path)


def test_covariates_and_static_columns(folder: Path) -> None:
    lines = ["shop,ds,y,promo,visits,city,size"]
    lines += [f"{s},{d},{n},{n % 2},{n * 10},{c},{z}" for s, c, z in (("s1", "Ulm", 3), ("s2", "Bonn", 4.5)) for n, d in
              enumerate(days(3))]  # fmt: skip
    lines.insert(4, "s1,2024-03-01,,1,99,Ulm,3")  # a row of the future
    how = SeriesOptions(id="shop", known=("promo",), past=("visits",), static=("city", "size"))
    panel = read_panel(write(folder, *lines), how=how)
    first, second = panel.series
    assert first.static == ("Ulm", 3.0)
    assert second.static == ("Bonn", 4.5)
    assert first.known.tolist() == [[0], [1], [0], [1]]
    assert (first.num_future, second.num_future) == (1, 0)
    assert first.past.tolist() == [[0], [10], [20]]
    assert panel.notes[1:] == (
        "1 row of the future: covariates only, after the last value",
        "1 value of past covariates in these rows not used",
    )


CELLS = st.sampled_from([
    "1", "2.5", "-", "NA", "", "2024-01-01", "2024-01-02", "2024-01-03", "2024-02-29", "2023-02-29", "2024-01-01T00:00",
    "2024-03-31 02:30", "2024-10-27 02:30", "2024-10-27T02:30:00Z", "9999-12-31", "0001-01-01", "1e999", '"a"', '"a,b"', '"',
    "A", "B", "ds", "y", "１", "-1", "99999999999999999999", "1700000000", "inf", " 1", "\ufeff", "x\r", "\x85", "\u2028", "\0",
])  # fmt: skip
OPTIONS = st.builds(
    SeriesOptions,
    zone=st.sampled_from(["", "Europe/Berlin", "Australia/Lord_Howe", "+05:30"]),
    frequency=st.sampled_from(["", "", "1h", "1d", "1month-end", "b", "999999999year"]),
    missing=st.sampled_from(["refuse", "mask", "interpolate"]),
    fill=st.booleans(), sort=st.booleans(),
    repeated=st.sampled_from(["refuse", "order", "first", "second"]), skipped=st.sampled_from(["refuse", "drop"]),
    time_unit=st.sampled_from(["", "", "row", "s", "ns"]),
    known=st.sampled_from([(), (), ("x",)]), past=st.sampled_from([(), (), ("z",)]),
)  # fmt: skip


def panel_or_line(path: Path, how: SeriesOptions) -> None:
    found = outcome(path, how)
    if isinstance(found, str):
        assert "\n" not in found
    else:
        for one in found.series:
            assert len(one) >= 1
            for values in (one.values, one.known, one.past):
                assert np.isfinite(values).all()


@given(st.binary(max_size=80), OPTIONS)
def test_any_bytes_give_a_panel_or_one_line(folder: Path, data: bytes, how: SeriesOptions) -> None:
    path = folder / "bytes.csv"
    for start in (b"", b"ds,y\n", b"unique_id,ds,y,x,z\n"):
        path.write_bytes(start + data)
        panel_or_line(path, how)


@given(
    st.sampled_from(["ds,y", "unique_id,ds,y", "y", "ds,y,x,z"]),
    st.lists(st.lists(CELLS, max_size=5), max_size=6),
    OPTIONS,
)
def test_any_cells_give_a_panel_or_one_line(
    folder: Path, header: str, rows: list[list[str]], how: SeriesOptions
) -> None:
    path = folder / "cells.csv"
    path.write_bytes("\n".join([header, *(",".join(row) for row in rows)]).encode())
    panel_or_line(path, how)


@given(
    st.sampled_from(["2024-10-26T22:00", "2024-03-30T22:00", "9999-12-31T20:00", "0001-01-01T00:00", "2024-02-28T23:00"]),
    st.sampled_from([30, 60, 1440, 43_200, 44_640]), st.lists(st.integers(0, 9), min_size=1, max_size=8), OPTIONS,
    st.lists(st.sampled_from(["1", "2", "3", "NA"]), min_size=8, max_size=8), st.sampled_from(["", "Z", "+01:00"]),
)  # fmt: skip
def test_near_regular_rows_give_a_panel_or_one_line(
    folder: Path, start: str, step: int, at: list[int], how: SeriesOptions, ys: list[str], offset: str
) -> None:
    moments = np.datetime64(start, "m") + np.array(at) * step
    path = folder / "rows.csv"
    rows = [f"{moment}{offset},{y},{y},1" for moment, y in zip(moments.astype(str).tolist(), ys, strict=False)]
    path.write_text("\n".join(["ds,y,x,z", *rows]))
    panel_or_line(path, replace(how, time_unit=""))


@given(st.lists(st.floats(-1e30, 1e30), min_size=2, max_size=20))
def test_numbers_come_through_bit_for_bit(folder: Path, numbers: list[float]) -> None:
    panel = series(folder, [(d, repr(y)) for d, y in zip(days(len(numbers)), numbers, strict=True)])
    assert panel.series[0].values[:, 0].tobytes() == np.array(numbers).tobytes()
