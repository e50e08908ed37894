"""Line plots as inline SVG: a line a series, told apart by colour, dash and mark, never by colour alone."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import NamedTuple

from seqline.visualize.ticks import round_numbers

WIDTH, HEIGHT = 460, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 20, 14, 44
STYLES = 8
"""So many series look different; more begin anew."""
_MARKS = ("circle", "square", "diamond", "triangle")


class Series(NamedTuple):
    """One line. style: 0 to 7 how it looks, the same number in every plot of a page. points: (x, y), from left to right."""

    name: str
    style: int
    points: Sequence[tuple[float, float]]


class Axis(NamedTuple):
    """One axis. label: with the unit. names: of the places 0, 1, 2, ... where they are no numbers."""

    label: str
    names: Sequence[str] = ()


def lines(title: str, x: Axis, y: Axis, series: Sequence[Series]) -> str:
    """Return a plot.

    Args:
        title: what is drawn, for those who do not see it; numbers stand in tables or files.
        x: the axis below.
        y: the axis at the left.
        series: lines; one of a single point is a mark.
    """
    points = [point for each in series for point in each.points if all(map(math.isfinite, point))]
    if not points:
        return ""
    x_ticks = [(float(n), name) for n, name in enumerate(x.names)] or _ticks(
        [p[0] for p in points], starts_at_zero=True
    )
    y_ticks = _ticks([p[1] for p in points], starts_at_zero=False)
    frame = _Frame(
        (min(v for v, _ in x_ticks), max(v for v, _ in x_ticks)), (y_ticks[0][0], y_ticks[-1][0]), bool(x.names)
    )
    parts = [f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"><title>{html.escape(title)}</title>']
    for value, label in y_ticks:
        across = frame.y(value)
        parts.append(f'<line class="rule" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{across:.1f}" y2="{across:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 7}" y="{across + 4:.1f}" text-anchor="end">{label}</text>')
    for value, label in x_ticks:
        parts.append(
            f'<text x="{frame.x(value):.1f}" y="{HEIGHT - _BOTTOM + 18}" text-anchor="middle">{html.escape(label)}</text>'
        )
    middle = (_LEFT + WIDTH - _RIGHT) / 2
    parts.append(
        f'<text class="axis" x="{middle:.1f}" y="{HEIGHT - 6}" text-anchor="middle">{html.escape(x.label)}</text>'
    )
    half = (_TOP + HEIGHT - _BOTTOM) / 2
    parts.append(
        f'<text class="axis" transform="translate(13 {half:.1f}) rotate(-90)" text-anchor="middle">{html.escape(y.label)}</text>'
    )
    parts += [_line(each, frame) for each in series]
    return "".join([*parts, "</svg>"])


def key(names: Sequence[str]) -> str:
    """Return what tells the styles 0, 1, ... apart: a sample and a name each."""
    items = []
    for number, name in enumerate(names):
        sample = _line(
            Series(name, number, [(0.0, 0.0), (1.0, 0.0)]), _Frame((-0.2, 1.2), (-1.0, 1.0), False, (0, 40, 0, 14))
        )
        items.append(
            f'<li><svg viewBox="0 0 40 14" width="40" height="14" aria-hidden="true">{sample}</svg>{html.escape(name)}</li>'
        )
    return f'<ul class="styles">{"".join(items)}</ul>'


class _Frame:
    """Where a value is on the paper."""

    def __init__(
        self,
        x_range: tuple[float, float],
        y_range: tuple[float, float],
        is_inset: bool,
        box: tuple[float, float, float, float] = (_LEFT, WIDTH - _RIGHT, _TOP, HEIGHT - _BOTTOM),
    ) -> None:
        inset = 24 if is_inset else 0
        self.x_range, self.y_range = x_range, y_range
        self.left, self.right, self.top, self.bottom = box[0] + inset, box[1] - inset, box[2], box[3]

    def x(self, value: float) -> float:
        """Return the place from the left."""
        low, high = self.x_range
        return self.left + (self.right - self.left) * ((value - low) / (high - low) if high > low else 0.5)

    def y(self, value: float) -> float:
        """Return the place from the top."""
        low, high = self.y_range
        return self.bottom - (self.bottom - self.top) * ((value - low) / (high - low) if high > low else 0.5)


def _line(series: Series, frame: _Frame) -> str:
    places = [(frame.x(x), frame.y(y)) for x, y in series.points if math.isfinite(x) and math.isfinite(y)]
    style = series.style % STYLES
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    marks = "".join(_mark(_MARKS[style % len(_MARKS)], x, y) for x, y in places)
    drawn = f'<polyline points="{path}"/>' if len(places) > 1 else ""
    return f'<g class="series style-{style}"><title>{html.escape(series.name)}</title>{drawn}{marks}</g>'


def _mark(kind: str, x: float, y: float) -> str:
    if kind == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2"/>'
    if kind == "square":
        return f'<rect x="{x - 3:.1f}" y="{y - 3:.1f}" width="6" height="6"/>'
    corners = [(0, -4.2), (4.2, 0), (0, 4.2), (-4.2, 0)] if kind == "diamond" else [(0, -4), (4, 3), (-4, 3)]
    return f'<polygon points="{" ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners)}"/>'


def _ticks(values: Sequence[float], *, starts_at_zero: bool) -> list[tuple[float, str]]:
    """Return round numbers around some values, with what is written for them."""
    low, high = min(values), max(values)
    if starts_at_zero:
        low = min(0.0, low)
    return [(tick, _written(tick)) for tick in round_numbers(low, high)]


def _written(value: float) -> str:
    if abs(value) >= 1e6:
        return f"{value / 1e6:g}M"
    return f"{value / 1e3:g}k" if abs(value) >= 1e4 else f"{round(value, 10):g}"
