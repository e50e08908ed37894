"""Mean, spread and tests, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import ArrayLike

from seqline.comparing.exam import Measure
from seqline.comparing.statistics import by_length, contrast, spread
from seqline.evaluation.significance import approximate_randomization, mean_statistics, mean_value, paired_bootstrap

HIT = Measure(
    "hit", "hits", True, "", 2, lambda answers: mean_statistics(answers["hits"]), lambda sums: 100 * mean_value(sums)
)
LOSS = HIT._replace(key="loss", is_higher_better=False)


def test_mean_and_sample_deviation() -> None:
    found = spread([2.0, 4.0, 9.0])
    assert found is not None
    assert found.mean == 5.0
    assert found.sd == pytest.approx(math.sqrt((9 + 1 + 16) / 2))
    assert (found.n, found.values) == (3, [2.0, 4.0, 9.0])


def test_one_value_has_no_spread_and_none_has_no_mean() -> None:
    assert spread([3.0]) == (3.0, None, 1, [3.0])
    assert spread([]) is None


def answers(*hits: int) -> np.ndarray:
    return mean_statistics(hits)


def test_the_seeds_of_an_example_are_one_unit() -> None:
    mine = [answers(*[1] * 20), answers(*[1] * 15, *[0] * 5)]
    theirs = [answers(*[0] * 10, *[1] * 10), answers(*[1] * 20)]
    found = contrast(HIT, mine, theirs, 200, 7)
    assert (found.value, found.baseline, found.difference) == (87.5, 75.0, 12.5)
    ours = np.array([[2, 2]] * 15 + [[1, 2]] * 5, float)
    others = np.array([[1, 2]] * 10 + [[2, 2]] * 10, float)

    def value(sums: ArrayLike) -> np.ndarray:
        return 100 * mean_value(sums)

    drawn = paired_bootstrap(ours, others, value, num_resamples=200, seed=7)
    swapped = approximate_randomization(ours, others, value, num_trials=200, seed=7)
    assert (found.p_bootstrap, found.p_randomization) == (drawn.p_value, swapped.p_value)
    assert found.interval == list(drawn.difference)


def test_a_clear_difference_has_a_verdict_in_the_right_direction() -> None:
    good, bad = [answers(*[1] * 40)], [answers(*[0] * 35, *[1] * 5)]
    assert contrast(HIT, good, bad, 500, 1).verdict == "better"
    assert contrast(HIT, bad, good, 500, 1).verdict == "worse"
    assert contrast(LOSS, good, bad, 500, 1).verdict == "worse"


def test_a_verdict_wants_every_seed_on_one_side() -> None:
    good, bad = answers(*[1] * 40), answers(*[0] * 40)
    a_little_better = answers(*[1] * 2, *[0] * 38)
    found = contrast(HIT, [good, bad], [bad, a_little_better], 500, 1)
    assert max(found.p_bootstrap or 0, found.p_randomization or 0) < 0.05
    assert found.verdict == "the seeds disagree"
    assert contrast(HIT, [good, a_little_better], [bad, bad], 500, 1).verdict == "better"


def test_equal_systems_show_no_difference() -> None:
    found = contrast(HIT, [answers(*[1, 0] * 10)], [answers(*[1, 0] * 10)], 100, 1)
    assert (found.verdict, found.p_bootstrap, found.p_randomization) == ("no difference shown", 1.0, 1.0)


def test_a_few_examples_are_not_tested() -> None:
    found = contrast(HIT, [answers(*[1] * 9)], [answers(*[0] * 9)], 100, 1)
    assert (found.p_bootstrap, found.p_randomization, found.interval) == (None, None, None)
    assert found.verdict == "fewer than 10 examples: no test"


class Lengths:
    def lengths(self) -> tuple[list[int], str]:
        return [0, 3, 10, 11, 60], "words"


def test_scores_by_length() -> None:
    buckets = by_length(Lengths(), HIT, [answers(1, 0, 0, 1, 1), answers(1, 1, 1, 0, 1)])  # pyright: ignore[reportArgumentType]
    assert [(b.label, b.num_examples) for b in buckets] == [("1-10", 3), ("11-20", 1), ("over 50", 1)]
    assert buckets[0].values == pytest.approx([100 / 3, 100.0])
    assert [b.values for b in buckets[1:]] == [[100.0, 0.0], [100.0, 100.0]]
