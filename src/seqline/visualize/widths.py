"""How wide a text is, in em, without a font library: the advance widths of the bundled font as a table.

`python -m seqline.visualize.widths` makes the table from the font; that alone needs fontTools.
"""

from __future__ import annotations

import base64
import json
import unicodedata
import zlib
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from seqline.files import read_bytes, write_text

SAFETY = 1.05
"""Widths are an upper bound: joined letters and other engines differ a little."""
FONT_FILE = Path(__file__).with_name("fonts") / "DejaVuSans.ttf"
TABLE_FILE = Path(__file__).with_name("widths.json")
_LAST = 0x20000  # the font has nothing above
_ABSENT = 0xFFFF


@lru_cache(maxsize=65536)
def width_em(text: str) -> float:
    """Return an upper bound of the width of one line of text, in em, with three digits."""
    return round(sum(map(_advance, text)) * SAFETY, 3)


def _advance(character: str) -> float:
    units, table = _table()
    code = ord(character)
    if code < len(table) and table[code] != _ABSENT:
        return table[code] / units
    return 0.0 if unicodedata.category(character) in ("Mn", "Me", "Cf") else 1.0


@lru_cache(maxsize=1)
def _table() -> tuple[int, list[int]]:
    stored = json.loads(read_bytes(TABLE_FILE))
    data = zlib.decompress(base64.b64decode(stored["advances"]))
    return stored["units_per_em"], np.frombuffer(data, "<u2").tolist()


def table_text(font_file: Path = FONT_FILE) -> str:
    """Return the table of a font as it is committed: little-endian u16 a code point, 65535 where there is no glyph."""
    from fontTools.ttLib import TTFont

    font: Any
    with TTFont(font_file) as font:
        advances = np.full(_LAST, _ABSENT, "<u2")
        metrics = font["hmtx"].metrics
        for code, glyph in font.getBestCmap().items():
            if code < _LAST:
                advances[code] = metrics[glyph][0]
        units = font["head"].unitsPerEm
    data = base64.b64encode(zlib.compress(advances.tobytes(), 9)).decode("ascii")
    return json.dumps({"font": font_file.name, "units_per_em": units, "advances": data}, indent=1) + "\n"


if __name__ == "__main__":
    write_text(TABLE_FILE, table_text())
