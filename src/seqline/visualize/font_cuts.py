"""Fonts cut down to the characters in use: for pages, and for pictures, whose rasteriser reads whole files every time."""

from __future__ import annotations

import atexit
import io
import shutil
import tempfile
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path

from seqline.files import write_bytes
from seqline.visualize.fonts import Font

# Cutting takes half a second: less than reading a Chinese font of 20 MB for every frame, more than reading a small one.
_LARGE_BYTES = 2_000_000
# Tables that a label needs: shaping stays (Arabic joins), hints and names of editors go.
_KEPT_FEATURES = ("ccmp", "locl", "mark", "mkmk", "init", "medi", "fina", "isol", "rlig", "liga", "kern")


def cut_font(path: Path, number: int, characters: frozenset[str], flavor: str | None = None) -> bytes:
    """Return a font file with only these characters.

    Args:
        path: A font or a collection of fonts.
        number: Which font of a collection.
        characters: What stays.
        flavor: "woff2" for a page, None for a plain file.
    """
    from fontTools.subset import Options, Subsetter, load_font, save_font

    options = Options(flavor=flavor, font_number=number, hinting=True, layout_features=list(_KEPT_FEATURES))
    options.name_IDs = [1, 2]
    options.notdef_outline = True
    options.drop_tables = [*options.drop_tables, "FFTM", "VORG", "vhea", "vmtx"]  # of font editors and vertical lines
    font = load_font(str(path), options)
    subsetter = Subsetter(options)
    subsetter.populate(text="".join(sorted(characters)))
    subsetter.subset(font)
    cut = io.BytesIO()
    save_font(font, cut, options)
    font.close()
    return cut.getvalue()


def small_fonts(fonts: list[Font], text: str) -> list[Font]:
    """Return the same fonts in files of at most 2 MB: a larger one is cut to the characters of the text, once."""
    return [_small(font, frozenset(text)) if font.path.stat().st_size > _LARGE_BYTES else font for font in fonts]


@lru_cache(maxsize=16)
def _small(font: Font, characters: frozenset[str]) -> Font:
    kept = font.characters & characters
    path = _folder() / f"{len(list(_folder().iterdir()))}.otf"
    write_bytes(path, cut_font(font.path, font.number, kept))
    return replace(font, path=path, number=0, characters=kept)


@cache
def _folder() -> Path:
    """Make the folder of this process's cut fonts; it goes when the process ends."""
    folder = tempfile.mkdtemp(prefix="seqline-fonts-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)
