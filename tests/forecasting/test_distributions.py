"""Distributions of a step: losses by hand, quantiles by their definition."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from seqline.forecasting.distributions import POINT_LOSSES, Gaussian, Point, Quantiles, StudentT
from seqline.forecasting.student_t import student_t_cdf

UNIT = torch.full((1, 1, 1), 2.0)
SQUARED = POINT_LOSSES["squared"]


def of(*parameters: float) -> torch.Tensor:
    return torch.tensor(parameters, dtype=torch.float64).view(1, 1, 1, -1)


def at(value: float) -> torch.Tensor:
    return torch.tensor([[[value]]], dtype=torch.float64)


@pytest.mark.parametrize(("loss", "expected"), [("squared", 9.0), ("absolute", 3.0), ("huber", 2.5)])
def test_a_point_is_measured_in_the_unit_of_its_series(loss: str, expected: float) -> None:
    assert Point(POINT_LOSSES[loss]).loss(of(1.0), at(2.5), UNIT).item() == pytest.approx(expected)


def test_the_pinball_loss_is_that_of_its_level() -> None:
    # Target 1.5: 1 above the first quantile (2 in the unit, weight 0.1), 0.5 below the second (1, weight 1 - 0.8).
    loss = Quantiles((0.1, 0.8), SQUARED).loss(of(1.5, 0.5, 2.0), at(1.5), UNIT)
    assert loss.item() == pytest.approx((0.1 * 2 + 0.2 * 1) / 2)


def test_quantiles_are_sorted_and_joined_by_lines() -> None:
    found = Quantiles((0.2, 0.4, 0.8), SQUARED).quantiles(np.array([9.0, 3.0, 1.0, 4.0]), (0.2, 0.3, 0.4, 0.6, 0.8))
    np.testing.assert_allclose(found, [1.0, 2.0, 3.0, 3.5, 4.0])


def test_the_normal_loss_is_the_negative_log_density() -> None:
    raw = 0.3
    spread = math.log1p(math.exp(raw)) + 1e-3
    density = torch.distributions.Normal(torch.tensor(2.0), torch.tensor(2 * spread)).log_prob(
        torch.tensor(2.0 + 2 * 0.7)
    )
    assert Gaussian().loss(of(1.0, raw), at(1.7), UNIT).item() == pytest.approx(-density.item(), rel=1e-6)


def test_the_student_t_loss_is_the_negative_log_density() -> None:
    spread, df = math.log1p(math.exp(0.3)) + 1e-3, 2.01 + math.log1p(math.exp(-0.4))
    law = torch.distributions.StudentT(torch.tensor(df), torch.tensor(2.0), torch.tensor(2 * spread))
    loss = StudentT().loss(of(1.0, 0.3, -0.4), at(1.7), UNIT).item()
    assert loss == pytest.approx(-law.log_prob(torch.tensor(2.0 + 2 * 0.7)).item(), rel=1e-5)


def test_normal_quantiles_are_those_of_the_table() -> None:
    spread = math.log1p(math.exp(0.3)) + 1e-3
    found = Gaussian().quantiles(np.array([1.0, 0.3]), (0.025, 0.5, 0.975))
    np.testing.assert_allclose(found, 1.0 + spread * np.array([-1.959964, 0.0, 1.959964]), rtol=1e-6)


def test_student_t_quantiles_turn_the_distribution_function_round() -> None:
    levels = (0.001, 0.2, 0.5, 0.9, 0.999)
    found = StudentT().quantiles(np.array([[1.0, 0.3, -1.0], [0.0, -2.0, 3.0]]), levels)
    for row, (location, raw, raw_df) in zip(found, [(1.0, 0.3, -1.0), (0.0, -2.0, 3.0)], strict=True):
        z = (row - location) / (math.log1p(math.exp(raw)) + 1e-3)
        np.testing.assert_allclose(student_t_cdf(z, 2.01 + math.log1p(math.exp(raw_df))), levels, atol=1e-9)


@pytest.mark.parametrize("levels", [(0.1, 0.5, 0.9), (0.05, 0.33, 0.5, 0.95)])
def test_quantiles_of_a_forecast_without_spread_are_its_value(levels: tuple[float, ...]) -> None:
    parameters = np.full((2, 3, 12), 0.7)
    found = Quantiles((0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95), POINT_LOSSES["squared"]).quantiles(
        parameters, levels
    )
    assert (found == 0.7).all()
    for one in (Gaussian(), StudentT()):
        raw = np.stack([np.full((4, 2), 0.7), *(np.full((4, 2), -1e3) for _ in one.is_location[1:])], axis=-1)
        spread = one.quantiles(raw, levels) - 0.7
        assert (np.diff(spread, axis=-1) > 0).all()
        assert np.abs(spread).max() < 0.05  # the least spread is a thousandth of the scale
