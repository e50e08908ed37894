"""A plot of series and their forecasts as SVG, PNG or one HTML page: what was, what is forecast, and how sure that is.

Each series has a panel of its own, with the end of its history, the forecast, and a band for each interval. Lines differ by
dash and mark, not by colour alone; the page has the numbers as a table.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from seqline.errors import UserError, did_you_mean
from seqline.files import PathLike, write_bytes, write_text
from seqline.visualize.extras import require
from seqline.visualize.fonts import load_fonts
from seqline.visualize.raster import png, texts
from seqline.visualize.ticks import round_numbers

SUFFIXES = ("png", "svg", "html")
MOST_PANELS = 12
_WIDTH, _HEIGHT, _HEAD = 860, 220, 34
_LEFT, _RIGHT, _TOP, _BOTTOM = 74, 20, 30, 30
_INK, _BLUE, _GREY = "#16202f", "#1b5cb8", "#b9c4d4"


class Band(NamedTuple):
    """An interval forecast. level: the share of cases that it should hold. low, high: [H]."""

    level: float
    low: Sequence[float]
    high: Sequence[float]


class Forecasted(NamedTuple):
    """One panel. title: of the series. times, values: [N] the end of the history, None where nothing was observed.

    future, mean: [H] the times and the forecast. bands: the widest first.
    """

    title: str
    times: Sequence[str]
    values: Sequence[float | None]
    future: Sequence[str]
    mean: Sequence[float]
    bands: Sequence[Band] = ()


def check_plot(path: PathLike) -> None:
    """Refuse, before any work, a file that no plot can be written to.

    Raises:
        UserError: another suffix than png, svg or html, or a PNG without the package that draws it.
    """
    suffix = Path(path).suffix.lower().lstrip(".")
    if suffix not in SUFFIXES:
        raise UserError(f"cannot draw {suffix!r} files", where=str(path), fix=did_you_mean(suffix, SUFFIXES))
    if suffix == "png":
        require("resvg_py", "pictures", "drawing a PNG")


def write_plot(path: PathLike, panels: Sequence[Forecasted]) -> None:
    """Draw panels into a file; its suffix says how.

    Args:
        path: ends in png, svg or html.
        panels: at least one; `MOST_PANELS` are drawn, and a line says how many are not.

    Raises:
        UserError: see `check_plot`; a disk that refuses.
    """
    check_plot(path)
    drawn = plot(panels)
    match Path(path).suffix.lower():
        case ".png":
            write_bytes(path, png(drawn, load_fonts(texts(drawn)), scale=2))
        case ".svg":
            write_text(path, drawn)
        case _:
            write_text(path, _page(drawn, panels))


def plot(panels: Sequence[Forecasted]) -> str:
    """Return the drawing as SVG."""
    shown, rest = panels[:MOST_PANELS], len(panels) - MOST_PANELS
    height = _HEAD + _HEIGHT * len(shown) + (24 if rest > 0 else 0)
    family = "'DejaVu Sans', sans-serif"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}" '
        f'role="img" font-family="{family}" font-size="12" fill="{_INK}">',
        f"<title>Forecast of {html.escape(', '.join(panel.title for panel in shown))}</title>",
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff" data-background="1"/>',
        *_key(shown),
    ]
    for number, panel in enumerate(shown):
        parts += [f'<g transform="translate(0 {_HEAD + _HEIGHT * number})">', *_panel(panel), "</g>"]
    if rest > 0:
        parts.append(f'<text x="{_LEFT}" y="{height - 9}">and {rest:,} more, not drawn</text>')
    return "\n".join([*parts, "</svg>"])


class _Scales:
    """Where a point is on the paper: x by its place in time, y between round numbers."""

    def __init__(self, panel: Forecasted) -> None:
        self.count = len(panel.values) + len(panel.mean)
        values = [value for value in panel.values if value is not None]
        values += [*panel.mean, *(value for band in panel.bands for side in band[1:] for value in side)]
        self.ticks = round_numbers(min(values), max(values))

    def x(self, place: int) -> float:
        """Return the distance from the left of the n-th time."""
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * ((place + 0.5) / self.count)

    def y(self, value: float) -> float:
        """Return the distance from the top."""
        low, high = self.ticks[0], self.ticks[-1]
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * (value - low) / (high - low)


def _panel(panel: Forecasted) -> Iterator[str]:
    scales, start = _Scales(panel), len(panel.values)
    yield f'<text x="{_LEFT}" y="20">{html.escape(panel.title)}</text>'
    for value in scales.ticks:
        y = f"{scales.y(value):.1f}"
        yield f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y}" y2="{y}" stroke="{_GREY}" stroke-width="0.6"/>'
        yield f'<text x="{_LEFT - 8}" y="{scales.y(value) + 4:.1f}" text-anchor="end">{_written(value)}</text>'
    yield from _times(panel, scales)
    for band in panel.bands:
        top = [(scales.x(start + n), scales.y(value)) for n, value in enumerate(band.high)]
        below = [(scales.x(start + n), scales.y(value)) for n, value in enumerate(band.low)]
        if len(top) == 1:  # one step has no area without a width
            top, below = _widened(top), _widened(below)
        yield f'<polygon points="{_points([*top, *reversed(below)])}" fill="{_BLUE}" fill-opacity="0.16"/>'
    for run in _observed(panel.values):
        yield _line([(scales.x(n), scales.y(value)) for n, value in run], _INK, "circle")
    past = [(n, value) for n, value in enumerate(panel.values) if value is not None][-1:]
    ahead = [(start + n, value) for n, value in enumerate(panel.mean)]
    yield _line([(scales.x(n), scales.y(value)) for n, value in [*past, *ahead]], _BLUE, "square", len(past))


def _widened(place: list[tuple[float, float]]) -> list[tuple[float, float]]:
    (x, y) = place[0]
    return [(x - 5, y), (x + 5, y)]


def _times(panel: Forecasted, scales: _Scales) -> Iterator[str]:
    """Write some of the times, and a line where the forecast begins."""
    edge = f"{(scales.x(len(panel.values) - 1) + scales.x(len(panel.values))) / 2:.1f}"
    yield (
        f'<line x1="{edge}" x2="{edge}" y1="{_TOP - 6}" y2="{_HEIGHT - _BOTTOM}" stroke="{_INK}" stroke-width="0.8" '
        'stroke-dasharray="2 3"/>'
    )
    names = [*panel.times, *panel.future]
    width = max(map(len, names)) * 7.2 + 16
    step = max(1, math.ceil(len(names) * width / (_WIDTH - _LEFT - _RIGHT)))
    for place in range(step // 2, len(names), step):
        x = min(max(scales.x(place), _LEFT + width / 2 - 30), _WIDTH - width / 2)
        yield f'<text x="{x:.1f}" y="{_HEIGHT - 10}" text-anchor="middle">{html.escape(names[place])}</text>'


def _observed(values: Sequence[float | None]) -> Iterator[list[tuple[int, float]]]:
    """Yield neighbours that were observed, with their places; a gap parts two lines."""
    run: list[tuple[int, float]] = []
    for place, value in enumerate(values):
        if value is not None:
            run.append((place, value))
        elif run:
            yield run
            run = []
    if run:
        yield run


def _line(places: Sequence[tuple[float, float]], colour: str, mark: str, first_mark: int = 0) -> str:
    """Draw a line; with marks where there is room for them."""
    dash = ' stroke-dasharray="6 3"' if mark == "square" else ""
    drawn = f'<polyline points="{_points(places)}" fill="none" stroke="{colour}" stroke-width="1.7"{dash}/>'
    if len(places) > 1 and places[-1][0] - places[0][0] < 6 * (len(places) - 1):
        return drawn
    for x, y in places[first_mark:]:
        if mark == "circle":
            drawn += f'<circle cx="{x:.1f}" cy="{y:.1f}" r="1.9" fill="{colour}"/>'
        else:
            drawn += f'<rect x="{x - 2.3:.1f}" y="{y - 2.3:.1f}" width="4.6" height="4.6" fill="{colour}"/>'
    return drawn


def _points(places: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


def _key(panels: Sequence[Forecasted]) -> Iterator[str]:
    x = float(_LEFT)
    levels = list(dict.fromkeys(band.level for panel in panels for band in panel.bands))
    samples = [
        ("history", _line([(0, 0), (26, 0)], _INK, "circle")),
        ("forecast", _line([(0, 0), (26, 0)], _BLUE, "square")),
    ]
    if levels:
        names = " / ".join(f"{level:.0%}" for level in levels)
        area = f'<rect y="-6" width="26" height="12" fill="{_BLUE}" fill-opacity="0.16"/>'
        samples.append((f"should hold {names} of cases", area))
    for name, sample in samples:
        yield f'<g transform="translate({x:.0f} 20)">{sample}</g>'
        yield f'<text x="{x + 34:.0f}" y="24">{name}</text>'
        x += 60 + 7.5 * len(name)


def _written(value: float) -> str:
    if value and not 1e-3 <= abs(value) < 1e7:
        return f"{value:.3g}"
    return f"{round(value, 9):,.10g}"


def _page(drawn: str, panels: Sequence[Forecasted]) -> str:
    """Return one HTML page with the drawing and its numbers; it asks no network for anything."""
    rows = []
    for panel in panels:
        sides = [side for band in panel.bands for side in band[1:]]
        for n, (time, value) in enumerate(zip(panel.future, panel.mean, strict=True)):
            cells = [
                html.escape(panel.title),
                html.escape(time),
                *(f"{x:.6g}" for x in (value, *(s[n] for s in sides))),
            ]
            rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    levels = list(dict.fromkeys(band.level for panel in panels for band in panel.bands))
    ends = [f"{end} of {level:.0%}" for level in levels for end in ("low end", "high end")]
    head = "".join(f"<th>{name}</th>" for name in ("series", "time", "forecast", *ends))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>Forecast</title>\n'
        "<style>body{font:16px/1.5 sans-serif;margin:2rem auto;max-width:62rem;padding:0 1rem;color:#16202f}"
        "svg{max-width:100%;height:auto}td,th{padding:.1rem .8rem;text-align:right}</style>\n</head>\n<body>\n"
        f"<h1>Forecast</h1>\n{drawn}\n<h2>Numbers</h2>\n<table>\n<tr>{head}</tr>\n"
        + "\n".join(rows)
        + "\n</table>\n</body>\n</html>\n"
    )
