"""Slopes against what can be worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from seqline.lab.slopes import slope


def test_a_slope_is_that_of_the_least_squares_line() -> None:
    x = np.arange(5.0)
    assert slope(x, 3 - 2 * x) == pytest.approx(-2)
    y = np.array([1.0, 0.0, 2.0, 5.0, 1.0])
    assert slope(x, y) == pytest.approx(np.polyfit(x, y, 1)[0])


def test_places_without_a_number_do_not_count() -> None:
    assert slope(np.arange(4.0), np.array([0.0, np.nan, 2.0, np.inf])) == pytest.approx(1)
    assert math.isnan(slope(np.arange(2.0), np.array([np.nan, 1.0])))
