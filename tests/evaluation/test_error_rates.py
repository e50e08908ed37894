"""WER, PER and CER: by hand, against brute force, and their laws."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqline.evaluation.error_rates import cer, edit_distance, per, per_statistics, wer, wer_statistics

UNITS = st.lists(st.sampled_from("abc"), max_size=7)
LINES = st.lists(st.sampled_from(["a", "b", "c", "dd"]), max_size=8).map(" ".join)


@cache
def fewest_edits(ours: tuple[str, ...], theirs: tuple[str, ...]) -> int:
    """The edit distance by trying every edit of the first unit."""
    if not ours or not theirs:
        return len(ours) + len(theirs)
    return min(
        fewest_edits(ours[1:], theirs) + 1,
        fewest_edits(ours, theirs[1:]) + 1,
        fewest_edits(ours[1:], theirs[1:]) + (ours[0] != theirs[0]),
    )


@given(UNITS, UNITS)
def test_edit_distance_is_the_fewest_edits(ours: list[str], theirs: list[str]):
    assert edit_distance(ours, theirs) == fewest_edits(tuple(ours), tuple(theirs))


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=60))
def test_edit_distance_is_a_distance(a: str, b: str, c: str):
    assert edit_distance(a, b) == edit_distance(b, a)
    assert (edit_distance(a, b) == 0) == (a == b)
    assert edit_distance(a, c) <= edit_distance(a, b) + edit_distance(b, c)
    assert abs(len(a) - len(b)) <= edit_distance(a, b) <= max(len(a), len(b))


def test_edit_distance_of_long_sequences_has_no_word_length():
    line = [str(i) for i in range(500)]
    assert edit_distance(line, line[1:]) == 1
    assert edit_distance(line[::2], line) == 250
    assert edit_distance(line, [*line[:200], "x", "y", *line[201:]]) == 2


def test_rates_add_edits_and_divide_once():
    hypotheses, references = ["a x c", "the b", "d"], ["a b c", "b", "d e f g"]
    assert wer_statistics(hypotheses, references).tolist() == [[1, 3], [1, 1], [3, 4]]
    assert wer(hypotheses, references).value == 100 * 5 / 8
    assert str(wer(hypotheses, references)) == "WER|nrefs:1|case:mixed|unit:words = 62.50"


def test_the_order_of_words_matters_to_wer_and_not_to_per():
    pair = ["cat the saw dog"], ["the dog saw cat"]
    assert wer(*pair).value > 0.0
    assert per(*pair).value == 0.0
    assert per(*pair).signature == "nrefs:1|case:mixed|unit:words"


@pytest.mark.parametrize(
    ("hypothesis", "reference", "errors"),
    [
        ("a b", "a c", 1),  # a substitution
        ("a b c", "a", 2),  # two insertions
        ("a", "c b a", 2),  # two deletions
        ("x y a", "a b", 2),  # a substitution and an insertion
        ("a a a", "a b", 2),  # the second and third a match nothing
        ("", "a b", 2),
    ],
)
def test_per_by_hand(hypothesis: str, reference: str, errors: int):
    assert per_statistics([hypothesis], [reference]).tolist() == [[errors, len(reference.split())]]


@given(st.lists(st.tuples(LINES, LINES), min_size=1, max_size=5))
def test_per_is_never_above_wer_and_both_know_equals(pairs: list[tuple[str, str]]):
    hypotheses, references = (list(side) for side in zip(*pairs, strict=True))
    assert per(hypotheses, references).value <= wer(hypotheses, references).value
    for rate in (wer, per, cer):
        assert rate(references, references).value == 0.0
        assert rate(references, [f" {line.replace(' ', '  ')} " for line in references]).value == 0.0


def test_characters_are_counted_with_one_space_between_words():
    assert cer(["ab  d"], ["abc d"]).value == 100 * 1 / 5
    assert cer(["ab"], ["a b"]).value == pytest.approx(100 / 3)
    assert str(cer(["Ab"], ["ab"])) == "CER|nrefs:1|case:mixed|unit:characters+space = 50.00"
    assert cer(["Ab"], ["ab"], lowercase=True).value == 0.0


def test_characters_take_the_place_of_words_where_none_are_parted():
    hypotheses, references = ["他今天在 家。"], ["他今天不在家。"]
    for rate in (wer, per):
        score = rate(hypotheses, references)
        assert score.value == pytest.approx(100 / 7)
        assert score.signature == "nrefs:1|case:mixed|unit:characters"


@pytest.mark.parametrize("rate", [wer, per, cer])
def test_empty_references_are_defined(rate):
    assert rate([""], [""]).value == 0.0
    assert rate(["a b"], [""]).value == 100.0
    # Beside a reference with a word, the words against none count as insertions.
    assert rate(["a b", "c"], [" ", "c"]).value == {wer: 200.0, per: 200.0, cer: 300.0}[rate]


def test_more_errors_than_words_exceed_100():
    assert wer(["a b c d"], ["x"]).value == 400.0
    assert per(["a b c d"], ["x"]).value == 400.0
