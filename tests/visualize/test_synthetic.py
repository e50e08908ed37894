"""Made-up traces: complete, the same every time, and true to the equations that views print."""

from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from seqline.errors import UserError
from seqline.visualize.schema import TEMPERATURES
from seqline.visualize.synthetic import FIXTURES, fixture
from seqline.visualize.trace import Bundle, Trace

TOLERANCE = 1e-12


large = lru_cache(fixture)  # for those that take seconds and are not changed


def documents(name: str) -> list[dict[str, Any]]:
    made = large(name)
    return [trace.document for trace in (made.traces if isinstance(made, Bundle) else [made])]


@pytest.mark.parametrize("name", FIXTURES)
def test_every_fixture_is_a_sound_trace_and_always_the_same(name: str) -> None:
    text = large(name).to_json()
    assert "\ufffd" not in text
    if name not in "EF":  # they take seconds
        assert fixture(name).to_json() == text
        assert Trace.from_json(text).to_json() == text


@pytest.mark.parametrize("name", ["A", "B", "B-bilstm", "D", "rnn", "gru", "K"])
def test_states_obey_their_cells(name: str) -> None:
    found = 0
    for document in documents(name):
        encoder = document["encoder"]
        for direction in range(encoder["h"].shape[1] if "h0" in encoder else 0):
            order = slice(None, None, -1 if direction else 1)
            rows = {key: encoder[key][0, direction][order] for key in ("h", "c") if key in encoder}
            rows |= {key: encoder[key][0, direction] for key in ("h0", "c0") if key in encoder}
            for group in ("gates", "terms"):
                rows |= {key: value[0, direction][order] for key, value in encoder.get(group, {}).items()}
            check_cell(rows)
            found += 1
        decoder = document.get("decoder", {})
        if "h0" in decoder:
            rows = {key: decoder[key][0] for key in ("h", "c", "h0", "c0") if key in decoder}
            for group in ("gates", "terms"):
                rows |= {key: value[0] for key, value in decoder.get(group, {}).items()}
            check_cell(rows)
    assert found


def check_cell(rows: dict[str, np.ndarray]) -> None:
    """Check h (and c) of each step against the gates or terms and the state before."""
    before = np.concatenate([rows["h0"][None], rows["h"][:-1]])
    if "wx" in rows:
        expected = np.tanh(rows["wx"] + rows["uh"])
    elif "z" in rows:
        expected = (1 - rows["z"]) * rows["n"] + rows["z"] * before
    else:
        memory = np.concatenate([rows["c0"][None], rows["c"][:-1]])
        np.testing.assert_allclose(rows["c"], rows["f"] * memory + rows["i"] * rows["g"], atol=TOLERANCE)
        expected = rows["o"] * np.tanh(rows["c"])
    np.testing.assert_allclose(rows["h"], expected, atol=TOLERANCE)


@pytest.mark.parametrize("name", ["A", "B", "C", "D", "H", "K"])
def test_steps_say_the_same_at_every_temperature(name: str) -> None:
    for document in documents(name):
        temperature = document["decode"]["temperature"]
        for step in document["decoder"]["steps"]:
            top = step["topk"]
            assert [one["p"] for one in top] == sorted((one["p"] for one in top), reverse=True)
            assert top[step["chosen_rank"]]["piece"] == step["out"]
            assert step["temps"] == TEMPERATURES
            assert sum(one["p"] for one in top) + step["rest_p"] == pytest.approx(1, abs=1e-9)
            logits = np.array([one["logit"] for one in top])
            for temp, rest in zip(step["temps"], step["rest_lse"], strict=True):
                total = np.logaddexp.reduce(np.append(logits / temp, rest))
                if temp == temperature:
                    np.testing.assert_allclose(np.exp(logits / temp - total), [one["p"] for one in top], atol=1e-9)


def test_fixture_a_is_the_one_of_the_lesson() -> None:
    (document,) = documents("A")
    assert document["source"]["text"] == "比萨 从 烤箱 出来"
    assert [token["text"] for token in document["target"]["tokens"]] == ["the", "pizza", "came", "out", "</s>"]
    weights = document["attention"][0]["weights"][0, 0]
    assert weights[2, 1] == 0.20
    assert len(document["schedule"]) == 9
    np.testing.assert_allclose(
        weights @ np.concatenate(list(document["encoder"]["h"][0]), -1), document["decoder"]["context"]
    )
    assert {event["part"] for event in document["schedule"][5]["events"]} == {"attention", "decoder"}


def test_both_directions_read_from_their_ends() -> None:
    (document,) = documents("B-bilstm")
    first = document["schedule"][0]["events"]
    assert [(event["dir"], event["pos"]) for event in first] == [("forward", 0), ("backward", 10)]
    assert len(document["schedule"]) == 11


def test_the_end_mark_is_read_with_the_last_word() -> None:
    document = documents("K")[1]
    assert len(document["schedule"]) == 8
    assert [event["pos"] for event in document["schedule"][2]["events"]] == [2, 3]
    assert [event["pos"] for event in documents("K")[2]["schedule"][0]["events"]][:1] == [0]


def test_fixture_c_shows_scores_that_are_its_queries_times_its_keys() -> None:
    (document,) = documents("C")
    kinds = {block["kind"]: block for block in document["attention"]}
    assert len(document["qkv"]) == 24
    for part in document["qkv"]:
        block = kinds[part["kind"]]
        scores = block["scores"][part["layer"], part["head"]]
        weights = block["weights"][part["layer"], part["head"]]
        np.testing.assert_allclose(part["q"] @ part["k"].T * part["scale"], scores, atol=TOLERANCE)
        np.testing.assert_allclose(weights @ part["v"], part["out"], atol=TOLERANCE)
    tokens = [token["piece"] for token in document["source"]["tokens"]]
    assert len(tokens) == 11
    it = tokens.index("▁it")
    assert tokens[int(kinds["encoder_self"]["weights"][-1, -1, it].argmax())] == "▁piz"
    assert not np.triu(kinds["decoder_self"]["weights"], 1).any()


def test_the_large_ones_are_as_large_as_they_say() -> None:
    (document,) = documents("E")
    assert sum(block["weights"].size for block in document["attention"]) == 921_600
    (document,) = documents("F")
    assert all(block["reduced"]["values_total"] > 4_000_000 for block in document["attention"])
    assert len(document["source"]["tokens"]) == 300


def test_the_beam_adds_up() -> None:
    (document,) = documents("G")
    beam = document["beam"]
    nodes = {node["id"]: node for node in beam["nodes"]}
    for node in nodes.values():
        parent = nodes[node["parent"]]["sum"] if node["parent"] is not None else 0.0
        assert node["sum"] == pytest.approx(parent + node["logp"])
    for t in range(1, 6):
        assert sum(node["t"] == t and node["state"] == "live" for node in nodes.values()) <= beam["beam_size"]
    path, place = [], beam["best"]
    while place is not None:
        path.append(nodes[place]["token"]["text"])
        place = nodes[place]["parent"]
    assert path[::-1] == ["the", "pizza", "came", "out", "</s>"]
    assert nodes[beam["best"]]["state"] == "done"


def test_an_inner_step_that_is_too_long_makes_its_loss_rise() -> None:
    inner = documents("H")[0]["ttt"]
    rose = inner["loss_after"] > inner["loss_before"]
    assert rose.sum() == 1
    assert len(inner["w"]) == len(rose) + 1
    np.testing.assert_allclose(np.linalg.norm(inner["w"][1:], axis=(1, 2)), inner["w_norm"])
    np.testing.assert_allclose(np.linalg.norm(np.diff(inner["w"], axis=0), axis=(1, 2)), inner["dw_norm"])


def test_forecasts_are_their_weights_times_their_history() -> None:
    forecast = documents("I")[0]["forecast"]
    assert [window["lookback"] for window in forecast["windows"]] == list(range(5, 55, 5))
    for window in forecast["windows"]:
        past = forecast["hist_y"][-window["lookback"] :]
        np.testing.assert_allclose(window["weights"] @ past, window["pred_y"])
        assert window["mae"] == pytest.approx(np.abs(window["pred_y"] - forecast["true_y"]).mean())


def test_the_others_by_hand() -> None:
    assert len(documents("J")[0]["training"]["snapshots"]) == 6
    weights = documents("permutation")[0]["attention"][0]["weights"][0, 0]
    assert weights.argmax(-1).tolist() == [3, 0, 5, 2]
    assert weights.shape == (4, 6)
    table = documents("pe")[0]["positions"]["table"]
    assert table.shape == (50, 32)
    assert [f"{value:.3f}" for value in (table[0, 0], table[1, 0], table[1, 1])] == ["0.000", "0.841", "0.540"]
    for document in documents("K"):
        assert sum(part["num_parameters"] for part in document["model"]["parts"]) == document["model"]["num_parameters"]
    with pytest.raises(UserError, match="fixture"):
        fixture("Z")
