"""The views of attention and of what a model is: lines, heads, qkv, pe, card, embed, diagram, drawn and measured."""

from __future__ import annotations

import copy
import json
import math
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

from seqline.visualize.engine import Engine, installed_engines, new_engine
from seqline.visualize.link import link
from seqline.visualize.pack import UNIT_ERROR
from seqline.visualize.reduced import reduce
from seqline.visualize.synthetic import fixture
from seqline.visualize.trace import Trace
from seqline.visualize.widths import width_em

pytest.importorskip("quickjs")

VIEWS = ("lines", "heads", "qkv", "pe", "card", "embed", "diagram")
PRINTED = 5.1e-5  # half of the last of the 4 digits of data-v
FONT = ["DejaVu Sans"]
Svg = ET.Element
Document = dict[str, Any]


@cache
def decoded(name: str) -> Document:
    return fixture(name).decoded()


def scenes(name: str | None = None) -> Engine:
    engine = new_engine(name)
    engine.load(link())
    return engine


class Studio:
    """One engine and the trace it holds: what every test draws with."""

    def __init__(self) -> None:
        self.engine = scenes()
        self.held: Any = None

    def hold(self, trace: str | Document) -> Document:
        document = decoded(trace) if isinstance(trace, str) else trace
        if self.held is not document:
            self.engine.set_trace(json.dumps(document))
            self.held = document
        return document

    def text(self, trace: str | Document, view: str, **state: Any) -> str:
        self.hold(trace)
        return self.engine.call(view, "scene", {"font": FONT} | state)

    def draw(self, trace: str | Document, view: str, **state: Any) -> Svg:
        return ET.fromstring(self.text(trace, view, **state))

    def call(self, trace: str | Document, view: str, fn: str, frame: int = 0, **state: Any) -> Any:
        self.hold(trace)
        return self.engine.call(view, fn, state, frame)


@pytest.fixture(scope="module")
def studio() -> Studio:
    return Studio()


def marked(svg: Svg, key: str, value: str | None = None) -> list[Svg]:
    return [node for node in svg.iter() if key in node.attrib and (value is None or node.attrib[key] == value)]


def number(node: Svg, key: str = "data-v") -> float:
    return float(node.attrib[key])


def words(svg: Svg) -> str:
    return " ".join("".join(node.itertext()) for node in svg.iter() if node.tag.endswith("text"))


def cells(svg: Svg) -> np.ndarray:
    found = {
        (int(node.attrib["data-r"]), int(node.attrib["data-c"])): number(node)
        for node in marked(svg, "data-c")
        if "data-r" in node.attrib
    }
    rows, cols = max(r for r, _ in found) + 1, max(c for _, c in found) + 1
    return np.array([[found[r, c] for c in range(cols)] for r in range(rows)])


def block(document: Document, kind: str) -> Document:
    return next(each for each in document["attention"] if each["kind"] == kind)


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


def printed(node: Svg) -> str:
    return "".join(node.itertext())


def long_trace(count: int = 40) -> Document:
    """C with a longer source and recorded scores."""
    document = copy.deepcopy(decoded("C"))
    source = document["source"]
    source["tokens"] = (source["tokens"] * 4)[:count]
    scores = np.random.default_rng(3).normal(size=(2, 4, len(document["target"]["tokens"]), count))
    cross = block(document, "cross")
    weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    document["attention"] = [cross | {"scores": scores.tolist(), "weights": weights.tolist()}]
    document["qkv"] = document["positions"] = document["encoder"] = None
    return document


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


# ---- pe --------------------------------------------------------------------------------------------------------------


def test_pe_prints_sines_and_cosines(studio: Studio) -> None:
    svg = studio.draw("pe", "pe")
    found = {node.attrib["data-print"]: printed(node) for node in marked(svg, "data-print")}
    assert (found["1 0"], found["1 1"], found["0 0"]) == ("0.841", "0.540", "0.000")
    assert [node.attrib["data-legend"] for node in marked(svg, "data-legend")] == ["-1 0 1 abs"]
    assert len(marked(svg, "data-dim")) == 4


def test_pe_follows_position_and_dimensions(studio: Studio) -> None:
    table = np.array(decoded("pe")["positions"]["table"])
    assert studio.call("pe", "pe", "frames") == len(table)
    svg = studio.draw("pe", "pe", **studio.call("pe", "pe", "stateAt", 9), dims=[2, 5])
    assert [node.attrib["data-dim"] for node in marked(svg, "data-dim")] == ["2", "5"]
    assert {node.attrib["data-print"].split()[0] for node in marked(svg, "data-print")} == {"8", "9", "10", "11"}
    dots = {int(node.attrib["data-dot"]): number(node) for node in marked(svg, "data-dot")}
    assert dots[0] == pytest.approx(table[9] @ table[9], abs=1e-3)
    rows = studio.call("pe", "pe", "table", row=9)["rows"]
    assert [row[1] for row in rows] == pytest.approx((table @ table[9]).tolist())


def test_pe_says_when_a_model_adds_no_position(studio: Studio) -> None:
    assert "this model adds no position" in words(studio.draw("A", "pe"))
    assert "this model adds no position" in words(studio.draw("A", "pe", lang="zh"))
    document = {**decoded("A"), "model": decoded("A")["model"] | {"positions": "rotary"}}
    shown = words(studio.draw(document, "pe"))
    assert "rotary" in shown
    assert "adds no position" not in shown


# ---- card ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["A", "C", "E"])
def test_card_names_every_check_in_words_and_numbers(studio: Studio, name: str) -> None:
    svg = studio.draw(name, "card")
    rows = {node.attrib["data-check"]: printed(node) for node in marked(svg, "data-check")}
    checks = decoded(name)["checks"]
    assert list(rows) == [check["id"] for check in checks]
    for text in rows.values():
        assert text.startswith("passed")
        assert "value" in text
        assert "tolerance" in text


def test_card_says_failed(studio: Studio) -> None:
    document = copy.deepcopy(decoded("C"))
    document["checks"][1] |= {"ok": False, "value": 0.25, "tol": 0.001}
    svg = studio.draw(document, "card")
    row = printed(marked(svg, "data-ok", "0")[0])
    assert row.startswith("failed")
    assert "value 0.25" in row
    assert "tolerance 0.001" in row
    assert len(marked(svg, "data-ok", "1")) == len(document["checks"]) - 1


def test_cards_parts_add_up_however_many_and_whatever_is_not_listed(studio: Studio) -> None:
    for unlisted in (0, 17, -40):
        document = copy.deepcopy(decoded("C"))
        parts = [
            {"name": f"encoder.blocks.{i}.mixer", "type": "Linear", "shape": [i, 4], "num_parameters": 4 * i}
            for i in range(1, 40)
        ]
        document["model"] |= {
            "parts": parts,
            "num_parameters": sum(part["num_parameters"] for part in parts) + unlisted,
        }
        svg = studio.draw(document, "card")
        total = number(marked(svg, "data-total")[0], "data-total")
        assert sum(number(node, "data-part-count") for node in marked(svg, "data-part-count")) == total
        assert total == document["model"]["num_parameters"]
        assert len(marked(svg, "data-part-count")) < 20
    shown = words(studio.draw("A", "card"))
    model = decoded("A")["model"]
    assert all(str(model[key]) in shown for key in ("layer", "encoder", "bridge", "score", "window", "positions"))
    assert model["weights_sha256"][:12] in shown
    assert "greedy" in shown


# ---- embed -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("side", ["source", "target"])
def test_embed_puts_the_one_at_the_words_number(studio: Studio, side: str) -> None:
    document = decoded("C")
    tokens = document["source"]["tokens"]
    if side == "target":
        tokens = [document["target"]["bos"], *document["target"]["tokens"][:-1]]
    assert studio.call("C", "embed", "frames", side=side) == len(tokens)
    size = document["model"]["parts"][0]["shape"][0]
    for frame, token in enumerate(tokens):
        svg = studio.draw("C", "embed", **studio.call("C", "embed", "stateAt", frame, side=side))
        ones = [node for node in marked(svg, "data-hot") if node.attrib["data-v"] == "1"]
        assert [int(node.attrib["data-hot"]) for node in ones] == [token["id"]]
        assert [node.attrib["data-token"] for node in marked(svg, "data-token") if "data-now" in node.attrib] == [
            str(frame)
        ]
        assert [node.attrib["data-vocabulary"] for node in marked(svg, "data-vocabulary")] == [str(size)]
        assert f"id {token['id']}" in words(svg)
        assert f"size {size}" in words(svg)
        vectors = {node.attrib["data-vector"]: cells(node)[0] for node in marked(svg, "data-vector")}
        assert np.abs(vectors["embedding"] - document["embeddings"][side][frame]).max() <= PRINTED
        assert np.abs(vectors["position"] - document["positions"]["table"][frame]).max() <= PRINTED
        assert np.abs(vectors["embedding"] + vectors["position"] - vectors["sum"]).max() <= 3 * PRINTED


def test_embed_without_positions_and_without_a_known_vocabulary_says_so(studio: Studio) -> None:
    svg = studio.draw("A", "embed", row=2)
    assert [node.attrib["data-vector"] for node in marked(svg, "data-vector")] == ["embedding"]
    assert "No position is added" in words(svg)
    document = {**decoded("A"), "model": decoded("A")["model"] | {"parts": None}}
    assert "size not recorded" in words(studio.draw(document, "embed"))


def test_embed_of_a_long_or_right_to_left_sentence_keeps_its_word_in_sight(studio: Studio) -> None:
    document = {**long_trace(44), "positions": None}
    document["embeddings"] = {"source": np.ones((44, 16)).tolist(), "target": None, "scale": None}
    svg = studio.draw(document, "embed", row=30)
    chips = [int(node.attrib["data-token"]) for node in marked(svg, "data-token")]
    assert 30 in chips
    assert len(chips) < 44
    assert chips == list(range(chips[0], chips[-1] + 1))
    arabic = studio.draw("D", "embed")
    lefts = [float(next(iter(node)).attrib["x"]) for node in marked(arabic, "data-token")]
    assert lefts == sorted(lefts, reverse=True)
    assert len(lefts) == 5


# ---- diagram ---------------------------------------------------------------------------------------------------------


def ran(step: Document) -> set[str]:
    parts = {event["part"] for event in step["events"]}
    wrote = any(name.startswith("y:") for event in step["events"] for name in event["writes"])
    return parts | ({"output"} if wrote else set())


@pytest.mark.parametrize("name", ["A", "B", "C", "D"])
def test_diagram_lights_what_runs_at_t_and_nothing_else(studio: Studio, name: str) -> None:
    document = decoded(name)
    assert studio.call(name, "diagram", "frames") == len(document["schedule"])
    for frame, step in enumerate(document["schedule"]):
        svg = studio.draw(name, "diagram", **studio.call(name, "diagram", "stateAt", frame))
        assert svg.attrib["data-t"] == str(step["t"])
        boxes = marked(svg, "data-box")
        drawn = {node.attrib["data-part"] for node in boxes}
        lit = {node.attrib["data-part"] for node in boxes if "data-now" in node.attrib}
        assert lit == ran(step) & drawn
        assert ran(step) <= drawn | {"bridge"}
        written = [
            int(each.removeprefix("y:"))
            for event in step["events"]
            for each in event["writes"]
            if each.startswith("y:")
        ]
        shown = [node.attrib["data-writes"] for node in marked(svg, "data-writes")]
        assert shown == [document["target"]["tokens"][written[0]]["text"] if written else ""]


def test_diagram_of_a_transformer_has_its_layers_and_residual_paths(studio: Studio) -> None:
    document = decoded("C")
    for step in document["schedule"][:2]:
        svg = studio.draw("C", "diagram", t=step["t"])
        lit = [node for node in marked(svg, "data-layer") if "data-now" in node.attrib]
        assert [int(node.attrib["data-layer"]) for node in lit] == [step["events"][0]["layer"]]
    residuals = [node.attrib["data-residual"] for node in marked(svg, "data-residual")]
    assert sorted(residuals) == ["attention", "decoder", "decoder", "encoder", "encoder"]
    assert [node.attrib["data-layers"] for node in marked(svg, "data-layers")] == ["2", "2"]
    assert len(marked(svg, "data-position")) == 2
    assert not marked(svg, "data-loop")
    sizes = {node.attrib["data-size"] for node in marked(svg, "data-size")}
    assert any("11" in size and "16" in size for size in sizes)


@pytest.mark.parametrize(("kind", "norms"), [("PreNorm", 10), ("PostNorm", 5)])
def test_diagram_puts_norms_where_the_parts_have_them(studio: Studio, kind: str, norms: int) -> None:
    document = copy.deepcopy(decoded("C"))
    document["model"]["parts"].append(
        {"name": "encoder.blocks.0.around_attention", "type": kind, "shape": [16], "num_parameters": 0}
    )
    svg = studio.draw(document, "diagram")
    strips = marked(svg, "data-norm", kind[:-4].lower())
    assert len(strips) == norms
    box = next(node for node in marked(svg, "data-box") if node.attrib["data-box"] == "self-attention")
    middle = float(next(iter(box)).attrib["y"])
    below = [
        node for node in strips if middle < float(node.attrib["y"]) < middle + 70 and float(node.attrib["x"]) < 400
    ]
    assert len(below) == (1 if kind == "PreNorm" else 0)
    assert "not recorded" in words(studio.draw("C", "diagram"))
    assert "not recorded" not in words(svg)


@pytest.mark.parametrize(
    ("reads", "present", "absent"),
    [
        ("before_cell", {"attention", "query"}, {"one summary", "join state and context"}),
        ("after_cell", {"attention", "query", "join state and context"}, {"one summary"}),
        ("every_step_same", {"one summary"}, {"query", "join state and context"}),
        ("never", {"bridge: Tanh"}, {"query", "one summary", "join state and context"}),
    ],
)
def test_diagram_of_a_recurrent_model_reads_the_source_as_it_does(
    studio: Studio, reads: str, present: set[str], absent: set[str]
) -> None:
    document = copy.deepcopy(decoded("A"))
    document["model"]["reads_memory"] = reads
    svg = studio.draw(document, "diagram", t=1)
    shown = words(svg)
    assert all(each in shown for each in present)
    assert not any(each in shown for each in absent)
    assert len(marked(svg, "data-loop")) == 3  # forward, backward, decoder
    assert not marked(svg, "data-residual")
    assert not marked(svg, "data-position")


def test_diagram_of_a_model_of_one_text_is_one_tower(studio: Studio) -> None:
    svg = studio.draw("H", "diagram", t=2)
    assert {node.attrib["data-part"] for node in marked(svg, "data-box")} == {"decoder", "output"}
    assert "TTT: learns as it reads" in words(svg)
    assert len(marked(svg, "data-loop")) == 1
    tagger = studio.draw("B-bilstm", "diagram", t=1)
    assert {node.attrib["data-part"] for node in marked(tagger, "data-box")} == {"encoder", "output"}
    assert len(marked(tagger, "data-loop")) == 2


def test_every_trace_is_left_as_it_was(studio: Studio) -> None:
    assert isinstance(fixture("C"), Trace)
    before = json.dumps(decoded("C"))
    for view in VIEWS:
        studio.text("C", view)
    studio.engine.call("lines", "describe", {})
    assert json.dumps(decoded("C")) == before
