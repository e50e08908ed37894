"""Which fonts draw a text: the bundled DejaVu Sans first, the user's, the bundled Chinese, well-known ones of this machine.

Pictures load exactly these files, so that a result does not depend on what else is installed.
"""

from __future__ import annotations

import os
import struct
import sys
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path

from seqline.errors import UserError
from seqline.files import open_regular
from seqline.visualize.extras import require

BUNDLED = Path(str(files("seqline.visualize").joinpath("fonts", "DejaVuSans.ttf")))
# The Chinese characters that seqline itself prints (docs/chinese_font.py makes the file); others come from the machine.
CHINESE = BUNDLED.with_name("SeqlineSansSC.otf")
CHINESE_FAMILY = "Seqline Sans SC"
VARIABLE = "SEQLINE_FONTS"
# File name, family that the drawings name, number inside a collection. The first file found of each line is taken.
_KNOWN: tuple[tuple[tuple[str, str, int], ...], ...] = (
    (
        ("NotoSansCJK-Regular.ttc", "Noto Sans CJK SC", 2),
        ("NotoSansCJKsc-Regular.otf", "Noto Sans CJK SC", 0),
        ("NotoSansSC-Regular.otf", "Noto Sans SC", 0),
        ("PingFang.ttc", "PingFang SC", 2),
        ("Hiragino Sans GB.ttc", "Hiragino Sans GB", 0),
        ("msyh.ttc", "Microsoft YaHei", 0),
        ("simsun.ttc", "SimSun", 0),
    ),
    (("NotoSansDevanagari-Regular.ttf", "Noto Sans Devanagari", 0), ("Nirmala.ttf", "Nirmala UI", 0)),
    (("NotoSansThai-Regular.ttf", "Noto Sans Thai", 0), ("LeelawUI.ttf", "Leelawadee UI", 0)),
    (("NotoSansHebrew-Regular.ttf", "Noto Sans Hebrew", 0),),
    (("NotoSansArabic-Regular.ttf", "Noto Sans Arabic", 0),),
    (("NotoSans-Regular.ttf", "Noto Sans", 0), ("segoeui.ttf", "Segoe UI", 0)),
    (("NotoSansSymbols2-Regular.ttf", "Noto Sans Symbols 2", 0), ("seguisym.ttf", "Segoe UI Symbol", 0)),
)
_CJK = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO", "IDEOGRAPHIC", "FULLWIDTH")


@dataclass(frozen=True)
class Font:
    """One font that is used: its family name, its file, its number in a collection, and the characters that it has."""

    family: str
    path: Path
    number: int
    characters: frozenset[str]


def load_fonts(text: str) -> list[Font]:
    """Return the fewest fonts that draw the text: DejaVu Sans always, others only for characters that are still missing.

    Raises:
        UserError: `SEQLINE_FONTS` names a file that is no font, or fonttools is not installed.
    """
    left = set(drawn(text))
    chosen: list[Font] = []
    for font in _candidates():
        if not chosen or left & font.characters:
            chosen.append(font)
            left -= font.characters
        if not left:
            break
    return chosen


def drawn(text: str) -> list[str]:
    """Return the different characters of a text that need a glyph, in order: no white space, no control or format mark."""
    return sorted({character for character in text if unicodedata.category(character)[0] not in "CZ"})


def missing_glyphs(text: str, fonts: list[Font]) -> list[str]:
    """Return the characters of a text that none of the fonts has."""
    known = frozenset().union(*(font.characters for font in fonts))
    return [character for character in drawn(text) if character not in known]


def missing_sentence(missing: list[str]) -> str:
    """Say in one line what is missing and what mends it; empty when nothing is."""
    if not missing:
        return ""
    is_cjk = any(unicodedata.name(character, "").startswith(_CJK) for character in missing)
    shown = " ".join(missing[:20]) + (f" and {len(missing) - 20} more" if len(missing) > 20 else "")
    return f"missing glyphs: {shown} — install {'fonts-noto-cjk' if is_cjk else 'fonts-noto-core'} or set {VARIABLE}"


def _candidates() -> Iterator[Font]:
    yield _font(BUNDLED, "DejaVu Sans", 0)
    for name in filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)):
        yield _font(Path(name), None, 0)
    yield _font(CHINESE, CHINESE_FAMILY, 0)
    found = _installed()
    for line in _KNOWN:
        known = next(((name, family, number) for name, family, number in line if name in found), None)
        if known is not None:
            yield _font(found[known[0]], known[1], known[2])


def _folders() -> list[Path]:
    home = Path.home()
    if sys.platform == "darwin":
        return [Path("/System/Library/Fonts"), Path("/Library/Fonts"), home / "Library" / "Fonts"]
    if os.name == "nt":
        return [Path(os.environ.get("WINDIR", "C:\\Windows")) / "Fonts"]
    return [Path("/usr/share/fonts"), Path("/usr/local/share/fonts"), home / ".local/share/fonts", home / ".fonts"]


@cache
def _installed() -> dict[str, Path]:
    """Return the known font files of this machine by name."""
    wanted = {name for line in _KNOWN for name, _, _ in line}
    found: dict[str, Path] = {}
    for folder in _folders():
        for root, _, names in os.walk(folder):
            for name in sorted(wanted.intersection(names)):
                found.setdefault(name, Path(root) / name)
    return found


@lru_cache(maxsize=16)
def _font(path: Path, family: str | None, number: int) -> Font:
    """Read a font's characters, and its family name unless it is known."""
    require("fontTools", "pictures", "choosing fonts")
    from fontTools.ttLib import TTFont, TTLibError

    try:
        with open_regular(path) as file, TTFont(file, fontNumber=number, lazy=True) as font:
            names = font["name"]
            name = family or names.getBestFamilyName() or path.stem
            return Font(name, path, number, frozenset(map(chr, font.getBestCmap() or {})))
    except (TTLibError, OSError, LookupError, ValueError, AssertionError, struct.error) as error:
        raise UserError(
            f"expected a font file, this is none ({error})", where=str(path), fix=f"mend {VARIABLE}"
        ) from error
