"""Two systems on hand-made outputs: who is better, by what tests, on which sentences, and what to know beforehand."""

from __future__ import annotations

import json

import numpy as np
import pytest

from seqline.errors import UserError
from seqline.evaluation.significance import approximate_randomization, mean_statistics, paired_bootstrap
from seqline.judging.comparison import Comparison, Contrast, Resampling, compare, differing
from seqline.judging.judge import Judged
from seqline.judging.systems import Likelihood

from ..small_judged import judged, lines

FEW = Resampling(500)
COUNT = 40
MANY = lines(
    [f"quelle {number} und noch etwas" for number in range(COUNT)],
    [f"sentence number {number} says some more" for number in range(COUNT)],
)
RIGHT = list(MANY.references)
WRONG = [f"nothing of it at all {number}" for number in range(COUNT)]


def of(texts: list[str], name: str = "one") -> Judged:
    return judged(texts, name, MANY, "ter", "wer", "rougeL")


def by_name(found: Comparison) -> dict[str, Contrast]:
    return {test.name: test for test in found.tests}


def likelihood(nats: list[float], characters: list[int]) -> Likelihood:
    total, count = sum(nats), sum(characters)
    return Likelihood(total, 1.0, total / count, 1, count, 0, 0, mean_statistics(nats, characters))


def test_against_itself_nothing_differs_and_p_is_one() -> None:
    found = compare(of(WRONG), of(WRONG, "two"), MANY, how=FEW)
    assert [(t.difference, t.p_bootstrap, t.p_randomization) for t in found.tests] == [(0.0, 1.0, 1.0)] * 6
    assert {test.verdict for test in found.tests} == {"no difference shown at p < 0.05"}
    assert {tuple(test.interval) for test in found.tests} == {(0.0, 0.0)}
    assert (found.gains, found.losses) == ((), ())


def test_a_clear_difference_is_a_verdict_and_lower_error_rates_are_better() -> None:
    found = by_name(compare(of(RIGHT), of(WRONG), MANY, how=FEW))
    assert {test.verdict for test in found.values()} == {"better"}
    assert found["BLEU"].difference > 0 > found["TER"].difference
    assert (found["WER"].value, found["exact match"].value, found["exact match"].other) == (0.0, 100.0, 0.0)
    turned = compare(of(WRONG), of(RIGHT), MANY, how=FEW)
    assert {test.verdict for test in turned.tests} == {"worse"}
    assert by_name(turned)["BLEU"].difference == pytest.approx(-found["BLEU"].difference)


def test_the_numbers_are_those_of_the_tests_themselves() -> None:
    mixed = RIGHT[:10] + WRONG[10:]
    one, other = of(mixed), of(WRONG)
    found = compare(one, other, MANY, how=Resampling(300, 7)).tests[1]
    args = one.measured[1].statistics, other.measured[1].statistics, one.measured[1].metric.value
    bootstrap = paired_bootstrap(*args, num_resamples=300, seed=7)
    assert found.name == "chrF2"
    assert found.p_bootstrap == bootstrap.p_value
    assert found.p_randomization == approximate_randomization(*args, num_trials=300, seed=7).p_value
    assert (found.interval, found.interval_value, found.interval_other) == (
        bootstrap.difference,
        bootstrap.system,
        bootstrap.baseline,
    )
    assert found.interval.low <= found.difference <= found.interval.high
    assert found.difference == pytest.approx(bootstrap.delta)


def test_p_values_hang_on_the_seed_alone() -> None:
    mixed = RIGHT[:3] + WRONG[3:]
    runs = [compare(of(mixed), of(WRONG), MANY, how=Resampling(400, seed)).tests for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]


def test_one_right_sentence_of_forty_shows_nothing() -> None:
    found = by_name(compare(of([*RIGHT[:1], *WRONG[1:]]), of(WRONG), MANY, how=FEW))
    assert found["exact match"].difference == pytest.approx(2.5)
    assert found["exact match"].verdict == "no difference shown at p < 0.05"


def test_one_sentence_never_shows_a_difference() -> None:
    single = lines(["a"], ["b c d"])
    found = compare(judged(["b c d"], "one", single), judged(["x"], "two", single), single, how=FEW)
    assert {test.verdict for test in found.tests} == {"no difference shown at p < 0.05"}


def test_gains_and_losses_are_the_largest_changes_of_sentence_chrf() -> None:
    one, other = list(WRONG), list(WRONG)
    one[3], other[5], one[7] = RIGHT[3], RIGHT[5], RIGHT[7][:10]
    first, second = of(one), of(other, "two")
    found = compare(first, second, MANY, how=FEW)
    assert [change.line for change in found.gains] == [4, 8]
    assert [change.line for change in found.losses] == [6]
    gain = found.gains[0]
    assert gain[1:5] == (MANY.sources[3], MANY.references[3], RIGHT[3], WRONG[3])
    assert (gain.chrf, gain.difference) == (100.0, pytest.approx(100.0 - gain.other_chrf))
    assert gain.other_chrf == pytest.approx(second.sentence_chrf[3])
    fewer = compare(first, second, MANY, how=FEW, num_examples=1)
    assert (fewer.gains, fewer.losses) == (found.gains[:1], found.losses)


def test_likelihoods_are_tested_on_the_pairs_that_both_have() -> None:
    rng = np.random.default_rng(1)
    characters = [20] * COUNT
    low = [float(x) for x in 10 + rng.random(COUNT)]
    high = [x + 4 for x in low]
    found = compare(of(WRONG), of(WRONG), MANY, (likelihood(low, characters), likelihood(high, characters)), how=FEW)
    test = by_name(found)["nats per character"]
    assert (test.verdict, test.difference) == ("better", pytest.approx(-0.2))
    partly = likelihood([0.0, *high[1:]], [0, *characters[1:]])
    some = compare(of(WRONG), of(WRONG), MANY, (likelihood(low, characters), partly), how=FEW)
    assert by_name(some)["nats per character"].difference == pytest.approx(-0.2)
    none = compare(of(WRONG), of(WRONG), MANY, (likelihood(low, characters), None), how=FEW)
    assert "nats per character" not in by_name(none)


def test_settings_that_differ_are_said_and_unknown_ones_are_not() -> None:
    mine = {"decoding.beam_size": 5, "data.fingerprint": "a", "vocabulary": b"x", "data.normalize_whitespace": False}
    theirs = {"decoding.beam_size": 1, "data.fingerprint": "b", "vocabulary": b"y", "data.normalize_whitespace": False}
    assert differing(mine, mine) == differing(mine, {}) == []
    assert differing(mine, theirs) == [
        "decoding.beam_size differs: 5 here, 1 in the other run",
        "the two runs were trained on different data",
        "the target vocabularies differ: perplexity and nats per piece do not compare, nats per character do",
    ]


@pytest.mark.parametrize(
    ("resamples", "seed", "where"), [(0, 1, "resamples"), (10**7, 1, "resamples"), (10, -1, "seed")]
)
def test_resampling_that_cannot_be_is_refused(resamples: int, seed: int, where: str) -> None:
    with pytest.raises(UserError, match=f"^{where}: expected"):
        Resampling(resamples, seed)


def test_the_comparison_as_json_is_complete_and_strict() -> None:
    found = compare(of(RIGHT), of(["", *WRONG[1:]], "two"), MANY, how=FEW, notes=["a note"])
    shown = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert set(shown) == {
        "name", "search", "scores", "by_length", "short_and_long", "num_cut", "faults", "findings", "warnings",
        "likelihood", "tests", "gains", "losses", "notes", "resamples", "seed",
    }  # fmt: skip
    assert (shown["name"], shown["notes"], shown["resamples"], shown["seed"]) == ("two", ["a note"], 500, 12345)
    assert set(shown["tests"][0]) == {
        "name", "signature", "value", "other", "difference", "interval", "interval_value", "interval_other",
        "p_bootstrap", "p_randomization", "verdict",
    }  # fmt: skip
    assert len(shown["tests"][0]["interval"]) == 2
    assert set(shown["gains"][0]) == {
        "line",
        "source",
        "reference",
        "output",
        "other",
        "chrf",
        "other_chrf",
        "difference",
    }
