"""Words that are code elsewhere: whatever a token spells, a picture and a page show it and run none of it."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from html import unescape
from typing import Any

import pytest

from seqline.visualize.html import document, notebook
from seqline.visualize.link import view_names
from seqline.visualize.synthetic import fixture
from seqline.visualize.trace import Trace

from .svg import ELEMENTS, NAMESPACE, call_on

WORD = "\"'></script></title><img src=x onerror=alert(1)><svg onload=alert(2)>&lt;"
SPELLED = ("text", "piece", "in", "out", "arch", "id", "lang", "toolkit")


def spelled(node: Any, key: str = "") -> Any:
    """Return a document in which everything that a text may hold spells the word."""
    if isinstance(node, dict):
        return {name: spelled(part, name) for name, part in node.items()}
    if isinstance(node, list | tuple):
        return [spelled(part, key) for part in node]
    return WORD if isinstance(node, str) and key in SPELLED else node


@pytest.mark.parametrize("name", ["A", "C", "G"])
def test_a_picture_shows_the_word_and_has_no_element_of_it(name: str) -> None:
    trace = spelled(fixture(name).decoded())
    shown = 0
    for view in view_names():
        for state in ({}, dict.fromkeys(("attention", "level", "palette", "theme", "lang"), WORD)):
            root = ET.fromstring(call_on(trace, view, "scene", state))
            assert {each.tag.removeprefix(NAMESPACE) for each in root.iter()} <= ELEMENTS
            assert not [key for each in root.iter() for key in each.attrib if key.startswith("on")]
            shown += any("onerror" in (each.text or "") for each in root.iter())
    assert shown > 10


def test_a_page_has_no_tag_of_the_word() -> None:
    trace = Trace(spelled(fixture("A").document))
    page = document({WORD: trace}, title=WORD)
    assert "<img" not in page
    assert "<svg onload" not in page
    packed = re.search(r'<script type="application/json" data-trace="([^"]*)">(.*?)</script>', page, re.DOTALL)
    assert packed is not None
    assert unescape(packed[1]) == WORD
    assert json.loads(packed[2])["source"]["tokens"][0]["text"] == WORD
    assert re.fullmatch(r'<iframe srcdoc="[^"]*" title="seqline" sandbox="[^"]*" [^<>]*></iframe>', notebook(trace))
