"""What is read in the end: the page, the Markdown, the drawings."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from seqline.comparing.plots import Axis, Series, lines
from seqline.lab.experiment import Experiment
from seqline.lab.pictures import standalone
from seqline.lab.session import run
from seqline.lab.written import SEEN, number

from .small_lab import CLAIM, experiment, finding, small_lab

VOID = {"meta", "img", "br", "line", "source"}


class Outline(HTMLParser):
    """Checks that every tag is closed, and collects ids, links and text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.ids += [found["id"] or ""] if "id" in found else []
        self.links += [found[key] or "" for key in ("href", "src") if key in found]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def three(folder: Path) -> str:
    known = {name: experiment(name, value) for name, value in (("up", 0.5), ("down", -1.0), ("even", 0.0))}
    known["bad"] = experiment("bad", measure=lambda lab: 1 / 0)
    run(list(known), small_lab(folder), known)
    return (folder / "index.html").read_text(encoding="utf-8")


def test_the_page_stands_alone_and_says_every_verdict_in_words(tmp_path: Path) -> None:
    page = three(tmp_path / "lab")
    outline = Outline(page)
    assert outline.ids == ["up", "down", "even", "bad"]
    assert all(link.startswith(("#", "data:image/svg+xml;base64,")) for link in outline.links)
    assert {link[1:] for link in outline.links if link.startswith("#")} == set(outline.ids)
    assert "<script" not in page
    assert "http" not in re.sub(r"http-equiv", "", page)
    sections = page.split('<section id="')[1:]
    for section, word in zip(sections, ("held", "not held", "undecided"), strict=False):
        assert f"</span>{word}</span><blockquote>The value &lt;grows&gt; &amp; grows</blockquote>" in section
        assert "Nobody (1999), section 1" in section
        assert "held if the value is above 0, undecided at 0" in section
        assert "models = 1, unknown = –" in section
        assert 'alt="The value &amp; &lt;its&gt; course"' in section
        assert "a|b &lt;i&gt;" in section
        assert "a note &lt;b&gt;" in section
    assert "the value is -1" in sections[1]
    assert "ZeroDivisionError: division by zero" in sections[3]


def test_a_rule_that_was_written_after_a_look_is_marked(tmp_path: Path) -> None:
    seen = CLAIM._replace(is_seen=True)
    late = Experiment("late", "t", "q", (seen,), measure=experiment().measure)
    run(["late", "fresh"], small_lab(tmp_path / "lab"), {"late": late, "fresh": experiment("fresh")})
    lab = (tmp_path / "lab" / "lab.md").read_text(encoding="utf-8")
    assert "| ✓ held \\* |" in lab
    assert f"\\* {SEEN}" in lab
    assert "seqline lab NAME --out DIR --quick --seeds 1 --threads 1: " in lab
    assert (tmp_path / "lab" / "late" / "late.md").read_text(encoding="utf-8").count(SEEN) == 1
    assert SEEN not in (tmp_path / "lab" / "fresh" / "fresh.md").read_text(encoding="utf-8")
    assert (tmp_path / "lab" / "index.html").read_text(encoding="utf-8").count(SEEN) == 1


def test_markdown_keeps_signs_that_mean_something_to_it(tmp_path: Path) -> None:
    three(tmp_path / "lab")
    text = (tmp_path / "lab" / "up" / "up.md").read_text(encoding="utf-8")
    assert "> The value \\<grows> & grows" in text
    assert "**✓ held**: the value is 0.5" in text
    assert "![The value & \\<its> course](curve.svg)" in text
    assert "| a\\|b \\<i> | 0.5 |" in text
    assert "- a note \\<b>" in text
    rows = [line for line in (tmp_path / "lab" / "lab.md").read_text(encoding="utf-8").split("\n") if line[:3] == "| ["]
    assert [row.split(" | ")[2] for row in rows] == ["✓ held", "✗ not held", "? undecided", "– failed"]


def test_a_plot_becomes_a_drawing_with_its_key_and_colours() -> None:
    names = ["one & two", "three", *(f"a rather long name of number {n}" for n in range(4))]
    series = [Series(name, n, [(0.0, float(n)), (1.0, 2.0)]) for n, name in enumerate(names)]
    plot = lines("title", Axis("x"), Axis("y"), series)
    svg = standalone(plot)
    tree = ElementTree.fromstring(svg)
    texts = [node.text for node in tree.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[-len(names) :] == names
    assert "prefers-color-scheme: dark" in svg
    height = float(tree.attrib["viewBox"].split()[3])
    assert height > float(ElementTree.fromstring(plot).attrib["viewBox"].split()[3]) + 60  # rows of the key
    assert standalone(svg) == svg


def test_another_drawing_is_taken_as_it_is() -> None:
    assert standalone("<svg viewBox='0 0 1 1'></svg>") == (
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox='0 0 1 1'></svg>"
    )
    whole = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><g/></svg>'
    assert standalone(whole) == whole


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (12345, "12,345"),
        (0.123456, "0.1235"),
        (34.0, "34"),
        (123456.7, "123,457"),
        ("a", "a"),
        (1e-7, "1e-07"),
    ],
)
def test_numbers_are_written_for_people(value: float | str | None, text: str) -> None:
    assert number(value) == text


def test_a_picture_is_optional(tmp_path: Path) -> None:
    plain = experiment("plain", measure=lambda lab: finding(pictures=False))
    found = run(["plain"], small_lab(tmp_path / "lab"), {"plain": plain})
    assert "<figure" not in found.page.read_text(encoding="utf-8")
