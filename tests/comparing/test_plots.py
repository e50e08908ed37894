"""Line plots: well-formed, round ticks, every series to be told apart."""

from __future__ import annotations

import math
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from seqline.comparing.plots import HEIGHT, WIDTH, Axis, Series, key, lines

NUMBERS = st.floats(-1e9, 1e9) | st.integers(-5, 5).map(float)


def texts(svg: str) -> list[str]:
    return [node.text or "" for node in ElementTree.fromstring(svg).iter() if node.tag == "text"]


def test_ticks_are_round_and_hold_all_points() -> None:
    svg = lines("BLEU", Axis("steps"), Axis("BLEU"), [Series("a", 0, [(10, 3.3), (97, 31.4)])])
    assert texts(svg) == ["0", "10", "20", "30", "40", "0", "25", "50", "75", "100", "steps", "BLEU"]


def test_names_stand_under_their_places() -> None:
    svg = lines("BLEU", Axis("words", ("1-10", "11-20")), Axis("BLEU"), [Series("a", 0, [(0, 1), (1, 2)])])
    assert "1-10" in texts(svg)
    assert "11-20" in texts(svg)


def test_nothing_is_no_plot() -> None:
    assert lines("BLEU", Axis("x"), Axis("y"), [Series("a", 0, [])]) == ""
    assert lines("BLEU", Axis("x"), Axis("y"), [Series("a", 0, [(1.0, math.nan)])]) == ""


def test_names_are_escaped() -> None:
    name = "<script>&"
    for svg in (lines(name, Axis(name, (name,)), Axis(name), [Series(name, 0, [(0, 1)])]), key([name])):
        assert "<script>" not in svg
        ElementTree.fromstring(svg)


@given(st.lists(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=4), max_size=3))
def test_every_point_is_on_the_paper(points: list[list[tuple[float, float]]]) -> None:
    svg = lines("t", Axis("x"), Axis("y"), [Series(str(n), n, each) for n, each in enumerate(points)])
    if not svg:
        assert not any(points)
        return
    for node in ElementTree.fromstring(svg).iter("polyline"):
        for place in node.attrib["points"].split():
            x, y = map(float, place.split(","))
            assert 0 <= x <= WIDTH
            assert 0 <= y <= HEIGHT
