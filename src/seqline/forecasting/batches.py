"""Windows as arrays: padded histories, targets, and the scale of each history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from seqline.forecasting.history import Array, Mask
from seqline.forecasting.scaling import Centre, Floor, Scale, instance_scale
from seqline.forecasting.windows import Windows


class Batch(NamedTuple):
    """Windows as arrays. Histories are padded at the end; values that were not observed, and pads, are 0.

    history: [B T F] in the units of the series. is_observed: [B T F]. is_real: [B T], False at pads.
    target: [B H F] in the units of the series. target_observed: [B H F].
    scale: centre and scale [B 1 F] of each history; `normalise(history, scale) * is_observed` is what a model reads.
    """

    history: Array
    is_observed: Mask
    is_real: Mask
    target: Array
    target_observed: Mask
    scale: Scale


def collate(
    windows: Windows,
    values: Sequence[Array],
    masks: Sequence[Mask],
    horizon: int,
    *,
    floor: Floor | None = None,
    centre: Centre = "mean",
) -> Batch:
    """Put windows into arrays; each row is what it would be alone, but for the pads at its end.

    Args:
        windows: at least one, which lie within their series.
        values: [N F] of each series.
        masks: `is_observed` [N F] of each series.
        horizon: points of a target; 0 = histories alone.
        floor: of the scales, see `seqline.forecasting.scaling`.
        centre: of the scales.

    Raises:
        ValueError: a window that does not lie within its series.
    """
    size, longest, width = len(windows.origin), int(windows.lengths.max()), values[0].shape[1]
    history, observed = np.zeros((size, longest, width)), np.zeros((size, longest, width), dtype=bool)
    target, wanted = np.zeros((size, horizon, width)), np.zeros((size, horizon, width), dtype=bool)
    scales: list[Scale] = []
    for row, (n, start, origin) in enumerate(zip(*(column.tolist() for column in windows), strict=True)):
        if not 0 <= start < origin <= len(values[n]) - horizon:
            raise ValueError(
                f"window {start}:{origin} and {horizon} more is not in a series of {len(values[n])} points"
            )
        seen = masks[n][start:origin]
        history[row, : origin - start] = np.where(seen, values[n][start:origin], 0.0)
        observed[row, : origin - start] = seen
        wanted[row] = masks[n][origin : origin + horizon]
        target[row] = np.where(wanted[row], values[n][origin : origin + horizon], 0.0)
        scales.append(instance_scale(values[n][start:origin], seen, floor=floor, centre=centre))
    is_real = np.arange(longest) < windows.lengths[:, None]
    scale = Scale(*(np.stack(part)[:, None] for part in zip(*scales, strict=True)))
    return Batch(history, observed, is_real, target, wanted, scale)
