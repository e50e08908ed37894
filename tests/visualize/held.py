"""One engine with the trace it holds, and reading what it drew: for the tests of single views."""

from __future__ import annotations

import copy
import json
import xml.etree.ElementTree as ET
from functools import cache
from typing import Any

import numpy as np

from seqline.visualize.engine import Engine, new_engine
from seqline.visualize.link import link
from seqline.visualize.synthetic import fixture

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
