"""Round numbers for the axis of a plot."""

from __future__ import annotations

import math

LEAST = 1e-300
"""Of what is drawn: where values differ by less, their fourth is no longer a number to take a logarithm of."""


def round_numbers(low: float, high: float) -> list[float]:
    """Return three to seven round numbers, evenly spaced, the first at or below `low`, the last at or above `high`."""
    middle = max(abs(low), abs(high))
    if high - low <= max(1e-9 * middle, LEAST):
        room = middle * 0.1 if middle > LEAST else 0.5
        low, high = low - room, high + room
    rough = (high - low) / 4
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [n * step for n in range(first, max(last, first + 1) + 1)]
