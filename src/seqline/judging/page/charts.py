"""Bars side by side as an inline SVG: one value a group, or one for each of two systems."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import NamedTuple

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 380, 210, 30, 4, 18, 36
_WIDEST_BAR = 24.0


class Group(NamedTuple):
    """Bars that stand together. label: under them. note: under the label. values: one a system; None = no bar."""

    label: str
    note: str
    values: Sequence[float | None]


def bars(title: str, groups: Sequence[Group]) -> str:
    """Return a chart of values from 0 to 100; systems are told apart by fill and outline, not by colour alone.

    Args:
        title: what is drawn, for those who do not see it; the table beside it has the numbers.
        groups: from left to right, all with the same number of values.
    """
    step = (_WIDTH - _LEFT - _RIGHT) / max(1, len(groups))
    down = _HEIGHT - _TOP - _BOTTOM
    parts = [f'<svg class="chart" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img"><title>{html.escape(title)}</title>']
    for value in range(0, 101, 25):
        y = _TOP + down * (1 - value / 100)
        parts.append(f'<line class="rule" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 5}" y="{y + 3.5:.1f}" text-anchor="end">{value}</text>')
    for place, group in enumerate(groups):
        middle = _LEFT + step * (place + 0.5)
        parts.append(
            f'<text x="{middle:.1f}" y="{_HEIGHT - 22}" text-anchor="middle">{html.escape(group.label)}</text>'
        )
        parts.append(
            f'<text class="note" x="{middle:.1f}" y="{_HEIGHT - 8}" text-anchor="middle">{html.escape(group.note)}</text>'
        )
        parts += _bars_of(group, middle, step, down)
    return "".join([*parts, "</svg>"])


def _bars_of(group: Group, middle: float, step: float, down: float) -> list[str]:
    width = min(_WIDEST_BAR, 0.84 * step / len(group.values))
    left = middle - width * len(group.values) / 2
    parts = []
    for number, value in enumerate(group.values):
        if value is None:
            continue
        height = down * min(100.0, max(0.0, value)) / 100
        x, y = left + number * width + 1, _TOP + down - height
        parts.append(
            f'<rect class="bar-{number}" x="{x:.1f}" y="{y:.1f}" width="{width - 2:.1f}" height="{height:.1f}"/>'
        )
        parts.append(
            f'<text class="value" x="{x + width / 2 - 1:.1f}" y="{y - 3:.1f}" text-anchor="middle">{value:.0f}</text>'
        )
    return parts
