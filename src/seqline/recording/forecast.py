"""The trace of one forecast: what was read, what came out, from histories of several lengths, and how it depends on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import nn

from seqline.data.series import Panel, Series
from seqline.data.series_calendar import written_times
from seqline.errors import UserError, did_you_mean
from seqline.forecasting.history import Array, filled
from seqline.forecasting.inputs import Inputs
from seqline.forecasting.scaling import Scale, denormalise
from seqline.forecasting.windows import Windows
from seqline.models.encoder import ReversingEncoder
from seqline.models.forecaster import Forecaster, RecursiveForecaster
from seqline.recording import checks
from seqline.recording.document import Options, Stopwatch, finished, has_gates
from seqline.recording.facts import Origin
from seqline.recording.forecast_blocks import blocks_of, history_weights
from seqline.recording.forecast_gradients import history_gradients
from seqline.recording.forecast_texts import forecast_block, history_block
from seqline.recording.frames import to_array
from seqline.recording.gradients import Loss, gradients_of
from seqline.recording.replay import device_of
from seqline.shapes import Tensor
from seqline.visualize.trace import Trace
from seqline.watch import watch

LENGTHS = tuple(range(5, 55, 5))
"""Histories that are tried beside the whole one."""
LEVELS = (0.1, 0.25, 0.75, 0.9)
_ALIKE = 1e-4  # of the scale of the history, in float32


class Windowed(Protocol):
    """Forecasts of windows, in the units of their series: mean [W H F], quantiles by their level [W H F]."""

    @property
    def mean(self) -> Array:
        """The point forecasts."""
        ...

    @property
    def quantiles(self) -> dict[float, Array]:
        """Those that were asked for."""
        ...


@dataclass(frozen=True)
class Asked:
    """What of a panel is looked at.

    Attributes:
        series: its id; None = the only one.
        target: the column; None = the first.
        horizon: steps; None = those the model was trained for.
        quantiles: levels; None = 0.1, 0.25, 0.75 and 0.9 or the nearest that the model gives.
        lengths: histories to forecast from, in points; None = 5, 10, ... 50 and the longest.
        hold_back: points at the end that are forecast instead of read, and drawn as what came true.
    """

    series: str | None = None
    target: str | None = None
    horizon: int | None = None
    quantiles: tuple[float, ...] | None = None
    lengths: tuple[int, ...] | None = None
    hold_back: int = 0


@dataclass(frozen=True)
class Forecasting:
    """A forecaster and all that its forecasts need.

    inputs: a panel and a horizon to windows ready for the model. forecast: the forecasts as in use. levels: the quantiles it was
    fitted for, () = any, None = none. horizon, longest: steps it was trained for, and most points that it reads.
    """

    model: Forecaster
    inputs: Callable[[Panel, int], Inputs]
    forecast: Callable[[Panel, Windows, int, Sequence[float]], Windowed]
    levels: tuple[float, ...] | None
    horizon: int
    longest: int
    origin: Origin


class _Chosen(NamedTuple):
    """One column of one series, cut where the forecast begins; horizon: Z, length: points read."""

    panel: Panel
    number: int
    target: int
    origin: int
    horizon: int
    length: int

    @property
    def series(self) -> Series:
        return self.panel.series[self.number]

    def windows(self, lengths: Sequence[int]) -> Windows:
        ends = np.full(len(lengths), self.origin)
        return Windows(np.full(len(lengths), self.number), ends - np.array(lengths), ends)


def record_forecast(subject: Forecasting, panel: Panel, asked: Asked, options: Options) -> Trace:
    """Forecast one series as in use and once watched, and return its trace.

    Args:
        subject: the model.
        panel: histories with the columns of the run.
        asked: which series, and from how much of it.
        options: of the recording.

    Raises:
        UserError: no such series, column or length; what the model cannot forecast; more to record than the limit.
    """
    stopwatch = Stopwatch()
    chosen = _choose(subject, panel, asked)
    lengths = _lengths(chosen, asked)
    levels = _levels(subject.levels) if asked.quantiles is None else asked.quantiles
    said = subject.forecast(panel, chosen.windows(lengths), chosen.horizon, levels)
    inputs = subject.inputs(panel, chosen.horizon)
    whole = inputs.batch(
        chosen.windows([chosen.length]), chosen.horizon, has_target=False, dtype=next(subject.model.parameters()).dtype
    ).to(device_of(subject.model))
    with torch.no_grad():
        plain = subject.model(whole.history)
        with watch(subject.model, limit_mb=options.limit_mb) as frames:
            watched = subject.model(whole.history)
    blocks = blocks_of(subject.model, frames, _texts(subject, inputs, chosen, said.mean[-1, :, chosen.target]))
    blocks["gradients"] = _state_gradients(subject, whole.history, chosen)
    slopes = history_gradients(subject.model, inputs, chosen.windows(lengths), chosen.horizon, chosen.target)
    blocks["forecast"] = _forecast_block(chosen, lengths, said, slopes, inputs)
    if "attention" in blocks:
        _add_weights(subject, inputs, chosen, lengths, blocks)
    found = [_same_forecast(watched, whole.scale, said, chosen, blocks["target"]["text"])]
    apart = checks.difference([watched], [plain])
    if has_gates(blocks):
        found.append(checks.parity(apart))
    found.append(checks.path(apart, "attention" in blocks))
    return finished(subject.model, subject.origin, options, blocks, found, stopwatch)


def _choose(subject: Forecasting, panel: Panel, asked: Asked) -> _Chosen:
    ids = [one.id for one in panel.series]
    if asked.series is None and len(ids) > 1:
        what = f"expected one series, got {len(ids):,}: {', '.join(ids[:5])}{', ...' if len(ids) > 5 else ''}"
        raise UserError(what, where="series", fix="name one of them")
    if asked.series is not None and asked.series not in ids:
        raise UserError(f"no series {asked.series[:60]!r}", where="series", fix=did_you_mean(asked.series, ids))
    if asked.target is not None and asked.target not in panel.targets:
        fix = did_you_mean(asked.target, panel.targets)
        raise UserError(f"the run forecasts no column {asked.target[:60]!r}", where="target", fix=fix)
    number = 0 if asked.series is None else ids.index(asked.series)
    origin = len(panel.series[number]) - asked.hold_back
    if asked.hold_back < 0 or origin < 1:
        what = f"expected 0 to {len(panel.series[number]) - 1:,} points to hold back, got {asked.hold_back:,}"
        raise UserError(what, where="hold_back", fix="leave at least one point as the history")
    horizon = subject.horizon if asked.horizon is None else asked.horizon
    horizon = min(horizon, asked.hold_back) if asked.hold_back else horizon
    target = 0 if asked.target is None else panel.targets.index(asked.target)
    return _Chosen(panel, number, target, origin, horizon, min(origin, subject.longest))


def _lengths(chosen: _Chosen, asked: Asked) -> list[int]:
    """Return the lengths of history that are forecast from, the whole one last; those without a value are left out."""
    for length in asked.lengths or ():
        if not 1 <= length <= chosen.length:
            what = f"expected lengths from 1 to {chosen.length:,}, got {length:,}"
            raise UserError(what, where="lengths", fix="the run reads no more, or the series has no more")
    wanted = {*(LENGTHS if asked.lengths is None else asked.lengths), chosen.length}
    seen: np.ndarray = chosen.series.is_observed[: chosen.origin].sum(axis=1) > 0
    return [n for n in sorted(wanted) if n == chosen.length or (n < chosen.length and seen[-n:].any())]


def _levels(trained: tuple[float, ...] | None) -> tuple[float, ...]:
    if trained is None:
        return ()
    low, high = min(trained or (0.0,)), max(trained or (1.0,))
    return tuple(dict.fromkeys(min(max(level, low), high) for level in LEVELS))


def _texts(subject: Forecasting, inputs: Inputs, chosen: _Chosen, mean: Array) -> tuple[dict[str, Any], dict[str, Any]]:
    values, seen, _ = _history(chosen)
    source = history_block(values, seen, inputs.options.patch)
    reads_itself = isinstance(subject.model, RecursiveForecaster)
    return source, forecast_block(mean.tolist(), float(values[-1]) if reads_itself else None)


def _history(chosen: _Chosen) -> tuple[Array, np.ndarray, np.ndarray]:
    """Return what was read: values [S] with gaps filled as the model reads them, which were observed, and their rows."""
    rows = np.arange(chosen.origin - chosen.length, chosen.origin)
    values, seen = chosen.series.values[rows], chosen.series.is_observed[rows]
    return filled(values, seen)[:, chosen.target], seen[:, chosen.target], rows


def _forecast_block(
    chosen: _Chosen, lengths: Sequence[int], said: Windowed, slopes: Sequence[Array], inputs: Inputs
) -> dict[str, Any]:
    """Return the block `forecast`; times count from the last point of the history, which is 0."""
    panel, series, column = chosen.panel, chosen.series, chosen.target
    values, seen, rows = _history(chosen)
    ahead = slice(chosen.origin, chosen.origin + chosen.horizon)
    truth, known = series.values[ahead, column], series.is_observed[ahead, column]
    is_known = len(truth) == chosen.horizon and bool(known.any())
    times = inputs.times(panel, series, chosen.horizon)[rows[0] : ahead.stop]
    windows = []
    for n, length in enumerate(lengths):
        mean = said.mean[n, :, column]
        error = float(np.abs(mean - truth)[known].mean()) if is_known else None
        q = {f"{level:g}": found[n, :, column] for level, found in said.quantiles.items()}
        windows.append(
            {"lookback": length, "pred_y": mean, "q": q or None, "mae": error, "weights": None, "gradient": slopes[n]}
        )
    return {
        "unit": panel.targets[column],
        "freq": panel.frequency.name,
        "series": series.id or None,
        "times": [str(time) for time in written_times(panel, times)],
        "patch": inputs.options.patch,
        "observed": None if seen.all() else seen.astype(np.uint8),
        "hist_t": np.arange(1 - chosen.length, 1),
        "hist_y": values,
        "pred_y": windows[-1]["pred_y"],
        "true_y": np.where(known, truth, windows[-1]["pred_y"]) if is_known else None,
        "true_observed": known.astype(np.uint8) if is_known and not known.all() else None,
        "q": windows[-1]["q"],
        "windows": windows,
    }


def _add_weights(
    subject: Forecasting, inputs: Inputs, chosen: _Chosen, lengths: Sequence[int], blocks: dict[str, Any]
) -> None:
    """Record the attention to the history from each length of it: the mean of all layers and heads, whose rows sum to 1."""
    dtype = next(subject.model.parameters()).dtype
    for length, window in zip(lengths, blocks["forecast"]["windows"], strict=True):
        batch = inputs.batch(chosen.windows([length]), chosen.horizon, has_target=False, dtype=dtype)
        with torch.no_grad(), watch(subject.model, only={"attention", "multi-head attention"}) as frames:
            subject.model(batch.to(device_of(subject.model)).history)
        window["weights"] = history_weights(subject.model, frames, batch.history.steps.shape[1], chosen.horizon)


def _state_gradients(subject: Forecasting, history: Any, chosen: _Chosen) -> dict[str, Any] | None:
    """Return the block `gradients`: of the last step's forecast, with respect to the states of the encoder."""
    model = subject.model
    encoder: nn.Module = model.get_submodule("encoder")

    def compute(source_is_read: Callable[[], None]) -> Tensor:
        hook = encoder.register_forward_hook(lambda _module, _inputs, _output: source_is_read())
        try:
            return model(history)[0, -1, chosen.target, 0]
        finally:
            hook.remove()

    loss = Loss(compute, f"the forecast of step {chosen.horizon}, in units of the history's spread")
    steps = history.steps.shape[1]
    is_reversed = isinstance(encoder, ReversingEncoder)
    return gradients_of(model, loss, steps, is_reversed=is_reversed, clip=subject.origin.clip)


def _same_forecast(watched: Tensor, scale: Scale, said: Windowed, chosen: _Chosen, text: str) -> dict[str, Any]:
    """Return the check that the watched forecast is that of the model in use, within 1e-4 of the history's scale."""
    shown = denormalise(to_array(watched)[..., 0].astype(np.float64), scale)[0]
    apart = float(np.abs((shown - said.mean[-1]) / scale.scale[0]).max())
    own = forecast_block(said.mean[-1, :, chosen.target].tolist(), None)["text"]
    what = "the forecast is the model's own; the watched one differs, in units of the history's spread, by"
    found = checks.check("output_equal", what, apart, _ALIKE)
    return found | {"ok": found["ok"] and own == text}
