"""Intervals over examples: values by hand, and what is surely above, surely below, or neither."""

from __future__ import annotations

import math

import numpy as np

from seqline.lab.estimates import LEAST_UNITS, Estimate, difference, share

from .planted import hits


def test_a_share_counts_cases_not_examples() -> None:
    found = share([np.array([[1.0, 1.0], [0.0, 3.0], [0.0, 0.0]])])
    assert found.value == 0.25
    assert found.by_seed == (0.25,)
    assert found.num_units == 2  # the third has no case
    assert 0.0 <= found.low <= found.value <= found.high <= 1.0


def test_seeds_are_added_up_and_kept_apart() -> None:
    found = difference([hits(30, 40), hits(10, 40)], [hits(10, 40), hits(10, 40)])
    assert found.value == 0.25
    assert found.by_seed == (0.5, 0.0)
    assert found.is_above(0.0) is None  # one seed shows nothing


def test_what_is_surely_above_or_below() -> None:
    found = share([hits(36, 40)])
    assert found.is_above(0.5) is True
    assert found.is_below(0.5) is False
    assert found.is_above(0.99) is False
    assert found.is_above(0.9) is None
    assert found.is_below(0.9) is None


def test_few_examples_decide_nothing() -> None:
    assert share([hits(LEAST_UNITS - 1, LEAST_UNITS - 1)]).is_above(0.1) is None
    assert share([hits(LEAST_UNITS, LEAST_UNITS)]).is_above(0.1) is True


def test_no_case_at_all_is_no_number() -> None:
    found = share([np.zeros((30, 2))])
    assert math.isnan(found.value)
    assert found.is_above(0.0) is None


def test_what_is_said() -> None:
    estimate = Estimate(0.123, 0.11, 0.139, (0.123,), 50)
    assert estimate.said() == "12.3 % (11.0 to 13.9)"
    assert estimate.numbers("gain") == {"gain": 0.123, "gain_low": 0.11, "gain_high": 0.139, "gain_examples": 50}
