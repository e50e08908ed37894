"""Significance tests: against sacreBLEU, against all swaps there are, and how they hang on their seed."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest

from seqline.evaluation.metrics import METRICS, MetricOptions
from seqline.evaluation.significance import (
    Bootstrap,
    approximate_randomization,
    mean_statistics,
    mean_value,
    paired_bootstrap,
)

OPTIONS = MetricOptions()
SMALL = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=7)


def systems(seed: int, share: float, other_share: float, count: int = 60) -> tuple[list[str], list[str], list[str]]:
    """Return references and the outputs of two systems that get this share of the words wrong."""
    chance = random.Random(seed)
    words = [f"w{i}" for i in range(30)]
    references = [" ".join(chance.choices(words, k=chance.randint(4, 15))) for _ in range(count)]

    def damaged(wrong: float) -> list[str]:
        return [" ".join(chance.choice(words) if chance.random() < wrong else w for w in r.split()) for r in references]

    return references, damaged(share), damaged(other_share)


def statistics_of(name: str, seed: int, share: float, other_share: float, count: int = 60):
    references, ours, theirs = systems(seed, share, other_share, count)
    metric = METRICS[name]
    return metric, *(metric.statistics(lines, references, OPTIONS) for lines in (ours, theirs))


def p_by_all_swaps(ours: np.ndarray, theirs: np.ndarray, value) -> float:
    """The share of all 2^N ways to swap outputs whose difference is as large as the one measured."""
    measured = abs(value(ours.sum(axis=0)) - value(theirs.sum(axis=0)))
    count = 0
    for swaps in itertools.product([False, True], repeat=len(ours)):
        swap = np.array(swaps)[:, None]
        left, right = np.where(swap, theirs, ours), np.where(swap, ours, theirs)
        count += abs(value(left.sum(axis=0)) - value(right.sum(axis=0))) >= measured - 1e-9
    return count / 2 ** len(ours)


def error_of(p: float, trials: int, other_trials: int | None = None) -> float:
    """Four standard errors of a p-value that is counted, and one trial for the ones added."""
    variance = max(p * (1 - p), 1 / trials) * (1 / trials + (1 / other_trials if other_trials else 0))
    return 4 * math.sqrt(variance) + 1 / trials


@pytest.mark.parametrize("name", list(METRICS))
@pytest.mark.parametrize("count", [1, 3, 6])
def test_randomization_counts_all_swaps(name: str, count: int):
    metric, ours, theirs = statistics_of(name, count, 0.15, 0.35, count)
    exact = p_by_all_swaps(ours, theirs, metric.value)
    p_value = approximate_randomization(ours, theirs, metric.value, num_trials=4000).p_value
    assert abs(p_value - exact) <= error_of(exact, 4000)


@settings(max_examples=30)
@given(SMALL)
def test_randomization_of_plain_numbers_counts_all_swaps(pairs: list[tuple[int, int]]):
    ours, theirs = (mean_statistics([pair[side] for pair in pairs]) for side in (0, 1))
    exact = p_by_all_swaps(ours, theirs, mean_value)
    p_value = approximate_randomization(ours, theirs, mean_value, num_trials=2000).p_value
    assert abs(p_value - exact) <= error_of(exact, 2000)


@pytest.mark.parametrize(("seed", "other_share"), [(1, 0.23), (2, 0.24), (3, 0.21)])
@pytest.mark.parametrize("kind", ["ar", "bs"])
def test_p_values_agree_with_sacrebleu(seed: int, other_share: float, kind: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SACREBLEU_SEED", "7")
    references, ours, theirs = systems(seed, 0.2, other_share)
    named = [("baseline", theirs), ("system", ours)]
    trials, their_trials = 4000, 1000
    test = PairedTest(named, {"BLEU": BLEU(), "chrF": CHRF()}, [references], test_type=kind, n_samples=their_trials)
    _, scores = test()
    for name, column in (("bleu", "BLEU"), ("chrf", "chrF2")):
        metric, system, baseline = statistics_of(name, seed, 0.2, other_share)
        expected = scores[column][1]
        if kind == "ar":
            result = approximate_randomization(system, baseline, metric.value, num_trials=trials)
        else:
            result = paired_bootstrap(system, baseline, metric.value, num_resamples=trials)
            half_width = (result.system.high - result.system.low) / 2
            assert half_width == pytest.approx(expected.ci, rel=0.2)
        assert abs(result.p_value - expected.p_value) <= error_of(expected.p_value, trials, their_trials)
        assert result.delta == pytest.approx(expected.score - scores[column][0].score)


@pytest.mark.parametrize("name", list(METRICS))
def test_equal_systems_have_p_1_and_no_difference(name: str):
    metric, ours, _ = statistics_of(name, 5, 0.2, 0.2)
    bootstrap = paired_bootstrap(ours, ours, metric.value, num_resamples=200)
    assert (bootstrap.p_value, bootstrap.delta, bootstrap.difference) == (1.0, 0.0, (0.0, 0.0))
    assert bootstrap.system == bootstrap.baseline
    randomization = approximate_randomization(ours, ours, metric.value, num_trials=200)
    assert (randomization.p_value, randomization.delta) == (1.0, 0.0)


@pytest.mark.parametrize("test", [paired_bootstrap, approximate_randomization])
def test_a_seed_decides_and_seeds_differ_within_their_error(test):
    metric, ours, theirs = statistics_of("bleu", 2, 0.2, 0.24)
    results = [test(ours, theirs, metric.value, seed=seed) for seed in (1, 1, 2, 3)]
    assert results[0] == results[1]
    p_values = [result.p_value for result in results]
    trials = 1000 if isinstance(results[0], Bootstrap) else 10_000
    assert len(set(p_values)) > 1
    assert max(p_values) - min(p_values) <= error_of(p_values[0], trials, trials)


def test_numbers_drawn_do_not_hang_on_the_batch(monkeypatch: pytest.MonkeyPatch):
    metric, ours, theirs = statistics_of("bleu", 2, 0.2, 0.24, 30)
    whole = [test(ours, theirs, metric.value, **{key: 101}) for test, key in TESTS]
    monkeypatch.setattr("seqline.evaluation.significance._BATCH_NUMBERS", 7 * len(ours))
    assert [test(ours, theirs, metric.value, **{key: 101}) for test, key in TESTS] == whole


TESTS = [(paired_bootstrap, "num_resamples"), (approximate_randomization, "num_trials")]


@pytest.mark.parametrize(("test", "key"), TESTS)
def test_the_sign_follows_the_system_and_p_does_not(test, key: str):
    metric, ours, theirs = statistics_of("bleu", 8, 0.2, 0.25)
    forth, back = (test(*pair, metric.value, **{key: 500}) for pair in ((ours, theirs), (theirs, ours)))
    assert forth.delta == -back.delta
    assert forth.delta == pytest.approx(float(metric.value(ours.sum(axis=0)) - metric.value(theirs.sum(axis=0))))
    assert forth.p_value == pytest.approx(back.p_value, abs=0.05)


def test_intervals_hold_95_in_100_resamples():
    # One number a sentence, 0 or 1 in equal parts: the mean of 400 has a standard error of 2.5 in 100.
    hits, misses = mean_statistics([1, 0] * 200), mean_statistics([0, 0] * 200)
    result = paired_bootstrap(hits, misses, mean_value, num_resamples=4000)
    assert result.baseline == (0.0, 0.0)
    assert result.system == result.difference
    assert result.system.low == pytest.approx(0.5 - 1.96 * 0.025, abs=0.005)
    assert result.system.high == pytest.approx(0.5 + 1.96 * 0.025, abs=0.005)
    assert result.p_value == 1 / 4001
    one = paired_bootstrap(hits, misses, mean_value, num_resamples=1).system
    assert one.low == one.high


def test_losses_are_compared_as_means_or_as_sums_over_tokens():
    chance = np.random.Generator(np.random.PCG64(1))
    tokens = chance.integers(1, 20, size=80)
    ours = tokens * 2.0 + chance.normal(size=80)
    theirs = ours + tokens * 0.2 + chance.normal(size=80)
    for ours_added, theirs_added in (
        (mean_statistics(ours), mean_statistics(theirs)),
        (mean_statistics(ours, tokens), mean_statistics(theirs, tokens)),
    ):
        randomization = approximate_randomization(ours_added, theirs_added, mean_value, num_trials=2000)
        assert randomization.p_value == 1 / 2001
        assert randomization.delta < 0
    per_token = approximate_randomization(mean_statistics(ours, tokens), mean_statistics(theirs, tokens), mean_value)
    assert per_token.delta == pytest.approx((ours.sum() - theirs.sum()) / tokens.sum())
    assert mean_value([[0, 0], [3, 2]]).tolist() == [0.0, 1.5]


def test_the_scale_of_the_numbers_does_not_matter():
    chance = np.random.Generator(np.random.PCG64(4))
    ours, theirs = chance.random(size=(2, 40))
    p_values = set()
    for scale in (1e-12, 1.0, 1e12):
        added = mean_statistics(ours * scale), mean_statistics(theirs * scale)
        p_values.add(approximate_randomization(*added, mean_value, num_trials=500).p_value)
    assert len(p_values) == 1
    assert 1 / 501 < p_values.pop() < 1.0


def test_a_clear_difference_is_found_and_none_is_not():
    metric, ours, theirs = statistics_of("chrf", 9, 0.1, 0.5)
    assert paired_bootstrap(ours, theirs, metric.value).p_value == 1 / 1001
    assert approximate_randomization(ours, theirs, metric.value, num_trials=1000).p_value == 1 / 1001
    metric, ours, theirs = statistics_of("chrf", 12, 0.2, 0.2)
    assert approximate_randomization(ours, theirs, metric.value, num_trials=1000).p_value > 0.1


def test_p_values_of_equal_systems_reject_as_often_as_they_say():
    chance = np.random.Generator(np.random.PCG64(3))
    rejected = sum(
        approximate_randomization(
            *map(mean_statistics, chance.normal(size=(2, 30))), mean_value, num_trials=199
        ).p_value
        <= 0.1
        for _ in range(300)
    )
    assert abs(rejected / 300 - 0.1) <= 4 * math.sqrt(0.1 * 0.9 / 300)


@pytest.mark.parametrize(("test", "key"), TESTS)
def test_inputs_are_checked(test, key: str):
    some = mean_statistics([1.0, 2.0])
    with pytest.raises(ValueError, match="same sentences"):
        test(some, some[:1], mean_value)
    with pytest.raises(ValueError, match="N from 1"):
        test(some[:0], some[:0], mean_value)
    with pytest.raises(ValueError, match="N S"):
        test([1.0, 2.0], [1.0, 2.0], mean_value)
    with pytest.raises(ValueError, match="NaN"):
        test(some, mean_statistics([1.0, math.nan]), mean_value)
    with pytest.raises(ValueError, match="1 trial or more"):
        test(some, some, mean_value, **{key: 0})
