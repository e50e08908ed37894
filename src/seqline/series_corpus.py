"""Forecasting as something to train: windows of series, their loss, and validation on the end of each series."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, cast

import numpy as np
import torch
from torch.nn import Module

from seqline import files
from seqline.config import Config, DataConfig
from seqline.corpus import Corpus, Prepared
from seqline.data.loader import plan_epoch, plan_in_order
from seqline.data.series import Panel
from seqline.data.series.reading import options_of, read_panel
from seqline.errors import UserError
from seqline.evaluation.series_metrics import Tally, seasonal_scale
from seqline.forecasting.choosing import squared_errors
from seqline.forecasting.coder import SeriesCoder, fit_coder, series_unit
from seqline.forecasting.distributions import Distribution
from seqline.forecasting.inputs import ForecastBatch, Inputs
from seqline.forecasting.scaling import denormalise
from seqline.forecasting.windows import TrainingWindows, Windows, training_windows
from seqline.models.forecaster import Forecaster
from seqline.models.skips import MOST_LAGS
from seqline.run_folder import find_recipe
from seqline.sections import validate_section
from seqline.tasks import TASKS
from seqline.training.loss import LossSum
from seqline.training.progress import Validation
from seqline.training.task import TrainingTask

MOST_WINDOWS = 16_384  # of an epoch
MOST_FITTED = 8192  # windows that the plain forecast is fitted on
SEASONS_SEEN, MOST_LOOKBACK = 7, 512
MOST_STEPS = 96  # of an encoder; longer histories are read several points a step
SHARE_HELD_OUT = 0.1
VALIDATION_TOKENS = 8192


class SeriesCorpus(Corpus):
    """A panel of series, each with a training span and, behind it, the points that validate.

    ends: where the training span of each series ends. found: what was chosen from the data.
    """

    def __init__(self, config: Config) -> None:
        data = config.data
        panel = read_panel(data.train, target=data.target or None, how=options_of(data))
        season = data.season or panel.frequency.season
        self.horizon, self.season = data.horizon or max(1, season), season
        self.panel, left_out = _long_enough(panel, self.horizon, data)
        lengths = [len(one) for one in self.panel.series]
        self.ends = [length - _held_out(length, self.horizon, data.holdout) for length in lengths]
        held = [length - end for length, end in zip(lengths, self.ends, strict=True)]
        if data.holdout and not any(held):
            most = max(lengths) - self.horizon - 1
            what = (
                f"expected up to {most:,} points to hold out of series of up to {max(lengths):,}, got {data.holdout:,}"
            )
            raise UserError(what, where="data.holdout", fix="lower it; a history and a target must be left")
        longest = max(max(self.ends) - self.horizon, 1)
        cut: list[str] = []
        if data.lookback is not None and data.lookback > longest:
            cut = [f"histories of up to {longest:,} points, not {data.lookback:,}: no training span holds longer ones"]
        self.notes = (*panel.notes, *left_out, *cut, _validation_note(held, data.holdout))
        self.lookback = min(data.lookback or min(SEASONS_SEEN * max(season, self.horizon), MOST_LOOKBACK), longest)
        self.fingerprint = fingerprint_of(self.panel)
        self.found: tuple[str, ...] = ()
        self.num_examples = sum(max(0, end - self.horizon) for end in self.ends)

    def fill(self, config: Config) -> Config:
        """Choose horizon, longest history, season, and how a model reads them."""
        model = config.model.settings
        patch = model.get("patch") or _patch(self.lookback, self.season)
        chosen: dict[str, Any] = {
            "data.target": self.panel.targets,
            "data.horizon": self.horizon,
            "data.lookback": self.lookback,
            "data.season": self.season,
            "model.patch": patch,
        }
        is_linear = model.get("skip", "linear" if model.get("strategy") != "recursive" else "last") == "linear"
        if model.get("instance_norm") is None:
            errors = squared_errors(
                self.panel, self.ends, horizon=self.horizon, longest=self.lookback, season=self.season
            )
            self.found = (str(errors),)
            chosen["model.instance_norm"] = not errors.level_counts
        if model.get("skip") == "season" and self.lookback < self.season:
            what = f"season needs histories of a season, {self.season:,} points, and the longest here have {self.lookback:,}"
            raise UserError(
                what, where="model.skip", fix="set last or linear, a smaller `data.season`, or a larger `data.lookback`"
            )
        if is_linear and "skip_length" not in model:
            chosen["model.skip_length"] = min(self.lookback, MOST_LAGS)
        return config.replace(**chosen)

    def train_tokenizers(self, config: Config) -> SeriesCoder:
        """Fit the scales."""
        assert config.data.lookback
        return fit_coder(self.panel, self.ends, horizon=self.horizon, longest=config.data.lookback, season=self.season)

    def prepare(self, tokenizers: SeriesCoder, config: Config) -> Prepared:
        """Find the windows."""
        return PreparedSeries(self, tokenizers, config)


class PreparedSeries(Prepared):
    """Training windows, a length for each drawn anew every epoch, and fixed windows that validate."""

    def __init__(self, corpus: SeriesCorpus, coder: SeriesCoder, config: Config) -> None:
        task, recipe = TASKS["forecasting"], find_recipe(config.model.architecture)
        settings = validate_section(task.settings_of(recipe), config.model.settings, "model", ("size",))
        self.distribution: Distribution = settings.make_distribution()  # pyright: ignore[reportAttributeAccessIssue]
        options = settings.inputs(coder.vocabulary)  # pyright: ignore[reportAttributeAccessIssue]
        self.corpus, self.coder, self.patch, self.notes = corpus, coder, options.patch, corpus.found
        self.seed = config.training.seed
        self.inputs = Inputs(coder, options, corpus.panel, 0)
        series = corpus.panel.series
        masks = [one.is_observed[:end] for one, end in zip(series, corpus.ends, strict=True)]
        self.windows: TrainingWindows = training_windows(masks, coder.horizon, coder.longest)
        if not len(self.windows):
            what = f"no window of a history and {coder.horizon} steps is left to learn from"
            raise UserError(
                what, where=config.data.train, fix="lower `data.horizon` or data.holdout, or give more points"
            )
        self.units = np.stack(
            [
                series_unit(one.values[:end], one.is_observed[:end], coder.floor)
                for one, end in zip(series, corpus.ends, strict=True)
            ]
        )
        self.shortest, self.longest = coder.horizon, max(coder.horizon, self._steps(np.array([coder.longest]))[0])

    def _steps(self, lengths: Any) -> list[int]:
        return (-(-lengths // self.patch)).tolist()

    def _draw(self, epoch: int, seed: int) -> tuple[np.ndarray, list[int]]:
        """Return the windows of an epoch and the steps of their histories."""
        chosen = self.windows.order(seed, epoch)[:MOST_WINDOWS]
        return chosen, self._steps(self.windows.draw(seed, epoch, chosen).lengths)

    def _plan(self, epoch: int, batch_tokens: int, seed: int) -> list[list[int]]:
        """Plan an epoch; a row says its epoch too, for the length of its history belongs to both."""
        chosen, steps = self._draw(epoch, seed)
        rows = (epoch * len(self.windows) + chosen).tolist()
        batches = plan_epoch(steps, [self.coder.horizon] * len(steps), batch_tokens, seed, epoch)
        return [[rows[i] for i in batch] for batch in batches]

    def begin(self, model: Module) -> None:
        """Fit the plain forecast under the network on windows of the first epoch."""
        device = next(model.parameters()).device
        drawn = self.windows.draw(0, 0, self.windows.order(0, 0)[:MOST_FITTED])
        parts = [
            self._batch(drawn.take(rows), device)
            for rows in plan_in_order(self._steps(drawn.lengths), VALIDATION_TOKENS)
        ]
        cast("Forecaster", model).skip.fit(
            torch.cat([batch.history.recent for batch, _ in parts]),
            torch.cat([batch.history.num_recent for batch, _ in parts]),
            torch.cat([batch.history.future for batch, _ in parts]),
            torch.cat([batch.target for batch, _ in parts]),
            torch.cat([batch.is_wanted * unit.double() ** 2 for batch, unit in parts]),
        )

    def num_batches(self, batch_tokens: int) -> int:
        """Count the batches of the first epoch."""
        return len(self._plan(0, batch_tokens, self.seed))

    def widest(self, batch_tokens: int) -> list[int]:
        """Return a window with the longest history, in the first epoch that draws it whole."""
        most = np.minimum(self.windows.origin, self.windows.longest)
        longest = np.flatnonzero(most == most.max())
        drawn = (self.windows.draw(self.seed, epoch, longest).lengths == most.max() for epoch in count())
        epoch, whole = next((epoch, whole) for epoch, whole in enumerate(drawn) if whole.any())  # half of them are
        return [epoch * len(self.windows) + int(longest[whole.argmax()])]

    def tally(self, batch_tokens: int) -> str:
        """Say how many windows there are."""
        return f"{len(self.windows):,} training windows of {len(self.corpus.panel.series):,} series"

    def training_task(self, config: Config) -> TrainingTask:
        """Return batches of windows, the loss of their targets, and validation."""
        training, device = config.training, torch.device(config.training.device)
        total = len(self.windows)

        def make_batch(rows: Any) -> tuple[ForecastBatch, torch.Tensor]:
            epoch = rows[0] // total
            return self._batch(self.windows.draw(training.seed, epoch, np.array(rows) - epoch * total), device)

        return TrainingTask(
            plan_epoch=lambda epoch: self._plan(epoch, training.batch_tokens or 1, training.seed),
            make_batch=make_batch,
            compute_loss=self._loss,
            validate=self._validator(config),
            loss_unit="loss/value",
            describe_rows=lambda rows: f"windows {', '.join(str(row % total) for row in rows[:20])}",
        )

    def _batch(self, windows: Windows, device: torch.device) -> tuple[ForecastBatch, torch.Tensor]:
        batch = self.inputs.batch(windows, self.coder.horizon, has_target=True, dtype=torch.get_default_dtype())
        unit = batch.scale.scale / self.units[windows.series][:, None]
        return batch.to(device), torch.tensor(unit, dtype=torch.get_default_dtype(), device=device)

    def _loss(self, model: Module, given: tuple[ForecastBatch, torch.Tensor]) -> LossSum:
        """Sum the loss of the targets that were observed."""
        batch, unit = given
        losses = self.distribution.loss(model(batch.history), batch.target, unit)
        total = torch.where(batch.is_wanted, losses, 0.0).sum()
        return LossSum(total, total.detach(), int(batch.is_wanted.sum()))

    def _validator(self, config: Config) -> Callable[[Module], Validation]:
        """Return what scores a model on the windows whose targets lie behind the training spans."""
        windows, device = self._validation_windows(config), torch.device(config.training.device)
        scales = np.stack(
            [
                seasonal_scale(one.values[:end], self.coder.season, one.is_observed[:end])
                for one, end in zip(self.corpus.panel.series, self.corpus.ends, strict=True)
            ]
        )
        plans = plan_in_order(self._steps(windows.lengths), VALIDATION_TOKENS)
        values = [one.values for one in self.corpus.panel.series]

        def validate(model: Module) -> Validation:
            tally, loss, num_values = Tally(), 0.0, 0
            for rows in plans:
                part = windows.take(rows)
                given = self._batch(part, device)
                batch, sums = given[0], self._loss(model, given)
                loss, num_values = loss + float(sums.loss), num_values + sums.num_tokens
                point = model(batch.history)[..., 0].double().cpu().numpy()
                tally.add(
                    part.targets(values, self.coder.horizon), denormalise(point, batch.scale),
                    is_observed=batch.is_wanted.cpu().numpy(), scale=scales[part.series][:, None],
                )  # fmt: skip
            score = tally.result()
            found = {"mae": score.mae, "rmse": score.rmse, "mase": score.mase}
            loss = loss / max(1, num_values)
            return Validation(loss, {name: value for name, value in found.items() if value is not None}, -loss)

        return validate

    def _validation_windows(self, config: Config) -> Windows:
        """Return windows spread evenly over the held-out points, of long histories and short ones; else training windows."""
        horizon, masks, firsts = self.coder.horizon, [], []
        for one, end in zip(self.corpus.panel.series, self.corpus.ends, strict=True):
            masks.append(one.is_observed if end < len(one) else one.is_observed[:0])
            firsts.append(end)
        found = training_windows(masks, horizon, self.coder.longest)
        inside = np.flatnonzero(found.origin >= np.array(firsts)[found.series]) if len(found) else np.zeros(0, np.int64)
        if not len(inside):
            found, inside = self.windows, np.arange(len(self.windows))
        size = min(len(inside), config.training.validate_sentences)
        return found.draw(0, 0, inside[np.arange(size) * len(inside) // size])


def read(config: Config) -> SeriesCorpus:
    """Read the series of a config.

    Raises:
        UserError: a file that does not read, or series that are too short, by name.
    """
    return SeriesCorpus(config)


def fingerprint_of(panel: Panel) -> str:
    """Return a SHA-256 that any change of a value, a time or a name changes."""
    names = [panel.targets, panel.known, panel.past, panel.static, panel.frequency.name, panel.zone]
    parts = [json.dumps(names).encode()]
    for one in panel.series:
        parts.append(json.dumps([one.id, list(one.static)]).encode())
        parts += [part.tobytes() for part in (one.times, one.values, one.is_observed, one.known, one.past)]
    return files.sha256(b"\n".join(parts))


def _long_enough(panel: Panel, horizon: int, data: DataConfig) -> tuple[Panel, list[str]]:
    """Leave out, by name and where that was asked for, the series that are too short to learn from."""
    short = [one for one in panel.series if len(one) < horizon + 1]
    if not short:
        return panel, []
    names = ", ".join(f"{one.id[:40] or 'the only one'} ({len(one)})" for one in short[:8])
    names += f" and {len(short) - 8} more" if len(short) > 8 else ""
    steps = f"{horizon} steps, which need" if horizon > 1 else "1 step, which needs"
    what = f"{len(short)} series too short for a history and {steps} {horizon + 1} points: {names}"
    if not data.skip_short or len(short) == len(panel.series):
        raise UserError(what, where=data.train, fix="leave it out with `data.skip_short=true`, or lower `data.horizon`")
    kept = tuple(one for one in panel.series if len(one) >= horizon + 1)
    return replace(panel, series=kept), [f"left out {what}"]


def _patch(lookback: int, season: int) -> int:
    """Return how many points a step of the encoder reads: as few as keep its steps few, or a few more that divide a season."""
    least = -(-lookback // MOST_STEPS)
    return next((n for n in range(least, 2 * least) if season % n == 0), least)


def _held_out(length: int, horizon: int, asked: int | None) -> int:
    """Return how many points at the end of a series validate: a tenth and at least the horizon, where two more are left."""
    wanted = max(horizon, int(length * SHARE_HELD_OUT)) if asked is None else asked
    return wanted if length - wanted >= 2 * horizon + 1 or (asked is not None and length - asked > horizon) else 0


def _validation_note(held: Sequence[int], asked: int | None) -> str:
    """Say what validates. held: points held out of each series."""
    if not any(held):
        why = "data.holdout is 0" if asked == 0 else "the series are too short to hold points out"
        return f"validation on the training windows: {why}"
    having = sum(points > 0 for points in held)
    of = f"{having:,} of {len(held):,}" if having < len(held) else f"{len(held):,}"
    how = "" if asked is not None else " (data.holdout sets their number)"
    return f"validation: the last {sum(held):,} points of {of} series{how}"
