"""The views of what a model is: pe, card, embed and diagram, drawn and measured."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from .held import PRINTED, Document, Studio, cells, decoded, long_trace, marked, number, printed, words

pytest.importorskip("quickjs")


@pytest.fixture(scope="module")
def studio() -> Studio:
    return Studio()


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


def test_embed_draws_the_row_of_the_table_in_the_colours_of_its_numbers(studio: Studio) -> None:
    svg = studio.draw("C", "embed", row=1)
    row = [node.attrib["fill"] for node in marked(svg, "data-row-cell")]
    numbers = [
        node.attrib["fill"] for node in marked(svg, "data-vector", "embedding")[0].iter() if node.get("height") == "28"
    ]
    assert row == numbers
    assert len(set(row)) > 1
    assert "plus position" in words(svg)
    assert "plus position" not in words(studio.draw("A", "embed", row=1))


def test_embed_marks_a_word_that_the_vocabulary_lacks(studio: Studio) -> None:
    document = copy.deepcopy(decoded("A"))
    document["source"]["tokens"][1] |= {"id": 1, "piece": "<unk>", "special": "unk"}
    word = document["source"]["tokens"][1]["text"]
    assert f"{word} <unk>" in words(studio.draw(document, "embed", row=0))


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
