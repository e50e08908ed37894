"""Windows of series: their number, what lies in them, and that each is drawn by itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from seqline.forecasting.windows import (
    Windows,
    backtest_origins,
    target_windows,
    training_windows,
)

SIZES = st.integers(1, 6)
LENGTHS = st.lists(st.integers(0, 20), min_size=1, max_size=5)
SEEDS = st.integers(-(2**70), 2**70)


def rows(windows: Windows) -> list[tuple[int, ...]]:
    return list(zip(*(column.tolist() for column in windows), strict=True))


@given(LENGTHS, SIZES, SIZES)
def test_every_window_and_no_other(lengths: list[int], lookback: int, horizon: int) -> None:
    windows = target_windows([(lookback, size) for size in lengths], lookback, horizon)
    expected = [(n, o - lookback, o) for n, size in enumerate(lengths) for o in range(size + 1)]
    assert rows(windows) == [(n, s, o) for n, s, o in expected if s >= 0 and o + horizon <= lengths[n]]
    counts = np.bincount(windows.series, minlength=len(lengths)).tolist()
    assert counts == [max(0, size - lookback - horizon + 1) for size in lengths]


def test_the_windows_of_the_published_weather_table() -> None:
    for days in (5, 10, 20, 30, 50):
        windows = target_windows([(28_052, 35_064)], days * 24, 24)
        assert len(windows.origin) == 6_989
        assert (windows.origin[0], windows.origin[-1]) == (28_052, 35_040)
        assert set(windows.lengths.tolist()) == {days * 24}


def test_targets_of_a_span_stay_inside_it() -> None:
    windows = target_windows([(3, 8), (5, 6), (0, 0)], 2, 3)
    assert rows(windows) == [(0, 1, 3), (0, 2, 4), (0, 3, 5)]
    assert rows(windows.take([2, 0])) == [(0, 3, 5), (0, 1, 3)]
    with pytest.raises(ValueError, match="before 4 points"):
        target_windows([(3, 8)], 4, 3)
    for lookback, horizon in ((0, 1), (1, 0)):
        with pytest.raises(ValueError, match="1 or more"):
            target_windows([(lookback, 9)], lookback, horizon)


@given(st.integers(2, 60), SIZES, st.integers(1, 8), st.none() | SIZES)
def test_rolling_origins_end_with_the_series(length: int, horizon: int, number: int, step: int | None) -> None:
    by = horizon if step is None else step
    fitting = len(range(length - horizon, 0, -by))
    if fitting < number:
        with pytest.raises(ValueError, match=f"holds {fitting} such windows, not {number}"):
            backtest_origins(length, horizon, number, step=step)
        return
    origins = backtest_origins(length, horizon, number, step=step)
    assert len(origins) == number
    assert origins[-1] + horizon == length
    assert origins[0] >= 1
    assert set(np.diff(origins).tolist()) <= {by}


def test_bad_backtests() -> None:
    for bad in ((9, 0, 1, None), (9, 1, 0, None), (9, 1, 1, 0)):
        with pytest.raises(ValueError, match="1 or more"):
            backtest_origins(bad[0], bad[1], bad[2], step=bad[3])


@given(st.data(), LENGTHS, SIZES, st.integers(1, 9), SEEDS, st.integers(0, 9))
def test_training_windows_lie_in_their_span(
    data: st.DataObject, lengths: list[int], horizon: int, longest: int, seed: int, epoch: int
) -> None:
    masks = [data.draw(hnp.arrays(np.bool_, (size, 2))) for size in lengths]
    training = training_windows(masks, horizon, longest, full_share=data.draw(st.sampled_from([0.0, 0.5, 1.0])))
    drawn = training.draw(seed, epoch, np.arange(len(training)))
    seen_once = set()
    for n, start, origin in rows(drawn):
        assert 0 <= start < origin <= lengths[n] - horizon
        assert origin - start <= longest
        assert masks[n][start:origin].any()
        assert masks[n][origin : origin + horizon].any()
        seen_once.add((n, origin))
    assert len(seen_once) == len(training)
    expected = {
        (n, o)
        for n, mask in enumerate(masks)
        for o in range(1, len(mask) - horizon + 1)
        if mask[max(0, o - longest) : o].any() and mask[o : o + horizon].any()
    }
    assert seen_once == expected
    assert sorted(training.order(seed, epoch).tolist()) == list(range(len(training)))


@given(st.integers(0, 40), SIZES, SEEDS, st.integers(0, 9), st.data())
def test_a_window_depends_on_its_own_number_alone(
    length: int, horizon: int, seed: int, epoch: int, data: st.DataObject
) -> None:
    training = training_windows([np.ones((length, 1), bool)], horizon, 7)
    assert len(training) == max(0, length - horizon)
    whole = training.draw(seed, epoch, np.arange(len(training)))
    some = data.draw(st.lists(st.integers(0, max(0, len(training) - 1)), max_size=9)) if len(training) else []
    assert rows(training.draw(seed, epoch, some)) == rows(whole.take(some))


def test_lengths_are_drawn_as_documented() -> None:
    training = training_windows([np.ones((20_101, 1), bool)], 1, 100, full_share=0.25)
    late = np.arange(100, 20_100)  # origins with a hundred points before them
    lengths = training.draw(3, 1, late).lengths
    assert lengths.min() == 1
    assert (lengths == 100).mean() == pytest.approx(0.25 + 0.75 / 7 / 37, abs=0.01)
    for k in range(6):  # seven doublings: 1, 2-3, 4-7, ..., 64-100
        assert ((2**k <= lengths) & (lengths < 2 ** (k + 1))).mean() == pytest.approx(0.75 / 7, abs=0.01)
    for length in (8, 11, 15):
        assert (lengths == length).mean() == pytest.approx(0.75 / 7 / 8, abs=0.003)
    other = training.draw(3, 2, late).lengths
    assert (lengths != other).mean() > 0.7
    assert (training.order(3, 1) != training.order(3, 2)).mean() > 0.9
    assert abs(np.corrcoef(lengths[:-1], lengths[1:])[0, 1]) < 0.03


def test_the_draw_is_the_same_for_ever() -> None:
    training = training_windows([np.ones((50, 1), bool)], 2, 20)
    assert training.draw(7, 3, [0, 10, 20, 30, 40, 47]).lengths.tolist() == [1, 11, 20, 20, 8, 20]
    assert training.order(7, 3)[:6].tolist() == [4, 38, 16, 43, 31, 37]


def test_always_the_longest() -> None:
    training = training_windows([np.ones((9, 1), bool)], 2, 4, full_share=1.0)
    assert training.draw(0, 0, range(len(training))).lengths.tolist() == [1, 2, 3, 4, 4, 4, 4]


@pytest.mark.parametrize(("horizon", "longest", "share"), [(0, 3, 0.5), (2, 0, 0.5), (2, 3, 1.5), (2, 3, -0.1)])
def test_bad_training_windows(horizon: int, longest: int, share: float) -> None:
    with pytest.raises(ValueError, match="1 or more and a share"):
        training_windows([np.ones((9, 1), bool)], horizon, longest, full_share=share)
