"""The closed forms of the continuous ranked probability score against its definition, and t against its known cases."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqline.evaluation.crps import gaussian_crps, student_t_cdf, student_t_crps

VALUES = st.floats(-1e3, 1e3)
SCALES = st.floats(1e-3, 1e3)


def by_definition(cdf: np.ndarray, grid: np.ndarray, value: float) -> float:
    """The integral of (F(x) - [y <= x])^2, the jump on a grid point counted half on each side."""
    step = np.where(grid > value, 1.0, np.where(grid == value, 0.5, 0.0))
    left, right = grid <= value, grid >= value
    below, above = np.trapezoid(cdf[left] ** 2, grid[left]), np.trapezoid((1 - cdf[right]) ** 2, grid[right])
    assert step[0] == 0
    return float(below + above)


@pytest.mark.parametrize("value", [0.0, 0.5, -2.0, 6.0])
def test_a_normal_forecast_against_the_definition(value: float) -> None:
    grid = np.linspace(-12, 12, 24_001)
    cdf = np.array([(1 + math.erf(x / math.sqrt(2))) / 2 for x in grid])
    assert gaussian_crps(value, 0.0, 1.0) == pytest.approx(by_definition(cdf, grid, value), abs=1e-6)


@pytest.mark.parametrize("df", [2.0, 3.0, 7.5, 150.0, 5000.0])
@pytest.mark.parametrize("value", [0.0, 0.5, -3.0])
def test_a_student_t_forecast_against_the_definition(df: float, value: float) -> None:
    # x = sinh(u) reaches far into the tails; the integrals take the uneven steps as they are.
    half = np.sinh(np.linspace(0, 12, 6_001))
    grid = np.unique(np.concatenate([-half, half, [value]]))
    found = by_definition(student_t_cdf(grid, df), grid, value)
    assert student_t_crps(value, df, 0.0, 1.0) == pytest.approx(found, abs=2e-4 if df == 2 else 2e-5)


def test_the_normal_score_at_the_mean() -> None:
    assert gaussian_crps(3.0, 3.0, 2.0) == pytest.approx(2 * (math.sqrt(2) - 1) / math.sqrt(math.pi), rel=1e-14)


def test_student_t_with_one_two_and_three_degrees() -> None:
    x = np.linspace(-40, 40, 401)
    t = x / math.sqrt(3)
    assert np.abs(student_t_cdf(x, 1.0) - (0.5 + np.arctan(x) / math.pi)).max() < 1e-14
    assert np.abs(student_t_cdf(x, 2.0) - (0.5 + x / (2 * np.sqrt(2 + x**2)))).max() < 1e-14
    assert np.abs(student_t_cdf(x, 3.0) - (0.5 + (t / (1 + t**2) + np.arctan(t)) / math.pi)).max() < 1e-14


def test_the_expansion_meets_the_fraction() -> None:
    x = np.linspace(-8, 8, 161)
    steps = student_t_cdf(x, 2000.0), student_t_cdf(x, 2000.0 * (1 + 1e-12))
    assert np.abs(steps[0] - steps[1]).max() < 1e-9


def test_many_degrees_of_freedom_are_normal() -> None:
    y = np.linspace(-6, 6, 49)
    assert np.abs(student_t_crps(y, 1e9, 0.0, 1.0) - gaussian_crps(y, 0.0, 1.0)).max() < 1e-8


def test_without_spread_the_score_is_the_distance() -> None:
    assert gaussian_crps([1.0, 5.0], 3.0, 0.0).tolist() == [2.0, 2.0]
    assert student_t_crps([1.0, 5.0], 4.0, [3.0, 5.0], 0.0).tolist() == [2.0, 0.0]


def test_scores_of_arrays_are_scores_of_numbers() -> None:
    y, mean, scale = np.array([[1.0], [2.0]]), np.array([0.0, 4.0, -1.0]), 1.5
    rows = student_t_crps(y, 5.0, mean, scale)
    assert rows.shape == (2, 3)
    assert rows[1, 2] == student_t_crps(2.0, 5.0, -1.0, 1.5)


@pytest.mark.parametrize("df", [1.0, 0.5, -2.0, math.nan])
def test_too_few_degrees_of_freedom(df: float) -> None:
    with pytest.raises(ValueError, match="more than 1 degree"):
        student_t_crps(0.0, df, 0.0, 1.0)


def test_negative_scales() -> None:
    with pytest.raises(ValueError, match="0 or more"):
        gaussian_crps(0.0, 0.0, [1.0, -1.0])
    with pytest.raises(ValueError, match="0 or more"):
        student_t_crps(0.0, 3.0, 0.0, math.nan)


@given(VALUES, VALUES, SCALES, st.floats(1.1, 1e5))
def test_scores_are_finite_and_move_and_stretch_with_the_unit(y: float, mean: float, scale: float, df: float) -> None:
    for score in (gaussian_crps, lambda a, b, c: student_t_crps(a, df, b, c)):
        here = float(score(y, mean, scale))
        assert 0 <= here <= abs(y - mean) + scale * 20
        assert float(score(4 * y + 8, 4 * mean + 8, 4 * scale)) == pytest.approx(4 * here, rel=1e-6, abs=1e-9)
        assert float(score(2 * mean - y, mean, scale)) == pytest.approx(here, rel=1e-6, abs=1e-9)
