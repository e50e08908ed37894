"""Recorded forecasts: the numbers are those of the model in use, whatever the history, and nothing changes."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch

from seqline.data.series import SeriesOptions
from seqline.errors import UserError
from seqline.recording.forecast_asked import Asked
from seqline.recording.forecast_texts import history_block, written
from seqline.visualize.trace import Trace

from ..small_forecasts import columns_of, panel_of
from .recorded_forecasts import CASES, HORIZON, LONGEST, VALUES, panel, predictor, predictor_of, recorded

EACH = pytest.mark.parametrize("case", CASES)


@EACH
def test_every_check_holds_and_the_document_is_a_trace(case: str) -> None:
    document = recorded(case)
    assert [check for check in document["checks"] if not check["ok"]] == []
    known = {check["id"] for check in document["checks"]}
    assert {"rows_sum_1", "output_equal", "shapes_named", "attention_path", "packing_error"} <= known
    again = Trace.from_json(Trace(document).to_json())
    assert isinstance(again, Trace)
    assert np.array_equal(again.document["forecast"]["pred_y"], document["forecast"]["pred_y"])
    assert document["task"] == "forecasting"
    assert [token["value"] for token in document["target"]["tokens"]] == document["forecast"]["pred_y"].tolist()


@EACH
def test_the_forecast_is_that_of_the_model_in_use(case: str) -> None:
    own, block = predictor(case), recorded(case)["forecast"]
    levels = [float(name) for name in block["q"] or {}]
    (found,) = own.predict(panel(own), quantiles=levels)
    assert np.array_equal(block["pred_y"], found.mean[:, 0])
    for level in levels:
        assert np.array_equal(block["q"][f"{level:g}"], found.quantiles[level][:, 0])
    assert (block["q"] is None) == (case == "ttt-linear")
    assert np.array_equal(block["hist_y"], VALUES[-LONGEST:])


@EACH
def test_every_length_is_the_forecast_from_the_end_of_the_history_alone(case: str) -> None:
    own, block = predictor(case), recorded(case)["forecast"]
    assert [window["lookback"] for window in block["windows"]] == [1, 5, 50, LONGEST]
    for window in block["windows"]:
        (found,) = own.predict(panel(own, VALUES[-window["lookback"] :]))
        assert np.array_equal(window["pred_y"], found.mean[:, 0])


@EACH
def test_rows_of_attention_sum_to_1_and_have_a_column_a_step_of_the_encoder(case: str) -> None:
    document = recorded(case)
    patch = CASES[case][1].get("patch", 1)
    assert document["forecast"]["patch"] == patch
    blocks = {block["kind"]: block for block in document.get("attention") or []}
    for window in document["forecast"]["windows"]:
        if "cross" not in blocks:
            assert window["weights"] is None
            continue
        assert window["weights"].shape == (HORIZON, -(-window["lookback"] // patch))
        np.testing.assert_allclose(window["weights"].sum(axis=1), 1.0, atol=1e-12)
    if "cross" in blocks:
        whole = blocks["cross"]["weights"].mean(axis=(0, 1))
        np.testing.assert_allclose(document["forecast"]["windows"][-1]["weights"], whole, atol=1e-12)


def test_weights_times_the_states_of_the_history_are_the_context() -> None:
    document = recorded("lstm")
    states = document["encoder"]["h"][-1, 0]
    context = document["forecast"]["windows"][-1]["weights"] @ states
    np.testing.assert_allclose(document["decoder"]["context"], context, atol=1e-12)


def test_a_step_of_the_encoder_is_named_by_the_values_that_it_reads() -> None:
    block = history_block(np.array([1.0, 2.0, 4.0, 9.0, 5.0]), np.array([True, True, False, True, True]), 2)
    assert [token["value"] for token in block["tokens"]] == [1.0, 2.0, 7.0]
    block = history_block(np.array([1.0, 9.0]), np.array([True, False]), 1)
    assert [token["text"] for token in block["tokens"]] == ["1", "?"]
    assert (written(-0.00001), written(-0.0), written(1234567.0)) == ("-1e-05", "0", "1.235e+06")


@EACH
def test_recording_changes_nothing(case: str) -> None:
    own, data = predictor(case), panel(predictor(case), VALUES[:12])
    before = [parameter.detach().clone() for parameter in own.model.parameters()]
    (plain,) = own.predict(data)
    state = torch.get_rng_state()
    own.explain(data, Asked(lengths=(2,)), timing=False)
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(a, b) for a, b in zip(before, own.model.parameters(), strict=True))
    assert all(parameter.grad is None for parameter in own.model.parameters())
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in own.model.modules())
    assert not any(module.training for module in own.model.modules())
    assert np.array_equal(own.predict(data)[0].mean, plain.mean)


@EACH
def test_a_schedule_writes_every_step_once_and_reads_what_is_there(case: str) -> None:
    document = recorded(case)
    written_names = [w for step in document["schedule"] for event in step["events"] for w in event["writes"]]
    assert len(written_names) == len(set(written_names))
    assert [w for w in written_names if w.startswith("y:")] == [f"y:{n}" for n in range(HORIZON)]
    known = {*written_names, *(f"x:{s}" for s in range(len(document["source"]["tokens"])))}
    reads = {r for step in document["schedule"] for event in step["events"] for r in event["reads"]}
    assert {r for r in reads if not r.endswith(":init")} <= known
    assert any(r.startswith("y:") for r in reads) == case.endswith("recursive")


def test_two_recordings_are_equal() -> None:
    first, second = (
        Trace(predictor("bahdanau").explain(columns_of(VALUES[:9]), timing=False).document).packed() for _ in "ab"
    )
    for packed in (first, second):
        del packed["meta"]["created"]
    assert json.dumps(first, sort_keys=True) == json.dumps(second, sort_keys=True)


def test_a_history_of_one_point() -> None:
    own = predictor("bahdanau")
    block = own.explain(columns_of([7.0]), timing=False).document["forecast"]
    assert [window["lookback"] for window in block["windows"]] == [1]
    assert np.array_equal(block["windows"][0]["weights"], np.ones((HORIZON, 1)))
    assert block["windows"][0]["gradient"].shape == (HORIZON, 1)
    assert block["times"][:2] == ["2019-12-01", "2020-01-01"]
    assert block["true_y"] is None


def test_missing_values_are_marked_and_filled_as_they_are_read() -> None:
    values: list[Any] = [*VALUES[:20]]
    values[3] = values[18] = values[19] = ""
    own = predictor_of("bahdanau", panel_of([*VALUES[:30], "", *VALUES[31:]], how=SeriesOptions(missing="mask")))
    document = own.explain(columns_of(values), Asked(lengths=(4, 10)), timing=False).document
    block = document["forecast"]
    assert np.flatnonzero(block["observed"] == 0).tolist() == [3, 18, 19]
    assert block["hist_y"][[3, 18, 19]].tolist() == [values[2], values[17], values[17]]
    (found,) = own.predict(panel(own, values))
    assert np.array_equal(block["pred_y"], found.mean[:, 0])
    (short,) = own.predict(panel(own, values[-4:]))
    assert np.array_equal(block["windows"][0]["pred_y"], short.mean[:, 0])
    assert (block["windows"][0]["gradient"][:, 2:] == 0).all()
    assert (block["windows"][0]["gradient"][:, :2] != 0).all()
    assert document["source"]["tokens"][-1]["text"] == "?"
    lookbacks = [window["lookback"] for window in own.explain(panel(own, values)).document["forecast"]["windows"]]
    assert lookbacks == [5, 10, 15, 20]
    with pytest.raises(UserError, match="none of the last 2 values was observed"):
        own.explain(columns_of(values), Asked(lengths=(2,)))


def test_points_that_are_held_back_are_not_read_and_shown_as_what_came_true() -> None:
    own = predictor("lstm")
    block = own.explain(columns_of(VALUES), Asked(hold_back=6, lengths=(20,)), timing=False).document["forecast"]
    other = own.explain(
        columns_of([*VALUES[:-6], *[1e5] * 6]), Asked(hold_back=6, lengths=(20,)), timing=False
    ).document["forecast"]
    (found,) = own.predict(own.read({name: column[:-6] for name, column in columns_of(VALUES).items()}))
    assert np.array_equal(block["pred_y"], found.mean[:, 0])
    assert np.array_equal(block["pred_y"], other["pred_y"])
    assert np.array_equal(block["true_y"], VALUES[-6 : HORIZON - 6])
    for window in block["windows"]:
        error = np.abs(window["pred_y"] - np.array(VALUES[-6 : HORIZON - 6])).mean()
        assert window["mae"] == pytest.approx(error, rel=1e-12)


def test_fewer_points_held_back_than_are_forecast_are_known_for_those_steps_alone() -> None:
    block = (
        predictor("lstm").explain(columns_of(VALUES), Asked(hold_back=1, lengths=()), timing=False).document["forecast"]
    )
    assert len(block["pred_y"]) == HORIZON
    assert block["true_observed"].tolist() == [1, 0, 0, 0]
    assert block["windows"][-1]["mae"] == pytest.approx(abs(block["pred_y"][0] - VALUES[-1]))


def test_one_of_several_series() -> None:
    own = predictor("luong")
    data = columns_of(VALUES, VALUES[:9])
    block = own.explain(data, Asked(series="B", horizon=2, quantiles=(0.5,)), timing=False).document["forecast"]
    assert (block["series"], len(block["hist_y"]), len(block["pred_y"]), list(block["q"])) == ("B", 9, 2, ["0.5"])
    (found,) = own.predict(panel(own, VALUES[:9]), horizon=2)
    np.testing.assert_allclose(block["pred_y"], found.mean[:, 0], rtol=1e-12)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (Asked(), "series: expected one series, got 2: A, B; name one of them"),
        (Asked(series="a"), "series: no series 'a'; known: A, B"),
        (Asked(series="A", target="z"), "target: the run forecasts no column 'z'"),
        (Asked(series="B", hold_back=9), "hold_back: expected 0 to 8 points to hold back, got 9"),
        (Asked(series="A", lengths=(61,)), "lengths: expected lengths from 1 to 60, got 61"),
        (Asked(series="B", lengths=(0,)), "lengths: expected lengths from 1 to 9, got 0"),
        (Asked(series="A", horizon=5), "horizon: the run forecasts up to 4 steps, not 5"),
        (Asked(series="A", horizon=0), "horizon: expected 1 or more steps, got 0"),
        (Asked(series="A", quantiles=(0.01,)), "quantiles: expected levels from"),
    ],
)
def test_what_cannot_be_recorded_is_said_in_a_line(asked: Asked, said: str) -> None:
    with pytest.raises(UserError) as refused:
        predictor("bahdanau").explain(columns_of(VALUES, VALUES[:9]), asked)
    assert str(refused.value).startswith(said), str(refused.value)


def test_more_than_the_limit_is_refused_and_leaves_no_hook() -> None:
    own = predictor("transformer")
    with pytest.raises(UserError, match="MB"):
        own.explain(columns_of(VALUES), limit_mb=0.001)
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in own.model.modules())
