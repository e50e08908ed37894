"""Fonts inside a page: the characters in use, cut from DejaVu and from fonts of this machine, as woff2 data."""

from __future__ import annotations

import base64
import importlib.util
import io
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from seqline.visualize.fonts import drawn, load_fonts, missing_glyphs, missing_sentence

EXTRA = 'pip install "seqline[pictures]"'
# Tables that a label needs: shaping stays (Arabic joins), hints and names of editors go.
_KEPT_FEATURES = ("ccmp", "locl", "mark", "mkmk", "init", "medi", "fina", "isol", "rlig", "liga", "kern")


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
def _subset(path: str, number: int, characters: frozenset[str]) -> str:
    """Return a font with only these characters as base64 woff2."""
    from fontTools.subset import Options, Subsetter, load_font, save_font

    options = Options(flavor="woff2", font_number=number, hinting=True, layout_features=list(_KEPT_FEATURES))
    options.name_IDs = [1, 2]
    options.notdef_outline = True
    options.drop_tables = [*options.drop_tables, "FFTM", "VORG", "vhea", "vmtx"]  # of font editors and vertical lines
    font = load_font(path, options)
    subsetter = Subsetter(options)
    subsetter.populate(text="".join(sorted(characters)))
    subsetter.subset(font)
    cut = io.BytesIO()
    save_font(font, cut, options)
    font.close()
    return base64.b64encode(cut.getvalue()).decode("ascii")


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
            rules.append(_face(font.family, _subset(str(font.path), font.number, frozenset(mine))))
    missing = {"chars": absent, "fix": fix} if absent else None
    return PageFonts("\n".join(rules), [font.family for font in fonts], missing, "")
