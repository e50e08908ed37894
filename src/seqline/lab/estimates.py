"""How sure a measured share is: intervals over the examples of a test set, all seeds together, and what they decide.

An example is one unit with what it adds in all seeds, so an interval says how the very same models would do on other examples;
how much other seeds differ is told by their own values, which must all lie on the same side for a verdict.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from seqline.evaluation.significance import Array, Value, mean_value, paired_bootstrap
from seqline.lab.experiment import Verdict, decide

LEAST_UNITS = 20
"""Fewer examples decide nothing."""
SURE = "the 95 % bootstrap interval over the test examples, all seeds together, and the value of every seed"
"""What "above" and "below" mean in a rule."""


class Estimate(NamedTuple):
    """A measured value. low, high: its 95 % interval. by_seed: of each seed alone. num_units: examples that count."""

    value: float
    low: float
    high: float
    by_seed: tuple[float, ...]
    num_units: int

    def is_above(self, bound: float) -> bool | None:
        """Tell whether the value is above a bound; None where it is neither surely above nor surely below."""
        if self.num_units < LEAST_UNITS:
            return None
        if self.low > bound and min(self.by_seed) > bound:
            return True
        return False if self.high < bound and max(self.by_seed) < bound else None

    def is_below(self, bound: float) -> bool | None:
        """Tell whether the value is below a bound; None where that is not sure."""
        is_above = self.is_above(bound)
        return None if is_above is None else not is_above

    def numbers(self, name: str) -> dict[str, float | int]:
        """Return value, interval and the value of each seed under names that begin with `name`."""
        seeds = {f"{name}_seed_{number}": value for number, value in enumerate(self.by_seed, 1)}
        return {
            name: self.value,
            f"{name}_low": self.low,
            f"{name}_high": self.high,
            f"{name}_examples": self.num_units,
            **(seeds if len(seeds) > 1 else {}),
        }

    def said(self, unit: str = "%", digits: int = 1) -> str:
        """Return "12.3 % (11.0 to 13.9)"; of shares in percent."""
        scale, of = (100.0, f" {unit}") if unit == "%" else (1.0, f" {unit}" if unit else "")
        low, high = (f"{scale * each:.{digits}f}" for each in (self.low, self.high))
        return f"{scale * self.value:.{digits}f}{of} ({low} to {high})"


def share(seeds: Sequence[ArrayLike], value: Value = mean_value) -> Estimate:
    """Return a score with its interval.

    Args:
        seeds: [N S] of each seed, what each example adds, the same examples in all; by default its hits and its cases.
        value: sums [... S] to the score.
    """
    nothing = [np.zeros_like(np.asarray(seed, np.float64)) for seed in seeds]
    return _estimate(seeds, nothing, lambda sums: np.where(np.any(sums != 0, axis=-1), value(sums), 0.0))


def difference(mine: Sequence[ArrayLike], theirs: Sequence[ArrayLike], value: Value = mean_value) -> Estimate:
    """Return the score of one minus that of the other with its interval; arguments as in `share`, the same examples."""
    return _estimate(mine, theirs, value)


def above_verdict(claim: str, estimate: Estimate, bound: float, what: str, more: str = "") -> Verdict:
    """Decide a claim that a share is above a bound.

    Args:
        claim: its key.
        estimate: of the share.
        bound: a share.
        what: is estimated, as it stands in the rule.
        more: of the rule.
    """
    rule = f"held where {what} is above {100 * bound:g} %, not held where it is below; by {SURE}{more}"
    said = f"{what}: {estimate.said()}"
    return Verdict(claim, decide(estimate.is_above(bound)), rule, estimate.numbers("value"), said)


def _estimate(mine: Sequence[ArrayLike], theirs: Sequence[ArrayLike], value: Value) -> Estimate:
    pairs = [(_array(a), _array(b)) for a, b in zip(mine, theirs, strict=True)]
    ours, others = (np.sum(side, axis=0) for side in zip(*pairs, strict=True))
    counted = np.any((ours != 0) | (others != 0), axis=-1)
    num_units = int(counted.sum())
    if not num_units:
        return Estimate(math.nan, math.nan, math.nan, (math.nan,) * len(pairs), 0)
    drawn = paired_bootstrap(ours, others, value)
    by_seed = tuple(float(value(a.sum(axis=0)) - value(b.sum(axis=0))) for a, b in pairs)
    return Estimate(drawn.delta, drawn.difference.low, drawn.difference.high, by_seed, num_units)


def _array(numbers: ArrayLike) -> Array:
    return np.asarray(numbers, dtype=np.float64)
