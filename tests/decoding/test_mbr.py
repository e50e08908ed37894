"""Minimum Bayes risk against the plain double loop over all candidates, repeated ones included."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqline.decoding.mbr import Candidate, mbr


def overlap(hypothesis: str, reference: str) -> float:
    """Return a utility that is not symmetric: the share of the hypothesis's letters that the reference has."""
    return sum(letter in reference for letter in hypothesis) / (len(hypothesis) + 1)


def square(texts: Sequence[str]) -> np.ndarray:
    return np.array([[overlap(h, r) for r in texts] for h in texts])


def brute(candidates: Sequence[str]) -> dict[str, float]:
    return {h: math.fsum(overlap(h, r) for r in candidates) / len(candidates) for h in candidates}


@given(st.lists(st.text("abc", max_size=4), min_size=1, max_size=12))
def test_expected_utility_is_the_mean_over_all_candidates(candidates: list[str]) -> None:
    found, right = mbr(candidates, square), brute(candidates)
    assert {choice.text: choice.expected_utility for choice in found} == pytest.approx(right, abs=1e-12)
    assert [c.expected_utility for c in found] == sorted((c.expected_utility for c in found), reverse=True)
    assert found[0].expected_utility == pytest.approx(max(right.values()), abs=1e-12)
    for choice in found:
        assert candidates.index(choice.text) == choice.first
        assert candidates.count(choice.text) == choice.num_times
    assert sum(choice.num_times for choice in found) == len(candidates)


def test_by_hand() -> None:
    equal = lambda texts: np.eye(len(texts))  # noqa: E731 (the utility that makes it the most frequent one)
    assert mbr(["b", "a", "c", "a"], equal) == [
        Candidate("a", 0.5, 1, 2),
        Candidate("b", 0.25, 0, 1),
        Candidate("c", 0.25, 2, 1),
    ]
    # What lies in the middle wins, though no candidate is more frequent than another.
    line = lambda texts: [[-abs(int(h) - int(r)) for r in texts] for h in texts]  # noqa: E731
    assert mbr(["0", "9", "4", "5", "6"], line)[0] == Candidate("5", -11 / 5, 3, 1)
    # 4 and 0 are as good; the more frequent comes first.
    found = mbr(["4", "9", "0", "5", "6", "0", "0", "0"], line)
    assert found[:2] == [Candidate("0", -3.0, 2, 4), Candidate("4", -3.0, 0, 1)]
    assert mbr(["0", "9", "0"], line)[0] == Candidate("0", -3.0, 0, 2)


def test_hypotheses_are_rows_and_references_columns() -> None:
    # "ab" as hypothesis is judged by references a and ab; as a reference it judges both.
    utility = {("a", "a"): 1.0, ("a", "ab"): 0.0, ("ab", "a"): 0.5, ("ab", "ab"): 0.75}
    found = mbr(["a", "ab"], lambda texts: [[utility[h, r] for r in texts] for h in texts])
    assert [(c.text, c.expected_utility) for c in found] == [("ab", 0.625), ("a", 0.5)]


def test_the_utility_is_asked_once_for_distinct_texts() -> None:
    asked: list[list[str]] = []

    def utility(texts: Sequence[str]) -> np.ndarray:
        asked.append(list(texts))
        return square(texts)

    mbr(["x", "y", "x", "x", "z", "y"], utility)
    assert asked == [["x", "y", "z"]]


def test_one_candidate_and_none() -> None:
    assert mbr(["only"], lambda texts: [[100.0]]) == [Candidate("only", 100.0, 0, 1)]
    with pytest.raises(ValueError, match="at least one candidate"):
        mbr([], square)


@pytest.mark.parametrize("wrong", [[1.0, 2.0], [[1.0, 2.0]], [[1.0, math.nan], [0.0, 0.0]]])
def test_a_utility_that_is_no_square_of_numbers_is_refused(wrong: list[object]) -> None:
    with pytest.raises(ValueError, match="the utility of 2 texts must be a square of finite numbers"):
        mbr(["a", "b"], lambda texts: np.array(wrong))
