"""How strongly a forecast depends on each value of its history: d forecast / d value, in the units of the series.

With u the numbers that a network reads and f what it says, a forecast is y = c + s f(u), and c, s and u all depend on the values:

    dy / dv = dc / dv + f ds / dv + s (df / du) (du / dv)

df / du comes from the network by one pass back a step to come. The rest is arithmetic in float64 on the few values of a history,
so central differences give it to about 1e-8, whatever scaling, filling and cutting into steps a run has (to 1e-5 where the level
of a history is 1e8 times its spread).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from torch import nn

from seqline.forecasting.history import Array
from seqline.forecasting.inputs import ForecastBatch, Inputs
from seqline.forecasting.windows import Windows
from seqline.models.forecaster import History
from seqline.recording.frames import to_array

_STEP = 1e-4  # of the scale of the history
_TOGETHER = 64  # values moved at once


def history_gradients(model: nn.Module, inputs: Inputs, windows: Windows, horizon: int, target: int) -> list[Array]:
    """Return d forecast / d value of each window [Z W]: how far a forecast moves for each unit that a value is higher.

    No parameter's own gradient is touched. A value that was not observed has 0.

    Args:
        model: a forecaster, in evaluation mode.
        inputs: of the panel that the windows cut, one series.
        windows: of no more points than the model reads.
        horizon: Z, steps.
        target: the column that is forecast, and whose values are meant.
    """
    weights = next(model.parameters())
    batch = inputs.batch(windows, horizon, has_target=False, dtype=weights.dtype)
    said, slopes = _network_slopes(model, batch.to(weights.device).history, target)
    found = []
    for row in range(len(windows.origin)):
        scale = float(batch.scale.scale[row, 0, target])
        own = [part[:, row] for part in slopes]
        found.append(_of_window(inputs, windows.take([row]), target, (said[row], own, scale)))
    return found


def _network_slopes(model: nn.Module, history: History, target: int) -> tuple[Array, list[Array]]:
    """Return what the network says [B Z], and its slopes with respect to `steps` and `recent`, each [Z B ...]."""
    steps, recent = (tensor.detach().clone().requires_grad_() for tensor in (history.steps, history.recent))
    # A fused recurrent kernel of CUDA has no way back in evaluation mode.
    with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
        said = model(history._replace(steps=steps, recent=recent))[:, :, target, 0]
        found: list[list[Array]] = [[], []]
        for step in range(said.shape[1]):
            slopes = torch.autograd.grad(
                said[:, step].sum(), [steps, recent], retain_graph=True, allow_unused=True, materialize_grads=True
            )
            for kept, slope in zip(found, slopes, strict=True):
                kept.append(to_array(slope).astype(np.float64))
    return to_array(said).astype(np.float64), [np.stack(kept) for kept in found]


def _of_window(inputs: Inputs, window: Windows, target: int, network: tuple[Array, list[Array], float]) -> Array:
    """Join the network's slopes with those of its inputs; network: said [Z], slopes [Z ...] each, the scale."""
    said, slopes, scale = network
    places, columns = np.arange(int(window.origin[0] - window.start[0])), []
    for first in range(0, len(places), _TOGETHER):
        moved = places[first : first + _TOGETHER]
        steps, recent, centre, width = _moved(inputs, window, target, moved, _STEP * scale)
        inner = [
            np.tensordot(slope[:, : part.shape[1]].reshape(len(said), -1), part.reshape(len(moved), -1), axes=(1, 1))
            for slope, part in zip(slopes, (steps, recent), strict=True)
        ]
        columns.append(centre + said[:, None] * width + scale * sum(inner))
    return np.concatenate(columns, axis=1)


def _moved(inputs: Inputs, window: Windows, target: int, places: np.ndarray, by: float) -> tuple[Array, ...]:
    """Return the slopes of `steps` [V S I], `recent` [V K F], centre [V] and scale [V] with respect to V values of a window."""
    (n,), (start,), (origin,) = (column.tolist() for column in window)
    whole, here = inputs.arrays(n), slice(start, origin)
    own = replace(
        whole, values=whole.values[here], is_observed=whole.is_observed[here], ahead=whole.ahead[start:], rest=whole.rest[here]
    )  # fmt: skip

    def batch_of(amount: float) -> ForecastBatch:
        series = {}
        for number, place in enumerate(places.tolist()):
            values = own.values.copy()
            values[place, target] += amount
            series[number] = replace(own, values=values)
        probe = inputs.of(series)
        count = len(places)
        all_alike = Windows(np.arange(count), np.zeros(count, np.int64), np.full(count, origin - start))
        return probe.batch(all_alike, 1, has_target=False, dtype=torch.float64)

    above, below = batch_of(by), batch_of(-by)
    parts: tuple[Callable[[ForecastBatch], Array], ...] = (
        lambda batch: batch.history.steps.numpy(),
        lambda batch: batch.history.recent.numpy(),
        lambda batch: batch.scale.centre[:, 0, target],
        lambda batch: batch.scale.scale[:, 0, target],
    )
    return tuple((part(above) - part(below)) / (2 * by) for part in parts)
