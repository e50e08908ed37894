"""Word differences: what is marked, and that no text is lost or gets out of its element."""

from __future__ import annotations

import html
import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqline.judging.page.marks import MOST_UNITS, marked, marked_html


@pytest.mark.parametrize(
    ("text", "other", "expected"),
    [
        ("a red boat", "the red boat", [("a ", True), ("red boat", False)]),
        ("a red boat", "a red boat", [("a red boat", False)]),
        ("a  red boat", "a red boat", [("a  red boat", False)]),
        ("a b", "b a", [("a ", True), ("b", False)]),
        ("", "a", []),
        ("a", "", [("a", True)]),
        ("他吃苹果", "他吃梨", [("他吃", False), ("苹果", True)]),
    ],
)
def test_what_the_other_lacks_is_marked(text: str, other: str, expected: list[tuple[str, bool]]) -> None:
    found = marked(text, other)
    if expected and expected[0] == ("a ", True) and text == "a b":  # which of the two stays is the matcher's choice
        assert sorted(differs for _, differs in found) == [False, True]
    else:
        assert found == expected


@given(st.text(max_size=40), st.text(max_size=40))
def test_the_stretches_are_the_text_and_turn_about(text: str, other: str) -> None:
    found = marked(text, other)
    assert "".join(stretch for stretch, _ in found) == text
    assert all(one[1] is not two[1] for one, two in itertools.pairwise(found))
    assert all(stretch for stretch, _ in found)
    if text == other:
        assert not any(differs for _, differs in found)


@given(st.text(max_size=40), st.text(max_size=40))
def test_as_html_the_text_is_escaped_and_whole(text: str, other: str) -> None:
    drawn = marked_html(text, other)
    assert html.unescape(re.sub(r"</?mark>", "", drawn)) == html.unescape(html.escape(text))
    assert "<" not in re.sub(r"</?mark>", "", drawn)


def test_giant_sentences_are_not_compared() -> None:
    text = "word " * (MOST_UNITS + 1)
    assert marked(text, "other") == [(text, False)]
