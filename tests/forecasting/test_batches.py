"""Batches of windows: by hand, and the same whatever stands in the other rows and whatever comes later."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from seqline.forecasting.batches import collate
from seqline.forecasting.windows import Windows, training_windows

SIZES = st.integers(1, 6)
LENGTHS = st.lists(st.integers(0, 20), min_size=1, max_size=5)
SEEDS = st.integers(-(2**70), 2**70)


def rows(windows: Windows) -> list[tuple[int, ...]]:
    return list(zip(*(column.tolist() for column in windows), strict=True))


def test_a_batch_by_hand() -> None:
    values = [np.arange(10.0)[:, None], 100 + np.arange(8.0)[:, None]]
    masks = [np.ones((10, 1), bool), np.ones((8, 1), bool)]
    masks[1][[2, 5]] = False
    batch = collate(Windows(*(np.array(c) for c in ([0, 1], [3, 1], [4, 4]))), values, masks, 2)
    assert batch.history[..., 0].tolist() == [[3, 0, 0], [101, 0, 103]]
    assert batch.is_real.tolist() == [[True, False, False], [True, True, True]]
    assert batch.is_observed[..., 0].tolist() == [[True, False, False], [True, False, True]]
    assert batch.target[..., 0].tolist() == [[4, 5], [104, 0]]
    assert batch.target_observed[..., 0].tolist() == [[True, True], [True, False]]
    assert batch.scale.centre[..., 0].tolist() == [[3], [102]]
    assert batch.scale.scale[1, 0, 0] == 1


def test_histories_without_targets() -> None:
    batch = collate(
        Windows(*(np.array(c) for c in ([0], [0], [3]))), [np.arange(3.0)[:, None]], [np.ones((3, 1), bool)], 0
    )
    assert batch.target.shape == (1, 0, 1)
    assert batch.history[0, :, 0].tolist() == [0, 1, 2]


@given(st.data(), LENGTHS, SIZES, SEEDS)
def test_a_row_is_the_same_alone_and_what_comes_later_changes_no_bit(
    data: st.DataObject, lengths: list[int], horizon: int, seed: int
) -> None:
    values = [data.draw(hnp.arrays(np.float64, (size, 2), elements=st.floats(-1e3, 1e3))) for size in lengths]
    masks = [data.draw(hnp.arrays(np.bool_, (size, 2))) for size in lengths]
    training = training_windows(masks, horizon, 9)
    if not len(training):
        return
    windows = training.draw(seed, 0, training.order(seed, 0))
    batch = collate(windows, values, masks, horizon)
    row = data.draw(st.integers(0, len(training) - 1))
    alone = collate(windows.take([row]), values, masks, horizon)
    n, _, origin = rows(windows)[row]
    later = list(values)
    later[n] = np.where(np.arange(lengths[n])[:, None] >= origin, values[n] + 1e6, values[n])
    perturbed = collate(windows.take([row]), later, masks, horizon)
    for one in (alone, perturbed):
        size = one.history.shape[1]
        assert (one.history[0] == batch.history[row, :size]).all()
        assert not batch.is_real[row, size:].any()
        assert (batch.history[row, size:] == 0).all()
        assert (one.scale.centre[0] == batch.scale.centre[row]).all()
        assert (one.scale.scale[0] == batch.scale.scale[row]).all()
    assert (alone.target[0] == batch.target[row]).all()


@given(st.data(), st.integers(3, 20), SIZES)
def test_values_after_the_training_span_change_no_training_batch(data: st.DataObject, split: int, horizon: int) -> None:
    values = data.draw(hnp.arrays(np.float64, (split + 5, 1), elements=st.floats(-1e3, 1e3)))
    masks = [np.ones((split, 1), bool)]  # the training span alone
    training = training_windows(masks, horizon, 9)
    perturbed = values.copy()
    perturbed[split:] += 1e6
    if len(training):
        windows = training.draw(1, 0, np.arange(len(training)))
        seen = [np.ones((split + 5, 1), bool)]
        one, other = (collate(windows, [v], seen, horizon) for v in (values, perturbed))
        assert (one.history == other.history).all()
        assert (one.target == other.target).all()
        assert (one.scale.scale == other.scale.scale).all()


def test_a_window_outside_its_series_is_refused() -> None:
    values, masks = [np.arange(5.0)[:, None]], [np.ones((5, 1), bool)]
    for start, origin in ((0, 4), (-1, 2), (2, 2)):
        with pytest.raises(ValueError, match="is not in a series of 5 points"):
            collate(Windows(*(np.array([c]) for c in (0, start, origin))), values, masks, 2)
