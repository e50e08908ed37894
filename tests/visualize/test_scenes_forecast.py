"""The views of a forecast, series and lag: the numbers drawn are those of the table and of the trace."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pytest

from .svg import PRINTED, Document, call, call_on, cells, changed, decoded, drawn, having, scene, words

pytest.importorskip("quickjs")

DIGITS = 5.1e-5


def numbers(root: ET.Element, key: str) -> list[float]:
    return [float(each.attrib["data-v"]) for each in having(root, key)]


def column(table: dict[str, Any], name: str) -> list[Any]:
    place = table["columns"].index(name)
    return [row[place] for row in table["rows"] if row[place] is not None]


def window_of(lookback: int, document: Document | None = None) -> dict[str, Any]:
    block = (document or decoded("I"))["forecast"]
    return next(each for each in block["windows"] if each["lookback"] == lookback)


def real() -> Document:
    """Return I as a run records it: dates, a step of the encoder reads 3 points, gaps, four quantiles."""
    document = changed("I")
    block = document["forecast"]
    block["times"] = [f"day {n}" for n in range(len(block["hist_y"]) + 7)]
    block |= {"patch": 3, "series": "roof", "observed": [1] * 60, "true_observed": [1] * 6 + [0]}
    block["observed"][55] = block["observed"][59] = 0
    for window in block["windows"]:
        low, high = window["q"]["0.1"], window["q"]["0.9"]
        middle = [(a + b) / 2 for a, b in zip(low, high, strict=True)]
        window["q"] = {"0.9": high, "0.1": low, "0.25": middle, "0.75": high, "0.5": middle}
        steps = -(-window["lookback"] // 3)
        window["weights"] = np.random.default_rng(steps).dirichlet(np.ones(steps), 7).tolist()
    return document


@pytest.mark.parametrize("lookback", [5, 35])
def test_what_series_draws_stands_in_its_table(lookback: int) -> None:
    state = {"lookback": lookback}
    root, table = scene("I", "series", **state), call("I", "series", "table", state)
    for key, name in (("data-hist", "history"), ("data-pred", "prediction"), ("data-true", "truth")):
        assert numbers(root, key) == pytest.approx(column(table, name), abs=DIGITS)
        assert len(numbers(root, key)) == len(column(table, name)) > 0
    assert table["columns"][-2:] == ["quantile 0.1", "quantile 0.9"]
    assert column(table, "quantile 0.9") == window_of(lookback)["q"]["0.9"]
    assert column(table, "truth") == decoded("I")["forecast"]["true_y"]


def test_both_strips_show_the_step_that_is_chosen() -> None:
    for horizon in (1, 5):
        root = scene("I", "series", lookback=20, horizon=horizon)
        for key, name in (("data-weight", "weights"), ("data-gradient", "gradient")):
            assert numbers(root, key) == pytest.approx(window_of(20)[name][horizon - 1], abs=DIGITS)
        assert f"attention of step +{horizon}, 0–" in words(root)
        rings = having(root, "data-now", "1")
        assert any(each.tag.endswith("circle") for each in rings)


def test_a_step_of_attention_covers_the_points_that_it_reads() -> None:
    root = drawn(real(), "series", lookback=5)
    first, last = having(root, "data-weight")
    points = [float(each.attrib["cx"]) for each in having(root, "data-hist")]
    step = points[1] - points[0]
    assert [float(first.attrib["width"]), float(last.attrib["width"])] == pytest.approx([2 * step, 3 * step], abs=0.02)
    assert float(first.attrib["x"]) == pytest.approx(points[0] - step / 2, abs=0.02)
    assert float(last.attrib["x"]) == pytest.approx(points[2] - step / 2, abs=0.02)
    slopes = having(root, "data-gradient")
    assert [float(each.attrib["x"]) + step / 2 for each in slopes] == pytest.approx(points, abs=0.03)


def test_dates_gaps_bands_and_what_was_not_observed_later() -> None:
    document = real()
    root = drawn(document, "series", lookback=10)
    assert [each.attrib["data-hist"] for each in having(root, "data-gap")] == ["55", "59"]
    assert [each.attrib["data-interval"] for each in having(root, "data-interval")] == ["0.1 0.9", "0.25 0.75"]
    assert [each.attrib["data-middle"] for each in having(root, "data-middle")] == ["0.5"]
    assert len(having(root, "data-true")) == 6
    said = words(root)
    assert "roof: the model reads the last 10 points and predicts the next 7" in said
    assert "was missing" in said
    assert "10–90 %" in said
    assert "day 6" in said
    table = call_on(document, "series", "table", {"lookback": 10})
    assert len(column(table, "history")) == 8
    assert len(column(table, "truth")) == 6
    assert [row[0] for row in table["rows"]] == [f"day {n}" for n in range(50, 67)]
    assert table["columns"][4:] == [f"quantile {q}" for q in ("0.1", "0.25", "0.5", "0.75", "0.9")]


def test_a_forecast_alone_has_no_strip_and_no_error_but_its_length() -> None:
    document = changed("I")
    block = document["forecast"]
    block |= {"true_y": None, "windows": [{"lookback": 60, "pred_y": block["pred_y"], "q": None, "mae": None}]}
    root = drawn(document, "series", height=400)
    assert not [key for key in ("data-weight", "data-gradient", "data-mae", "data-true") if having(root, key)]
    assert having(root, "data-caption")[0].text == "60 → 7"
    assert "mean absolute error" not in words(root)
    # Nothing that is written lies on something else.
    rows = sorted({float(each.attrib["y"]) for each in root.iter() if each.tag.endswith("text")})
    assert max(rows) < 400
    feet = float(next(each.attrib["y"] for each in root.iter() if (each.text or "").startswith("time, steps")))
    key = next(float(each.attrib["y"]) for each in root.iter() if each.text == "prediction")
    assert key - feet >= 16


def test_a_history_of_one_point_and_one_step() -> None:
    document = changed("I")
    window = {"lookback": 1, "pred_y": [4.0], "q": {"0.1": [3.0], "0.9": [5.0]}, "mae": None, "gradient": [[1.0]]}
    document["forecast"] |= {
        "hist_t": [0], "hist_y": [3.0], "pred_y": [4.0], "true_y": None, "q": window["q"], "windows": [window],
    }  # fmt: skip
    assert "the model reads the last point and predicts the next one" in words(drawn(document, "series"))
    assert "From the last point of history the model predicts 1 step." in words(drawn(document, "series"))
    root = drawn(document, "lag")
    assert [each.attrib["data-lag"] for each in having(root, "data-lag")] == ["1"]
    assert "the last value" in words(root)


@pytest.mark.parametrize("horizon", [1, 7])
def test_what_lag_draws_stands_in_its_table(horizon: int) -> None:
    state = {"lookback": 30, "horizon": horizon}
    root, table = scene("I", "lag", **state), call("I", "lag", "table", state)
    own = window_of(30)["gradient"][horizon - 1][::-1]
    assert numbers(root, "data-lag") == pytest.approx(own, abs=DIGITS)
    assert column(table, f"step +{horizon}") == own
    assert column(table, "lag") == list(range(1, 31))
    found = cells(root)
    for (row, place), value in found.items():
        assert value == pytest.approx(table["rows"][place][1 + row], abs=PRINTED)
    assert len(found) == 7 * 30
    total = having(root, "data-total")[0].attrib["data-total"]
    assert float(total) == pytest.approx(sum(own), abs=DIGITS)


def test_the_reach_is_where_nine_tenths_of_the_slope_are_reached() -> None:
    sizes = np.abs(window_of(50)["gradient"][2][::-1])
    expected = int(np.flatnonzero(np.cumsum(sizes) >= 0.9 * sizes.sum())[0]) + 1
    root = scene("I", "lag", lookback=50, horizon=3)
    assert having(root, "data-reach-now")[0].attrib["data-reach-now"] == str(expected)
    assert f"the last {expected} hold 90 %" in call("I", "lag", "describe", {"lookback": 50, "horizon": 3})


def test_a_value_that_lowers_the_forecast_is_a_hollow_bar_downwards_and_hollow_on_a_log_scale_too() -> None:
    document = changed("I")
    row = window_of(5, document)["gradient"][0]
    row[-1], row[-2], row[-3] = -0.5, 0.25, 0.0
    plain, log = (drawn(document, "lag", lookback=5, log=wanted) for wanted in (False, True))
    for root in (plain, log):
        lower, higher = having(root, "data-lag")[:2]
        assert (lower.attrib.get("stroke") is None, higher.attrib.get("stroke") is None) == (False, True)
        assert lower.attrib["fill"] != higher.attrib["fill"]
    down, up = having(plain, "data-lag")[:2]
    assert float(down.attrib["y"]) == pytest.approx(float(up.attrib["y"]) + float(up.attrib["height"]), abs=0.02)
    heights = [float(each.attrib["height"]) for each in having(log, "data-lag")]
    assert heights[0] > heights[1] > heights[2] == 0


def test_no_slope_at_all_is_drawn_without_a_fault() -> None:
    document = changed("I")
    for window in document["forecast"]["windows"]:
        window["gradient"] = [[0.0] * window["lookback"] for _ in range(7)]
    for log in (False, True):
        assert set(numbers(drawn(document, "lag", log=log), "data-lag")) == {0.0}


def test_lag_without_a_gradient_says_so_and_has_a_frame_a_window() -> None:
    document = changed("I")
    for window in document["forecast"]["windows"]:
        window["gradient"] = None
    assert having(drawn(document, "lag"), "data-missing")
    assert call_on(document, "lag", "table", {})["columns"] == []
    assert "No gradient of a forecast was recorded" in call_on(document, "lag", "describe", {})
    assert not having(drawn(document, "series"), "data-gradient")
    assert call("I", "lag", "frames") == len(decoded("I")["forecast"]["windows"])
    shown = [scene("I", "lag", **call("I", "lag", "stateAt", {}, k)).attrib["data-lookback"] for k in (0, 9)]
    assert shown == ["5", "50"]


def test_the_alignment_of_a_forecast_names_the_steps_that_were_fed() -> None:
    document = changed("C")
    document |= {"task": "forecasting"}
    document["target"]["bos"] = None
    assert "+1" in words(drawn(document, "align"))


def test_the_timeline_of_a_forecast_feeds_numbers_of_steps_where_no_value_is_fed() -> None:
    document = changed("A")
    fed = words(drawn(document, "timeline")).count("pizza")
    document |= {"task": "forecasting"}
    document["target"]["bos"] = None
    root = drawn(document, "timeline")
    assert {f"+{n}" for n in range(1, 6)} <= {each.text for each in root.iter()}
    assert words(root).count("pizza") < fed
