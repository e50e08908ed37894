"""The views of search, cache, inner training, training and of two traces: beam, kv, ttt, train, compare."""

from __future__ import annotations

from itertools import pairwise

import pytest

from .svg import PRINTED, call, call_on, cells, changed, decoded, drawn, having, scene, words

pytest.importorskip("quickjs")


def test_every_node_of_the_beam_is_drawn_and_sums_add_up() -> None:
    drawn_nodes = {int(each.attrib["data-node"]): each.attrib for each in having(scene("G", "beam"), "data-node")}
    nodes = decoded("G")["beam"]["nodes"]
    assert set(drawn_nodes) == {node["id"] for node in nodes}
    for node in nodes:
        above = float(drawn_nodes[node["parent"]]["data-sum"]) if node["parent"] is not None else 0.0
        own = drawn_nodes[node["id"]]
        assert float(own["data-sum"]) == pytest.approx(above + float(own["data-logp"]), abs=2e-4)
        assert float(own["data-norm"]) == pytest.approx(node["norm"], abs=PRINTED)


def test_no_step_keeps_more_than_the_beam_holds() -> None:
    kept: dict[str, int] = {}
    for each in having(scene("G", "beam"), "data-state"):
        if each.attrib["data-state"] == "live":
            kept[each.attrib["data-t"]] = kept.get(each.attrib["data-t"], 0) + 1
    assert max(kept.values()) == decoded("G")["beam"]["beam_size"]


def test_the_best_path_spells_the_target_and_its_edges_are_as_wide_as_they_are_likely() -> None:
    root = scene("G", "beam")
    assert having(root, "data-text")[0].attrib["data-text"] == decoded("G")["target"]["text"]
    edges = having(root, "data-edge")
    assert len(edges) == len(decoded("G")["beam"]["nodes"])
    plain = [each for each in edges if each.attrib.get("stroke-dasharray") is None]
    widths = sorted((float(each.attrib["data-p"]), float(each.attrib["stroke-width"])) for each in plain[:-5])
    assert [width for _, width in widths] == sorted(width for _, width in widths)


def test_another_leaf_shows_its_own_text_and_reads() -> None:
    beam = decoded("G")["beam"]
    leaf = next(node for node in beam["nodes"] if node["t"] == 2 and node["parent"] == 3)
    root = scene("G", "beam", node=leaf["id"])
    assert having(root, "data-text")[0].attrib["data-text"].startswith(beam["nodes"][3]["token"]["text"])
    row = next(i for i, node in enumerate(beam["nodes"]) if node["id"] == leaf["id"])
    assert [cells(root)[1, column] for column in range(4)] == pytest.approx(beam["attention"][row], abs=PRINTED)


def test_dropped_nodes_can_be_hidden_and_steps_appear_one_by_one() -> None:
    assert not having(scene("G", "beam", pruned=False), "data-state", "pruned")
    root = scene("G", "beam", **call("G", "beam", "stateAt", {}, 1))
    assert {each.attrib["data-t"] for each in having(root, "data-node")} == {"1", "2"}


def test_the_cache_grows_by_what_the_trace_says() -> None:
    steps = decoded("C")["decoder"]["steps"]
    held = []
    for k in range(call("C", "kv", "frames")):
        root = scene("C", "kv", **call("C", "kv", "stateAt", {}, k))
        block = having(root, "data-len")[0]
        assert int(block.attrib["data-len"]) == steps[k]["cache"]["len"]
        assert len(having(block, "data-block")) == 2 * steps[k]["cache"]["len"]
        held.append(int(block.attrib["data-bytes"]))
    assert len(held) == len(steps)
    assert all(later > earlier for earlier, later in pairwise(held))


def test_two_times_differ_in_dash_and_marker_and_a_missing_one_is_said_to_be() -> None:
    lines = having(scene("C", "kv"), "data-series")
    assert {each.attrib["data-series"] for each in lines} == {"with", "without"}
    assert len({each.attrib["data-dash"] for each in lines}) == len({each.attrib["data-marker"] for each in lines}) == 2
    document = changed("C")
    for step in document["decoder"]["steps"]:
        step["ms"]["total_without_cache"] = None
    root = drawn(document, "kv")
    assert [each.attrib["data-series"] for each in having(root, "data-series")] == ["with"]
    assert "time without cache was not recorded" in words(root)


def test_a_window_forgets_the_oldest_positions() -> None:
    document = changed("C")
    for j, step in enumerate(document["decoder"]["steps"]):
        step["cache"] = {"len": min(j + 1, 3), "bytes": 128 * min(j + 1, 3), "reused": min(j, 2), "window": 3}
    root = drawn(document, "kv")
    assert len(having(root, "data-block", "kept")) + len(having(root, "data-block", "new")) == 6


@pytest.mark.parametrize("window", [1, 3, None])
def test_a_state_of_one_size_is_no_cache(window: int | None) -> None:
    document = changed("C")
    for step in document["decoder"]["steps"]:
        step["cache"] = {"len": window or 1, "bytes": 128, "reused": 1, "window": window}
    root = drawn(document, "kv")
    assert having(root, "data-missing", "key/value cache")
    assert not having(root, "data-block")
    assert "state of one size" in words(root)
    assert call_on(document, "kv", "meta", {})["missing"] == "key/value cache"
    assert call_on(decoded("C"), "kv", "meta", {})["missing"] is None


def test_each_token_says_whether_its_inner_loss_fell() -> None:
    document = changed("H")
    inner = document["ttt"]
    inner["loss_after"] = [
        after if i % 3 else before + 0.5
        for i, (before, after) in enumerate(zip(inner["loss_before"], inner["loss_after"], strict=True))
    ]
    tokens = having(drawn(document, "ttt"), "data-token")
    assert len(tokens) == len(inner["loss_before"])
    for token, before, after in zip(tokens, inner["loss_before"], inner["loss_after"], strict=True):
        said = words(token)
        assert ("✓ loss fell" in said) == (after <= before)
        assert ("✗ loss rose" in said) == (after > before)


@pytest.mark.parametrize("k", [0, 4, 10])
def test_a_frame_shows_the_memory_after_its_token(k: int) -> None:
    root = scene("H", "ttt", **call("H", "ttt", "stateAt", {}, k))
    panels = [each for each in having(root, "data-w") if each.attrib.get("data-now")]
    assert [each.attrib["data-w"] for each in panels] == [str(k + 1)]
    expected = decoded("H")["ttt"]["w"][k + 1]
    found = cells(panels[0])
    assert all(
        found[r, c] == pytest.approx(v, abs=PRINTED) for r, row in enumerate(expected) for c, v in enumerate(row)
    )


def test_the_slider_of_training_has_a_place_for_every_snapshot() -> None:
    shots = decoded("J")["training"]["snapshots"]
    assert call("J", "train", "frames") == len(shots) == 6
    for k, shot in enumerate(shots):
        root = scene("J", "train", **call("J", "train", "stateAt", {}, k))
        assert len(having(root, "data-snapshot")) == 6
        assert having(root, "data-step")[0].attrib["data-step"] == str(shot["step"])
        assert cells(root)[1, 0] == pytest.approx(shot["weights"][0][0][1][0], abs=PRINTED)


def test_smoothing_is_off_until_asked_for_and_then_named_beside_the_raw_line() -> None:
    raw = scene("J", "train")
    assert not having(raw, "data-smoothed")
    assert "smoothed" not in words(raw)
    root = scene("J", "train", smooth=0.9)
    assert "smoothed by 0.90" in words(root)
    assert len(having(root, "data-line", "loss")) == 2
    points = having(raw, "data-line", "loss")[0].attrib["points"]
    assert points in {each.attrib["points"] for each in having(root, "data-line", "loss")}


def test_the_difference_is_a_minus_b() -> None:
    first, second = (decoded("K")["traces"][i] for i in (2, 3))
    root = scene("K", "compare", a=2, b=3, what="attention")
    panels = {each.attrib["data-panel"]: cells(each) for each in having(root, "data-panel")}
    assert set(panels) == {"a", "b", "diff"}
    a = next(block for block in first["attention"] if block["kind"] == "cross")["weights"][-1]
    b = next(block for block in second["attention"] if block["kind"] == "cross")["weights"][-1]
    for (r, c), value in panels["diff"].items():
        expected = sum(head[r][c] for head in a) / len(a) - sum(head[r][c] for head in b) / len(b)
        assert value == pytest.approx(expected, abs=PRINTED)
    legends = [each.attrib["data-legend"].replace("−", "-").split() for each in having(root, "data-legend")]
    low, middle, high = legends[-1][:3]
    assert (float(low), middle) == (-float(high), "0")


def test_different_words_stand_side_by_side_with_the_reason() -> None:
    document = changed("K")
    document["traces"][3]["target"]["tokens"][0]["text"] = "You"
    document["traces"][3]["target"]["words"][0]["text"] = "You"
    root = drawn(document, "compare", a=2, b=3)
    assert [each.attrib["data-panel"] for each in having(root, "data-panel")] == ["a", "b"]
    assert "different tokens" in (having(root, "data-why")[0].text or "")


def test_one_trace_cannot_be_compared() -> None:
    assert having(scene("A", "compare"), "data-missing")
