"""The coverage penalty by hand, and what reranking changes."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from seqline.decoding import Hypothesis
from seqline.decoding.rerank import coverage, rerank
from seqline.errors import UserError


def test_coverage_by_hand() -> None:
    # Source piece 0 is read 0.5 + 0.75 = 1.25 times (counts as 1), piece 1 0.4 times, piece 2 0.35 times.
    weights = torch.tensor([[0.5, 0.4, 0.1], [0.75, 0.0, 0.25]])
    right = 0.2 * (math.log(1.0) + math.log(0.4) + math.log(0.35))
    assert coverage(weights.double(), 0.2) == pytest.approx(right, abs=1e-7)
    assert coverage(torch.eye(3), 0.5) == 0.0
    assert coverage(torch.full((4, 4), 0.25), 0.5) == pytest.approx(0.0, abs=1e-12)
    assert coverage(torch.full((2, 4), 0.25), 1.0) == pytest.approx(4 * math.log(0.5), abs=1e-12)
    assert coverage(weights, 0.0) == 0.0


def test_a_piece_that_was_never_read_costs_much_and_stays_a_number() -> None:
    weights = torch.tensor([[1.0, 0.0]], dtype=torch.float64)
    assert coverage(weights, 0.2) == pytest.approx(0.2 * math.log(1e-9), abs=1e-9)
    assert coverage(torch.zeros(0, 2), 1.0) == pytest.approx(2 * math.log(1e-9), abs=1e-9)


@given(st.lists(st.lists(st.floats(0, 1), min_size=3, max_size=3), min_size=1, max_size=5), st.floats(0, 10))
def test_coverage_is_the_formula_and_more_reading_never_costs(rows: list[list[float]], beta: float) -> None:
    weights = torch.tensor(rows, dtype=torch.float64)
    sums = [min(max(math.fsum(column), 1e-9), 1.0) for column in zip(*rows, strict=True)]
    found = coverage(weights, beta)
    assert found == pytest.approx(beta * math.fsum(map(math.log, sums)), abs=1e-7)
    assert found <= 0
    assert coverage(torch.cat([weights, weights[:1]]), beta) >= found - 1e-12


@pytest.mark.parametrize("beta", [-0.1, 10.5, math.nan, math.inf])
def test_a_strength_out_of_range_is_the_users_mistake(beta: float) -> None:
    with pytest.raises(UserError, match=r"^coverage penalty: expected a number from 0 to 10, got .*; for example 0.2"):
        coverage(torch.eye(2), beta)


def test_weights_of_heads_are_no_weights() -> None:
    with pytest.raises(ValueError, match=r"must be \[T S\], got \(1, 2, 2\)"):
        coverage(torch.eye(2)[None], 0.2)


def hypothesis(score: float, *ids: int) -> Hypothesis:
    return Hypothesis(ids, -7.0, score, True)


def test_a_term_changes_score_and_order_alone() -> None:
    a, b, c = hypothesis(-1.0, 4), hypothesis(-2.0, 5), hypothesis(-3.0, 6)
    found = rerank([a, b, c], [-2.5, 0.0, -0.25])
    assert found == [b._replace(score=-2.0), c._replace(score=-3.25), a._replace(score=-3.5)]
    assert [h.log_probability for h in found] == [-7.0] * 3
    assert rerank([a, b], [-1.0, 0.0]) == [a._replace(score=-2.0), b]  # equal: the first stays first
    assert rerank([a, b, c], [0.0] * 3) == [a, b, c]
    assert rerank([], []) == []


@pytest.mark.parametrize("terms", [[0.0], [0.0, math.nan]])
def test_terms_that_do_not_fit_are_refused(terms: list[float]) -> None:
    with pytest.raises(ValueError, match="2 hypotheses need as many terms"):
        rerank([hypothesis(-1.0), hypothesis(-2.0)], terms)
