"""What counts as a mark, and what does not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqline.markup import Kind, find_marks
from seqline.markup.elements import pair, read_lines


def kinds(text: str) -> list[tuple[str, str]]:
    return [(mark.text, mark.kind.value) for mark in find_marks(text)]


@pytest.mark.parametrize(
    ("mark", "kind"),
    [
        ("<b>", "open"),
        ("<a href='x>y' disabled data-x=1>", "open"),
        ("<![CDATA[", "open"),
        ("<ns:tag.x-1 >", "open"),
        ("</b>", "close"),
        ("</b >", "close"),
        ("]]>", "close"),
        ("<x/>", "point"),
        ('<x id="1" />', "point"),
        ("<br>", "point"),
        ("<IMG src=a>", "point"),
        ("<!-- <b> -->", "point"),
        ('<?xml version="1.0"?>', "point"),
        ("<!DOCTYPE html>", "point"),
        *((braces, "placeholder") for braces in ("{0}", "{name}", "{name:>8}", "{}", "${x}", "#{x}", "%{x}", "{{x}}")),
        *((printf, "placeholder") for printf in ("%s", "%d", "%1$s", "%2$@", "%.2f", "%05d", "%(name)s", "%@", "%%")),
        *((web, "placeholder") for web in ("https://x.org/a?b=1", "www.x.org", "a.b@x.org", "ftp://x.org/{id}")),
        ("{{ x.y }}", "placeholder"),
        ("%(first name)s", "placeholder"),
    ],
)
def test_counts(mark: str, kind: str):
    assert kinds(f"before {mark} behind") == [(mark, kind)]


@pytest.mark.parametrize(
    "text",
    [
        "100 % of them",
        "100 % des Umsatzes",
        "20 %discount",
        "100%sure",
        "a { b",
        "a } b",
        "{ a b }",
        "{a, plural, one {x y}}",
        "a < b",
        "a<b",
        "x<y && y>z",
        "<3",
        "< b>",
        "$1 and $100",
        "R&amp;D &lt;b&gt;",
        "a @ b",
        "<!-- never ended",
        "http:// x",
    ],
)
def test_does_not_count(text: str):
    assert find_marks(text) == []


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("Dear %1$s, press <b>OK</b>.", ["%1$s", "<b>", "</b>"]),
        ("%d%% of %dx%d took %ds", ["%d", "%%", "%d", "%d", "%d"]),
        ("(see https://x.org/a_(b)). Or a@b.org.", ["https://x.org/a_(b)", "a@b.org"]),
        ("<https://x.org>", ["https://x.org"]),
        ("日本https://x.org/aの", ["https://x.org/a"]),
        ("Chapter 1 %s.", ["%s"]),
        ("<a <b>x", ["<b>"]),
    ],
)
def test_ends_where_text_begins(text: str, marks: list[str]):
    assert [mark.text for mark in find_marks(text)] == marks


@given(st.text(alphabet="<>ab/= \"'{}%$1s!-[]@.:\n&w", max_size=60))
def test_marks_lie_in_the_text_and_apart(text: str):
    end = 0
    for mark in find_marks(text):
        assert mark.start >= end
        assert mark.text == text[mark.start : mark.end] != ""
        end = mark.end


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("<b>x</b>", [0, 0]),
        ("<b><B>x</b></B>", [0, 1, 1, 0]),
        ("<b>x", [-1]),
        ("x</b>", [-1]),
        ("<b><i></b></i>", [0, -1, 0, -1]),
        ("<p>a<br>b</p>", [0, -1, 0]),
        ("<![CDATA[<b>x</b>]]>", [0, 1, 1, 0]),
    ],
)
def test_pairs(text: str, pairs: list[int]):
    assert pair(find_marks(text)) == pairs


@given(
    st.lists(st.sampled_from(["a", " ", "\n", "\r\n", "\r", "<b\nx='1'>", "<!-- \n\n -->", "</b>", "{0}"]), max_size=15)
)
def test_lines_and_their_ends_make_the_text(pieces: list[str]):
    text = "".join(pieces)
    lines, ends = read_lines(text, find_marks(text))
    assert "".join(line.source + end for line, end in zip(lines, [*ends, ""], strict=True)) == text
    for line in lines:
        assert line.before + "".join(token.text for token in line.tokens) + line.after == line.source


def test_a_line_end_inside_a_tag_ends_no_line():
    text = "one <a\nhref='x'>two</a>\nthree"
    lines, ends = read_lines(text, find_marks(text))
    assert [line.source for line in lines] == ["one <a\nhref='x'>two</a>", "three"]
    assert ends == ["\n"]


def test_kinds_are_told_apart_by_name():
    assert {kind.value for kind in Kind} == {"open", "close", "point", "placeholder"}
