"""From SVG to PNG, without a browser: the same bytes on every machine that has the same fonts."""

from __future__ import annotations

import re
import struct
import zlib
from html import unescape

from seqline.errors import UserError
from seqline.visualize.extras import require
from seqline.visualize.fonts import Font
from seqline.visualize.fonts import drawn as drawn_characters

_BACKGROUND = re.compile(r'<rect [^>]*data-background="1"[^>]*/>')
_DESCRIPTION = re.compile(r"<desc>(.*?)</desc>", re.DOTALL)
_ISOLATED = re.compile(r"(<text[^>]*>)([^<]*[\u2066-\u2068][^<]*)</text>")
_ISOLATE = re.compile(r"[\u2066-\u2069]")
_TEXT = re.compile(r"<text[^>]*>([^<]*)</text>")
_SIZE = re.compile(r'<svg[^>]* width="([\d.]+)" height="([\d.]+)"')
SCALES = (1, 2, 3, 4)
MOST_PIXELS = 100 * 10**6


def png(svg: str, fonts: list[Font], *, scale: int = 1, transparent: bool = False) -> bytes:
    """Return a picture of an SVG; what its `<desc>` says is kept in the file.

    Args:
        svg: A scene's string.
        fonts: Every font that the drawing may use; no other one is looked at.
        scale: Pixels for each unit of the drawing, 1 to 4.
        transparent: Leave the background out.

    Raises:
        UserError: the scale is no whole number from 1 to 4, the picture is too large, or resvg is not installed.
    """
    if scale not in SCALES:
        raise UserError(f"expected 1, 2, 3 or 4, got {scale}", where="scale", fix="4 is the largest picture")
    if (size := _SIZE.match(svg)) and float(size[1]) * float(size[2]) * scale**2 > MOST_PIXELS:
        what = f"{size[1]} x {size[2]} at scale {scale} is more than {MOST_PIXELS:,} pixels"
        raise UserError(what, where="png", fix="choose a smaller scale, width or height, or save an svg")
    require("resvg_py", "pictures", "drawing a PNG")
    from resvg_py import svg_to_bytes

    drawn = without_isolates(without_background(svg) if transparent else svg, fonts[0])
    data = svg_to_bytes(
        svg_string=drawn,
        skip_system_fonts=True,
        font_files=[str(font.path) for font in fonts],
        font_family=fonts[0].family,
        zoom=scale,
    )
    return _with_text(bytes(data), "Description", description(svg))


def without_isolates(svg: str, font: Font) -> str:
    """Return the drawing without marks of direction in texts that need more than the first font.

    The rasteriser looks for a second font that has those marks as well, finds none, and draws boxes. What is lost there is
    the order of left-to-right words inside of right-to-left ones.
    """

    def plain(found: re.Match[str]) -> str:
        missing = any(character not in font.characters for character in drawn_characters(found[2]))
        return found[1] + (_ISOLATE.sub("", found[2]) if missing else found[2]) + "</text>"

    return _ISOLATED.sub(plain, svg)


def without_background(svg: str) -> str:
    """Return the drawing without its ground."""
    return _BACKGROUND.sub("", svg)


def description(svg: str) -> str:
    """Return what the drawing says about itself: what it shows, the model, checkpoint, seed and version."""
    found = _DESCRIPTION.search(svg)
    return unescape(found[1]) if found else ""


def texts(svg: str) -> str:
    """Return all characters that the drawing prints."""
    return "".join(unescape(found) for found in _TEXT.findall(svg))


def _with_text(data: bytes, keyword: str, text: str) -> bytes:
    """Add one international text chunk after the header of a PNG."""
    body = b"iTXt" + keyword.encode("ascii") + b"\0\0\0\0\0" + text.encode("utf-8")
    chunk = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    head = 8 + 25  # signature and IHDR
    return data[:head] + chunk + data[head:]
