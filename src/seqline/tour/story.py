"""The words of the tour's page, in English and Chinese: data in `story/`, both languages with the same keys."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from seqline.tour.measuring import Said

LANGUAGES = ("en", "zh")
_MARKS = ((re.compile(r"`([^`]+)`"), r"<code>\1</code>"), (re.compile(r"\*([^*]+)\*"), r"<em>\1</em>"))


@dataclass(frozen=True)
class Story:
    """The words of one language.

    Args:
        short: "en" or "zh".
        lang: as HTML names the language.
        page: words around the chapters.
        chapters: title, was, now, text and caption of each.
        said: measured sentences with `{names}` of values.
    """

    short: str
    lang: str
    page: dict[str, str]
    chapters: dict[str, dict[str, Any]]
    said: dict[str, str]

    def tell(self, sentence: Said) -> str:
        """Return a measured sentence with its values, as HTML."""
        return rich(self.said[sentence.key], sentence.values)


@cache
def stories() -> tuple[Story, ...]:
    """Read the story in every language."""
    found = []
    for name in LANGUAGES:
        data = json.loads(files("seqline.tour").joinpath("story", f"{name}.json").read_text(encoding="utf-8"))
        found.append(Story(name, data["lang"], data["page"], data["chapters"], data["said"]))
    return tuple(found)


def story_text() -> str:
    """Return every character of the story, for the fonts."""
    return "".join(
        files("seqline.tour").joinpath("story", f"{name}.json").read_text(encoding="utf-8") for name in LANGUAGES
    )


def rich(text: str, values: dict[str, str] | None = None) -> str:
    """Return text as HTML: `*x*` is stressed, backquotes are code, `{name}` is a value; all else is plain."""
    found = html.escape(text, quote=False)
    for pattern, made in _MARKS:
        found = pattern.sub(made, found)
    shown = {f"{{{name}}}": f"<b>{html.escape(value, quote=False)}</b>" for name, value in (values or {}).items()}
    return re.sub(r"\{\w+\}", lambda name: shown.get(name[0], name[0]), found)  # once: a value may hold {name} itself


def both(write: Callable[[Story], str], tag: str = "span", attributes: str = "") -> str:
    """Return an element for each language; the page shows the one of its own."""
    return "".join(
        f'<{tag} class="t-{story.short}" lang="{story.lang}"{attributes}>{write(story)}</{tag}>' for story in stories()
    )


def word(name: str) -> str:
    """Return one of the words around the chapters, in both languages."""
    return both(lambda story: rich(story.page[name]))


def paragraphs(texts: Sequence[str], values: dict[str, str] | None = None) -> str:
    """Return paragraphs."""
    return "".join(f"<p>{rich(text, values)}</p>" for text in texts)
