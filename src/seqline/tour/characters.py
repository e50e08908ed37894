"""The Chinese characters that seqline itself prints: page, scenes, story and the words of the toy pair."""

from __future__ import annotations

import unicodedata
from importlib.resources import files

from seqline.tour.story import story_text
from seqline.visualize.html import scripts


def own_characters() -> str:
    """Return every wide character of the drawing code, the page, the story and the toy languages, in order."""
    toy = files("seqline.data").joinpath("toy")
    words = "".join(entry.read_text(encoding="utf-8") for entry in toy.iterdir() if entry.name.endswith(".py"))
    text = scripts() + story_text() + words
    return "".join(sorted({character for character in text if unicodedata.east_asian_width(character) in "WF"}))
