"""What holds for every view: whatever it draws, on whatever trace, in whatever engine."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from functools import cache
from typing import Any

import numpy as np
import pytest

from seqline.visualize.engine import installed_engines
from seqline.visualize.link import view_names
from seqline.visualize.trace import Trace

from .svg import ELEMENTS, NAMESPACE, call, call_on, cells, having

FIXTURES = ("A", "C", "D")
BAD = ("NaN", "undefined", "\ufffd", "[object", "var(", "class=")
LONG = ("timeline", "align", "softmax")
CASES: list[Any] = [(view, name) for view in view_names() for name in FIXTURES]
CASES += [pytest.param(view, "E", marks=pytest.mark.slow) for view in LONG]


@cache
def drawn(view: str, name: str) -> str:
    return call(name, view, "scene")


@pytest.mark.parametrize(("view", "name"), CASES)
def test_it_is_clean_xml_of_the_agreed_elements(view: str, name: str) -> None:
    svg = drawn(view, name)
    assert not [bad for bad in BAD if bad in svg]
    root = ET.fromstring(svg)
    assert {each.tag.removeprefix(NAMESPACE) for each in root.iter()} <= ELEMENTS
    for each in root.iter():
        assert "direction" not in each.attrib
        assert each.attrib.get("href", "data:").startswith(("data:", "#"))
    for attribute in ("data-t", "data-n", "data-frame"):
        assert re.fullmatch(r"\d+", root.attrib[attribute]), attribute
    assert root.attrib["data-view"] == view
    assert root.attrib["role"] == "img"
    assert root.attrib["font-family"] == "'DejaVu Sans'"


@pytest.mark.parametrize(("view", "name"), CASES)
def test_it_names_itself_and_where_it_came_from(view: str, name: str) -> None:
    root = ET.fromstring(drawn(view, name))
    title, desc = root.find(f"{NAMESPACE}title"), root.find(f"{NAMESPACE}desc")
    assert title is not None
    assert title.text
    assert desc is not None
    assert re.search(r"Model .+, checkpoint .+, seed \d+, seqline ", desc.text or "")
    assert (having(root, "data-caption")[0].text or "").strip()


@pytest.mark.parametrize(("view", "name"), CASES)
def test_the_other_four_functions_answer(view: str, name: str) -> None:
    count = call(name, view, "frames")
    assert isinstance(count, int)
    assert count >= 1
    assert isinstance(call(name, view, "stateAt", {"theme": "dark"}, count - 1), dict)
    assert len(call(name, view, "describe")) > 5
    table = call(name, view, "table")
    assert all(len(row) == len(table["columns"]) for row in table["rows"])


@pytest.mark.parametrize("view", view_names())
@pytest.mark.parametrize("name", FIXTURES)
def test_every_frame_has_one_size_and_a_caption(view: str, name: str) -> None:
    count = call(name, view, "frames")
    picked = sorted({0, count // 2, count - 1})
    roots = [ET.fromstring(call(name, view, "scene", call(name, view, "stateAt", {}, k))) for k in picked]
    assert len({(root.attrib["width"], root.attrib["height"]) for root in roots}) == 1
    assert [root.attrib["data-frame"] for root in roots] == [str(k) for k in picked]


@pytest.mark.parametrize("view", view_names())
def test_themes_and_languages(view: str) -> None:
    grounds = set()
    for theme in ("light", "dark", "print"):
        root = ET.fromstring(call("A", view, "scene", {"theme": theme}))
        grounds.add(having(root, "data-background")[0].attrib["fill"])
    assert len(grounds) == 2  # print is white too
    chinese = call("A", view, "scene", {"lang": "zh"})
    assert re.search(r"<title>[^<]*[\u4e00-\u9fff]", chinese)


@pytest.mark.parametrize("view", view_names())
def test_what_it_needs_and_lacks_is_said_in_a_sentence(view: str) -> None:
    meta = call("A", view, "meta")
    bare: dict[str, Any] = {
        "schema": "trace/1",
        "meta": {"id": "bare", "seed": 1, "toolkit": "0.1.0"},
        "model": {"arch": "bare", "weights_sha256": None},
        "task": "translation",
        "source": {"text": "hello", "lang": "en", "dir": "ltr", "tokens": [], "words": []},
        "schedule": [],
        "checks": [],
        "tensors": {},
    }
    if not meta["needs"] or all(need in ("model", "meta", "source", "checks") for need in meta["needs"]):
        pytest.skip("needs nothing that a trace may lack")
    root = ET.fromstring(call_on(bare, view, "scene"))
    gaps = having(root, "data-missing")
    assert len(gaps) == 1
    assert "no" in (gaps[0].text or "")
    assert call_on(bare, view, "frames") == 1
    assert call_on(bare, view, "describe")
    assert isinstance(call_on(bare, view, "table")["rows"], list)
    assert isinstance(call_on(bare, view, "stateAt"), dict)


@pytest.mark.skipif(len(installed_engines()) < 2, reason="needs both engines")
@pytest.mark.parametrize(("view", "name"), CASES)
def test_both_engines_draw_the_same_string(view: str, name: str) -> None:
    assert drawn(view, name) == call(name, view, "scene", on="v8")
    state = {"theme": "dark", "lang": "zh", "t": 2}
    assert call(name, view, "scene", state) == call(name, view, "scene", state, on="v8")


def test_weights_alone_show_every_row_at_the_last_step_and_one_at_the_first() -> None:
    trace = Trace.from_numpy(np.full((3, 2), 0.5), ["a", "b", "c"], ["x", "y"], "cross")
    document = trace.decoded()
    assert len(cells(ET.fromstring(call_on(document, "align", "scene")))) == 6
    assert len(cells(ET.fromstring(call_on(document, "align", "scene", {"t": 1})))) == 2


def test_one_trace_has_nothing_to_compare_with() -> None:
    assert call("A", "compare", "meta")["missing"] == "second trace"
    assert call("K", "compare", "meta")["missing"] is None
