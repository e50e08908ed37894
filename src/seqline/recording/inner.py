"""An inner model that learns while it reads: losses, steps and weights of one layer, token after token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from seqline.recording.frames import by_path, to_array
from seqline.watch import Frame

MOST_CELLS = 64
"""Rows and columns of the weights that are shown; larger matrices are averaged in blocks."""


def inner_block(frames: Sequence[Frame], where: str) -> dict[str, Any] | None:
    """Return the block `ttt` of the lowest layer, all heads together; None: no inner model ran.

    Losses are sums over the heads, eta is their mean, norms are those of all heads' weights side by side.
    """
    layers = list(by_path(frames, "ttt").values())
    if not layers:
        return None

    def over(name: str) -> np.ndarray:
        return np.stack([to_array(frame.values[name])[0] for frame in layers[0]]).astype(np.float64)

    def whole(name: str, frame: Frame) -> np.ndarray:
        return np.concatenate(list(to_array(frame.values[name])[0]), axis=1)

    matrices = [whole("weights_before", layers[0][0]), *(whole("weights", frame) for frame in layers[0])]
    shown, true_size = _reduced(np.stack(matrices))
    return {
        "where": where,
        "layer": 0,
        "loss_before": over("inner_loss").sum(1),
        "loss_after": over("inner_loss_after").sum(1),
        "eta": over("learning_rate").mean(1),
        "w_norm": np.sqrt(np.square(over("weights_norm")).sum(1)),
        "dw_norm": np.sqrt(np.square(over("change_norm")).sum(1)),
        "w": shown,
        "w_reduced": true_size,
    }


def _reduced(matrices: np.ndarray) -> tuple[np.ndarray, list[int] | None]:
    """Average blocks of equal size until at most 64 rows and columns are left; return the true size if that was needed."""
    rows, columns = matrices.shape[1:]
    if max(rows, columns) <= MOST_CELLS:
        return matrices, None
    for axis in (1, 2):
        size = -(-matrices.shape[axis] // MOST_CELLS)
        starts = np.arange(0, matrices.shape[axis], size)
        counts = np.diff([*starts, matrices.shape[axis]])
        sums = np.add.reduceat(matrices, starts, axis=axis)
        matrices = sums / (counts[:, None] if axis == 1 else counts)
    return matrices, [rows, columns]
