"""Errors of forecasts: by hand, by closed forms, and the same whatever the batches, the order and the unobserved points are."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from seqline.evaluation.series_metrics import Tally, score_forecasts, seasonal_scale

LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9)
NUMBERS = st.floats(-1e6, 1e6)


def window(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float64)[None, :, None]


def test_point_errors_by_hand() -> None:
    score = score_forecasts(window(1, 2, -4, 0), window(2, 2, -1, 0), scale=2.0)
    assert score.num_points == 4
    assert score.num_windows == 1
    assert score.mae == (1 + 0 + 3 + 0) / 4
    assert score.mse == (1 + 0 + 9 + 0) / 4
    assert score.rmse == math.sqrt(2.5)
    assert score.smape == pytest.approx(200 * (1 / 3 + 0 + 3 / 5 + 0) / 4, rel=1e-15)
    assert score.mase == 4 / 2 / 4
    assert score.num_scaled == 4
    assert (score.crps, score.pinball, score.intervals) == (None, (), ())


def test_opposite_signs_are_200_percent() -> None:
    assert score_forecasts(window(1.0), window(-3.0)).smape == 200


def test_quantile_losses_by_hand() -> None:
    # y = 3: q (y - f) under, (1 - q) (f - y) over.
    score = score_forecasts(window(3), window(3), quantiles=[[[[1.0, 3.0, 7.0]]]], levels=(0.1, 0.5, 0.9))
    assert [level for level, _ in score.pinball] == [0.1, 0.5, 0.9]
    assert [loss for _, loss in score.pinball] == pytest.approx([0.1 * 2, 0.0, 0.1 * 4], rel=1e-15)
    assert score.crps == pytest.approx(2 * (0.3 * 0.2 + 0.4 * 0.0 + 0.3 * 0.4), rel=1e-15)  # nearest: to 0.3, 0.7 and 1
    assert score.intervals == ((0.8, 1.0, 6.0),)


def test_coverage_and_width_by_hand() -> None:
    bounds = np.array([[[[0.0, 2.0]], [[0.0, 2.0]], [[1.0, 2.0]], [[5.0, 9.0]]]])
    score = score_forecasts(window(0, 2, 0.5, 4), window(1, 1, 1, 7), quantiles=bounds, levels=(0.05, 0.95))
    assert score.intervals == ((0.9, 2 / 4, (2 + 2 + 1 + 4) / 4),)  # the ends belong to the interval


def test_every_pair_of_levels_is_an_interval() -> None:
    quantiles = np.arange(5.0)[None, None, None]
    score = score_forecasts(window(2), window(2), quantiles=quantiles, levels=LEVELS)
    assert [(i.level, i.width) for i in score.intervals] == [(0.8, 4.0), (0.5, 2.0)]
    one = score_forecasts(window(2), window(2), quantiles=quantiles[..., :3], levels=(0.1, 0.2, 0.5))
    assert one.intervals == ()


def gaussian_crps(value: float, mean: float, deviation: float) -> float:
    """Score a normal forecast in closed form (Gneiting and Raftery 2007, equation 21, which has the other sign)."""
    w, normal = (value - mean) / deviation, NormalDist()
    return deviation * (w * (2 * normal.cdf(w) - 1) + 2 * normal.pdf(w) - 1 / math.sqrt(math.pi))


def score_of_normal(levels: tuple[float, ...], values: list[float]) -> float:
    quantiles = [NormalDist(1.0, 2.0).inv_cdf(level) for level in levels]
    rows = np.tile(quantiles, (len(values), 1))[:, None, None]
    target = np.array(values)[:, None, None]
    found = score_forecasts(target, np.ones_like(target), quantiles=rows, levels=levels).crps
    assert found is not None
    return found


def test_dense_quantiles_come_near_the_closed_form() -> None:
    levels = tuple((n + 0.5) / 400 for n in range(400))
    for y in (-4.0, 1.0, 2.5):
        assert score_of_normal(levels, [y]) == pytest.approx(gaussian_crps(y, 1.0, 2.0), rel=2e-3)


def test_uneven_quantiles_count_by_the_share_that_is_nearest() -> None:
    """Of the true forecast, whose mean score is the deviation / sqrt(pi)."""
    values = [NormalDist(1.0, 2.0).inv_cdf((n + 0.5) / 4000) for n in range(4000)]
    few = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
    assert score_of_normal(few, values) == pytest.approx(2 / math.sqrt(math.pi), rel=0.012)
    uneven = tuple(sorted({*few, *(n / 100 for n in range(51, 60))}))
    assert score_of_normal(uneven, values) == pytest.approx(score_of_normal(few, values), rel=2e-3)


def test_the_scale_of_a_training_span_by_hand() -> None:
    training = np.array([[1.0, 0], [2, 0], [4, 0], [1, 5], [5, 0]])
    assert seasonal_scale(training, 1).tolist() == [(1 + 2 + 3 + 4) / 4, (0 + 0 + 5 + 5) / 4]
    assert seasonal_scale(training, 2).tolist() == [(3 + 1 + 1) / 3, (0 + 5 + 0) / 3]
    seen = np.ones((5, 2), bool)
    seen[2] = False
    assert seasonal_scale(training, 1, seen).tolist() == [(1 + 4) / 2, (0 + 5) / 2]


@pytest.mark.parametrize(
    "training", [[], [3.0], [3.0, 4.0], [7.0] * 9, [0.0] * 9, [1 / 3] * 4 + [1 / 3 * (1 + 4e-16)] * 4]
)
def test_without_a_scale_the_scaled_error_is_undefined(training: list[float]) -> None:
    scale = seasonal_scale(np.array(training).reshape(-1, 1), 2)
    assert np.isnan(scale).all()
    score = score_forecasts(window(1, 2), window(2, 2), scale=scale)
    assert score.mase is None
    assert score.num_scaled == 0
    assert score.mae == 0.5


def test_points_without_a_scale_do_not_count_for_the_scaled_error() -> None:
    target, forecast = np.zeros((2, 3, 1)), np.ones((2, 3, 1))
    score = score_forecasts(target, forecast, scale=np.array([4.0, np.nan])[:, None, None])
    assert score.mase == 1 / 4
    assert score.num_scaled == 3
    assert score.num_points == 6


def test_a_small_but_real_spread_is_a_scale() -> None:
    assert seasonal_scale(np.array([[1.0], [1 + 1e-12]]), 1)[0] == pytest.approx(1e-12, rel=1e-3)


def test_relative_error_of_zeros_is_undefined() -> None:
    assert score_forecasts(window(0, 0), window(0, 0)).smape is None
    assert score_forecasts(window(0, 0), window(0, 1)).smape is None
    assert score_forecasts(window(0, 1), window(0, 1)).smape == 0


def test_nothing_observed_is_undefined() -> None:
    for tally in (Tally(), Tally(LEVELS)):
        assert tally.result()[2:7] == (None,) * 5
        quantiles = np.ones((1, 2, 1, 5)) if tally.levels else None
        tally.add(window(1, 2), window(3, 4), is_observed=window(0, 0), quantiles=quantiles, scale=1.0)
        score = tally.result()
        assert score.num_points == 0
        assert score.num_windows == 1
        assert (score.mae, score.mse, score.rmse, score.smape, score.mase, score.crps) == (None,) * 6
        assert (score.pinball, score.intervals) == ((), ())


def test_points_count_alike_whichever_window_they_are_of() -> None:
    tally = Tally()
    tally.add(window(1), window(0))
    tally.add(window(0, 0, 0), window(3, 3, 3))
    assert tally.result().mae == 10 / 4  # the mean of the windows would be 2


@given(st.data(), st.integers(1, 7), st.integers(1, 6), st.integers(1, 3))
def test_batches_order_and_unobserved_points_change_no_bit(data: st.DataObject, w: int, h: int, f: int) -> None:
    target, forecast = (data.draw(hnp.arrays(np.float64, (w, h, f), elements=NUMBERS)) for _ in range(2))
    quantiles = np.sort(data.draw(hnp.arrays(np.float64, (w, h, f, len(LEVELS)), elements=NUMBERS)), axis=-1)
    seen = data.draw(hnp.arrays(np.bool_, (w, h, f)))
    scale = data.draw(hnp.arrays(np.float64, (w, 1, f), elements=st.floats(0.01, 100) | st.just(math.nan)))
    whole = Tally(LEVELS)
    whole.add(target, forecast, is_observed=seen, quantiles=quantiles, scale=scale)
    poison = data.draw(st.sampled_from([1e9, math.nan, math.inf]))
    target, forecast = np.where(seen, target, poison), np.where(seen, forecast, -poison)
    quantiles = np.where(seen[..., None], quantiles, poison)
    parts = Tally(LEVELS)
    order = data.draw(st.permutations(range(w)))
    cut = data.draw(st.integers(0, w))
    for rows in (order[:cut], order[cut:]):
        some = {"is_observed": seen[rows], "quantiles": quantiles[rows], "scale": scale[rows]}
        parts.add(target[rows], forecast[rows], **some)
    assert parts.result() == whole.result()


@given(hnp.arrays(np.float64, (3, 4, 1), elements=NUMBERS), hnp.arrays(np.float64, (3, 4, 1), elements=NUMBERS))
@example(np.zeros((3, 4, 1)), np.full((3, 4, 1), 2.225073858507e-311))
def test_errors_obey_their_inequalities(target: np.ndarray, forecast: np.ndarray) -> None:
    score = score_forecasts(target, forecast, quantiles=forecast[..., None], levels=(0.5,), scale=0.5)
    assert score.mae is not None
    assert score.rmse is not None
    assert score.mae <= score.rmse * (1 + 1e-12) + 1e-150  # the square of less than that is 0
    assert score.smape is None or 0 <= score.smape <= 200 * (1 + 1e-12)
    assert score.mase == pytest.approx(2 * score.mae)
    assert score.crps == pytest.approx(score.mae)  # of one median: 2 x half the distance
    assert (score.mae == 0) == (target == forecast).all()


@given(st.floats(0.01, 0.99), st.lists(st.integers(-50, 50), min_size=1, max_size=30))
def test_the_quantile_of_the_targets_has_the_least_loss(level: float, values: list[int]) -> None:
    y = np.array(values, dtype=np.float64).reshape(-1, 1, 1)

    def loss(f: float) -> float:
        forecast = np.full_like(y, f)
        return score_forecasts(y, forecast, quantiles=forecast[..., None], levels=(level,)).pinball[0][1]

    best = loss(float(np.quantile(y, level, method="inverted_cdf")))
    assert all(best <= loss(float(f)) + 1e-9 for f in range(-51, 52, 3))


@pytest.mark.parametrize("levels", [(0.5, 0.5), (0.9, 0.1), (0.0, 0.5), (0.5, 1.0), (math.nan,)])
def test_levels_out_of_order_are_refused(levels: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="ascending levels"):
        Tally(levels)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="differ in shape"):
        score_forecasts(window(1, 2), window(1))
    with pytest.raises(ValueError, match="expected quantiles of shape"):
        score_forecasts(window(1), window(1), levels=(0.5,))
    with pytest.raises(ValueError, match="expected quantiles of shape"):
        score_forecasts(window(1), window(1), quantiles=window(1))
    for bad in (math.nan, math.inf):
        with pytest.raises(ValueError, match="forecast of an observed point is not finite"):
            score_forecasts(window(1), window(bad))
        with pytest.raises(ValueError, match="target of an observed point is not finite"):
            score_forecasts(window(bad), window(1))
    with pytest.raises(ValueError, match="period of 1 or more"):
        seasonal_scale(np.ones((3, 1)), 0)
