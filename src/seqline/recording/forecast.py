"""The trace of one forecast: what was read, what came out, from histories of several lengths, and how it depends on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import nn

from seqline.data.series import Panel
from seqline.data.series.calendar import written_times
from seqline.forecasting.history import Array, filled
from seqline.forecasting.inputs import ForecastBatch, Inputs
from seqline.forecasting.scaling import Scale, denormalise
from seqline.forecasting.windows import Windows
from seqline.models.encoder import ReversingEncoder
from seqline.models.forecaster import Forecaster
from seqline.recording import checks
from seqline.recording.attention import ATTENTION
from seqline.recording.document import Options, Stopwatch, finished, has_gates
from seqline.recording.facts import Origin
from seqline.recording.forecast_asked import Asked, Chosen, choose
from seqline.recording.forecast_blocks import blocks_of, history_weights
from seqline.recording.forecast_gradients import history_gradients
from seqline.recording.forecast_texts import forecast_block, history_block
from seqline.recording.frames import to_array
from seqline.recording.gradients import Loss, gradients_of
from seqline.recording.replay import device_of
from seqline.shapes import Tensor
from seqline.visualize.trace import Trace
from seqline.watch import watch

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
    chosen = choose(panel, asked, subject.horizon, subject.longest, subject.levels)
    # Each alone, as anybody would forecast from such a history: a batch may differ in the last digits.
    said = [
        subject.forecast(chosen.panel, chosen.windows([length]), chosen.horizon, chosen.levels)
        for length in chosen.lengths
    ]
    inputs = subject.inputs(chosen.panel, chosen.horizon)
    whole = _batch(subject, inputs, chosen, chosen.length)
    with torch.no_grad():
        plain = subject.model(whole.history)
        with watch(subject.model, limit_mb=options.limit_mb) as frames:
            watched = subject.model(whole.history)
    blocks = blocks_of(subject.model, frames, _texts(subject, inputs, chosen, said[-1].mean[0, :, chosen.target]))
    blocks["gradients"] = _state_gradients(subject, whole.history, chosen)
    blocks["forecast"] = _forecast_block(subject, chosen, said, inputs)
    if "attention" in blocks:
        _add_weights(subject, inputs, chosen, blocks)
    apart = checks.difference([watched], [plain])
    found = [_same_forecast(watched, whole.scale, said[-1])]
    if has_gates(blocks):
        found.append(checks.parity(apart))
    found.append(checks.path(apart, "attention" in blocks))
    return finished(subject.model, subject.origin, options, blocks, found, stopwatch)


def _batch(subject: Forecasting, inputs: Inputs, chosen: Chosen, length: int) -> ForecastBatch:
    """Return the history of one length as the model reads it."""
    dtype = next(subject.model.parameters()).dtype
    batch = inputs.batch(chosen.windows([length]), chosen.horizon, has_target=False, dtype=dtype)
    return batch.to(device_of(subject.model))


def _texts(subject: Forecasting, inputs: Inputs, chosen: Chosen, mean: Array) -> tuple[dict[str, Any], dict[str, Any]]:
    values, seen, _ = _history(chosen)
    source = history_block(values, seen, inputs.options.patch)
    return source, forecast_block(mean.tolist(), float(values[-1]) if subject.model.reads_itself else None)


def _history(chosen: Chosen) -> tuple[Array, np.ndarray, np.ndarray]:
    """Return what was read: values [S] with gaps filled as the model reads them, which were observed, and their rows."""
    rows = np.arange(chosen.origin - chosen.length, chosen.origin)
    values, seen = chosen.series.values[rows], chosen.series.is_observed[rows]
    return filled(values, seen)[:, chosen.target], seen[:, chosen.target], rows


def _forecast_block(subject: Forecasting, chosen: Chosen, said: Sequence[Windowed], inputs: Inputs) -> dict[str, Any]:
    """Return the block `forecast`; times count from the last point of the history, which is 0."""
    panel, series = chosen.panel, chosen.series
    values, seen, rows = _history(chosen)
    truth, known = _truth(chosen)
    slopes = history_gradients(subject.model, inputs, chosen.windows(chosen.lengths), chosen.horizon, chosen.target)
    windows = [
        _window(length, one, chosen.target, np.where(known, truth, np.nan)) | {"gradient": slope}
        for length, one, slope in zip(chosen.lengths, said, slopes, strict=True)
    ]
    whole = windows[-1]
    times = inputs.times(panel, series, chosen.horizon)[rows[0] : chosen.origin + chosen.horizon]
    return {
        "unit": panel.targets[chosen.target],
        "freq": panel.frequency.name,
        "series": series.id or None,
        "times": [str(time) for time in written_times(panel, times)],
        "patch": inputs.options.patch,
        "observed": None if seen.all() else seen.astype(np.uint8),
        "hist_t": np.arange(1 - chosen.length, 1),
        "hist_y": values,
        "pred_y": whole["pred_y"],
        "true_y": np.where(known, truth, whole["pred_y"]) if known.any() else None,
        "true_observed": known.astype(np.uint8) if known.any() and not known.all() else None,
        "q": whole["q"],
        "windows": windows,
    }


def _truth(chosen: Chosen) -> tuple[Array, np.ndarray]:
    """Return what came true [Z], and of which steps it is known: those that were held back and observed."""
    truth, known = np.zeros(chosen.horizon), np.zeros(chosen.horizon, dtype=bool)
    ahead = slice(chosen.origin, chosen.origin + chosen.horizon)
    values = chosen.series.values[ahead, chosen.target]
    truth[: len(values)], known[: len(values)] = values, chosen.series.is_observed[ahead, chosen.target]
    return truth, known


def _window(length: int, said: Windowed, column: int, truth: Array) -> dict[str, Any]:
    """Return one entry of `forecast.windows`; truth: [Z], NaN where it is not known."""
    mean, known = said.mean[0, :, column], np.isfinite(truth)
    q = {f"{level:g}": found[0, :, column] for level, found in said.quantiles.items()}
    error = float(np.abs(mean - truth)[known].mean()) if known.any() else None
    return {"lookback": length, "pred_y": mean, "q": q or None, "mae": error, "weights": None}


def _add_weights(subject: Forecasting, inputs: Inputs, chosen: Chosen, blocks: dict[str, Any]) -> None:
    """Record the attention to the history from each length of it: the mean of all layers and heads, whose rows sum to 1."""
    for length, window in zip(chosen.lengths, blocks["forecast"]["windows"], strict=True):
        batch = _batch(subject, inputs, chosen, length)
        with torch.no_grad(), watch(subject.model, only=set(ATTENTION)) as frames:
            subject.model(batch.history)
        window["weights"] = history_weights(subject.model, frames, batch.history.steps.shape[1], chosen.horizon)


def _state_gradients(subject: Forecasting, history: Any, chosen: Chosen) -> dict[str, Any] | None:
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


def _same_forecast(watched: Tensor, scale: Scale, said: Windowed) -> dict[str, Any]:
    """Return the check that the watched forecast is that of the model in use, within 1e-4 of the history's scale."""
    shown = denormalise(to_array(watched)[..., 0].astype(np.float64), scale)[0]
    apart = float(np.abs((shown - said.mean[0]) / scale.scale[0]).max())
    what = "the forecast is the model's own; the watched one differs, in units of the history's spread, by"
    return checks.check("output_equal", what, apart, _ALIKE)
