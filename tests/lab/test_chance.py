"""Intervals and slopes against what can be worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from seqline.lab.chance import Estimate, bootstrap, slope


def test_a_slope_is_that_of_the_least_squares_line() -> None:
    x = np.arange(5.0)
    assert slope(x, 3 - 2 * x) == pytest.approx(-2)
    y = np.array([1.0, 0.0, 2.0, 5.0, 1.0])
    assert slope(x, y) == pytest.approx(np.polyfit(x, y, 1)[0])


def test_places_without_a_number_do_not_count() -> None:
    assert slope(np.arange(4.0), np.array([0.0, np.nan, 2.0, np.inf])) == pytest.approx(1)
    assert math.isnan(slope(np.arange(2.0), np.array([np.nan, 1.0])))


def test_the_interval_of_a_mean_is_about_two_standard_errors_wide() -> None:
    values = np.random.default_rng(3).normal(5.0, 2.0, size=400)
    found = bootstrap(lambda rows: float(values[rows].mean()), len(values), resamples=1000)
    assert found.value == pytest.approx(values.mean())
    assert found.high - found.low == pytest.approx(4 * 2.0 / 20, rel=0.15)
    assert bootstrap(lambda rows: float(values[rows].mean()), len(values), resamples=1000) == found


@pytest.mark.parametrize(
    ("low", "high", "told"), [(1.0, 2.0, True), (-2.0, -1.0, False), (-1.0, 1.0, None), (0.0, 1.0, None)]
)
def test_what_is_above_is_so_with_its_whole_interval(low: float, high: float, told: bool | None) -> None:
    assert Estimate((low + high) / 2, low, high).above(0.0) is told


def test_what_could_not_be_computed_decides_nothing() -> None:
    assert Estimate(math.nan, math.nan, math.nan).above(0.0) is None
