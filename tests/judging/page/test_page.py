"""The page: it shows what the JSON holds, no text gets out of its element, and nothing is asked of a network."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import pytest

from seqline.judging.comparison import Resampling, compare
from seqline.judging.judge import Judged, Standards, judge
from seqline.judging.page import page

from ...small_judged import REFERENCES, answers, lines

ATTACK = "</code><script>alert(1)</script><img src=x onerror=alert(1)>\"'&\u202e"
TAGS = set(
    re.findall(
        r"\S+",
        "html head meta title style body header main footer section article h1 h2 h3 h4 p ul li dl dt dd div span code i b br "
        "mark table thead tbody tr th td svg line text rect",
    )
)
ATTRIBUTES = set(
    re.findall(
        r"\S+",
        "lang charset http-equiv content name class dir scope tabindex viewbox role x y x1 x2 y1 y2 width height text-anchor",
    )
)


class Reader(HTMLParser):
    """Notes tags, attributes, and the text of each element of a kind."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs
        if tag not in ("meta", "br", "line", "rect"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in ("line", "rect"):
            return
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data


def read(document: str) -> Reader:
    reader = Reader()
    reader.feed(document)
    assert reader.open == []
    return reader


def found(one: Judged, other: Judged | None = None, **more: Any) -> dict[str, Any]:
    """Return the plain values of a report without a model."""
    values = {
        "run": "runs/one", "data": "test.tsv", "version": "1.0", "num_sentences": 5, "beam_size": 1, **one.as_json(),
        "likelihood": {
            "perplexity": 4.25, "nats_per_token": 1.4469, "nats_per_character": 0.3, "num_tokens": 1234, "num_characters": 9,
            "num_unknown": 17, "num_left_out": 0,
        },
        "worst": [each._asdict() for each in one.worst],
    }  # fmt: skip
    if other is not None:
        values["against"] = compare(one, other, one.lines, how=Resampling(200), notes=["beam differs"]).as_json()
    return {**values, **more}


def of(texts: list[str], name: str) -> Judged:
    return judge(answers(texts, name, cut=[0]), lines(), Standards(("all",), training=["the old dog", "the boat"]))


@pytest.fixture
def both() -> dict[str, Any]:
    mine = ["", "we left at noon", "nobody saw a <unk> boat", "that is good", "the old woman reads"]
    theirs = ["the dog", "we left", "nobody saw the red boat", "that is", "reads reads reads reads"]
    return found(of(mine, "one"), of(theirs, "two"))


def attacked(value: Any, change: Callable[[str], str]) -> Any:
    """Return plain values with every text changed, keys left as they are."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: attacked(each, change) for key, each in value.items()}
    return [attacked(each, change) for each in value] if isinstance(value, list) else value


def test_the_page_shows_scores_tests_faults_and_sentences(both: dict[str, Any]) -> None:
    text = re.sub(r"\s+", " ", read(page(both)).text)
    for score in both["scores"]:
        assert score["name"] in text
        assert score["signature"] in text
        assert f"{score['value']:.2f}" in text
    for test in both["against"]["tests"]:
        assert f"{test['difference']:+.2f}" in text
        assert f"{test['p_bootstrap']:.4f}" in text
        assert f"{test['p_randomization']:.4f}" in text
    for line in [
        *both["findings"],
        *both["diversity"]["said"],
        *both["against"]["findings"],
        *both["against"]["notes"],
    ]:
        assert re.sub(r"\s+", " ", line) in text
    for one in [*both["worst"], *both["against"]["gains"], *both["against"]["losses"]]:
        assert one["source"] in text
        assert one["reference"] in text
        assert f"line {one['line']}" in text
    for name in ("runs/one", "test.tsv", "two", "4.250", "1,234", "200 resamples, seed 12345"):
        assert name in text


def test_without_another_system_there_is_no_comparison() -> None:
    text = read(page(found(of(list(REFERENCES), "one")))).text
    for absent in ("randomization", "Most changed", "other", "Worst"):
        assert absent not in text
    assert "Scores" in text


def test_clean_outputs_are_said_to_be_clean() -> None:
    one = judge(answers(REFERENCES), lines(), Standards())
    assert "Nothing: no output is cut" in read(page(found(one))).text


def test_no_text_gets_out_of_its_element(both: dict[str, Any]) -> None:
    document = page(attacked(both, lambda text: ATTACK + text))
    reader = read(document)
    assert reader.tags <= TAGS
    assert {name for name, _ in reader.attributes} <= ATTRIBUTES
    assert reader.text.count("<script>alert(1)</script>") > 80
    assert "<script" not in document
    assert "<img" not in document


@pytest.mark.parametrize("key", ["run", "data", "search"])
def test_names_are_escaped_one_by_one(both: dict[str, Any], key: str) -> None:
    reader = read(page({**both, key: ATTACK}))
    assert reader.tags <= TAGS
    assert ATTACK in reader.text


def test_a_file_name_that_is_no_utf8_can_be_written(both: dict[str, Any]) -> None:
    page({**both, "run": b"run-\xff".decode("utf-8", "surrogateescape")}).encode("utf-8")


def test_the_page_asks_for_nothing_and_runs_nothing(both: dict[str, Any]) -> None:
    document = page(both)
    reader = read(document)
    assert not {"script", "link", "img", "iframe", "form"} & reader.tags
    assert "http://" not in document.replace("http-equiv", "")
    assert "https://" not in document
    assert "url(" not in document
    policy = next(value for name, value in reader.attributes if name == "content" and value and "default-src" in value)
    assert policy.startswith("default-src 'none'")
    assert "script" not in policy


def test_every_sentence_has_its_own_direction() -> None:
    against = lines(["שלום עולם", "a"], ["مرحبا بالعالم", "b"])
    one = judge(answers(["مرحبا", ""]), against, Standards())
    document = page(found(one))
    assert document.count('<dd dir="auto">') == 5
    assert document.count('<dd class="empty">(empty)</dd>') == 1
    assert "مرحبا" in document


def test_differing_words_are_marked_on_both_sides(both: dict[str, Any]) -> None:
    document = page(both)
    assert "nobody saw <mark>a &lt;unk&gt;</mark> boat" in document
    assert "nobody saw <mark>the red</mark> boat" in document


def test_one_sentence_and_a_system_against_itself() -> None:
    against = lines(["a"], ["b"])
    one = judge(answers(["b"]), against, Standards())
    text = read(page(found(one, one))).text
    assert "no difference shown" in text
    assert "1.0000" in text
