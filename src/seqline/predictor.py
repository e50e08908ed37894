"""Series in, forecasts out: a forecasting run, from histories of any length, as `seqline forecast` and backtests use it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import Module

from seqline.config import Config
from seqline.data.loader import plan_in_order
from seqline.data.series import Panel, SeriesOptions
from seqline.data.series.calendar import future_times
from seqline.data.series.frequency import Frequency
from seqline.data.series.reading import options_of, read_panel
from seqline.errors import UserError
from seqline.forecasting.coder import SeriesCoder
from seqline.forecasting.inputs import ForecastBatch, Inputs
from seqline.forecasting.scaling import Scale, denormalise
from seqline.forecasting.windows import Windows
from seqline.models.forecaster import Forecaster
from seqline.recording.document import Options
from seqline.recording.facts import origin_of
from seqline.recording.forecast import Forecasting, record_forecast
from seqline.recording.forecast_asked import Asked
from seqline.run_folder import Run, find_recipe, load_run, require_task
from seqline.sections import validate_section
from seqline.tasks import TASKS
from seqline.visualize.trace import Trace
from seqline.watch import LIMIT_MB

Array = NDArray[np.float64]
BATCH_STEPS = 16_384  # of an encoder, in one batch


class Forecasts(NamedTuple):
    """The forecast of one series, in its own units.

    id: of the series. times: [H] microseconds since 1970 UTC, or row numbers. mean: [H F], the point forecast.
    quantiles: level to [H F]; they do not cross. num_beyond: how many of the last steps lie beyond the horizon that the model
    was trained for.
    """

    id: str
    times: NDArray[np.int64]
    mean: Array
    quantiles: dict[float, Array]
    num_beyond: int = 0


class Windowed(NamedTuple):
    """Forecasts of windows, in the units of their series. mean: [W H F]. quantiles: level to [W H F]."""

    mean: Array
    quantiles: dict[float, Array]


class Info(NamedTuple):
    """What a forecasting run is.

    architecture: name of its recipe. strategy: direct or recursive. targets, known, past, static: names of its columns.
    frequency: of its steps. zone: of the local time. season: steps, 1 = none. horizon: steps it was trained for.
    longest: most points of a history that it reads; of a longer one it reads the end. levels: the quantiles it was trained
    for, between the least and greatest of which any can be asked for; () = any between 0 and 1; None: it gives none.
    trained_until: the last time that it was trained on, microseconds since 1970 UTC or a row number.
    """

    architecture: str
    strategy: str
    targets: tuple[str, ...]
    known: tuple[str, ...]
    past: tuple[str, ...]
    static: tuple[str, ...]
    frequency: Frequency
    zone: str
    season: int
    horizon: int
    longest: int
    levels: tuple[float, ...] | None
    trained_until: int


class Predictor:
    """Forecasts with one model.

    A series alone and the same series in any batch give the same forecast within 1e-5 of the history's scale (float32).

    Args:
        model: a forecaster, in evaluation mode.
        coder: its names and scales.
        config: as the run recorded it.
    """

    def __init__(self, model: Module, coder: SeriesCoder, config: Config) -> None:
        self.model, self.coder, self.config = model, coder, config
        self.run: Run | None = None
        task, recipe = TASKS["forecasting"], find_recipe(config.model.architecture)
        settings: Any = validate_section(task.settings_of(recipe), config.model.settings, "model", ("size",))
        self.distribution, self.input_options = settings.make_distribution(), settings.inputs(coder.vocabulary)
        self.info = Info(
            architecture=recipe.name, strategy=settings.strategy, targets=coder.targets, known=coder.known,
            past=coder.past, static=coder.static, frequency=coder.step, zone=coder.zone, season=coder.season,
            horizon=coder.horizon, longest=coder.longest, levels=self.distribution.levels,
            trained_until=coder.trained_until,
        )  # fmt: skip

    @classmethod
    def of(cls, run: Run) -> Predictor:
        """Return the predictor of a loaded run.

        Raises:
            UserError: a run for another task.
        """
        require_task(run, "forecasting")
        predictor = cls(run.model, run.series, run.config)
        predictor.run = run
        return predictor

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, device: str = "cpu") -> Predictor:
        """Load a run folder.

        Raises:
            UserError: see `run_folder.load_run`; a run for another task.
        """
        return cls.of(load_run(Path(folder), device))

    @property
    def options(self) -> SeriesOptions:
        """How the run read its data; to be changed by `dataclasses.replace` where histories are written otherwise."""
        return options_of(self.config.data)

    def read(self, data: Any, how: SeriesOptions | None = None) -> Panel:
        """Read histories for this run: its columns by name. A history of one point takes the run's frequency.

        Args:
            data: see `read_panel`.
            how: None = as the run read its data.

        Raises:
            UserError: see `read_panel`; columns or a frequency unlike the run's.
        """
        how = how or self.options
        known = self.coder.text_statics
        panel = read_panel(data, target=self.coder.targets, how=how, fallback=self.coder.frequency, texts=tuple(known))
        self._check(panel)
        return replace(panel, notes=(*panel.notes, *_strangers(panel, known)))

    def predict(
        self, panel: Panel, horizon: int | None = None, quantiles: Sequence[float] = ()
    ) -> tuple[Forecasts, ...]:
        """Forecast what comes after each series.

        Args:
            panel: from `read`, or with the same columns.
            horizon: steps; None = those the model was trained for.
            quantiles: levels over 0 and under 1.

        Raises:
            UserError: other columns or another frequency; a horizon beyond the trained one of a direct model; known covariates
                that do not reach as far; quantiles that the model does not give.
        """
        ends = np.array([len(one) for one in panel.series])
        windows = Windows(np.arange(len(ends)), np.zeros(len(ends), np.int64), ends)
        steps = self.coder.horizon if horizon is None else horizon
        found = self.windows(panel, windows, steps, quantiles)
        return tuple(
            Forecasts(
                one.id,
                future_times(panel, one, steps),
                found.mean[n],
                {level: values[n] for level, values in found.quantiles.items()},
                max(0, steps - self.coder.horizon),
            )
            for n, one in enumerate(panel.series)
        )

    @torch.no_grad()
    def windows(
        self, panel: Panel, windows: Windows, horizon: int | None = None, quantiles: Sequence[float] = ()
    ) -> Windowed:
        """Forecast from many origins; nothing from an origin on is read but the covariates known in advance.

        Args:
            panel: whose series the windows cut.
            windows: histories of one point or more; of one longer than the longest the end is read.
            horizon: steps; None = those the model was trained for.
            quantiles: levels over 0 and under 1.

        Raises:
            UserError: as `predict`.
        """
        steps = self.coder.horizon if horizon is None else horizon
        self._check(panel)
        self._check_asked(steps, quantiles)
        self._check_histories(panel, windows)
        inputs = Inputs(self.coder, self.input_options, panel, steps)
        lengths = np.minimum(windows.lengths, self.coder.longest)
        encoder_steps = np.maximum(-(-lengths // self.input_options.patch), steps)
        shape = (len(lengths), steps, len(self.coder.targets))
        mean, found = np.empty(shape), np.empty((*shape, len(quantiles)))
        for rows in plan_in_order(encoder_steps.tolist(), BATCH_STEPS):
            batch = inputs.batch(windows.take(rows), steps, has_target=False, dtype=self._dtype)
            parameters = self._parameters(batch)
            mean[rows] = denormalise(parameters[..., 0], batch.scale)
            if quantiles:
                scale = Scale(batch.scale.centre[..., None], batch.scale.scale[..., None])
                found[rows] = denormalise(self.distribution.quantiles(parameters, quantiles), scale)
        return Windowed(mean, {float(level): found[..., n] for n, level in enumerate(quantiles)})

    def explain(
        self,
        data: Any,
        forecast: Asked | None = None,
        *,
        timing: bool = True,
        seed: int = 0,
        limit_mb: float = LIMIT_MB,
    ) -> Trace:
        """Forecast one series and record everything on the way: a trace, which can be looked at, saved and exported.

        Args:
            data: histories, see `read`; or a panel that was read.
            forecast: which of them, and from how much history.
            timing: with the time of the whole, which differs from one recording to the next.
            seed: noted in the trace; nothing is drawn.
            limit_mb: the most that is recorded, in 10^6 bytes.

        Raises:
            UserError: see `read`, `predict` and `record_forecast`.
        """
        panel = data if isinstance(data, Panel) else self.read(data)
        subject = Forecasting(
            model=cast("Forecaster", self.model),
            inputs=lambda panel, steps: Inputs(self.coder, self.input_options, panel, steps),
            forecast=self.windows,
            levels=self.info.levels,
            horizon=self.coder.horizon,
            longest=self.coder.longest,
            origin=origin_of(self.run),
        )
        return record_forecast(subject, panel, forecast or Asked(), Options(timing, seed, limit_mb))

    @property
    def _dtype(self) -> torch.dtype:
        return next(self.model.parameters()).dtype

    def _parameters(self, batch: ForecastBatch) -> Array:
        device = next(self.model.parameters()).device
        parameters = self.model(batch.to(device).history)
        if not bool(torch.isfinite(parameters).all()):
            raise FloatingPointError("the model gave a forecast that is not finite")
        return parameters.double().cpu().numpy()

    def _check(self, panel: Panel) -> None:
        """Refuse a panel whose columns or frequency are not the run's."""
        own = self.coder
        for kind in ("targets", "known", "past", "static"):
            wanted, came = getattr(own, kind), getattr(panel, kind)
            if wanted != came:
                what = f"the run has {kind} {', '.join(wanted) or 'none'}, the data {', '.join(came) or 'none'}"
                raise UserError(what, where=kind, fix="give the columns that the run was trained with")
        if panel.frequency != own.step:
            what = f"the run was trained on steps of {own.step.words}, the data has steps of {panel.frequency.words}"
            raise UserError(what, where="frequency", fix="bring the data to the run's frequency, or train another run")

    def _check_asked(self, horizon: int, quantiles: Sequence[float]) -> None:
        if not isinstance(horizon, int) or isinstance(horizon, bool):
            raise UserError(f"expected a whole number of steps, got {horizon!r}", where="horizon")
        if horizon < 1:
            raise UserError(f"expected 1 or more steps, got {horizon}", where="horizon")
        if horizon > self.coder.horizon and self.info.strategy != "recursive":
            what = (
                f"the run forecasts up to {self.coder.horizon} steps, not {horizon}: it forecasts all of them at once"
            )
            raise UserError(what, where="horizon", fix="ask for less, or train with model.strategy=recursive")
        if quantiles and self.info.levels is None:
            fix = "train with model.distribution=quantile, gaussian or student-t"
            raise UserError("the run forecasts points, which have no quantiles", where="quantiles", fix=fix)
        low, high = min(self.info.levels or (0.0,)), max(self.info.levels or (1.0,))
        for level in quantiles:
            if not (0 < level < 1 and low <= level <= high):
                what = f"expected levels from {low:g} to {high:g}, got {level:g}"
                raise UserError(what, where="quantiles", fix="ask for others, or train with more in model.quantiles")

    def _check_histories(self, panel: Panel, windows: Windows) -> None:
        """Refuse histories without a point, or in which nothing was observed."""
        starts = np.maximum(windows.start, windows.origin - self.coder.longest)
        for n, start, origin in zip(windows.series.tolist(), starts.tolist(), windows.origin.tolist(), strict=True):
            one = panel.series[n]
            if not 0 <= start < origin <= len(one):
                raise ValueError(f"window {start}:{origin} is not in a series of {len(one)} points")
            if not one.is_observed[start:origin].any():
                name = f"series {one.id[:60]!r}: " if one.id else ""
                what = f"{name}none of the last {origin - start:,} values was observed"
                raise UserError(what, where="history", fix="give a history with at least one value")


def _strangers(panel: Panel, known: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    """Name texts of static columns that no training series had."""
    for place, name in enumerate(panel.static):
        found = dict.fromkeys(str(one.static[place]) for one in panel.series)
        if name in known and (strange := [text for text in found if text not in known[name]]):
            shown = ", ".join(repr(text[:40]) for text in strange[:8]) + (", ..." if len(strange) > 8 else "")
            yield f"column {name!r}: {shown} was in no training series, and counts as none of them"
