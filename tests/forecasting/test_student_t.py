"""The distribution function of t against its known cases."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqline.forecasting.student_t import student_t_cdf


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
    x = np.linspace(-6, 6, 49)
    normal = np.array([(1 + math.erf(value / math.sqrt(2))) / 2 for value in x])
    assert np.abs(student_t_cdf(x, 1e9) - normal).max() < 1e-8


@given(st.floats(-1e3, 1e3), st.floats(0.1, 1e5))
def test_it_is_a_symmetric_distribution_function(x: float, df: float) -> None:
    here = float(student_t_cdf(x, df))
    assert 0 <= here <= 1
    assert float(student_t_cdf(-x, df)) == pytest.approx(1 - here, abs=1e-9)
    assert float(student_t_cdf(x + 1, df)) >= here - 1e-12
