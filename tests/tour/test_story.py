"""The words of the tour: both languages say the same things, and everything that may be measured has a sentence."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from seqline.tour.chapters import CHAPTERS
from seqline.tour.measuring import Said, said
from seqline.tour.story import Story, rich, stories
from seqline.visualize.link import view_names

ENGLISH, CHINESE = stories()


def names(text: str) -> set[str]:
    return set(re.findall(r"\{(\w+)\}", text))


def test_both_languages_have_the_same_keys() -> None:
    assert list(ENGLISH.page) == list(CHINESE.page)
    assert list(ENGLISH.said) == list(CHINESE.said)
    assert list(ENGLISH.chapters) == list(CHINESE.chapters)
    for name, chapter in ENGLISH.chapters.items():
        assert list(chapter) == list(CHINESE.chapters[name])
        assert len(chapter["text"]) == len(CHINESE.chapters[name]["text"])


def test_both_languages_name_the_same_values() -> None:
    for key, text in (ENGLISH.said | ENGLISH.page).items():
        assert names(text) == names((CHINESE.said | CHINESE.page)[key]), key


@pytest.mark.parametrize("story", stories(), ids=lambda story: story.short)
def test_every_chapter_has_its_words(story: Story) -> None:
    assert set(story.chapters) == {chapter.name for chapter in CHAPTERS}
    for chapter in story.chapters.values():
        assert chapter["title"]
        assert ("was" in chapter) == ("now" in chapter)


def test_chinese_is_chinese() -> None:
    for key, text in CHINESE.said.items():
        assert re.search(r"[\u4e00-\u9fff]", text), key
        assert text != ENGLISH.said[key]


def test_every_sentence_that_is_told_exists_and_every_one_that_exists_is_told() -> None:
    code = files("seqline.tour").joinpath("measuring.py").read_text(encoding="utf-8")
    told = set(re.findall(r'"([a-z_]+)"', code)) & set(ENGLISH.said)
    assert told == set(ENGLISH.said)


def test_values_are_written_with_the_digits_that_they_deserve() -> None:
    told = said("k", a=12_345, b=0.123, c=12.34, d=123.4, e="x")
    assert told == Said("k", {"a": "12,345", "b": "0.12", "c": "12.3", "d": "123", "e": "x"})


def test_text_is_plain_but_for_its_marks() -> None:
    assert rich("*a* `b` <c> & {d}", {"d": "<e>"}) == "<em>a</em> <code>b</code> &lt;c&gt; &amp; <b>&lt;e&gt;</b>"
    assert rich("{a} {b} {c}", {"a": "{b}", "b": "{a}"}) == "<b>{b}</b> <b>{a}</b> {c}"


def test_every_fixed_figure_names_a_view() -> None:
    for chapter in CHAPTERS:
        if chapter.name not in ("encoder", "qkv", "heads", "twins"):  # those need recordings
            assert all(figure.view in view_names() for figure in chapter.figures({}))
