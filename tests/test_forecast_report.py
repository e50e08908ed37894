"""Forecasts as rows, JSON, frames and plots: the same numbers under the same keys."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from seqline.data.series import SeriesOptions
from seqline.data.series.reading import read_panel
from seqline.errors import UserError
from seqline.forecast_report import BEYOND, Forecast, forecast, plotted_levels

from .hand_made_forecasts import HandMade, daily


def made(
    horizon: int | None = None, levels: tuple[float, ...] = (), more: tuple[float, ...] = (), ids: str = ""
) -> Forecast:
    panel = read_panel(daily([1.0, 2.0, 5.0], ids))
    return forecast(HandMade(), panel, horizon, levels, more)  # type: ignore[arg-type]


def test_rows_have_the_keys_of_the_history_and_a_column_a_quantile() -> None:
    assert made(2, (0.1, 0.9)).csv().splitlines() == [
        "ds,y,y_q0.1,y_q0.9",
        "2024-01-04,5.0,4.2,5.8",
        "2024-01-05,5.0,4.2,5.8",
    ]
    assert [len(column) for column in made(ids="ba").columns().values()] == [6, 6, 6]
    assert made(ids="ba").columns()["unique_id"] == ["b"] * 3 + ["a"] * 3


def test_steps_beyond_the_training_are_marked() -> None:
    assert BEYOND not in made(3).columns()
    assert made(5).columns()[BEYOND] == [0, 0, 0, 1, 1]
    assert made(5).num_beyond == made(5).as_json()["steps_beyond_training"] == 2


def test_json_holds_the_numbers_of_the_rows() -> None:
    found = made(2, (0.5,), (0.1, 0.9), ids="ab")
    kept = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert [one["id"] for one in kept["series"]] == ["a", "b"]
    assert kept["series"][0]["times"] == ["2024-01-04", "2024-01-05"]
    assert kept["series"][0]["mean"] == {"y": [5.0, 5.0]}
    assert kept["series"][0]["quantiles"] == {"0.5": {"y": [5.0, 5.0]}}
    assert (kept["horizon"], kept["frequency"], kept["targets"]) == (2, "1d", ["y"])


def test_two_columns_of_one_name_are_refused() -> None:
    data = {"ds": ["2024-01-01", "2024-01-02"], "y": [1.0, 2.0], "y_q0.1": [3.0, 4.0]}
    panel = read_panel(data, target=["y", "y_q0.1"])
    with pytest.raises(UserError, match=r"two columns of the forecast would be called 'y_q0\.1'"):
        forecast(HandMade(), panel, 1, (0.1,)).columns()  # type: ignore[arg-type]
    rows = read_panel({"ds": [4.0, 5.0]}, target="ds")  # rows without times come back with a column ds
    with pytest.raises(UserError, match="would be called 'ds'"):
        replace(made(1), panel=rows).columns()


def test_a_plot_shows_more_quantiles_than_the_rows(tmp_path: Path) -> None:
    pytest.importorskip("quickjs")
    found = made(3, more=(0.1, 0.9))
    assert list(found.columns()) == ["ds", "y"]
    found.plot(tmp_path / "a.svg")
    drawn = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert 'data-interval="0.1 0.9"' in drawn
    assert "2024-01-04" in drawn
    assert "the model reads the last 3 points and predicts the next 3" in drawn
    assert "Model lstm, checkpoint none" in drawn
    made(3).plot(tmp_path / "b.svg")
    assert "data-interval" not in (tmp_path / "b.svg").read_text(encoding="utf-8")


def test_a_plot_shows_what_was_missing_and_how_much_of_a_long_history_is_read(tmp_path: Path) -> None:
    pytest.importorskip("quickjs")
    values: list[float] = [float(n) for n in range(70)]
    values[68] = float("nan")
    panel = read_panel(daily(values), how=SeriesOptions(missing="mask"))
    forecast(HandMade(), panel, 3, ()).plot(tmp_path / "a.svg")  # type: ignore[arg-type]
    drawn = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert "the model reads the last 20 points" in drawn
    assert re.findall(r'data-gap="1" data-hist="(\d+)" data-v="([^"]*)"', drawn) == [("48", "67.0000")]
    assert drawn.count("data-hist=") == 20


def test_a_panel_is_drawn_for_each_series_and_target(tmp_path: Path) -> None:
    made(3, ids="abc").plot(tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert page.count('data-player="none"') == 3
    assert re.findall(r"<tr><td>([abc]: y)</td><td>2024-01-04</td>", page) == ["a: y", "b: y", "c: y"]
    assert page.count("<tr>") == 1 + 3 * 3


def test_which_quantiles_a_plot_takes() -> None:
    assert plotted_levels(()) == (0.1, 0.9)
    assert plotted_levels(None) == ()
    assert plotted_levels((0.1, 0.5, 0.9)) == (0.1, 0.9)
    assert plotted_levels((0.05, 0.95)) == (0.1, 0.9)
    assert plotted_levels((0.25, 0.75)) == (0.25, 0.75)
    assert plotted_levels((0.5, 0.9)) == plotted_levels((0.5,)) == ()
