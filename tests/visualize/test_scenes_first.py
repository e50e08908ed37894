"""The four first views: what the timeline, the alignment, the softmax and the gated cell must show."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from seqline.visualize.synthetic import fixture
from seqline.visualize.trace import Bundle

from .svg import call, call_on, cells, having, scene, words

PACKED = 7.7e-6


def document(name: str) -> dict[str, Any]:
    return fixture(name).decoded()


def weights(name: str) -> np.ndarray:
    return np.asarray(document(name)["attention"][0]["weights"][0][0])


# ---- timeline ----------------------------------------------------------------------------------------------------------


def test_timeline_says_what_runs_at_t6() -> None:
    root = scene("A", "timeline", t=6)
    assert [each.text for each in having(root, "data-label", "col")] == [f"t{t}" for t in range(1, 10)]
    now = having(root, "data-now")
    assert [(each.get("data-part"), each.get("data-t")) for each in now] == [("attention", "6"), ("decoder", "6")]
    assert "pizza" in words(root)
    assert "came" not in words(root)
    assert root.attrib["data-t"] == "6"
    assert "t = 6 / 9" in words(root)


def test_timeline_shows_the_weights_under_the_source_words() -> None:
    shown = [float(each.attrib["data-weight"]) for each in having(scene("A", "timeline", t=6), "data-weight")]
    assert shown == pytest.approx(weights("A")[1], abs=1e-4)
    assert not having(scene("A", "timeline", t=3), "data-weight")


def test_the_sentence_grows_word_by_word() -> None:
    grown = [words(scene("A", "timeline", t=t)) for t in (4, 5, 6, 7)]
    assert [text.count("→  the") for text in grown] == [0, 2, 2, 2]  # in the title and in the figure
    assert "the pizza came" in grown[3]


def test_je_suis_etudiant_has_eight_steps() -> None:
    bundle = fixture("K")
    assert isinstance(bundle, Bundle)
    trace = bundle.traces[2].decoded()
    assert trace["source"]["text"] == "je suis étudiant"
    assert call_on(trace, "timeline", "frames") == 8
    rows = call_on(trace, "timeline", "table")["rows"]
    assert {row[0] for row in rows} == set(range(1, 9))
    read = [row[2] for row in rows if row[0] == 3]
    assert any("étudiant" in each and "</s>" in each for each in read)
    assert any("student" in row[3] for row in rows if row[0] == 7)
    assert any("</s>" in row[3] for row in rows if row[0] == 8)


def test_a_long_timeline_is_a_window_with_a_map() -> None:
    root = scene("E", "timeline", t=30)
    heads = having(root, "data-label", "col")
    assert [int(each.attrib["data-i"]) + 1 for each in heads] == list(range(10, 51))
    assert having(root, "data-minimap", "10 50")
    assert having(scene("E", "timeline", t=1), "data-minimap", "1 41")
    assert not having(scene("A", "timeline"), "data-minimap")


def test_every_frame_of_the_timeline_has_one_size_and_its_caption() -> None:
    sizes = set()
    for k in range(call("D", "timeline", "frames")):
        root = scene("D", "timeline", **call("D", "timeline", "stateAt", {}, k))
        sizes.add((root.attrib["width"], root.attrib["height"]))
        assert [each.text for each in having(root, "data-caption")] == [f"t = {k + 1} / 12"]
    assert len(sizes) == 1


# ---- align -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("view", ["align", "lines"])
def test_an_end_mark_that_reads_an_end_mark_is_no_sink(view: str) -> None:
    trace = document("A")
    last = len(trace["source"]["tokens"]) - 1
    trace["source"]["tokens"][last]["special"] = trace["target"]["tokens"][-1]["special"] = "eos"
    rows = np.full_like(weights("A"), 1 / (last + 1))
    rows[-1] = np.eye(last + 1)[last]
    trace["attention"][0]["weights"] = [[rows.tolist()]]
    assert "sink" not in call_on(trace, view, "scene")
    rows[0] = rows[-1]
    trace["attention"][0]["weights"] = [[rows.tolist()]]
    assert "sink" in call_on(trace, view, "scene")


def test_alignment_of_fixture_a() -> None:
    root = scene("A", "align")
    shown = cells(root)
    assert len(shown) == 20
    assert shown == pytest.approx(
        {(r, c): v for r, row in enumerate(weights("A")) for c, v in enumerate(row)}, abs=1e-4
    )
    assert [each.attrib["data-legend"] for each in having(root, "data-legend")] == ["0 1 abs"]
    sums = [float(each.attrib["data-sum"]) for each in having(root, "data-badge", "sum")]
    assert sums == pytest.approx([1] * 5, abs=4 * PACKED + 1e-4)


@pytest.mark.parametrize("k", range(5))
def test_rows_appear_with_the_player(k: int) -> None:
    state = call("A", "align", "stateAt", {"scale": "sqrt"}, k)
    assert state == {"scale": "sqrt", "t": 5 + k}
    assert {r for r, _ in cells(scene("A", "align", **state))} == set(range(k + 1))


def test_the_largest_cell_of_a_row_is_where_the_permutation_points() -> None:
    expected = weights("permutation").argmax(1)
    shown = cells(scene("permutation", "align"))
    rows, columns = weights("permutation").shape
    assert rows != columns
    assert [max(range(columns), key=lambda c: shown[r, c]) for r in range(rows)] == list(expected)


def _left_to_right(root: Any) -> list[int]:
    labels = sorted(having(root, "data-label", "col"), key=lambda each: float(each.attrib["x"]))
    return [int(each.attrib["data-i"]) for each in labels]


def test_arabic_columns_run_right_to_left_and_the_toggle_flips_both() -> None:
    arabic, flipped = scene("D", "align"), scene("D", "align", order="ltr")
    assert _left_to_right(arabic) == [4, 3, 2, 1, 0]
    assert _left_to_right(flipped) == [0, 1, 2, 3, 4]
    for root, is_right in ((arabic, True), (flipped, False)):
        row = having(root, "data-label", "row")[0]
        grid = [float(each.attrib["x"]) for each in having(root, "data-r")]
        assert (float(row.attrib["x"]) > max(grid)) == is_right
        assert row.get("text-anchor", "start") == ("start" if is_right else "end")
    label = having(arabic, "data-label", "col")[0].text or ""
    assert (label[0], label[-1]) == ("\u2067", "\u2069")


def test_the_fed_token_is_shown_beside_the_produced_one() -> None:
    root = scene("A", "align")
    assert [each.text for each in having(root, "data-fed")] == ["<s>", "the", "pizza", "came", "out"]
    assert [each.text for each in having(root, "data-label", "row")] == ["the", "pizza", "came", "out", "</s>"]


def test_hidden_tokens_leave_their_mass_and_nothing_is_renormalised() -> None:
    root = scene("D", "align", special="hide")
    shown = cells(root)
    assert {c for _, c in shown} == {0, 1, 2, 3}
    assert shown[0, 0] == pytest.approx(weights("D")[0, 0], abs=1e-4)
    assert having(root, "data-badge", "hidden")
    assert "hidden mass" in words(root)


def test_words_add_keys_average_queries_and_rows_still_sum_to_one() -> None:
    columns = call("C", "align", "table", {"level": "word"})
    pieces = call("C", "align", "table", {"level": "piece"})
    assert len(columns["rows"]) < len(pieces["rows"])
    assert len(columns["columns"]) < len(pieces["columns"])
    assert [row[-1] for row in columns["rows"]] == pytest.approx([1] * len(columns["rows"]), abs=1e-4)
    source = document("C")["source"]
    word = next(each for each in source["words"] if len(each["tok"]) > 1)
    at = columns["columns"].index(word["text"])
    first = [pieces["rows"][0][2 + i] for i in word["tok"]]
    alone = next(r for r, row in enumerate(columns["rows"]) if row[0] == pieces["rows"][0][0].lstrip("▁"))
    assert columns["rows"][alone][at] == pytest.approx(sum(first), abs=1e-6)
    assert "queries average" in words(scene("C", "align", level="word"))


def test_a_large_grid_is_one_picture_and_reduced_data_says_so() -> None:
    root = scene("E", "align")
    image = having(root, "data-grid")
    assert len(image) == 1
    assert not cells(root)
    _, _, width, height, rows, columns = map(float, image[0].attrib["data-grid"].split())
    assert (rows, columns) == (80, 80)
    assert min(width, height) >= 6
    assert having(scene("F", "align", t=5), "data-badge", "reduced")


def test_mean_and_max_are_named() -> None:
    for head, word in (("mean", "mean of 4 heads"), ("max", "max of 4 heads")):
        assert word in words(scene("C", "align", head=head, layer=1))
    assert "head 3" in words(scene("C", "align", head=2))


# ---- softmax -----------------------------------------------------------------------------------------------------------


def _bars(root: Any) -> tuple[list[float], float]:
    shown = cells(root)
    rest = having(root, "data-rest")[0].attrib["data-rest"]
    return [shown[r, 0] for r in range(len(shown))], float(rest)


@pytest.mark.parametrize("temperature", [0.1, 0.25, 0.5, 0.7, 1, 1.5, 2])
@pytest.mark.parametrize("name", ["A", "C"])
def test_probabilities_and_rest_sum_to_one(name: str, temperature: float) -> None:
    bars, rest = _bars(scene(name, "softmax", temperature=temperature))
    assert sum(bars) + rest == pytest.approx(1, abs=0.002)
    assert bars == sorted(bars, reverse=True)


def test_at_the_decoding_temperature_the_stored_probabilities_come_back() -> None:
    trace = document("A")
    for j, step in enumerate(trace["decoder"]["steps"]):
        bars, _ = _bars(scene("A", "softmax", t=5 + j, temperature=trace["decode"]["temperature"], k=20))
        assert bars == pytest.approx([each["p"] for each in step["topk"]], abs=1e-3)


def test_a_cold_softmax_leaves_one_candidate() -> None:
    led = 0
    for j, step in enumerate(document("A")["decoder"]["steps"]):
        if step["topk"][0]["logit"] - step["topk"][1]["logit"] < 2:
            continue
        led += 1
        assert _bars(scene("A", "softmax", t=5 + j, temperature=0.1))[0][0] > 0.99
    flat = document("A")
    flat["decoder"]["steps"][0]["topk"][0]["logit"] = flat["decoder"]["steps"][0]["topk"][1]["logit"] + 3
    state = {"t": 5, "temperature": 0.1}
    assert call_on(flat, "softmax", "table", state)["rows"][0][2] > 0.99


def test_argmax_and_the_chosen_token_are_marked() -> None:
    trace = document("A")
    step = trace["decoder"]["steps"][1]
    step["chosen_rank"], step["out"] = 2, step["topk"][2]["piece"]
    rows = call_on(trace, "softmax", "table", {"t": 6})["rows"]
    assert [row[4] for row in rows][:3] == [0, 0, 1]
    assert "with probability" in call_on(trace, "softmax", "describe", {"t": 6})


# ---- lstm --------------------------------------------------------------------------------------------------------------

BEATS = {"B": ["forget", "write", "update", "read"], "gru": ["reset", "candidate", "mix"]}


def _numbers(root: Any, names: str) -> list[float]:
    return [float(root.attrib[f"data-{name}"]) for name in names.split()]


@pytest.mark.parametrize("name", ["B", "gru"])
def test_one_beat_is_now_and_the_beats_come_in_order(name: str) -> None:
    beats = BEATS[name]
    count = call(name, "lstm", "frames")
    assert count % len(beats) == 0
    seen = []
    for k in range(count):
        now = having(scene(name, "lstm", **call(name, "lstm", "stateAt", {}, k)), "data-now")
        assert len(now) == 1
        seen.append(now[0].attrib["data-beat"])
    assert seen == beats * (count // len(beats))


@pytest.mark.parametrize("unit", [0, 3, 7])
@pytest.mark.parametrize("k", range(0, 84, 7))
def test_the_printed_numbers_of_an_lstm_obey_its_equations(k: int, unit: int) -> None:
    root = scene("B", "lstm", **call("B", "lstm", "stateAt", {"unit": unit}, k))
    f, i, g, o, before, c, h = _numbers(root, "f i g o cprev c h")
    assert abs(c - (f * before + i * g)) <= 2e-3 * max(1, abs(c), abs(before))
    assert abs(h - o * math.tanh(c)) <= 2e-3


@pytest.mark.parametrize("k", range(0, 63, 5))
def test_the_printed_numbers_of_a_gru_obey_its_equations(k: int) -> None:
    z, n, before, h = _numbers(
        scene("gru", "lstm", **call("gru", "lstm", "stateAt", {"unit": 2}, k)), "z candidate hprev h"
    )
    assert abs(h - ((1 - z) * n + z * before)) <= 2e-3


def test_a_gru_gives_no_number_to_what_the_trace_does_not_hold() -> None:
    said = words(scene("gru", "lstm"))
    assert "r ⊙ (U h(t−1))" in said
    assert "n = tanh(W x + b + r ⊙ (U h(t−1) + b′))" in said
    assert "r × h" not in said
    assert "have no number" in said
    assert "have no number" not in words(scene("B", "lstm"))


def test_the_backward_direction_starts_at_the_end() -> None:
    forward, backward = scene("B-bilstm", "lstm", t=1), scene("B-bilstm", "lstm", t=1, dir=1)
    assert (forward.attrib["data-pos"], backward.attrib["data-pos"]) == ("0", "10")
    f, i, g, before, c = _numbers(scene("B-bilstm", "lstm", t=4, dir=1, unit=1), "f i g cprev c")
    assert abs(c - (f * before + i * g)) <= 2e-3


def test_the_mean_over_units_says_that_equations_do_not_hold() -> None:
    root = scene("B", "lstm", t=5, unit="mean")
    assert "single units only" in words(root)
    assert float(root.attrib["data-f"]) == pytest.approx(
        np.abs(document("B")["encoder"]["gates"]["f"][0][0][4]).mean(), abs=1e-4
    )


def test_state_is_plain_json() -> None:
    for view in ("timeline", "align", "softmax", "lstm"):
        state = call("B" if view == "lstm" else "A", view, "stateAt", {"theme": "dark"}, 1)
        assert json.loads(json.dumps(state)) == state
        assert state["theme"] == "dark"
