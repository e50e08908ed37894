"""What of a panel is forecast and recorded: one column of one series, from histories of several lengths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from seqline.data.series import Panel, Series
from seqline.errors import UserError, did_you_mean
from seqline.forecasting.windows import Windows

LENGTHS = tuple(range(5, 55, 5))
"""Histories that are tried beside the whole one."""
DRAWN_LEVELS = (0.1, 0.25, 0.75, 0.9)


@dataclass(frozen=True)
class Asked:
    """What of a panel is looked at.

    Attributes:
        series: its id; None = the only one.
        target: the column; None = the first.
        horizon: steps; None = those the model was trained for.
        quantiles: levels; None = 0.1, 0.25, 0.75 and 0.9 or the nearest that the model gives.
        lengths: histories to forecast from, in points; None = 5, 10, ... 50 and the longest.
        hold_back: points at the end that are not read: forecast instead, and drawn as what came true.
    """

    series: str | None = None
    target: str | None = None
    horizon: int | None = None
    quantiles: tuple[float, ...] | None = None
    lengths: tuple[int, ...] | None = None
    hold_back: int = 0


class Chosen(NamedTuple):
    """One column of one series, cut where the forecast begins.

    panel: of that series alone. target: number of the column. origin: where the forecast begins. horizon: Z. lengths: points
    read, the whole history last. levels: of the quantiles.
    """

    panel: Panel
    target: int
    origin: int
    horizon: int
    lengths: tuple[int, ...]
    levels: tuple[float, ...]

    @property
    def series(self) -> Series:
        """The one series."""
        return self.panel.series[0]

    @property
    def length(self) -> int:
        """Points of the whole history that is read."""
        return self.lengths[-1]

    def windows(self, lengths: Sequence[int]) -> Windows:
        """Return histories of these lengths, all up to the origin."""
        ends = np.full(len(lengths), self.origin)
        return Windows(np.zeros(len(lengths), np.int64), ends - np.array(lengths), ends)


def choose(panel: Panel, asked: Asked, horizon: int, longest: int, trained: tuple[float, ...] | None) -> Chosen:
    """Find what is asked for in a panel.

    Args:
        panel: histories.
        asked: which of them.
        horizon: steps that the model was trained for.
        longest: most points that it reads.
        trained: quantiles that it was fitted for, () = any, None = none.

    Raises:
        UserError: no such series, column or length.
    """
    one = _series(panel, asked)
    if asked.target is not None and asked.target not in panel.targets:
        fix = did_you_mean(asked.target, panel.targets)
        raise UserError(f"the run forecasts no column {asked.target[:60]!r}", where="target", fix=fix)
    target = 0 if asked.target is None else panel.targets.index(asked.target)
    origin = len(one) - asked.hold_back
    if asked.hold_back < 0 or origin < 1:
        what = f"expected 0 to {len(one) - 1:,} points to hold back, got {asked.hold_back:,}"
        raise UserError(what, where="hold_back", fix="leave at least one point as the history")
    lengths = _lengths(one, origin, min(origin, longest), asked.lengths)
    levels = _levels(trained) if asked.quantiles is None else asked.quantiles
    steps = horizon if asked.horizon is None else asked.horizon
    return Chosen(replace(panel, series=(one,)), target, origin, steps, lengths, levels)


def _series(panel: Panel, asked: Asked) -> Series:
    ids = [one.id for one in panel.series]
    if asked.series is None and len(ids) > 1:
        what = f"expected one series, got {len(ids):,}: {', '.join(ids[:5])}{', ...' if len(ids) > 5 else ''}"
        raise UserError(what, where="series", fix="name one of them")
    if asked.series is not None and asked.series not in ids:
        raise UserError(f"no series {asked.series[:60]!r}", where="series", fix=did_you_mean(asked.series, ids))
    return panel.series[0 if asked.series is None else ids.index(asked.series)]


def _lengths(one: Series, origin: int, longest: int, asked: tuple[int, ...] | None) -> tuple[int, ...]:
    """Return the lengths to forecast from; of those that nobody asked for, the ones without a value are left out."""
    for length in asked or ():
        if not 1 <= length <= longest:
            what = f"expected lengths from 1 to {longest:,}, got {length:,}"
            raise UserError(what, where="lengths", fix="the run reads no more, or the series has no more")
    if asked is not None:
        return tuple(sorted({*asked, longest}))
    seen = one.is_observed[:origin]
    return (*(length for length in LENGTHS if length < longest and bool(seen[-length:].any())), longest)


def _levels(trained: tuple[float, ...] | None) -> tuple[float, ...]:
    if trained is None:
        return ()
    low, high = min(trained or (0.0,)), max(trained or (1.0,))
    return tuple(dict.fromkeys(min(max(level, low), high) for level in DRAWN_LEVELS))
