"""What sentences add to a score makes the very number that sacreBLEU gives, for one corpus and for many at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from seqline.errors import UserError
from seqline.evaluation.metrics import METRICS, MetricOptions
from seqline.evaluation.text_statistics import (
    bleu_statistics,
    bleu_value,
    chrf_statistics,
    chrf_value,
    error_rate_value,
    percent_value,
    ter_statistics,
)

OPTIONS = MetricOptions()
NAMES = ["bleu", "chrf", "ter", "wer", "per", "cer", "rouge1", "rouge2", "rougeL", "exact"]
WORDS = st.lists(st.sampled_from(["a", "b", "A", "cd.", ",", "e-f", "7", "他"]), max_size=9).map(" ".join)
PAIRS = st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=6).map(
    lambda pairs: [list(side) for side in zip(*pairs, strict=True)]
)


def test_the_table_has_every_metric_in_order_with_its_direction():
    assert list(METRICS) == NAMES
    assert [name for name, metric in METRICS.items() if not metric.is_higher_better] == ["ter", "wer", "per", "cer"]
    assert all(name == metric.name for name, metric in METRICS.items())


@given(PAIRS, st.booleans(), st.sampled_from(["13a", "char", "intl", "zh", "none", "auto"]))
def test_sums_make_the_corpus_score_to_the_last_bit(sides: list[list[str]], lowercase: bool, tokenize: str):
    hypotheses, references = sides
    options = MetricOptions(lowercase, tokenize)
    for metric in METRICS.values():
        statistics = metric.statistics(hypotheses, references, options)
        assert statistics.shape[0] == len(hypotheses)
        value = metric.value(statistics.sum(axis=0))
        assert value.shape == ()
        assert float(value) == metric.score(hypotheses, references, options).value


@given(PAIRS)
def test_sacrebleu_gives_the_same_numbers(sides: list[list[str]]):
    hypotheses, references = sides
    for name, theirs in (("bleu", BLEU(force=True)), ("chrf", CHRF()), ("ter", TER())):
        ours = METRICS[name].value(METRICS[name].statistics(hypotheses, references, OPTIONS).sum(axis=0))
        assert float(ours) == theirs.corpus_score(hypotheses, [references]).score


@given(PAIRS)
def test_many_sums_at_once_make_the_score_of_each(sides: list[list[str]]):
    hypotheses, references = sides
    for metric in METRICS.values():
        statistics = metric.statistics(hypotheses, references, OPTIONS)
        each = metric.value(statistics)
        assert each.tolist() == [float(metric.value(row)) for row in statistics]
        assert metric.value(statistics[None, :, None]).tolist() == [[[value] for value in each.tolist()]]
    sentence_scores = [CHRF().sentence_score(h, [r]).score for h, r in zip(hypotheses, references, strict=True)]
    assert chrf_value(chrf_statistics(hypotheses, references)).tolist() == sentence_scores


def test_statistics_of_bleu_are_lengths_and_ngrams():
    assert bleu_statistics(["a b c d"], ["a b c x y"]).tolist() == [[4, 5, 3, 2, 1, 0, 4, 3, 2, 1]]


def test_statistics_of_chrf_are_three_counts_an_order():
    assert chrf_statistics(["ab c"], ["abd"]).tolist() == [[3, 3, 2, 2, 2, 1, 1, 1, 0] + [0, 0, 0] * 3]


def test_statistics_of_ter_are_edits_and_words():
    assert ter_statistics(["b a c", "X"], ["a b c", "x y"]).tolist() == [[1, 3], [1, 2]]


def test_bleu_by_hand():
    # 3 of 4, 2 of 3, 1 of 2, and half a match of 1; four tokens against five.
    expected = 100 * np.exp(1 - 5 / 4) * (3 / 4 * 2 / 3 * 1 / 2 * 1 / 2) ** 0.25
    assert bleu_value([4, 5, 3, 2, 1, 0, 4, 3, 2, 1]) == pytest.approx(expected, rel=1e-12)


def test_bleu_without_any_match_or_any_word_is_0():
    assert bleu_value([4, 4, 0, 0, 0, 0, 4, 3, 2, 1]) == 0.0
    assert bleu_value([0, 4, 0, 0, 0, 0, 0, 0, 0, 0]) == 0.0
    assert bleu_value([2, 2, 2, 1, 0, 0, 2, 1, 0, 0]) == 0.0  # no 3-gram anywhere
    assert bleu_value(np.zeros((3, 10))).tolist() == [0.0] * 3


def test_chrf_of_nothing_in_common_or_nothing_at_all_is_0():
    assert chrf_value(np.zeros(18)) == 0.0
    assert chrf_value([3, 3, 0, 2, 2, 0, 1, 1, 0] + [0, 0, 0] * 3) == 0.0


def test_rates_against_nothing():
    assert error_rate_value([[3, 0], [0, 0], [3, 2]]).tolist() == [100.0, 0.0, 150.0]
    assert percent_value([[0, 0], [1, 4]]).tolist() == [0.0, 25.0]


def test_sacrebleu_still_offers_its_statistics():
    # The one name of sacreBLEU that is not public: were it gone or changed, this says so first.
    assert BLEU(force=True)._extract_corpus_statistics(["a b"], [["a c"]]) == [[2, 2, 1, 0, 0, 0, 2, 1, 0, 0]]
    assert CHRF()._extract_corpus_statistics(["a"], [["a"]]) == [[1, 1, 1] + [0, 0, 0] * 5]
    assert TER()._extract_corpus_statistics(["a"], [["b c"]]) == [[2, 2]]


@pytest.mark.parametrize("name", NAMES)
def test_statistics_refuse_what_scores_refuse(name: str):
    metric = METRICS[name]
    for make in (metric.statistics, metric.score):
        with pytest.raises(UserError, match="nothing to score"):
            make([], [], OPTIONS)
        with pytest.raises(UserError, match="1 hypotheses and 2 references"):
            make(["a"], ["a", "b"], OPTIONS)
        if name != "exact":
            with pytest.raises(UserError, match=r"line 1 still carries .*'@@'"):
                make(["a@@ b"], ["ab"], OPTIONS)


@pytest.mark.parametrize("name", ["bleu", "chrf", "wer", "per", "cer", "exact"])
def test_case_is_left_aside_where_asked(name: str):
    pairs = ["The Cat Sat Down"], ["the cat sat down"]
    metric = METRICS[name]
    best = 100.0 if metric.is_higher_better else 0.0
    assert metric.score(*pairs, OPTIONS).value != pytest.approx(best)
    score = metric.score(*pairs, MetricOptions(lowercase=True))
    assert score.value == pytest.approx(best)
    assert "case:lc" in score.signature


@pytest.mark.parametrize("name", ["ter", "rouge1", "rouge2", "rougeL"])
def test_some_never_look_at_case(name: str):
    metric = METRICS[name]
    score = metric.score(["The Cat Sat Down"], ["the cat sat down"], OPTIONS)
    assert score.value == (100.0 if metric.is_higher_better else 0.0)
    assert "case:lc" in score.signature
