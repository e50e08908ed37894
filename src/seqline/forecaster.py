"""Forecasting for Python: what `seqline forecast` does, frames in and frames out."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from seqline import files
from seqline.backtesting.backtest import Backtest, Counting, backtest
from seqline.backtesting.contestants import Done, Model
from seqline.backtesting.plan import DEFAULT_WINDOWS, Asked, Plan, make_plan
from seqline.budget import with_model
from seqline.config import Config
from seqline.data.series import Panel, SeriesOptions
from seqline.data.series.panels import panel_rows, reading_back
from seqline.data.series.reading import options_of, read_panel
from seqline.data.series.writing import rows_csv
from seqline.errors import CUT_SHORT, Stopped, UserError
from seqline.forecast_report import forecast
from seqline.predictor import Predictor
from seqline.run import train as train_run
from seqline.run_folder import find_recipe
from seqline.series_corpus import fingerprint_of
from seqline.training.reports import Callback

PathLike = str | os.PathLike[str]
_READING = {"data.target", "data.horizon", *(f"data.{field.name}" for field in fields(SeriesOptions))}
"""Settings that say how the user's data is read; a backtest states them anew of the copy that it trains on."""


def _silent(_total: int) -> AbstractContextManager[Done]:
    return nullcontext(lambda _: None)


class Forecaster:
    """A forecasting run: trained by `fit`, or loaded from its folder.

    Attributes:
        predictor: the model; `predictor.info` says what it was trained for.
    """

    def __init__(self, predictor: Predictor) -> None:
        self.predictor = predictor

    @classmethod
    def fit(
        cls,
        data: Any,
        *,
        out: PathLike,
        target: str | Sequence[str] | None = None,
        horizon: int | None = None,
        arch: str = "lstm",
        how: SeriesOptions = SeriesOptions(),  # noqa: B008
        settings: Mapping[str, Any] | None = None,
    ) -> Forecaster:
        """Train a model on series and leave a run folder, as `seqline forecast train DATA --out RUN`.

        Args:
            data: a pandas or polars frame, an object in Arrow's form, a dict of columns, or a file name (CSV or Parquet).
            out: folder to make.
            target: the columns to forecast; None = `y`, or the only one left.
            horizon: steps to forecast; None = a season.
            arch: a name in ARCHITECTURES.
            how: how the data is read: names of columns, the zone, what becomes of missing values.
            settings: dotted keys, such as {"training.max_minutes": 2.0, "data.lookback": 50}.

        Raises:
            UserError: bad data or settings, or an `out` that exists.
        """
        with as_file(data, target, how) as (path, own):
            config = training_config(arch, Fitting(path, target, horizon, own, settings or {}))
            trained = train_run(config, out)
        return cls.load(trained.folder)

    @classmethod
    def load(cls, run: PathLike, *, device: str = "cpu") -> Forecaster:
        """Load a run folder.

        Raises:
            UserError: no such run, a damaged one, or one for another task.
        """
        return cls(Predictor.load(run, device=device))

    def predict(
        self,
        history: Any,
        horizon: int | None = None,
        *,
        quantiles: Sequence[float] = (),
        how: SeriesOptions | None = None,
    ) -> Any:
        """Forecast what comes after each series, as `seqline forecast predict RUN HISTORY`.

        Args:
            history: as the data of `fit`; each series has one point or more.
            horizon: steps; None = what the model was trained for.
            quantiles: between 0 and 1; a column each, `y_q0.1`.
            how: how the history is read; None = as the run's own data.

        Returns:
            The kind of frame that the history was, a dict of columns for a file; one row a series and step.

        Raises:
            UserError: a history that does not fit the run; see `Predictor.predict`.
        """
        panel = self.predictor.read(history, how)
        return forecast(self.predictor, panel, horizon, checked_levels(quantiles)).like(history)

    def backtest(
        self,
        data: Any,
        windows: int = DEFAULT_WINDOWS,
        *,
        horizon: int | None = None,
        step: int | None = None,
        season: int | None = None,
        skip_short: bool = False,
        how: SeriesOptions | None = None,
        counting: Counting = _silent,
    ) -> Backtest:
        """Forecast the last windows of each series from what lies before them, beside the baselines.

        Args:
            data: as the data of `fit`. What the model was trained on it knows already: give what came later.
            windows: forecasts of each series.
            horizon: steps of each; None = what the model was trained for.
            step: points between two of them; None = the horizon.
            season: steps in a season, for the seasonal baselines and MASE; None = the run's.
            skip_short: leave out series that are too short, and name them, instead of refusing them.
            how: how the data is read; None = as the run's own.
            counting: follows how far it is, see `backtesting.backtest`.

        Raises:
            UserError: data that does not fit the run, or is too short.
        """
        info = self.predictor.info
        panel = self.predictor.read(data, how)
        plan = make_plan(panel, Asked(horizon or info.horizon, windows, step, season or info.season, skip_short))
        found = backtest(plan, [Model(info.architecture, self.predictor, info.levels)], counting)
        return replace(found, doubts=self._doubts(plan))

    def _doubts(self, plan: Plan) -> tuple[str, ...]:
        """Say what of the scored lies in the time that the run was trained on; of rows without times, if all are the same."""
        info, fix = self.predictor.info, "which flatters it: give what came later, or use --archs."
        if plan.panel.frequency.is_row:
            is_same = fingerprint_of(plan.panel) == self.predictor.config.data.fingerprint
            return (f"{info.architecture} was trained on this very data, {fix}",) if is_same else ()
        known, all_points = plan.num_scored(info.trained_until)
        what = f"{known:,} of {all_points:,} points to forecast lie in the time that {info.architecture} was trained on"
        return (f"{what}, {fix}",) if known else ()


class Fitting(NamedTuple):
    """What models are trained on. train: a file. target, horizon, how, settings: as in `Forecaster.fit`."""

    train: str
    target: str | Sequence[str] | None
    horizon: int | None
    how: SeriesOptions
    settings: Mapping[str, Any]


class Running(NamedTuple):
    """What goes on beside trainings, see `seqline.run.train`, and beside a backtest (counting)."""

    callbacks: Sequence[Callback] = ()
    should_stop: Callable[[], str | None] = lambda: None
    say: Callable[[str], None] = lambda _: None
    counting: Counting = _silent


def backtest_architectures(
    data: Any,
    archs: Sequence[str],
    asked: Asked,
    fitting: Fitting,
    out: PathLike | None = None,
    running: Running | None = None,
) -> Backtest:
    """Train architectures on what lies before a backtest, and let them forecast it beside the baselines.

    Args:
        data: as the data of `Forecaster.fit`.
        archs: names in ARCHITECTURES.
        asked: the backtest; a horizon of 0 is a season.
        fitting: how they are trained; its `train` and `horizon` are not looked at.
        out: folder to make, which keeps a run of each; None = they are not kept.
        running: what goes on beside the trainings.

    Raises:
        UserError: bad data or settings, an unknown architecture or one twice, or an `out` that exists.
        Stopped: `should_stop` gave a reason.
    """
    running = running or Running()
    if not archs or len(set(archs)) < len(archs):
        raise UserError(
            f"expected different architectures, got {', '.join(archs)}", where="archs", fix="name each once"
        )
    for arch in archs:
        config = training_config(arch, fitting)
        with_model(config, find_recipe(arch), "tiny" if config.model.size == "auto" else config.model.size)
    if out is not None:
        files.refuse_taken(out)
    given = training_config(archs[0], fitting).data  # settings and arguments alike: what is scored is what was trained
    for key, own, other in (("horizon", asked.horizon, given.horizon), ("season", asked.season, given.season)):
        if own and other:
            refuse_two_values(key, own, other)
    how, season = options_of(given), asked.season or given.season
    panel = read_panel(data, target=given.target or None, how=how)
    horizon = asked.horizon or given.horizon or max(1, season or panel.frequency.season)
    skip_short = asked.skip_short or given.skip_short
    plan = make_plan(panel, asked._replace(horizon=horizon, season=season, skip_short=skip_short))
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "before.csv")
        files.write_text(path, rows_csv(panel_rows(plan.before(), how)))
        settings = {key: value for key, value in fitting.settings.items() if key not in _READING}
        settings |= {} if season is None else {"data.season": season}
        own = Fitting(path, panel.targets, horizon, reading_back(panel, how), settings)
        runs = Path(scratch, "runs") if out is None else Path(out)
        models = [_trained(arch, own, runs / arch, running) for arch in archs]
        return backtest(plan, models, running.counting)


def _trained(arch: str, fitting: Fitting, folder: Path, running: Running) -> Model:
    """Train one architecture."""
    running.say(f"{arch}: training on what lies before the backtest")
    callbacks, should_stop, say, _ = running
    with naming(fitting.train, "the data before the backtest"):
        config = training_config(arch, fitting)
        trained = train_run(config, folder, callbacks=callbacks, should_stop=should_stop, say=say)
    if trained.result.reason in CUT_SHORT:
        raise Stopped(trained.result.reason)
    predictor = Predictor.load(trained.folder, device=config.training.device)
    return Model(arch, predictor, predictor.info.levels)


def training_config(arch: str | None, fitting: Fitting) -> Config:
    """Return the config of a training.

    Args:
        arch: the architecture; None = what the settings say.
        fitting: data and settings; only what differs from the defaults is put in.

    Raises:
        UserError: an unknown setting or a value that does not fit.
    """
    defaults = SeriesOptions()
    given: dict[str, Any] = {}
    if arch is not None:
        given["model.architecture"] = arch
    if fitting.target is not None:
        given["data.target"] = [fitting.target] if isinstance(fitting.target, str) else list(fitting.target)
    if fitting.horizon is not None:
        given["data.horizon"] = fitting.horizon
    for field in fields(defaults):
        value = getattr(fitting.how, field.name)
        if value != getattr(defaults, field.name):
            given[f"data.{field.name}"] = list(value) if isinstance(value, tuple) else value
    for key, value in given.items():
        other = fitting.settings.get(key, value)
        refuse_two_values(key, value, list(other) if isinstance(other, tuple) else other)
    return Config().replace(**{"data.task": "forecasting", "data.train": fitting.train, **fitting.settings, **given})


def refuse_two_values(key: str, one: Any, other: Any) -> None:
    """Refuse what is said twice, and differently.

    Raises:
        UserError: it is.
    """
    if one != other:
        raise UserError(f"is given twice, as {str(one)[:40]} and as {str(other)[:40]}", where=key, fix="say it once")


@contextmanager
def as_file(data: Any, target: str | Sequence[str] | None, how: SeriesOptions) -> Iterator[tuple[str, SeriesOptions]]:
    """Yield a file with the data, and how it is read; a frame is read first, and a refusal speaks of its rows."""
    if isinstance(data, str | os.PathLike):
        yield os.fsdecode(data), how
        return
    panel: Panel = read_panel(data, target=target, how=how)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "frame.csv")
        files.write_text(path, rows_csv(panel_rows(panel, how)))
        with naming(path, "frame"):
            yield path, reading_back(panel, how)


@contextmanager
def naming(path: str, name: str) -> Iterator[None]:
    """Let errors about a file that the user never saw speak of what it stands for."""
    try:
        yield
    except UserError as error:
        if path not in error.where:
            raise
        raise UserError(error.what, where=name, fix=error.fix) from error


def checked_levels(levels: Sequence[float]) -> tuple[float, ...]:
    """Return the levels of quantiles, ascending, with six digits, which is how columns are named by them.

    Raises:
        UserError: one that is no number from 1e-6 to 1 - 1e-6, or is there twice.
    """
    shown = str(levels)[:80]
    try:
        found = tuple(sorted(float(f"{float(level):.6g}") for level in levels))
    except (TypeError, ValueError):
        found = (0.0,)
    else:
        shown = ", ".join(f"{level:g}" for level in found)
    if isinstance(levels, str) or not all(1e-6 <= level <= 1 - 1e-6 for level in found) or len({*found}) < len(found):
        what = f"expected different numbers between 0 and 1, of six digits, got {shown}"
        raise UserError(what, where="quantiles", fix="such as 0.1,0.9")
    return found
