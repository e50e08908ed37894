"""Reading what a scene drew: the SVG as XML, and one engine for all tests of a process."""

from __future__ import annotations

import copy
import json
import xml.etree.ElementTree as ET
from functools import cache
from typing import Any

from seqline.visualize.engine import Engine, new_engine
from seqline.visualize.link import link
from seqline.visualize.synthetic import fixture

PRINTED = 1e-4  # numbers in a picture have 4 digits
Document = dict[str, Any]
NAMESPACE = "{http://www.w3.org/2000/svg}"
ELEMENTS = {
    "svg", "g", "rect", "line", "path", "polyline", "circle", "text", "tspan", "defs", "clipPath", "pattern", "linearGradient",
    "stop", "image", "title", "desc",
}  # fmt: skip


def engine(name: str = "quickjs") -> Engine:
    """Return this process's engine of a name, with all scenes loaded."""
    return _engine(name)


@cache
def _engine(name: str) -> Engine:
    made = new_engine(name)
    made.load(link())
    return made


@cache
def trace_json(name: str) -> str:
    return json.dumps(fixture(name).decoded())


_current: dict[str, str] = {}


def loaded(name: str, on: str = "quickjs") -> Engine:
    """Return the engine with a fixture set."""
    if _current.get(on) != name:
        engine(on).set_trace(trace_json(name))
        _current[on] = name
    return engine(on)


def call(
    name: str, view: str, fn: str, state: dict[str, Any] | None = None, frame: int = 0, on: str = "quickjs"
) -> Any:
    return loaded(name, on).call(view, fn, state or {}, frame)


def call_on(document: dict[str, Any], view: str, fn: str, state: dict[str, Any] | None = None) -> Any:
    """Call a view on a changed trace."""
    _current.pop("quickjs", None)
    engine().set_trace(json.dumps(document))
    return engine().call(view, fn, state or {})


def scene(name: str, view: str, **state: Any) -> ET.Element:
    return ET.fromstring(call(name, view, "scene", state))


def having(root: ET.Element, attribute: str, value: str | None = None) -> list[ET.Element]:
    return [each for each in root.iter() if attribute in each.attrib and value in (None, each.attrib[attribute])]


def cells(root: ET.Element) -> dict[tuple[int, int], float]:
    """Return the values of a heat grid by row and column."""
    return {
        (int(each.attrib["data-r"]), int(each.attrib["data-c"])): float(each.attrib["data-v"])
        for each in having(root, "data-v")
        if "data-r" in each.attrib
    }


def words(root: ET.Element) -> str:
    """Return every printed text, title and description included, one a line."""
    return "\n".join(each.text or "" for each in root.iter() if each.text)


@cache
def decoded(name: str) -> Document:
    """Return what a scene receives of a fixture; nobody may change it."""
    return fixture(name).decoded()


def changed(name: str) -> Document:
    """Return a copy of it that a test may change."""
    return copy.deepcopy(decoded(name))


def drawn(document: Document, view: str, **state: Any) -> ET.Element:
    """Draw a document."""
    return ET.fromstring(call_on(document, view, "scene", state))
