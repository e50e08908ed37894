"""From SVG to PNG, without a browser: the same bytes on every machine that has the same fonts."""

from __future__ import annotations

import re
import struct
import zlib
from html import unescape

from seqline.errors import UserError
from seqline.visualize.extras import require
from seqline.visualize.fonts import Font

_BACKGROUND = re.compile(r'<rect [^>]*data-background="1"[^>]*/>')
_DESCRIPTION = re.compile(r"<desc>(.*?)</desc>", re.DOTALL)
_TEXT = re.compile(r"<text[^>]*>([^<]*)</text>")
SCALES = (1, 2, 3, 4)


def png(svg: str, fonts: list[Font], *, scale: int = 1, transparent: bool = False) -> bytes:
    """Return a picture of an SVG; what its `<desc>` says is kept in the file.

    Args:
        svg: A scene's string.
        fonts: Every font that the drawing may use; no other one is looked at.
        scale: Pixels for each unit of the drawing, 1 to 4.
        transparent: Leave the background out.

    Raises:
        UserError: the scale is no whole number from 1 to 4, or resvg is not installed.
    """
    if scale not in SCALES:
        raise UserError(f"expected 1, 2, 3 or 4, got {scale}", where="scale", fix="4 is the largest picture")
    require("resvg_py", "pictures", "drawing a PNG")
    from resvg_py import svg_to_bytes

    drawn = without_background(svg) if transparent else svg
    data = svg_to_bytes(
        svg_string=drawn,
        skip_system_fonts=True,
        font_files=[str(font.path) for font in fonts],
        font_family=fonts[0].family,
        zoom=scale,
    )
    return _with_text(bytes(data), "Description", description(svg))


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
