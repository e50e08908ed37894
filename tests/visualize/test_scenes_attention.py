"""The views of attention: lines, heads and qkv, measured; and what holds for these and the views of a model's parts."""

from __future__ import annotations

import copy
import json
import math
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from seqline.visualize.engine import installed_engines
from seqline.visualize.pack import UNIT_ERROR
from seqline.visualize.reduced import reduce
from seqline.visualize.synthetic import fixture
from seqline.visualize.trace import Trace
from seqline.visualize.widths import width_em

from .held import FONT, PRINTED, Studio, Svg, block, cells, decoded, long_trace, marked, number, printed, scenes, words

pytest.importorskip("quickjs")

VIEWS = ("lines", "heads", "qkv", "pe", "card", "embed", "diagram")


@pytest.fixture(scope="module")
def studio() -> Studio:
    return Studio()


def fnv(values: np.ndarray) -> str:
    """FNV-1a of the integers round(65535 v), two bytes each, the low one first."""
    state = 2166136261
    for integer in np.floor(values * 65535 + 0.5).astype(int).ravel().tolist():
        for byte in (integer & 255, integer >> 8):
            state = ((state ^ byte) * 16777619) & 0xFFFFFFFF
    return f"{state:08x}"


def every(trace: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for view in VIEWS:
        for state in ({}, {"theme": "dark", "lang": "zh"}, {"theme": "print", "level": "word"}):
            yield view, state


# ---- common to all ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["A", "B", "B-bilstm", "C", "D", "G", "H", "I", "J", "K", "pe", "permutation"])
def test_every_view_draws_every_trace_as_clean_xml(studio: Studio, name: str) -> None:
    for view, state in every(name):
        string = studio.text(name, view, **state)
        root = ET.fromstring(string)
        assert not [bad for bad in ("NaN", "undefined", "\ufffd", "[object", "Infinity") if bad in string]
        assert root.attrib["data-view"] == view
        described = studio.call(name, view, "describe", **state)
        assert described
        assert described in "".join(root.find("{*}desc").itertext())
        assert studio.call(name, view, "frames", **state) >= 1
        table = studio.call(name, view, "table", **state)
        assert all(len(row) == len(table["columns"]) for row in table["rows"])
        assert marked(root, "data-legend") or marked(root, "data-missing")


@pytest.mark.parametrize("name", ["A", "C", "D", "E"])
def test_no_text_leaves_the_canvas_and_no_two_labels_collide(studio: Studio, name: str) -> None:
    for view in VIEWS:
        assert_fits(studio.draw(name, view))


def assert_fits(root: Svg) -> None:
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    boxes: dict[str, list[tuple[float, float, float, float]]] = {}
    for node in (each for each in root.iter() if each.tag.endswith("text") and "transform" not in each.attrib):
        size, x, y = (float(node.attrib[key]) for key in ("font-size", "x", "y"))
        wide = width_em("".join(node.itertext())) / 1.05 * size
        left = x - {"end": wide, "middle": wide / 2}.get(node.attrib.get("text-anchor", ""), 0)
        inside = left >= -1 and left + wide <= width + 1 and 0 < y <= height
        assert inside, "".join(node.itertext())
        if "data-label" in node.attrib:
            boxes.setdefault(node.attrib["data-label"], []).append((left, y - size * 0.8, left + wide, y + size * 0.2))
    for found in boxes.values():
        for i, a in enumerate(found):
            for b in found[i + 1 :]:
                assert min(a[2], b[2]) - max(a[0], b[0]) <= 2 or min(a[3], b[3]) - max(a[1], b[1]) <= 2


@pytest.mark.skipif("v8" not in installed_engines(), reason="needs mini-racer")
@pytest.mark.parametrize("name", ["A", "C", "D"])
def test_two_engines_give_the_same_string(studio: Studio, name: str) -> None:
    other = scenes("v8")
    other.set_trace(json.dumps(decoded(name)))
    for view in VIEWS:
        assert studio.text(name, view) == other.call(view, "scene", {"font": FONT})


@pytest.mark.parametrize(
    ("view", "lacking", "named"),
    [
        ("lines", ["attention"], "attention"),
        ("heads", ["attention"], "attention"),
        ("qkv", ["attention", "qkv"], "qkv"),
        ("pe", ["positions"], "positions"),
        ("embed", ["embeddings"], "embeddings"),
        ("diagram", ["schedule"], "schedule"),
    ],
)
def test_a_missing_block_is_named_in_a_sentence(studio: Studio, view: str, lacking: list[str], named: str) -> None:
    document = {key: value for key, value in decoded("C").items() if key not in lacking}
    svg = studio.draw(document, view)
    assert any("".join(node.itertext()).count(named) for node in marked(svg, "data-missing"))
    assert studio.call(document, view, "table") == {"columns": [], "rows": []}
    assert studio.call(document, view, "frames") == 1


def test_every_trace_is_left_as_it_was(studio: Studio) -> None:
    assert isinstance(fixture("C"), Trace)
    before = json.dumps(decoded("C"))
    for view in VIEWS:
        studio.text("C", view)
    studio.engine.call("lines", "describe", {})
    assert json.dumps(decoded("C")) == before


# ---- lines -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["encoder_self", "decoder_self", "cross"])
@pytest.mark.parametrize("rule", [{"pick": "top", "top": 4}, {"pick": "cover"}, {"pick": "min", "min": 0.1}])
def test_lines_lists_the_argmax_first_and_accounts_for_the_whole_row(
    studio: Studio, kind: str, rule: dict[str, Any]
) -> None:
    found = block(decoded("C"), kind)
    weights = np.array(found["weights"])[1, 2]
    bound = weights.shape[1] * UNIT_ERROR + found["row_sum_maxerr"]
    for query, row in enumerate(weights):
        svg = studio.draw("C", "lines", attention=kind, layer=1, head=2, row=query, **rule)
        first = marked(svg, "data-list", "0")[0]
        assert int(first.attrib["data-i"]) == int(row.argmax())
        assert number(first) == pytest.approx(row.max(), abs=PRINTED)
        drawn = marked(svg, "data-line")
        assert {node.attrib["data-r"] for node in drawn} == {str(query)}
        for node in drawn:
            assert number(node) == pytest.approx(row[int(node.attrib["data-c"])], abs=PRINTED)
        rest = number(marked(svg, "data-rest")[0], "data-rest")
        total = sum(map(number, drawn))
        assert total + rest == pytest.approx(1, abs=bound + PRINTED * (len(drawn) + 1))
        if rule["pick"] == "cover":
            assert total >= 0.75 - PRINTED * len(drawn)
            assert total - min(map(number, drawn)) < 0.75
        if rule["pick"] == "min":
            assert len(drawn) == (row >= 0.1).sum()


def test_lines_of_a_key_come_from_every_query_and_none_is_selected_without_a_word(studio: Studio) -> None:
    weights = np.array(block(decoded("C"), "cross")["weights"])[0, 0]
    svg = studio.draw("C", "lines", layer=0, head=0, row=None, col=3, top=99)
    drawn = {int(node.attrib["data-r"]): number(node) for node in marked(svg, "data-line")}
    assert drawn == pytest.approx(dict(enumerate(weights[:, 3])), abs=PRINTED)
    empty = studio.draw("C", "lines", row=None)
    assert not marked(empty, "data-line")
    assert not marked(empty, "data-list")
    assert marked(empty, "data-other")


def test_lines_in_words_add_keys_and_average_queries(studio: Studio) -> None:
    document = decoded("C")
    weights = np.array(block(document, "encoder_self")["weights"])[0, 0]
    words_of = document["source"]["words"]
    many = next(i for i, word in enumerate(words_of) if len(word["tok"]) > 1)
    tokens = words_of[many]["tok"]
    svg = studio.draw("C", "lines", attention="encoder_self", layer=0, head=0, level="word", row=many, top=99)
    drawn = {int(node.attrib["data-c"]): number(node) for node in marked(svg, "data-line")}
    assert drawn[many] == pytest.approx(weights[np.ix_(tokens, tokens)].sum() / len(tokens), abs=PRINTED)
    assert sum(drawn.values()) == pytest.approx(1, abs=PRINTED * 20)
    hidden = studio.draw("C", "lines", attention="encoder_self", layer=0, head=0, special="hide", row=0, top=99)
    end = [i for i, token in enumerate(document["source"]["tokens"]) if token["special"]]
    assert number(marked(hidden, "data-rest")[0], "data-rest") == pytest.approx(weights[0, end].sum(), abs=PRINTED)


def test_lines_has_one_frame_a_query(studio: Studio) -> None:
    assert studio.call("A", "lines", "frames") == 5
    state = studio.call("A", "lines", "stateAt", 3)
    svg = studio.draw("A", "lines", **state)
    assert [node.attrib["data-i"] for node in marked(svg, "data-now")] == ["3"]
    assert svg.attrib["data-frame"] == "3"


# ---- heads -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_heads_shows_every_map_with_the_hash_of_its_weights(studio: Studio) -> None:
    for kind in ("encoder_self", "cross"):
        weights = np.array(block(decoded("E"), kind)["weights"])
        svg = studio.draw("E", "heads", attention=kind)
        tiles = {node.attrib["data-tile"]: node.attrib["data-hash"] for node in marked(svg, "data-tile")}
        assert len(tiles) == 48
        assert tiles == {f"{layer} {head}": fnv(weights[layer, head]) for layer in range(6) for head in range(8)}
    assert studio.call("E", "heads", "frames") == 6


def test_heads_summaries_are_named_and_right(studio: Studio) -> None:
    weights = np.array(block(decoded("C"), "encoder_self")["weights"])
    svg = studio.draw("C", "heads", attention="encoder_self")
    means = weights.mean(axis=1)
    rollout = np.eye(weights.shape[-1])
    for layer in range(2):
        tiles = [cells(marked(svg, "data-tile", f"{layer} {head}")[0]) for head in range(4)]
        mean = cells(marked(svg, "data-summary", f"{layer} mean")[0])
        assert np.abs(mean - np.mean(tiles, axis=0)).max() <= 1e-4
        assert np.abs(cells(marked(svg, "data-summary", f"{layer} max")[0]) - np.max(tiles, axis=0)).max() <= 1e-4
        rollout = (0.5 * means[layer] + 0.5 * np.eye(len(rollout))) @ rollout
        assert np.abs(cells(marked(svg, "data-summary", f"{layer} rollout")[0]) - rollout).max() <= PRINTED
    shown = words(svg)
    assert all(name in shown for name in ("mean", "max", "rollout"))
    assert not any(
        "rollout" in node.attrib["data-summary"] for node in marked(studio.draw("C", "heads"), "data-summary")
    )
    assert not marked(studio.draw("C", "heads", summaries=False), "data-summary")


@pytest.mark.parametrize(("sort", "sign"), [("entropy", 1), ("diagonal", -1), ("previous", -1)])
def test_heads_are_sorted_within_their_layer_and_say_so(studio: Studio, sort: str, sign: int) -> None:
    svg = studio.draw("C", "heads", attention="decoder_self", sort=sort)
    tiles = marked(svg, "data-tile")
    for layer in "01":
        scores = [sign * number(node, "data-score") for node in tiles if node.attrib["data-tile"][0] == layer]
        assert scores == sorted(scores)
        assert len(set(scores)) > 1
    assert "sorted by" in words(svg)


def test_a_reduced_block_says_so_in_every_view_of_attention(studio: Studio) -> None:
    small = reduce(fixture("C")).decoded()  # pyright: ignore[reportArgumentType]
    assert small["attention"][0].get("weights") is None
    for view in ("lines", "heads", "qkv"):
        assert "reduced: mean and top 8" in words(studio.draw(small, view))
    mean = np.array(block(small, "cross")["head_mean"])
    svg = studio.draw(small, "heads", attention="cross")
    assert np.abs(cells(marked(svg, "data-summary", "1 mean")[0]) - mean[1]).max() <= PRINTED


# ---- qkv -------------------------------------------------------------------------------------------------------------


def beat(svg: Svg, which: int) -> dict[str, Svg]:
    return {node.attrib["data-r"]: node for node in marked(svg, "data-beat", str(which))}


@pytest.mark.parametrize("kind", ["encoder_self", "decoder_self", "cross"])
def test_qkv_prints_numbers_that_follow_from_each_other(studio: Studio, kind: str) -> None:
    document = decoded("C")
    entry = next(each for each in document["qkv"] if each["kind"] == kind and each["layer"] == 1 and each["head"] == 2)
    mask = block(document, kind)["mask"]
    for row in range(0, len(entry["q"]), 3):
        svg = studio.draw(document, "qkv", attention=kind, layer=1, head=2, row=row)
        q = cells(marked(svg, "data-vector", "q")[0])[0]
        k, v = (cells(marked(svg, "data-matrix", name)[0]) for name in "kv")
        products, scores, seen, weights = (beat(svg, which) for which in range(4))
        open_keys = [m for m in range(len(k)) if not mask or mask[row][m]]
        for m in range(len(k)):
            score = float(printed(scores[str(m)]))
            assert abs(float(printed(products[str(m)])) - q @ k[m]) <= 2e-3
            assert abs(q @ k[m] / math.sqrt(len(q)) - score) <= 2e-2 * max(1, abs(score))
            if m not in open_keys:
                assert printed(weights[str(m)]) == "0.000"
                assert printed(seen[str(m)]) == "−∞"
        powers = np.exp([float(printed(scores[str(m)])) for m in open_keys])
        shown = np.array([float(printed(weights[str(m)])) for m in open_keys])
        assert np.abs(powers / powers.sum() - shown).max() <= 5e-3
        out = cells(marked(svg, "data-vector", "out")[0])[0]
        assert np.abs(out - shown @ v[open_keys]).max() <= 5e-3
        assert np.abs(q - np.array(entry["q"][row])).max() <= PRINTED


def test_qkv_of_a_causal_mask_hatches_what_comes_later(studio: Studio) -> None:
    svg = studio.draw("C", "qkv", attention="decoder_self", row=2)
    count = len(decoded("C")["target"]["tokens"])
    assert sorted(
        int(node.attrib["data-r"]) for node in marked(svg, "data-masked") if node.attrib["data-beat"] == "2"
    ) == list(range(3, count))
    assert words(svg).count("−∞") >= count - 3


def test_qkv_shows_one_beat_more_in_each_frame(studio: Studio) -> None:
    assert studio.call("C", "qkv", "frames") == 5
    for frame in range(5):
        svg = studio.draw("C", "qkv", **studio.call("C", "qkv", "stateAt", frame))
        assert [node.attrib["data-step"] for node in marked(svg, "data-step") if "data-now" in node.attrib] == [
            str(frame)
        ]
        assert {int(node.attrib["data-beat"]) for node in marked(svg, "data-beat")} == set(range(min(frame, 3) + 1))
        assert bool(marked(svg, "data-vector", "out")) is (frame == 4)


def test_qkv_of_additive_attention_weighs_the_states_of_the_encoder(studio: Studio) -> None:
    document = decoded("A")
    svg = studio.draw("A", "qkv", row=1)
    weights = np.array([float(printed(node)) for node in beat(svg, 3).values()])
    assert weights == pytest.approx(np.array(block(document, "cross")["weights"])[0, 0, 1], abs=5.1e-4)
    out = cells(marked(svg, "data-vector", "out")[0])[0]
    assert np.abs(out - weights @ cells(marked(svg, "data-matrix", "v")[0])).max() <= 5e-3
    assert np.abs(out - np.array(document["decoder"]["context"])[1]).max() <= PRINTED
    changed = copy.deepcopy(document)
    changed["decoder"]["context"] = (np.array(document["decoder"]["context"]) + 0.5).tolist()
    assert not marked(studio.draw(changed, "qkv", row=1), "data-vector")


def test_qkv_of_many_keys_sums_the_others_up(studio: Studio) -> None:
    document = long_trace()
    svg = studio.draw(document, "qkv", row=4)
    scores, weights = beat(svg, 2), beat(svg, 3)
    assert len(weights) == 12
    assert "29 others" in words(svg)
    powers = np.exp([float(printed(scores[key])) for key in weights])
    shown = np.array([float(printed(weights[key])) for key in weights])
    assert np.abs(powers / powers.sum() - shown).max() <= 5e-3
    assert shown.sum() == pytest.approx(1, abs=6e-3)
