"""Medians over turns, and how costs grow."""

from __future__ import annotations

import pytest

from seqline.lab.experiment import all_of
from seqline.lab.timings import growth, growths, medians, spread_of


def test_growth_is_the_exponent() -> None:
    assert growth({n: 3.0 * n**2 for n in (4, 8, 16)}, 4, 16) == pytest.approx(2.0)
    assert growth({2: 99.0, 8: 5.0, 16: 5.0}, 8, 16) == pytest.approx(0.0)  # what is shorter does not count
    with pytest.raises(ValueError, match="above 0"):
        growth({4: 0.0, 8: 1.0}, 4, 8)


def test_each_turn_has_its_own_growth() -> None:
    found = growths({1: [1.0, 2.0, 1.0], 2: [2.0, 8.0, 1.0]}, 1, 2)
    assert (found.value, found.low, found.high, found.num_turns) == (1.0, 0.5, 1.5, 3)
    assert medians({1: [1.0, 9.0, 2.0]}) == {1: 2.0}


def test_a_bound_inside_the_quartiles_decides_nothing() -> None:
    found = spread_of([1.0, 2.0, 3.0, 4.0, 90.0])
    assert (found.low, found.value, found.high) == (2.0, 3.0, 4.0)
    assert found.is_above(1.9) is True
    assert found.is_above(4.1) is False
    assert found.is_above(3.9) is None
    assert found.is_below(4.1) is True
    assert found.is_below(2.5) is None
    assert spread_of([5.0, 5.0]).is_above(1.0) is None  # too few turns


def test_all_conditions_must_be_met() -> None:
    assert all_of([True, True]) is True
    assert all_of([True, None]) is None
    assert all_of([None, False]) is False
