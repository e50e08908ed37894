"""Make the Chinese font that seqline ships: the characters that it prints itself, cut from Noto Sans CJK SC.

    python docs/chinese_font.py /usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc

Run it again when a word of the page, a scene, the story or the toy pair brings a new character (a test says so). The font keeps
outlines and advance widths; hints, kerning and vertical tables go. It gets a name of its own, so that it is never mistaken for
the whole font. Licence: SIL Open Font License 1.1, beside the font.
"""

from __future__ import annotations

import argparse
import io
from pathlib import Path

from fontTools.subset import Options, Subsetter, load_font, save_font

from seqline.files import write_bytes
from seqline.tour.characters import own_characters
from seqline.visualize.fonts import CHINESE, CHINESE_FAMILY

SIMPLIFIED = 2  # its number in the collection
FAMILY, STYLE, FULL, POSTSCRIPT = 1, 2, 4, 6
KEPT_NAMES = [0, FAMILY, STYLE, FULL, POSTSCRIPT, 13, 14]


def cut(collection: Path) -> bytes:
    """Return the font with seqline's own characters."""
    options = Options(font_number=SIMPLIFIED, hinting=False, layout_features=[], name_IDs=KEPT_NAMES)
    options.drop_tables = [*options.drop_tables, "VORG", "vhea", "vmtx", "BASE"]
    font = load_font(str(collection), options)
    subsetter = Subsetter(options)
    subsetter.populate(text=own_characters())
    subsetter.subset(font)
    names = {FAMILY: CHINESE_FAMILY, FULL: CHINESE_FAMILY, POSTSCRIPT: CHINESE_FAMILY.replace(" ", "")}
    for record in font["name"].names:
        if record.nameID in names:
            record.string = names[record.nameID]
    made = io.BytesIO()
    save_font(font, made, options)
    return made.getvalue()


def main() -> None:
    """Write the font into the package."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection", type=Path, help="NotoSansCJK-Regular.ttc")
    data = cut(parser.parse_args().collection)
    write_bytes(CHINESE, data)
    print(f"{CHINESE}: {len(own_characters())} characters, {len(data):,} bytes")


if __name__ == "__main__":
    main()
