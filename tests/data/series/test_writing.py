"""Forecasts written as rows are read again as the same series, under the same keys."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqline.data.series import SeriesOptions
from seqline.data.series.reading import read_panel
from seqline.data.series.writing import forecast_rows, rows_csv

names = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufeff"), min_size=1, max_size=6)


def test_rows_have_the_keys_of_the_input() -> None:
    rows = {"shop": ["b", "b", "a", "a"], "date": ["2024-02-27", "2024-02-28"] * 2, "sold": [1, 2, 3, 4]}
    panel = read_panel(rows, target="sold", how=SeriesOptions(id="shop"))
    found = forecast_rows(panel, [np.array([[1.5, 2.0], [2.5, 3.0]]), np.array([[0.1, -0.0]])], ["sold", "sold_q90"])
    assert found == {
        "shop": ["b", "b", "a"], "date": ["2024-02-29", "2024-03-01", "2024-02-29"], "sold": [1.5, 2.5, 0.1],
        "sold_q90": [2.0, 3.0, -0.0],
    }  # fmt: skip
    assert rows_csv(found).splitlines()[:2] == ["shop,date,sold,sold_q90", "b,2024-02-29,1.5,2.0"]


def test_one_series_has_no_id_and_rows_are_numbered() -> None:
    panel = read_panel({"y": [1, 2, 3]})
    assert forecast_rows(panel, [np.array([[4.0], [5.0]])], ["y"]) == {"ds": [3, 4], "y": [4.0, 5.0]}


@given(
    st.lists(names.filter(lambda name: name == name.strip(" \t")), min_size=1, max_size=4, unique=True),
    st.lists(st.floats(-1e30, 1e30), min_size=2, max_size=5),
)
def test_what_is_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, ids: list[str], values: list[float]
) -> None:
    times = [f"2024-03-31T0{hour}:00" for hour in (0, 1)]
    panel = read_panel(
        {"unique_id": [name for name in ids for _ in times], "ds": times * len(ids), "y": [0.0] * 2 * len(ids)},
        how=SeriesOptions(zone="Europe/Berlin"),
    )
    rows = forecast_rows(panel, [np.array(values)[:, None]] * len(ids), ["y"])
    path = tmp_path_factory.getbasetemp() / "forecast.csv"
    path.write_bytes(rows_csv(rows).encode())
    again = read_panel(path, how=SeriesOptions(zone="Europe/Berlin"))
    assert [one.id for one in again.series] == ids
    for one, old in zip(again.series, panel.series, strict=True):
        assert one.values[:, 0].tobytes() == np.array(values).tobytes()
        assert one.times[0] - old.times[-1] == 3_600_000_000


def test_what_does_not_fit_is_refused() -> None:
    panel = read_panel({"y": [1, 2, 3]})
    for forecasts, columns in (
        ([np.zeros((2, 2))], ["y"]),
        ([np.zeros(2)], ["y"]),
        ([], ["y"]),
        ([np.zeros((2, 1))], ["ds"]),
    ):
        with pytest.raises(ValueError):
            forecast_rows(panel, forecasts, columns)
    with pytest.raises(ValueError, match="no line end"):
        rows_csv({"a\nb": [1]})
