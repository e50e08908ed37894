"""What is equal in float32: tokens outside the margin, and scores but for rounding."""

from __future__ import annotations

import pytest
import torch

from seqline.evaluation.verify_served import MARGIN, SCORE_TOLERANCE, Agreement, agree

EXPECTED = torch.tensor([[2.0, 1.0, 0.0], [1.0, 1.0 - MARGIN / 2, 0.0], [0.0, 1.0, 3.0]])
TARGETS = torch.tensor([0, 1, 2])


def test_nearly_tied_places_are_counted_and_either_token_will_do() -> None:
    swapped = EXPECTED[:, [1, 0, 2]][1]
    got = torch.stack([EXPECTED[0], swapped, EXPECTED[2]])
    found = agree(got, EXPECTED, torch.tensor([0, 2, 2]), 4, "here")
    assert (found.num_places, found.num_close, found.num_other) == (3, 1, 0)
    assert found.holds


def test_another_token_outside_the_margin_does_not_hold() -> None:
    found = agree(EXPECTED[:, [2, 1, 0]], EXPECTED, TARGETS, 4, "here")
    assert (found.num_other, found.holds, found.row, found.where) == (2, False, 4, "here")


def test_a_score_may_differ_by_rounding_only() -> None:
    assert agree(EXPECTED + 1e-7, EXPECTED, TARGETS, 0, "").holds
    got = EXPECTED.clone()
    got[0, 0] += 1e-3
    found = agree(got, EXPECTED, TARGETS, 0, "")
    assert found.num_other == 0
    assert SCORE_TOLERANCE < found.difference < 1e-3
    assert not found.holds


def test_logits_that_are_no_numbers_do_not_hold() -> None:
    assert not agree(EXPECTED * float("nan"), EXPECTED, TARGETS, 0, "").holds


@pytest.mark.parametrize("bad_first", [True, False])
def test_together_the_first_that_does_not_hold_is_named(bad_first: bool) -> None:
    good, bad = Agreement(3, 1, 0, 1e-7, 0, "good"), Agreement(2, 0, 1, 1e-8, 1, "bad")
    found = bad.joined(good) if bad_first else good.joined(bad)
    assert found == Agreement(5, 1, 1, 1e-7, 1, "bad")
