"""Instance normalisation: one guarded scale in both directions, from the history alone."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from seqline.forecasting.scaling import Floor, Scale, denormalise, fit_floor, instance_scale, normalise

NUMBERS = st.floats(-1e3, 1e3)
HISTORIES = hnp.arrays(np.float64, st.tuples(st.integers(1, 12), st.integers(1, 3)), elements=NUMBERS)
CONSTANTS = [0.0, 7.0, 0.1, -1e12, 1e-12, 1 / 3, float(2**53)]


def test_mean_and_deviation_by_hand() -> None:
    centre, scale = instance_scale([[1.0, 5.0], [3.0, 5.0], [8.0, 11.0]])
    assert centre.tolist() == [4.0, 7.0]
    assert scale == pytest.approx([math.sqrt((9 + 1 + 16) / 3), math.sqrt((4 + 4 + 16) / 3)], rel=1e-15)
    with_a_gap = instance_scale([[1.0], [3.0], [8.0]], [[True], [True], [False]])
    assert with_a_gap.centre.tolist() == [2.0]
    assert with_a_gap.scale.tolist() == [1.0]


@pytest.mark.parametrize("value", CONSTANTS)
@pytest.mark.parametrize("length", [1, 2, 3, 10, 1000])
def test_a_constant_comes_back_to_the_last_bit(value: float, length: int) -> None:
    history = np.full((length, 1), value)
    scale = instance_scale(history)
    assert scale.centre[0] == value
    assert 0 < scale.scale[0] <= max(1e-9 * abs(value), 1e-24)
    assert (normalise(history, scale) == 0).all()
    assert (denormalise(normalise(history, scale), scale) == history).all()
    # Whatever a model says of it, the forecast stays near the constant.
    assert np.abs(denormalise(np.array([[5.0], [-5.0]]), scale) - value).max() <= max(1e-8 * abs(value), 1e-20)


@pytest.mark.parametrize("value", CONSTANTS)
@pytest.mark.parametrize("spread", [1e-12, 1e-9, 1e-6])
@pytest.mark.parametrize("size", [1e-12, 1.0, 1e12])
def test_a_near_constant_comes_back(value: float, spread: float, size: float) -> None:
    history = (value * (1 + spread * np.sin(np.arange(9.0))))[:, None] * size
    scale = instance_scale(history)
    scaled = normalise(history, scale)
    assert np.isfinite(scaled).all()
    assert np.abs(scaled).max() < 10
    assert np.abs(denormalise(scaled, scale) - history).max() <= 1e-10 * np.abs(history).max()


@given(HISTORIES, st.data())
def test_the_round_trip_is_the_identity_for_any_values(history: np.ndarray, data: st.DataObject) -> None:
    scale = instance_scale(history)
    later = data.draw(hnp.arrays(np.float64, (3, history.shape[1]), elements=NUMBERS))
    size = np.maximum(np.abs(later), np.abs(scale.centre))
    assert (np.abs(denormalise(normalise(later, scale), scale) - later) <= 1e-10 * size + 1e-300).all()


@given(HISTORIES, st.integers(-8, 8), st.integers(-100, 100))
def test_above_the_floor_the_scaled_history_does_not_know_its_unit(history: np.ndarray, power: int, b: int) -> None:
    history = np.round(history)
    if (history.std(axis=0) < 1e-3).any():
        return
    moved = 2.0**power * history + b
    one, other = instance_scale(history), instance_scale(moved)
    assert normalise(moved, other) == pytest.approx(normalise(history, one), rel=1e-10, abs=1e-10)
    assert other.scale == pytest.approx(2.0**power * one.scale, rel=1e-10)


@given(HISTORIES, st.data())
def test_unobserved_points_do_not_matter(history: np.ndarray, data: st.DataObject) -> None:
    seen = data.draw(hnp.arrays(np.bool_, history.shape))
    poison = data.draw(st.sampled_from([math.nan, math.inf, 1e300]))
    one, other = instance_scale(history, seen), instance_scale(np.where(seen, history, poison), seen)
    assert (one.centre == other.centre).all()
    assert (one.scale == other.scale).all()
    for column in range(history.shape[1]):
        kept = history[seen[:, column], column]
        expected = kept.mean() if len(kept) else 0.0
        assert one.centre[column] == pytest.approx(expected, abs=1e-9)


def test_a_floor_holds_short_and_flat_histories() -> None:
    floor = Floor(np.array([0.5]), np.array([0.01]))
    assert instance_scale([[3.0]], floor=floor).scale == [0.5]
    assert instance_scale([[300.0]], floor=floor).scale == [3.0]
    assert instance_scale([[0.0], [10.0]], floor=floor).scale == [5.0]


def test_the_floor_of_training_spans_by_hand() -> None:
    spans = [np.array([[-1.0], [1.0]]) * spread + 10 for spread in range(1, 22)]
    spans.append(np.full((4, 1), 3.0))  # no spread: left out
    floor = fit_floor(spans)
    assert floor.absolute == pytest.approx([0.1 * 2.0], rel=1e-12)  # the second of 21 spreads is their 5 % quantile
    assert floor.relative == pytest.approx([0.1 * 2 / 12], rel=1e-12)
    flat = fit_floor([np.full((4, 2), 3.0), np.zeros((1, 2))])
    assert flat.absolute.tolist() == [0.0, 0.0]
    assert flat.relative.tolist() == [0.0, 0.0]


def test_the_floor_of_one_series_is_a_tenth_of_its_spread() -> None:
    span = np.array([[1.0], [5.0], [math.nan]])
    floor = fit_floor([span], [np.array([[True], [True], [False]])])
    assert floor.absolute == pytest.approx([0.2])
    assert floor.relative == pytest.approx([0.1 * 2 / 5])


def test_a_tensor_takes_the_same_way() -> None:
    history = np.array([[1.0], [4.0], [2.5]])
    scale = instance_scale(history)
    tensors = Scale(*(torch.from_numpy(part) for part in scale))  # type: ignore[arg-type]
    scaled = normalise(torch.from_numpy(history), tensors)
    assert (scaled.numpy() == normalise(history, scale)).all()
    assert (denormalise(scaled, tensors).numpy() == denormalise(normalise(history, scale), scale)).all()


def test_bad_histories_are_refused() -> None:
    for bad in (np.zeros((0, 1)), np.zeros(3)):
        with pytest.raises(ValueError, match="one point or more"):
            instance_scale(bad)
    with pytest.raises(ValueError, match="one point or more"):
        instance_scale([[1.0]], [[True], [True]])
    with pytest.raises(ValueError, match="not finite"):
        instance_scale([[math.nan]])
