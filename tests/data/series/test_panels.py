"""A panel written as columns is read again as the same panel."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqline.data.series import Panel, SeriesOptions
from seqline.data.series.panels import panel_rows, reading_back
from seqline.data.series.reading import read_panel
from seqline.data.series.writing import rows_csv


def again(panel: Panel, how: SeriesOptions, folder: Path) -> Panel:
    path = folder / "panel.csv"
    path.write_text(rows_csv(panel_rows(panel, how)), encoding="utf-8")
    return read_panel(str(path), target=panel.targets, how=reading_back(panel, how))


def assert_same(one: Panel, other: Panel) -> None:
    assert (one.frequency, one.zone) == (other.frequency, other.zone)
    for name in ("targets", "known", "past", "static"):
        assert getattr(one, name) == getattr(other, name)
    assert [each.id for each in one.series] == [each.id for each in other.series]
    for a, b in zip(one.series, other.series, strict=True):
        assert a.static == b.static
        for name in ("times", "values", "is_observed", "known", "past"):
            assert np.array_equal(getattr(a, name), getattr(b, name)), name


HOURS = [f"2024-10-27 {hour:02d}:00" for hour in (0, 1, 2, 2, 3)]


@pytest.mark.parametrize(
    ("data", "how"),
    [
        ({"y": [1.0, 2.5, 3.0]}, SeriesOptions()),
        ({"ds": [5, 6, 7], "y": [1, 2, 3]}, SeriesOptions(time_unit="row")),
        ({"ds": ["2024-02-28", "2024-02-29", "2024-03-01"], "y": [1, 2, 3]}, SeriesOptions()),
        ({"date": ["2024-01-31", "2024-02-29", "2024-03-31"], "y": [1, 2, 3]}, SeriesOptions()),
        ({"ds": HOURS, "y": [1, 2, 3, 4, 5]}, SeriesOptions(zone="Europe/Berlin", repeated="order")),
        ({"ds": [0, 60, 120], "y": [1, 2, 3]}, SeriesOptions(time_unit="s")),
        ({"ds": ["01/02/2024", "02/02/2024"], "y": [1, 2]}, SeriesOptions(time_format="%d/%m/%Y")),
        ({"ds": ["2024-01-01 00:00:00.5", "2024-01-01 00:00:01.0"], "y": [1, 2]}, SeriesOptions(zone="UTC")),
        ({"ds": ["2024-01-01", "2024-01-02", "2024-01-04"], "y": [1, 2, 3]}, SeriesOptions(fill=True, missing="mask")),
        ({"ds": ["2024-01-03", "2024-01-01", "2024-01-02"], "y": [1, 2, 3]}, SeriesOptions(sort=True)),
    ],
)
def test_what_was_found_in_a_table_is_found_again(data: dict, how: SeriesOptions, tmp_path: Path) -> None:
    panel = read_panel(data, target="y", how=how)
    assert_same(panel, again(panel, how, tmp_path))


def test_covariates_future_rows_and_statics(tmp_path: Path) -> None:
    data = {
        "shop": ["b", "b", "b", "a, c", "a, c"],
        "ds": ["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-01", "2024-01-02"],
        "sold": [1.0, 2.0, None, 4.0, 5.0],
        "price": [1.0, 2.0, 3.0, 4.0, 5.0],
        "rain": [0.0, 1.0, None, 0.5, 0.25],
        "size": [3, 3, 3, 7, 7],
        "town": ["x", "x", "x", 'y "z"', 'y "z"'],
    }
    how = SeriesOptions(id="shop", known=("price",), past=("rain",), static=("size", "town"))
    panel = read_panel(data, target="sold", how=how)
    assert [one.num_future for one in panel.series] == [1, 0]
    assert_same(panel, again(panel, how, tmp_path))


@given(st.lists(st.lists(st.floats(-1e30, 1e30), min_size=2, max_size=6), min_size=1, max_size=3))
def test_values_keep_every_bit(tmp_path_factory: pytest.TempPathFactory, series: list[list[float]]) -> None:
    data = {
        "unique_id": [f"s{n}" for n, values in enumerate(series) for _ in values],
        "ds": [str(np.datetime64("2024-01-01") + n) for values in series for n in range(len(values))],
        "y": [value for values in series for value in values],
    }
    panel = read_panel(data)
    assert_same(panel, again(panel, SeriesOptions(), tmp_path_factory.mktemp("again")))
