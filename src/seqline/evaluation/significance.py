"""Is one system better than another, or was it luck: paired bootstrap resampling and paired approximate randomization.

Both work on what each sentence adds to a score (`Metric.statistics`, [N S]) and on the function that makes the score of sums
(`Metric.value`): corpus scores such as BLEU are no means of sentence scores. Plain numbers, losses or hits, come in through
`mean_statistics` and `mean_value`.

Approximate randomization asks whether the two outputs of a sentence could be swapped, on this test set: its p-value is
two-sided, and exact up to the number of trials. The bootstrap asks how the difference would come out on other sentences like
these, so it also gives intervals. Its p-value is Riezler and Maxwell's shifted one, as in sacreBLEU: one-sided in effect,
about half of the other, and never much above 0.4 for systems that differ at all. Claim a difference by the first.

    p = (1 + number of trials at least as extreme) / (1 + number of trials)

A trial as extreme as what was measured counts, so two equal systems get p = 1.

*Source*: Koehn 2004, "Statistical Significance Tests for Machine Translation Evaluation"; Riezler and Maxwell 2005, "On Some
Pitfalls in Automatic Evaluation and Significance Testing for MT", figures 1 and 2; Post 2018 (sacreBLEU).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Value = Callable[[Array], Array]

# How many numbers an array of one batch of trials may hold: 8 MB.
_BATCH_NUMBERS = 1_000_000
# A trial that falls short by no more than this part of the scores is a tie: sums of fractions are rounded.
_ROUNDING = 1e-12


class Interval(NamedTuple):
    """What 95 in 100 resamples lie between, ends included."""

    low: float
    high: float


class Bootstrap(NamedTuple):
    """A paired bootstrap. delta: value of the system minus value of the baseline, on all sentences."""

    delta: float
    system: Interval
    baseline: Interval
    difference: Interval
    p_value: float
    num_resamples: int
    seed: int


class Randomization(NamedTuple):
    """An approximate randomization. delta: value of the system minus value of the baseline, on all sentences."""

    delta: float
    p_value: float
    num_trials: int
    seed: int


def paired_bootstrap(
    system: ArrayLike, baseline: ArrayLike, value: Value, *, num_resamples: int = 1000, seed: int = 12345
) -> Bootstrap:
    """Draw the test set anew, with replacement, and score both systems on the same sentences each time.

        p = (1 + #{r : |dᵣ| - mean |d| ≥ |delta|}) / (1 + R)

    Args:
        system: [N S], what each sentence adds to the score of the system.
        baseline: [N S], the same sentences of the other system.
        value: Sums [R S] -> scores [R].
        num_resamples: R, how often to draw.
        seed: Decides the sentences drawn; the same seed gives the same numbers.

    Returns:
        The difference, 95 % intervals of both systems and of the difference, and the p-value.

    Raises:
        ValueError: No sentences, unlike shapes, numbers that are not finite, or no resample.

    *Source*: Koehn 2004; the p-value as in Riezler and Maxwell 2005, figure 2, and in sacreBLEU.
    """
    ours, theirs = _check(system, baseline, num_resamples)
    draws = np.random.Generator(np.random.PCG64(seed))
    num_sentences = len(ours)
    sums = [
        (counts @ ours, counts @ theirs)
        for counts in (_draw_counts(draws, rows, num_sentences) for rows in _batches(num_resamples, num_sentences))
    ]
    our_values, their_values = (np.asarray(value(np.concatenate(side)), np.float64) for side in zip(*sums, strict=True))
    differences = our_values - their_values
    size = np.abs(differences)
    delta, p_value = _compare(ours, theirs, value, size - size.mean())
    system_interval, baseline_interval = _interval(our_values), _interval(their_values)
    return Bootstrap(delta, system_interval, baseline_interval, _interval(differences), p_value, num_resamples, seed)


def approximate_randomization(
    system: ArrayLike, baseline: ArrayLike, value: Value, *, num_trials: int = 10_000, seed: int = 12345
) -> Randomization:
    """Swap the two outputs of each sentence or not, by a coin, and see how often the difference is as large.

        p = (1 + #{r : |dᵣ| ≥ |delta|}) / (1 + R)

    Args:
        system: [N S], what each sentence adds to the score of the system.
        baseline: [N S], the same sentences of the other system.
        value: Sums [R S] -> scores [R].
        num_trials: R, how often to swap.
        seed: Decides the swaps; the same seed gives the same numbers.

    Returns:
        The difference and the two-sided p-value.

    Raises:
        ValueError: No sentences, unlike shapes, numbers that are not finite, or no trial.

    *Source*: Riezler and Maxwell 2005, figure 1.
    """
    ours, theirs = _check(system, baseline, num_trials)
    draws = np.random.Generator(np.random.PCG64(seed))
    our_sum, their_sum, exchange = ours.sum(axis=0), theirs.sum(axis=0), theirs - ours
    moved = np.concatenate(
        [
            (draws.random((rows, len(ours))) < 0.5).astype(np.float64) @ exchange
            for rows in _batches(num_trials, len(ours))
        ]
    )
    differences = np.asarray(value(our_sum + moved), np.float64) - np.asarray(value(their_sum - moved), np.float64)
    delta, p_value = _compare(ours, theirs, value, np.abs(differences))
    return Randomization(delta, p_value, num_trials, seed)


def mean_statistics(numbers: ArrayLike, weights: ArrayLike | None = None) -> Array:
    """Return what plain numbers add to their mean, for the tests above with `mean_value`.

    Args:
        numbers: [N], one a sentence, such as a loss, or 1 for right and 0 for wrong. With weights: sums over the sentence.
        weights: [N], what each sentence counts, such as its tokens for a sum of losses; else 1.

    Returns:
        [N 2], the numbers and their weights.
    """
    column = np.asarray(numbers, dtype=np.float64)
    return np.stack([column, np.ones_like(column) if weights is None else np.asarray(weights, np.float64)], axis=-1)


def mean_value(sums: ArrayLike) -> Array:
    """Return sum of the numbers / sum of the weights, 0 where nothing counts. sums: [... 2] -> [...]."""
    both = np.asarray(sums, dtype=np.float64)
    return (both[..., 0] / np.where(both[..., 1] != 0, both[..., 1], np.inf))[()]


def _check(system: ArrayLike, baseline: ArrayLike, num_trials: int) -> tuple[Array, Array]:
    ours, theirs = np.asarray(system, dtype=np.float64), np.asarray(baseline, dtype=np.float64)
    if ours.shape != theirs.shape or ours.ndim != 2 or not len(ours):
        raise ValueError(f"two arrays [N S] of the same sentences, N from 1; got {ours.shape} and {theirs.shape}")
    if not (np.isfinite(ours).all() and np.isfinite(theirs).all()):
        raise ValueError("statistics are numbers; got an infinite one or none at all (NaN)")
    if num_trials < 1:
        raise ValueError(f"1 trial or more; got {num_trials}")
    return ours, theirs


def _batches(num_trials: int, num_sentences: int) -> Iterator[int]:
    """Yield how many trials to make at once; the numbers drawn do not depend on it."""
    most = max(1, _BATCH_NUMBERS // num_sentences)
    for first in range(0, num_trials, most):
        yield min(most, num_trials - first)


def _draw_counts(draws: np.random.Generator, rows: int, num_sentences: int) -> Array:
    """Return [rows N], how often each sentence stands in each resample of N."""
    drawn = draws.integers(num_sentences, size=(rows, num_sentences))
    places = drawn + np.arange(rows)[:, None] * num_sentences
    counts = np.bincount(places.ravel(), minlength=rows * num_sentences)
    return counts.reshape(rows, num_sentences).astype(np.float64)


def _compare(ours: Array, theirs: Array, value: Value, sizes: Array) -> tuple[float, float]:
    """Return the difference on all sentences, and the p-value of the trials' differences `sizes` [R] against it."""
    our_value, their_value = float(value(ours.sum(axis=0))), float(value(theirs.sum(axis=0)))
    delta = our_value - their_value
    threshold = abs(delta) - _ROUNDING * (abs(our_value) + abs(their_value))
    return delta, (1 + int((sizes >= threshold).sum())) / (1 + len(sizes))


def _interval(values: Array) -> Interval:
    ordered, cut = np.sort(values), len(values) // 40
    return Interval(float(ordered[cut]), float(ordered[-1 - cut]))
