"""Words right, found and there, by how often the training text has them."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqline.errors import UserError
from seqline.evaluation.frequency import words_by_frequency

LINES = st.lists(st.sampled_from(["a", "b", "c", "D"]), max_size=6).map(" ".join)
TRAINING = ["The cat saw the dog.", "The dog saw the cat, the old cat.", *["and"] * 1001]


def test_words_are_grouped_by_their_count_in_the_training_text():
    hypotheses = ["The cat barks and runs.", "old dog"]
    references = ["The dog barks and and sleeps.", "Old dog!"]
    buckets = {bucket.label: bucket.words for bucket in words_by_frequency(hypotheses, references, TRAINING)}
    assert list(buckets) == ["0", "1", "2-5", "6-10", "11-100", "101-1000", "over 1000"]
    assert tuple(buckets["0"]) == (1, 2, 2)  # barks right; runs against sleeps
    assert tuple(buckets["1"]) == (1, 1, 1)  # old
    assert tuple(buckets["2-5"]) == (2, 3, 3)  # the and dog right; cat wrong, dog missing
    assert tuple(buckets["over 1000"]) == (1, 1, 2)  # one and of two
    assert buckets["over 1000"].precision == 1.0
    assert buckets["over 1000"].recall == 0.5
    assert buckets["6-10"].f1 == 0.0


def test_edges_are_the_last_of_their_bucket():
    training = ["one", *["two"] * 2, *["five"] * 5, *["six"] * 6]
    line = ["none one two five six"]
    assert [tuple(bucket.words) for bucket in words_by_frequency(line, line, training)][:4] == [
        (1, 1, 1),
        (1, 1, 1),
        (2, 2, 2),
        (1, 1, 1),
    ]


def test_the_training_text_is_read_once_and_may_be_a_stream():
    (rare, common) = words_by_frequency(["a b"], ["b c"], (line for line in ["a", "b b"]), edges=(1,))
    assert (tuple(rare.words), tuple(common.words)) == ((0, 1, 1), (1, 1, 1))


def test_characters_are_words_where_no_spaces_are_written():
    buckets = words_by_frequency(["他在家"], ["他不在家。"], ["他们在家，他说。"], edges=(0, 1))
    assert [tuple(bucket.words) for bucket in buckets] == [(0, 0, 1), (2, 2, 2), (1, 1, 1)]


@given(st.lists(st.tuples(LINES, LINES), min_size=1, max_size=4), st.lists(LINES, max_size=5))
def test_buckets_part_all_words(pairs: list[tuple[str, str]], training: list[str]):
    hypotheses, references = (list(side) for side in zip(*pairs, strict=True))
    buckets = words_by_frequency(hypotheses, references, training)
    totals = [sum(counts) for counts in zip(*(bucket.words for bucket in buckets), strict=True)]
    common = sum((Counter(h.split()) & Counter(r.split())).total() for h, r in pairs)
    assert totals == [common, *(sum(len(line.split()) for line in side) for side in (hypotheses, references))]


def test_inputs_are_checked():
    with pytest.raises(ValueError, match="edges"):
        words_by_frequency(["a"], ["a"], [], edges=(5, 1))
    with pytest.raises(UserError, match="2 hypotheses and 1 references"):
        words_by_frequency(["a", "b"], ["a"], [])
    with pytest.raises(UserError, match="line 1"):
        words_by_frequency(["a@@ b"], ["ab"], [])
