"""The views of recurrent models and of series: context, bi, rnn, grad, series, drawn and measured."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET

import pytest

from .svg import PRINTED, call, cells, changed, decoded, drawn, having, scene, words

pytest.importorskip("quickjs")


def fnv(row: list[float]) -> str:
    """Hash a row at 4 digits, as the scenes do: FNV-1a over two bytes a number."""
    value = 2166136261
    for v in row:
        number = math.floor(v * 10000 + 0.5)
        for byte in (number & 255, (number >> 8) & 255):
            value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
    return f"{value:08x}"


def contexts(root: ET.Element) -> list[str]:
    return [each.attrib["data-ctx"] for each in having(root, "data-ctx")]


@pytest.mark.parametrize("name", ["B", "rnn"])
def test_a_fixed_context_is_one_vector_for_all_words(name: str) -> None:
    found = contexts(scene(name, "context"))
    assert len(found) == len(decoded(name)["target"]["tokens"])
    assert set(found) == {fnv(decoded(name)["decoder"]["context"][0])}


def test_with_attention_the_context_changes_with_the_word() -> None:
    found = contexts(scene("A", "context"))
    assert found == [fnv(row) for row in decoded("A")["decoder"]["context"]]
    assert len(set(found)) >= 2


def test_the_strips_of_a_bundle_say_what_each_model_gives_its_decoder() -> None:
    strips = having(scene("K", "context"), "data-strip")
    assert [having(strip, "data-what")[0].attrib["data-what"] for strip in strips] == ["fixed", "fixed", "attention"]
    assert len(having(scene("K", "context", strips=[2]), "data-strip")) == 1


def test_a_context_that_is_given_again_is_named_so() -> None:
    document = changed("B")
    document["model"]["reads_memory"] = "every_step_same"
    assert "given again at every step" in words(drawn(document, "context"))


def test_a_context_that_is_given_once_is_faint_after_the_first_word() -> None:
    root = scene("K", "context")
    once, again, attention = (having(strip, "data-not-given") for strip in having(root, "data-strip"))
    assert [each.attrib["data-not-given"] for each in once] == [str(i) for i in range(1, len(once) + 1)]
    assert once
    assert not attention
    reads = decoded("K")["traces"][1]["model"]["reads_memory"]
    assert bool(again) == (reads == "never")
    assert "faint: not given again" in words(root)
    assert "faint" not in words(scene("A", "context"))


def test_contexts_appear_with_the_words() -> None:
    state = call("A", "context", "stateAt", {}, 1)
    root = scene("A", "context", **state)
    assert len(contexts(root)) == 2
    assert having(root, "data-ctx")[1].attrib["data-now"] == "1"
    weights = [float(each.attrib["data-weight"]) for each in having(root, "data-weight")]
    assert weights == pytest.approx([0.86, 0.05, 0.06, 0.03], abs=PRINTED)


def lane(root: ET.Element, name: str) -> set[int]:
    return {int(each.attrib["data-pos"]) for each in having(root, "data-lane", name)}


@pytest.mark.parametrize("name", ["A", "B-bilstm"])
def test_the_two_lanes_start_at_the_two_ends_and_meet(name: str) -> None:
    size = len(decoded(name)["source"]["tokens"])
    first, last = scene(name, "bi", t=1), scene(name, "bi", t=size)
    assert (lane(first, "forward"), lane(first, "backward"), lane(first, "joined")) == ({0}, {size - 1}, set())
    assert lane(last, "forward") == lane(last, "backward") == lane(last, "joined") == set(range(size))
    assert call(name, "bi", "frames") == size


def test_the_lanes_show_the_states_of_their_direction() -> None:
    states = decoded("B-bilstm")["encoder"]["h"][0]
    root = scene("B-bilstm", "bi")
    for direction, name in enumerate(("forward", "backward")):
        for group in having(root, "data-lane", name):
            found = [float(each.attrib["data-v"]) for each in having(group, "data-v")]
            assert found == pytest.approx(states[direction][int(group.attrib["data-pos"])], abs=PRINTED)


def test_arabic_is_read_from_the_right() -> None:
    columns = having(scene("D", "bi"), "data-lane", "forward")
    by_place = {int(each.attrib["data-pos"]): float(next(iter(each)).attrib["x"]) for each in columns}
    assert by_place[0] > by_place[1] > by_place[2]


def test_one_direction_is_no_picture_of_two() -> None:
    assert having(scene("B", "bi"), "data-missing")


def test_a_cell_of_the_heatmap_is_the_state() -> None:
    root = scene("rnn", "rnn", t=21)
    expected = decoded("rnn")["encoder"]["h"][0][0][4][3]
    assert cells(root)[3, 4] == pytest.approx(expected, abs=PRINTED)
    legend = having(root, "data-legend")[0].attrib["data-legend"]
    assert legend.replace("−", "-") == "-1 0 1"


@pytest.mark.parametrize("t", [1, 5, 11, 12, 21])
def test_the_printed_terms_make_the_printed_state(t: int) -> None:
    for unit in range(8):
        panel = having(scene("rnn", "rnn", t=t, unit=unit), "data-equation")[0].attrib
        wx, uh, h = (float(panel[name]) for name in ("data-wx", "data-uh", "data-h"))
        assert abs(h - math.tanh(wx + uh)) <= 2e-3 * max(1, abs(wx), abs(uh))


def test_the_unrolled_network_has_one_cell_a_word_and_grows_with_time() -> None:
    size = len(decoded("gru")["schedule"])
    root = scene("gru", "rnn", t=5)
    assert [each.attrib["data-cell"] for each in having(root, "data-cell")] == ["encoder"] * 11 + ["decoder"] * 10
    assert len(having(root, "data-curve")) == 5
    assert {column for _, column in cells(root)} == set(range(5))
    assert call("gru", "rnn", "frames") == size == 21


def test_sorting_by_variance_puts_the_liveliest_unit_first() -> None:
    read = decoded("rnn")["encoder"]["h"][0][0] + decoded("rnn")["decoder"]["h"][0]
    spreads = [sum((row[u] - sum(r[u] for r in read) / len(read)) ** 2 for row in read) for u in range(8)]
    rows = call("rnn", "rnn", "table", {"sort": "variance"})["rows"]
    assert [row[0] for row in rows] == sorted(range(8), key=lambda u: -spreads[u])


@pytest.mark.parametrize(("name", "formula"), [("gru", "(1 − z)·n"), ("B", "o·tanh c"), ("rnn", "tanh(wx + uh)")])
def test_the_equation_is_that_of_the_cell(name: str, formula: str) -> None:
    assert formula in having(scene(name, "rnn"), "data-equation")[0].attrib["data-equation"]


def test_gradients_are_drawn_at_their_size_and_named_by_shape_too() -> None:
    root = scene("K", "grad")
    series = having(root, "data-series")
    traces = decoded("K")["traces"]
    norms = [part for each in traces for part in (each["gradients"]["norm_h"], each["gradients"]["norm_c"]) if part]
    assert len(series) == len(norms)
    for group, expected in zip(series, norms, strict=True):
        found = [float(each.attrib["data-v"]) for each in having(group, "data-d")]
        assert found == pytest.approx(expected[::-1], rel=0.01)
    assert len({each.attrib["data-dash"] for each in series}) == len({each.attrib["data-marker"] for each in series})
    assert len({each.attrib["data-dash"] for each in series}) == len(series)


def test_ticks_are_powers_of_ten_and_zero_lies_on_the_floor() -> None:
    document = changed("rnn")
    document["gradients"]["norm_h"] = [0.0, *document["gradients"]["norm_h"][1:]]
    root = drawn(document, "grad")
    raised = {**dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789", strict=True)), "⁻": "-"}
    for tick in having(root, "data-tick"):
        label = tick.text or ""
        if tick.attrib["data-tick"] == "zero":
            assert label == "0"
        else:
            assert label.startswith("10")
            assert "".join(raised[c] for c in label[2:]) == tick.attrib["data-tick"]
    zero = having(root, "data-tick", "zero")
    assert len(zero) == 1
    lowest = max(float(each.attrib["y"]) for each in having(root, "data-tick") if each is not zero[0])
    assert float(zero[0].attrib["y"]) > lowest
    assert {each.attrib["data-band"] for each in having(root, "data-band")} == {"vanishing", "exploding"}


def test_the_bound_on_the_parameters_gradient_is_said_and_not_drawn() -> None:
    document = changed("rnn")
    document["gradients"]["clip"] = 1.5
    root = drawn(document, "grad")
    assert "the parameters' gradient is clipped at 1.5" in words(root)
    assert not having(root, "data-clip")
    document["gradients"]["clip"] = None
    assert "clipped" not in words(drawn(document, "grad"))


def test_the_gradient_travels_back_step_by_step() -> None:
    root = scene("rnn", "grad", **call("rnn", "grad", "stateAt", {}, 2))
    assert [each.attrib["data-d"] for each in having(root, "data-d")] == ["0", "1", "2"]


@pytest.mark.parametrize("lookback", [5, 50])
def test_a_lookback_shows_that_many_points(lookback: int) -> None:
    root = scene("I", "series", lookback=lookback)
    window = next(each for each in decoded("I")["forecast"]["windows"] if each["lookback"] == lookback)
    found = [float(each.attrib["data-v"]) for each in having(root, "data-hist")]
    assert found == pytest.approx(decoded("I")["forecast"]["hist_y"][-lookback:], abs=PRINTED)
    assert float(having(root, "data-mae-now")[0].attrib["data-mae-now"]) == pytest.approx(window["mae"], abs=PRINTED)
    assert f"{window['mae']:.2f} " in (having(root, "data-mae-now")[0].text or "")
    assert len(having(root, "data-weight")) == lookback
    assert [float(each.attrib["data-v"]) for each in having(root, "data-pred")] == pytest.approx(
        window["pred_y"], abs=PRINTED
    )


def test_the_unit_stands_at_the_axis_and_no_weights_mean_no_strip() -> None:
    assert having(scene("I", "series"), "data-unit")[0].text == decoded("I")["forecast"]["unit"]
    document = changed("I")
    for window in document["forecast"]["windows"]:
        window["weights"] = None
    assert not having(drawn(document, "series"), "data-weight")


def test_the_slider_has_one_frame_a_window() -> None:
    windows = decoded("I")["forecast"]["windows"]
    assert call("I", "series", "frames") == len(windows)
    found = [
        scene("I", "series", **call("I", "series", "stateAt", {"lookback": 50}, k)).attrib["data-lookback"]
        for k in range(len(windows))
    ]
    assert found == [str(each["lookback"]) for each in windows]
