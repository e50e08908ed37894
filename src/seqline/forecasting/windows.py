"""Windows of series: a history and the target that follows it, for training, evaluation and backtests.

A window is (series, start, origin): its history is the points start ... origin - 1, its target origin ... origin + H - 1, so the
two share no point and the history ends where the target begins.

Evaluation takes every window, none dropped. Training takes every origin once an epoch, each time with a history of another
length, from one point to the longest, so that one model learns to forecast from any. What is drawn is a pure function of
(seed, epoch, number of the window): no generator, no state, the same on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seqline.data.loader import mix

Mask = NDArray[np.bool_]
Index = NDArray[np.int64]

_DRAW_KIND, _DRAW_DOUBLINGS, _DRAW_LENGTH, _SHUFFLE = 11, 12, 13, 14  # each use of chance has its own stream


class Windows(NamedTuple):
    """Windows as three columns [W]: number of the series, first point of the history, first point of the target."""

    series: Index
    start: Index
    origin: Index

    def take(self, which: ArrayLike) -> Windows:
        """Return some of the windows, in the order given."""
        return Windows(*(column[np.asarray(which, dtype=np.int64)] for column in self))

    def targets(self, columns: Sequence[NDArray[Any]], horizon: int) -> NDArray[Any]:
        """Return what lies behind each origin, [W H ...], of one array [N ...] a series, such as its values or times."""
        places = zip(self.series.tolist(), self.origin.tolist(), strict=True)
        return np.stack([columns[n][origin : origin + horizon] for n, origin in places])

    @property
    def lengths(self) -> Index:
        """Points of each history, [W]."""
        return self.origin - self.start


def target_windows(spans: Sequence[tuple[int, int]], lookback: int, horizon: int) -> Windows:
    """List every window whose target lies in a span; its history may reach back before the span.

    So histories of several lengths are scored on the same targets, such as those of a test span. A span from `lookback` to N,
    the end of a series, has every window of that series: exactly max(0, N - L - H + 1) for a lookback L and a horizon H.

    Args:
        spans: first point and end (excluded) of where the targets of each series may lie.
        lookback: points of a history, 1 or more.
        horizon: points of a target, 1 or more.

    Returns:
        The windows, series by series, in the order of time: end - first - horizon + 1 each, or none.

    Raises:
        ValueError: a lookback or horizon under 1, or a span that begins before a whole history.
    """
    if lookback < 1 or horizon < 1:
        raise ValueError(f"expected a lookback and a horizon of 1 or more, got {lookback} and {horizon}")
    if any(first < lookback for first, end in spans if end - first >= horizon):
        raise ValueError(f"a span of targets begins before {lookback} points of history")
    origins = [np.arange(first, max(first, end - horizon + 1)) for first, end in spans]
    series = np.repeat(np.arange(len(spans)), [len(o) for o in origins])
    origin = np.concatenate([np.zeros(0, np.int64), *origins]).astype(np.int64)
    return Windows(series.astype(np.int64), origin - lookback, origin)


def backtest_origins(length: int, horizon: int, num_windows: int, *, step: int | None = None) -> list[int]:
    """Place the origins of a rolling backtest: the last target ends with the series, the others `step` points before it.

    Args:
        length: N, points of the series.
        horizon: H, points of a target.
        num_windows: forecasts to make.
        step: points between two origins; None = the horizon, so that targets touch but do not overlap.

    Returns:
        `num_windows` origins, ascending; before each lies at least one point.

    Raises:
        ValueError: an argument under 1, or a series too short for so many windows.
    """
    by = horizon if step is None else step
    if min(horizon, num_windows, by) < 1:
        raise ValueError(f"expected horizon, windows and step of 1 or more, got {horizon}, {num_windows} and {by}")
    last = length - horizon
    if last - (num_windows - 1) * by < 1:
        fitting = max(0, (last - 1) // by + 1)
        raise ValueError(f"a series of {length} points holds {fitting} such windows, not {num_windows}")
    return [last - n * by for n in reversed(range(num_windows))]


@dataclass(frozen=True)
class TrainingWindows:
    """All training windows of a set of training spans; each epoch draws a length for each anew.

    Window k has a fixed origin; every origin with at least one observed point before it and one in its target is there once.
    Its history reaches back over at least one observed point, at most `longest` points and never before the series:

        with probability `full_share` the longest that fits; else a number of doublings k, evenly from 0 to the most that fit,
        and then a length, evenly from `shortest` 2^k to under `shortest` 2^(k+1)

    so that histories of 1 to 2 points are as frequent as those of 16 to 31, and short ones are learnt as well as long ones.

    Attributes:
        series: [W] number of the series.
        origin: [W] first point of the target.
        shortest: [W] points back to the last observed one.
        horizon: points of a target.
        longest: most points of a history.
        full_share: how often the longest history is taken, 0 to 1.
    """

    series: Index
    origin: Index
    shortest: Index
    horizon: int
    longest: int
    full_share: float

    def __len__(self) -> int:
        return len(self.origin)

    def draw(self, seed: int, epoch: int, index: ArrayLike) -> Windows:
        """Draw windows by their numbers.

        Args:
            seed: any integer.
            epoch: any integer; consecutive epochs differ.
            index: [W] numbers under `len(self)`.

        Returns:
            The windows, in the order given; each depends on its own number alone.
        """
        which = np.asarray(index, dtype=np.int64)
        origin, shortest = self.origin[which], self.shortest[which]
        most = np.minimum(origin, self.longest)
        doublings = np.frexp(most // shortest)[1].astype(
            np.int64
        )  # whole numbers only: no rounding, the same everywhere
        low = shortest << _below(mix(seed, epoch, _DRAW_DOUBLINGS, which), doublings)
        drawn = low + _below(mix(seed, epoch, _DRAW_LENGTH, which), np.minimum(2 * low, most + 1) - low)
        is_full = _unit(mix(seed, epoch, _DRAW_KIND, which)) < self.full_share
        length = np.where(is_full, most, drawn)
        return Windows(self.series[which], origin - length, origin)

    def order(self, seed: int, epoch: int) -> Index:
        """Shuffle the numbers of the windows: [W], each once. A short epoch takes the first ones."""
        return np.argsort(mix(seed, epoch, _SHUFFLE, np.arange(len(self))), kind="stable")


def training_windows(
    masks: Sequence[ArrayLike], horizon: int, longest: int, *, full_share: float = 0.5
) -> TrainingWindows:
    """Find the windows of training spans: their targets end with the span at the latest.

    Args:
        masks: `is_observed` [N F] of the training span of each series; its length says where the span ends.
        horizon: points of a target.
        longest: most points of a history.
        full_share: see `TrainingWindows`.

    Returns:
        The windows; at most N - H of a series, and none of one with N <= H.

    Raises:
        ValueError: a horizon or longest history under 1, or a share outside 0 to 1.
    """
    if min(horizon, longest) < 1 or not 0 <= full_share <= 1:
        raise ValueError(f"expected sizes of 1 or more and a share, got {horizon}, {longest} and {full_share}")
    columns = [_origins(np.asarray(mask, dtype=bool), horizon, longest) for mask in masks]
    series = np.repeat(np.arange(len(masks)), [len(origin) for origin, _ in columns])
    empty = np.zeros(0, np.int64)
    origin = np.concatenate([empty, *(origin for origin, _ in columns)])
    shortest = np.concatenate([empty, *(shortest for _, shortest in columns)])
    return TrainingWindows(series.astype(np.int64), origin, shortest, horizon, longest, full_share)


def _origins(seen: Mask, horizon: int, longest: int) -> tuple[Index, Index]:
    """Return origins and how far back the last observed point lies, of one training span [N F]."""
    is_seen = seen.any(axis=1)
    origin = np.arange(1, max(1, len(seen) - horizon + 1))
    position = np.where(is_seen, np.arange(len(seen)), -1)
    last = np.maximum.accumulate(position)[origin - 1] if len(origin) else origin
    counts = np.concatenate([[0], np.cumsum(is_seen)])
    has_target = counts[origin + horizon] > counts[origin] if len(origin) else origin > 0
    keep = (last >= 0) & has_target & (origin - last <= longest)
    return origin[keep].astype(np.int64), (origin - last)[keep].astype(np.int64)


def _below(mixed: NDArray[np.uint64], limit: Index) -> Index:
    """Turn 64 mixed bits into whole numbers from 0 to under a limit."""
    return (mixed % limit.astype(np.uint64)).astype(np.int64)


def _unit(mixed: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Turn 64 mixed bits into numbers from 0 to under 1, by their upper 53 bits."""
    return (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53
