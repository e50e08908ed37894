"""Drawings as files of their own: a plot of `comparing.plots` gets its colours, for light and dark, and its key."""

from __future__ import annotations

import html
import re
from functools import cache
from importlib.resources import files as package_files

from seqline.comparing.plots import STYLES, key

_NAMESPACE = "http://www.w3.org/2000/svg"
_ROW, _LETTER, _SAMPLE, _GAP = 20, 6.7, 40, 16
_LIGHT = "--ink: #16202f; --soft: #505c70; --line: #d5dce7; --paper: #ffffff;"
_DARK = "--ink: #e8edf4; --soft: #a5b1c2; --line: #2b3543; --paper: #151b24;"
_FONT = 'font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;'


def standalone(svg: str) -> str:
    """Return a drawing that any viewer shows as it is meant.

    A plot of `comparing.plots.lines` leaves colours and key to its page; here both are put in. Any other is taken as it is.
    """
    if not svg.startswith('<svg class="plot"'):
        return svg if "xmlns=" in svg.partition(">")[0] else svg.replace("<svg", f'<svg xmlns="{_NAMESPACE}"', 1)
    opening, _, inner = svg.partition(">")
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', opening)
    if box is None:
        return svg
    width, height = (float(part) for part in box.groups())
    samples, key_height = _key(svg, width)
    opening = opening.replace(box.group(0), f'viewBox="0 0 {width:g} {height + key_height:g}"')
    opening = opening.replace("<svg", f'<svg xmlns="{_NAMESPACE}"', 1)
    drawn = inner.removesuffix("</svg>")
    return f'{opening}><style>{_style()}</style>{drawn}<g transform="translate(0 {height:g})">{samples}</g></svg>\n'


def _key(svg: str, width: float) -> tuple[str, float]:
    """Return samples of the styles of a plot with their names, in rows, and the height of it all."""
    found = re.findall(r'<g class="series style-(\d)"><title>(.*?)</title>', svg)
    names = dict.fromkeys((int(style), html.unescape(name)) for style, name in found)
    parts, x, y = [], 8.0, 4.0
    for style, name in names:
        room = _SAMPLE + 6 + _LETTER * len(name)
        if x > 8 and x + room > width:
            x, y = 8.0, y + _ROW
        parts.append(
            f'<g transform="translate({x:g} {y:g})">{_samples()[style % STYLES]}'
            f'<text x="{_SAMPLE + 6}" y="11">{html.escape(name)}</text></g>'
        )
        x += room + _GAP
    return "".join(parts), y + _ROW if parts else 0.0


@cache
def _samples() -> list[str]:
    """Return a sample of each style, as plots draw them."""
    return re.findall(r'<svg viewBox="0 0 40 14"[^>]*>(.*?)</svg>', key([""] * STYLES))


@cache
def _style() -> str:
    """Return colours, paper and strokes: those that the page of a comparison has for its plots."""
    page = package_files("seqline.comparing").joinpath("page.css").read_text(encoding="utf-8")
    dark = f"@media (prefers-color-scheme: dark) {{ svg {{ {_DARK} }} }}"
    return f"svg {{ {_LIGHT} {_FONT} background: var(--paper); }} {dark} {' '.join(page.split())}"
