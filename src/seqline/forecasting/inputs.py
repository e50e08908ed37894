"""Windows of a panel as what a forecaster reads: scaled in float64, then cut into the steps of its encoder."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from seqline.data.series import Panel, Series
from seqline.data.series.calendar import calendar_features, future_times
from seqline.errors import UserError
from seqline.forecasting.coder import SeriesCoder
from seqline.forecasting.history import Array, Mask, Times, filled
from seqline.forecasting.scaling import Scale, instance_scale, normalise
from seqline.forecasting.windows import Windows
from seqline.models.forecaster import History

FARTHEST = 1e9
"""Scales from the centre: what lies farther counts as that far, so that its square is held by a float32. Only where a series of
one value suddenly has another, or histories are scaled alike, is anything as far."""


class InputOptions(NamedTuple):
    """What a model's settings say of its inputs.

    patch: points that a step of the encoder reads. num_recent: values that the plain forecast sees.
    has_instance_norm: a history is scaled by itself; False = by the training spans.
    """

    patch: int
    num_recent: int
    has_instance_norm: bool


class ForecastBatch(NamedTuple):
    """Windows ready for a model, and what it takes to go back to the units of the series.

    scale: centre and scale [B 1 F], float64. target: [B H F], scaled, 0 where it was not observed. is_wanted: [B H F].
    """

    history: History
    scale: Scale
    target: Tensor
    is_wanted: Tensor

    def to(self, device: torch.device | str) -> ForecastBatch:
        """Return the batch with its tensors on a device."""
        history = History(*(tensor.to(device) for tensor in self.history))
        return self._replace(history=history, target=self.target.to(device), is_wanted=self.is_wanted.to(device))


@dataclass(frozen=True)
class _Arrays:
    """One series. ahead: [M C] what is known of each point in advance, M >= N. rest: [N R] the numbers of each point behind its
    values."""

    values: Array
    is_observed: Mask
    is_whole: bool
    ahead: Array
    rest: Array
    id: str


class Inputs:
    """The windows of one panel.

    Args:
        coder: names and scales.
        options: as the model's settings say.
        panel: histories, with the columns of the coder.
        horizon: the most steps to come.
    """

    def __init__(self, coder: SeriesCoder, options: InputOptions, panel: Panel, horizon: int) -> None:
        self.coder, self.options, self.panel, self.horizon = coder, options, panel, horizon
        self.num_inputs = coder.vocabulary.num_inputs + (options.patch > 1)
        # Times without a zone, of the history or of the training, are local as they stand.
        self.zone = coder.zone if coder.zone and panel.zone else panel.zone
        self._series: dict[int, _Arrays] = {}

    def arrays(self, number: int) -> _Arrays:
        """Return the numbers of a series, made when they are first asked for: a few windows of many series need few."""
        if number not in self._series:
            self._series[number] = self._arrays(self.panel, self.panel.series[number], self.horizon)
        return self._series[number]

    def of(self, series: dict[int, _Arrays]) -> Inputs:
        """Return inputs of the same settings for series of which the numbers are at hand."""
        other = copy(self)
        other._series = series
        return other

    def times(self, panel: Panel, series: Series, horizon: int) -> Times:
        """Return the times of a series and of the steps after it."""
        return np.concatenate([series.times, future_times(panel, series, horizon)])

    def batch(self, windows: Windows, horizon: int, *, has_target: bool, dtype: torch.dtype) -> ForecastBatch:
        """Put windows into tensors; each row is what it would be alone, but for the pads at its end.

        Args:
            windows: each of one point or more; of a history longer than the longest the end is taken.
            horizon: steps to come.
            has_target: the targets lie in the panel; False = they are not read.
            dtype: of the tensors.

        Raises:
            UserError: covariates known in advance that do not reach as far as the horizon.
        """
        start = np.maximum(windows.start, windows.origin - self.coder.longest)
        size, num_targets, patch = len(start), len(self.coder.targets), self.options.patch
        num_steps = -(-(windows.origin - start) // patch)
        steps = np.zeros((size, int(num_steps.max()) * patch, self.num_inputs))
        recent = np.zeros((size, self.options.num_recent, num_targets))
        future = np.zeros((size, horizon, self.coder.vocabulary.num_known))
        target = np.zeros((size, horizon, num_targets))
        is_wanted = np.zeros(target.shape, dtype=bool)
        scales: list[Scale] = []
        for row, (n, first, origin) in enumerate(
            zip(windows.series.tolist(), start.tolist(), windows.origin.tolist(), strict=True)
        ):
            one = self.arrays(n)
            scale, values = self._history(one, first, origin)
            end = int(num_steps[row]) * patch
            steps[row, end - len(values) : end, :num_targets] = values
            steps[row, end - len(values) : end, num_targets:] = one.rest[first:origin]
            tail = values[-self.options.num_recent :]
            recent[row, self.options.num_recent - len(tail) :] = tail
            future[row] = self._ahead(one, origin, horizon)
            if has_target:
                is_wanted[row] = one.is_observed[origin : origin + horizon]
                target[row] = np.where(is_wanted[row], normalise(one.values[origin : origin + horizon], scale), 0.0)
            scales.append(scale)
        is_real = np.arange(num_steps.max()) < num_steps[:, None]
        lengths = np.minimum(windows.origin - start, self.options.num_recent)
        for part in (steps, recent, future, target):
            np.clip(part, -FARTHEST, FARTHEST, out=part)
        history = History(
            steps=torch.tensor(steps, dtype=dtype).unflatten(1, (-1, patch)).flatten(2),
            is_real=torch.tensor(is_real),
            recent=torch.tensor(recent, dtype=dtype),
            num_recent=torch.tensor(lengths),
            future=torch.tensor(future, dtype=dtype),
        )
        together = Scale(*(np.stack(part)[:, None] for part in zip(*scales, strict=True)))
        return ForecastBatch(history, together, torch.tensor(target, dtype=dtype), torch.tensor(is_wanted))

    def _history(self, one: _Arrays, first: int, origin: int) -> tuple[Scale, Array]:
        """Return the scale of one history and its scaled values [n F], gaps filled."""
        raw, seen = one.values[first:origin], one.is_observed[first:origin]
        scale = self.coder.pooled
        if self.options.has_instance_norm:
            scale = instance_scale(raw, seen, floor=self.coder.floor)
        if one.is_whole or bool(seen.all()):
            return scale, normalise(raw, scale)
        return scale, np.where(seen.any(axis=0), normalise(filled(raw, seen), scale), 0.0)

    def _ahead(self, one: _Arrays, origin: int, horizon: int) -> Array:
        rows = one.ahead[origin : origin + horizon]
        if len(rows) < horizon:
            name = f"series {one.id[:60]!r}: " if one.id else ""
            names = ", ".join(self.coder.known)
            what = f"{name}{names} known for {len(rows)} of the {horizon} steps to forecast"
            raise UserError(what, where="known", fix="add rows at the end with these columns and no target")
        return rows

    def _arrays(self, panel: Panel, series: Series, horizon: int) -> _Arrays:
        times = self.times(panel, series, horizon)
        coder = self.coder
        calendar = calendar_features(times, panel.frequency, self.zone)
        known = normalise(series.known, Scale(np.array(coder.known_centre), np.array(coder.known_scale)))
        past = normalise(series.past, Scale(np.array(coder.past_centre), np.array(coder.past_scale)))
        if coder.known:
            length = min(len(times), len(known))
            calendar = np.concatenate([calendar[:length], known[:length]], axis=1)
        seen = series.is_observed
        # A number of each point: whether its value was observed; and that it is one, where a step holds several.
        rest = [seen.astype(np.float64)] if coder.has_missing else []
        rest += [np.ones((len(seen), 1))] if self.options.patch > 1 else []
        statics = coder.statics(series.static)
        rest += [calendar[: len(seen)], past, np.broadcast_to(statics, (len(seen), len(statics)))]
        return _Arrays(series.values, seen, bool(seen.all()), calendar, np.concatenate(rest, axis=1), series.id)
