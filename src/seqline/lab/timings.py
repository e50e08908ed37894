"""Numbers of a machine that does other things too: medians over repeats, and how a cost grows with a length.

Whatever is compared is measured in turns, so that a busy moment meets all of it. A slope is taken of each turn alone:

    slope = d log cost / d log length      0: the cost stays, 1: it grows like the length, 2: like its square
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from seqline.lab.slopes import slope

LEAST_TURNS = 3
"""Fewer turns decide nothing."""
SPREAD = "the quartiles of the turns lie there; undecided where they hold the bound"
"""What "above" and "below" mean in a rule."""


class Spread(NamedTuple):
    """The median of some turns, their quartiles, and how many there were; of a counted number all three are the same."""

    value: float
    low: float
    high: float
    num_turns: int

    def is_above(self, bound: float) -> bool | None:
        """Tell whether it is above a bound; None where that is not sure."""
        if self.num_turns < LEAST_TURNS or self.low <= bound <= self.high:
            return None
        return self.low > bound

    def is_below(self, bound: float) -> bool | None:
        """Tell whether it is below a bound; None where that is not sure."""
        is_above = self.is_above(bound)
        return None if is_above is None else not is_above

    def numbers(self, name: str) -> dict[str, float | int]:
        """Return all under names that begin with `name`."""
        of = {name: self.value, f"{name}_low": self.low, f"{name}_high": self.high}
        return {**of, f"{name}_turns": self.num_turns}

    def __str__(self) -> str:
        """Write median and quartiles."""
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"


def spread_of(turns: Sequence[float]) -> Spread:
    """Return median and quartiles."""
    low, middle, high = np.quantile(np.asarray(turns, np.float64), (0.25, 0.5, 0.75))
    return Spread(float(middle), float(low), float(high), len(turns))


def growth(costs: Mapping[int, float], first: int, last: int) -> float:
    """Return d log cost / d log length by least squares over the lengths from `first` to `last`.

    Args:
        costs: of each length, above 0.
        first, last: lengths, both included.
    """
    lengths = [length for length in costs if first <= length <= last]
    if any(costs[length] <= 0 for length in lengths):
        raise ValueError("a cost must be above 0 to have a logarithm")
    x, y = (np.log(np.asarray(each, np.float64)) for each in (lengths, [costs[length] for length in lengths]))
    return slope(x, y)


def growths(turns: Mapping[int, Sequence[float]], first: int, last: int) -> Spread:
    """Return the growth of each turn, `turns` being the costs of each length turn by turn."""
    num_turns = min(len(costs) for costs in turns.values())
    by_turn = ({length: costs[turn] for length, costs in turns.items()} for turn in range(num_turns))
    return spread_of([growth(costs, first, last) for costs in by_turn])


def medians(turns: Mapping[int, Sequence[float]]) -> dict[int, float]:
    """Return the median cost of each length."""
    return {length: statistics.median(costs) for length, costs in turns.items()}
