"""The bar chart: heights by hand, one bar a system, and text that stays text."""

from __future__ import annotations

import itertools
import re
from xml.etree import ElementTree

import pytest

from seqline.judging.page.charts import Group, bars


def rects(drawn: str) -> list[dict[str, str]]:
    return [element.attrib for element in ElementTree.fromstring(drawn) if element.tag == "rect"]


def test_bars_are_as_high_as_their_values() -> None:
    drawn = bars("BLEU", [Group("1-10", "n=4", [100.0, 50.0]), Group("11-20", "n=2", [None, 25.0])])
    found = rects(drawn)
    assert [rect["class"] for rect in found] == ["bar-0", "bar-1", "bar-1"]
    full = float(found[0]["height"])
    assert [float(rect["height"]) / full for rect in found] == pytest.approx([1.0, 0.5, 0.25], abs=0.01)
    bottoms = {round(float(rect["y"]) + float(rect["height"]), 1) for rect in found}
    assert len(bottoms) == 1
    assert re.findall(r'class="value"[^>]*>(\d+)<', drawn) == ["100", "50", "25"]


def test_values_outside_the_scale_stay_in_the_picture() -> None:
    low, high = rects(bars("x", [Group("a", "", [-5.0, 130.0])]))
    assert float(low["height"]) == 0.0
    assert float(high["y"]) >= 0.0


def test_bars_of_many_groups_do_not_touch() -> None:
    found = rects(bars("x", [Group(str(n), "", [50.0, 50.0]) for n in range(9)]))
    ends = [(float(rect["x"]), float(rect["x"]) + float(rect["width"])) for rect in found]
    assert all(one[1] <= two[0] for one, two in itertools.pairwise(ends))


def test_labels_are_escaped() -> None:
    drawn = bars("<title>", [Group("<b>", "<i>", [1.0])])
    assert "<b>" not in drawn
    assert ElementTree.fromstring(drawn) is not None
