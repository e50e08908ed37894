"""Numbers of several seeds and architectures: mean and spread, tests on the test set's examples, scores by length."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from seqline.comparing.exam import Exam, Measure
from seqline.evaluation.metrics import Array
from seqline.evaluation.significance import approximate_randomization, paired_bootstrap
from seqline.judging.comparison import LEVEL

EDGES = (10, 20, 30, 40, 50)
LEAST_TESTED = 10
TOLD = (
    "An example of the test set with its answers of all seeds together is one unit: what it adds to a score is summed over the "
    "seeds that both architectures have, and examples are drawn anew (paired bootstrap) or swapped between the two "
    "(approximate randomization) as a whole. A p-value thus says whether these trained models differ on other examples; how "
    f"much other seeds differ is told by the spread. A verdict stands where both p-values are below {LEVEL} and the difference "
    "has one sign with every seed. The p-values are not corrected for the number of comparisons; and where no baseline was "
    "named, the one taken is the best on these very examples, so a part of its lead may be luck."
)


class Spread(NamedTuple):
    """Some numbers. sd: of a sample (divided by n - 1), None of a single number."""

    mean: float
    sd: float | None
    n: int
    values: list[float]


def spread(values: Sequence[float]) -> Spread | None:
    """Return mean and standard deviation, None of nothing."""
    if not values:
        return None
    mean = math.fsum(values) / len(values)
    squares = math.fsum((value - mean) ** 2 for value in values)
    return Spread(mean, math.sqrt(squares / (len(values) - 1)) if len(values) > 1 else None, len(values), list(values))


class Contrast(NamedTuple):
    """One score of an architecture against the baseline; the values are those of all seeds together.

    difference: architecture minus baseline. interval: of the difference, 95 %, by bootstrap. The p-values are None, and the
    verdict says so, where there are too few examples.
    """

    key: str
    value: float
    baseline: float
    difference: float
    interval: list[float] | None
    p_bootstrap: float | None
    p_randomization: float | None
    num_seeds: int
    verdict: str


def contrast(measure: Measure, mine: Sequence[Array], theirs: Sequence[Array], num_trials: int, seed: int) -> Contrast:
    """Test whether two architectures differ.

    Args:
        measure: the score.
        mine: what each example adds with the one, [N S] of each seed.
        theirs: of the baseline, the same seeds.
        num_trials: of each test.
        seed: of both.
    """
    ours, others = (np.sum(seeds, axis=0) for seeds in (mine, theirs))
    value, baseline = (float(measure.value(each.sum(axis=0))) for each in (ours, others))
    difference = value - baseline
    if len(ours) < LEAST_TESTED:
        verdict = f"fewer than {LEAST_TESTED} examples: no test"
        return Contrast(measure.key, value, baseline, difference, None, None, None, len(mine), verdict)
    drawn = paired_bootstrap(ours, others, measure.value, num_resamples=num_trials, seed=seed)
    swapped = approximate_randomization(ours, others, measure.value, num_trials=num_trials, seed=seed)
    p_values = drawn.p_value, swapped.p_value
    by_seed = [
        float(measure.value(a.sum(axis=0))) - float(measure.value(b.sum(axis=0)))
        for a, b in zip(mine, theirs, strict=True)
    ]
    verdict = _verdict(difference, by_seed, max(p_values), is_higher_better=measure.is_higher_better)
    return Contrast(measure.key, value, baseline, difference, list(drawn.difference), *p_values, len(mine), verdict)


def _verdict(difference: float, by_seed: Sequence[float], p_value: float, *, is_higher_better: bool) -> str:
    if p_value >= LEVEL or difference == 0:
        return "no difference shown"
    if any(each * difference <= 0 for each in by_seed):
        return "the seeds disagree"
    return "better" if (difference > 0) is is_higher_better else "worse"


class Bucket(NamedTuple):
    """Examples of one range of lengths. values: the score of each seed."""

    label: str
    num_examples: int
    values: list[float]


def by_length(exam: Exam, measure: Measure, statistics: Sequence[Array]) -> list[Bucket]:
    """Score the examples of each range of lengths that has some; statistics: [N S] of each seed."""
    lengths = np.maximum(exam.lengths()[0], 1)
    buckets = []
    for low, high in zip((0, *EDGES), (*EDGES, None), strict=True):
        rows = (lengths > low) & (lengths <= (high or lengths.max()))
        label = f"{low + 1}-{high}" if high else f"over {low}"
        if rows.any():
            values = [float(measure.value(each[rows].sum(axis=0))) for each in statistics]
            buckets.append(Bucket(label, int(rows.sum()), values))
    return buckets


def as_json(value: Any) -> Any:
    """Return records as plain tables and lists."""
    if hasattr(value, "_asdict"):
        return {name: as_json(each) for name, each in value._asdict().items()}
    if isinstance(value, dict):
        return {name: as_json(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(each) for each in value]
    return value
