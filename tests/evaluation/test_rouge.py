"""ROUGE by hand, against brute force, and its laws."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqline.evaluation.rouge import num_in_order, rouge_l, rouge_l_statistics, rouge_n, rouge_n_statistics

LINES = st.lists(st.sampled_from(["a", "b", "C", "d-e", "7"]), max_size=8).map(" ".join)
REFERENCE = "police killed the gunman"


@cache
def longest(ours: str, theirs: str) -> int:
    if not ours or not theirs:
        return 0
    if ours[0] == theirs[0]:
        return 1 + longest(ours[1:], theirs[1:])
    return max(longest(ours[1:], theirs), longest(ours, theirs[1:]))


@given(st.text("abc", max_size=8), st.text("abc", max_size=8))
def test_common_subsequence_is_the_longest(ours: str, theirs: str):
    assert num_in_order(ours, theirs) == longest(ours, theirs)


def test_common_subsequence_has_no_word_length():
    line = [str(i) for i in range(500)]
    assert num_in_order(line, line) == 500
    assert num_in_order(line[::3], line) == 167
    assert num_in_order(line, line[::-1]) == 1


@pytest.mark.parametrize(
    ("hypothesis", "unigrams", "bigrams", "in_order"),
    [
        ("police kill the gunman", 3 / 4, 1 / 3, 3 / 4),  # Lin 2004, S2
        ("the gunman kill police", 3 / 4, 1 / 3, 2 / 4),  # Lin 2004, S3
        ("the gunman police killed", 4 / 4, 2 / 3, 2 / 4),  # Lin 2004, S4
        ("Police, police: police!", 2 / 7, 0.0, 2 / 7),  # a word counts as often as the reference has it
        ("gunman", 2 / 5, 0.0, 2 / 5),
        ("", 0.0, 0.0, 0.0),
        (REFERENCE, 1.0, 1.0, 1.0),
    ],
)
def test_scores_by_hand(hypothesis: str, unigrams: float, bigrams: float, in_order: float):
    pair = [hypothesis], [REFERENCE]
    assert rouge_n(*pair, 1).value == pytest.approx(100 * unigrams)
    assert rouge_n(*pair, 2).value == pytest.approx(100 * bigrams)
    assert rouge_l(*pair).value == pytest.approx(100 * in_order)


def test_the_corpus_score_is_the_mean_of_the_sentences():
    hypotheses, references = ["a b", "a b c d", ""], ["a b", "a x y z", "q"]
    assert rouge_n_statistics(hypotheses, references, 1).tolist() == [[1, 1], [0.25, 1], [0, 1]]
    assert rouge_l_statistics(hypotheses, references).tolist() == [[1, 1], [0.25, 1], [0, 1]]
    assert rouge_n(hypotheses, references, 1).value == pytest.approx(100 * 1.25 / 3)


def test_words_are_letters_and_digits_in_lower_case():
    assert rouge_n(['"The state-of-the-art U.S. café_1!"'], ["the STATE of the art u s CAFÉ 1"], 1).value == 100.0
    # Vowel signs belong to their word.
    assert rouge_n(["हिन्दी भाषा"], ["हिन्दी, भाषा।"], 2).value == 100.0
    assert rouge_n(["e\u0301te\u0301 x"], ["e\u0301te\u0301 y"], 1).value == 50.0


def test_the_signature_says_how_words_are_made():
    score = rouge_l(["a"], ["a"])
    assert str(score) == "ROUGE-L|nrefs:1|case:lc|unit:words|tok:letters+digits|stem:no|average:sentences = 100.00"
    assert rouge_n(["a"], ["a"], 2).name == "ROUGE-2"


def test_characters_take_the_place_of_words_where_none_are_parted():
    score = rouge_n(["他不在家"], ["他今天不在家。"], 1)
    assert score.value == pytest.approx(100 * 8 / 10)
    assert "|unit:characters|" in score.signature


@given(LINES, LINES)
def test_laws(hypothesis: str, reference: str):
    first, second = rouge_n([hypothesis], [reference], 1).value, rouge_n([hypothesis], [reference], 2).value
    assert 0.0 <= rouge_l([hypothesis], [reference]).value <= first <= 100.0
    assert 0.0 <= second <= 100.0
    assert rouge_n([hypothesis], [reference], 2).value == rouge_n([reference], [hypothesis], 2).value
    assert rouge_n([reference], [reference], 1).value == (100.0 if reference else 0.0)
