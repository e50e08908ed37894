"""Fonts inside a page: the characters in use, cut from DejaVu and from fonts of this machine, as woff2 data."""

from __future__ import annotations

import base64
import importlib.util
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from seqline.visualize.font_cuts import cut_font
from seqline.visualize.fonts import drawn, load_fonts, missing_glyphs, missing_sentence

EXTRA = 'pip install "seqline[pictures]"'


@dataclass(frozen=True)
class PageFonts:
    """The fonts of one page.

    Args:
        css: `@font-face` rules with the fonts as data; empty when nothing could be embedded.
        families: The names that the drawings use, in order.
        missing: `{"chars": [...], "fix": "..."}` when no font has a character of a label, else None.
        note: What to install so that fonts are embedded; empty when they are.
    """

    css: str
    families: list[str]
    missing: dict[str, Any] | None
    note: str


@lru_cache(maxsize=32)
def _subset(path: Path, number: int, characters: frozenset[str]) -> str:
    """Return a font with only these characters as base64 woff2."""
    return base64.b64encode(cut_font(path, number, characters, "woff2")).decode("ascii")


def _face(family: str, data: str) -> str:
    return f'@font-face{{font-family:"{family}";src:url(data:font/woff2;base64,{data}) format("woff2")}}'


def page_fonts(labels: str, drawing: str = "", *, is_wide: bool = False) -> PageFonts:
    """Cut the fonts of a page.

    Args:
        labels: Every character that a figure may show; one that no font has is reported.
        drawing: Text of the drawing code: its own words are embedded too where a font has them, and never reported.
        is_wide: The page opens in Chinese, so the drawing's Chinese words are embedded as well; else they come from the
            reader's own fonts should the language be switched.
    """
    if importlib.util.find_spec("fontTools") is None or importlib.util.find_spec("brotli") is None:
        return PageFonts("", ["DejaVu Sans"], None, EXTRA)
    asked = set(drawn(labels))
    more = {character for character in drawn(drawing) if ord(character) > 126}
    more = {character for character in more if is_wide or unicodedata.east_asian_width(character) not in "WF"}
    fonts = load_fonts("".join(sorted(asked | (more if is_wide else set()))))
    wanted = asked | more | {chr(code) for code in range(32, 127)}
    absent = missing_glyphs(labels, fonts)
    fix = missing_sentence(absent).partition(" — ")[2]
    rules, left = [], set(wanted)
    for font in fonts:
        mine = left & font.characters
        left -= mine
        if mine:
            rules.append(_face(font.family, _subset(font.path, font.number, frozenset(mine))))
    missing = {"chars": absent, "fix": fix} if absent else None
    return PageFonts("\n".join(rules), [font.family for font in fonts], missing, "")
