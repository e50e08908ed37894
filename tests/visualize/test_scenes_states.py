"""States of wrong kinds and sizes: every view draws what it can of them and never fails."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import pytest

from seqline.visualize.link import view_names

from .svg import call, having, words

BAD = ("NaN", "undefined", "[object", "Infinity")
SIZES: tuple[tuple[Any, Any], ...] = ((-3, 2.5), (0, 0), (320, 320), (1e12, 321.4), ("wide", None), ([], {}))
VALUES: tuple[Any, ...] = (-7, 1.5, 1e300, "2", "x", "", "mean", "max", True, [], [-1, "x", 0.4], [1e9], {"a": 1}, None)
KEYS = ("t", "beat", "row", "col", "layer", "head", "unit", "theme", "lang", "palette", "font")
# A trace that has what the view draws, where that is not A.
HOMES = {
    "beam": "G", "bi": "B-bilstm", "compare": "K", "grad": "K", "kv": "C", "lstm": "B", "pe": "C", "qkv": "C",
    "series": "I", "lag": "I", "train": "J", "ttt": "H", "heads": "C", "lines": "C",
}  # fmt: skip


def ask(view: str, fn: str, **state: Any) -> Any:
    return call(HOMES.get(view, "A"), view, fn, state)


def drawn(view: str, **state: Any) -> ET.Element:
    svg = ask(view, "scene", **state)
    assert not [bad for bad in BAD if bad in svg], state
    root = ET.fromstring(svg)
    assert not having(root, "data-missing")
    return root


@pytest.mark.parametrize("view", view_names())
def test_no_value_of_a_wrong_kind_fails_a_view(view: str) -> None:
    keys = {*KEYS, *ask(view, "meta")["state"]} - {"width", "height"}
    for value in VALUES:
        state = dict.fromkeys(keys, value)
        drawn(view, **state)
        table = ask(view, "table", **state)
        assert all(len(row) == len(table["columns"]) for row in table["rows"])
        assert not [bad for bad in BAD if bad in ask(view, "describe", **state)]
        assert ask(view, "frames", **state) >= 1
        assert ask(view, "stateAt", **state)
    # What is no value of any key leaves the picture as it is.
    nonsense = {key: {"a": 1} for key in keys}
    assert ask(view, "scene", **nonsense) == ask(view, "scene")


@pytest.mark.parametrize("view", view_names())
def test_no_size_fails_a_view(view: str) -> None:
    usual = [int(side) for side in ask(view, "meta")["size"]]
    for size in SIZES:
        root = drawn(view, width=size[0], height=size[1])
        wanted = [
            min(max(round(side), 320), 20000) if isinstance(side, int | float) else usual[i]
            for i, side in enumerate(size)
        ]
        drawn_size = [float(root.attrib[side]) for side in ("width", "height")]
        # Some views grow when what they show needs more; none grows from its usual size.
        assert all(least <= side <= 20000 for least, side in zip(wanted, drawn_size, strict=True))
        assert wanted != usual or drawn_size == usual


@pytest.mark.parametrize(
    ("view", "state", "same"),
    [
        ("align", {"row": 1.6, "layer": "0"}, {"row": 2, "layer": 0}),
        ("rnn", {"t": "3", "unit": 1.2}, {"t": 3, "unit": 1}),
        ("lstm", {"beat": 1.5, "unit": "1"}, {"beat": 2, "unit": 1}),
        ("heads", {"sort": "variance", "head": "1"}, {"head": 1}),
        ("qkv", {"row": "2", "head": 1.4}, {"row": 2, "head": 1}),
        ("pe", {"dims": ["3", 1e6, -1]}, {"dims": [3]}),
        ("pe", {"dims": "all"}, {}),
        ("context", {"strips": 0}, {}),
        ("context", {"strips": [7]}, {}),
        ("compare", {"what": ["attention"]}, {}),
        ("compare", {"what": "constructor"}, {}),
        ("train", {"log": 1, "smooth": "much"}, {"log": True}),
        ("lines", {"top": "2", "pick": "all"}, {"top": 2}),
    ],
)
def test_a_value_is_put_right_or_is_as_if_it_were_not_given(
    view: str, state: dict[str, Any], same: dict[str, Any]
) -> None:
    assert ask(view, "scene", **state) == ask(view, "scene", **same)


def test_lines_takes_no_row_as_none_selected() -> None:
    assert not having(drawn("lines", row=None), "data-line")
    assert having(drawn("lines"), "data-line")


def test_the_bridge_has_a_label_and_the_legend_of_heads_is_clear_of_the_notes() -> None:
    bridge = [node for node in having(drawn("timeline"), "data-part") if node.attrib["data-part"] == "bridge"]
    assert "h→s" in " ".join(map(words, bridge))
    root = drawn("heads", level="word", special="hide", lang="zh")
    notes = [float(node.attrib["y"]) for node in having(root, "data-note")]
    numbers = [float(node.attrib["y"]) for legend in having(root, "data-legend") for node in legend if node.text == "0"]
    assert len(notes) > 1
    assert min(notes) - max(numbers) >= 16
