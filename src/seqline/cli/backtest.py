"""`seqline forecast backtest`: models beside every baseline, on windows of the past."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seqline.cli import series_options as series
from seqline.cli.options import Json, Threads, naming_options, prepare_torch, print_json, say, write_lines
from seqline.cli.series_options import OF_TRAINING, OPTIONS, Reading
from seqline.errors import UserError

if TYPE_CHECKING:
    from seqline.backtesting.backtest import Backtest
    from seqline.backtesting.plan import Asked
    from seqline.forecaster import Fitting


_OF_TRAINING = ("time", "id", "known", "past", "static", "frequency")
"""Reading options that a run knows already."""


def backtest(
    run_or_data: Annotated[
        str, typer.Argument(metavar="RUN", help="Folder of a run; with --archs the data, and no run.")
    ],
    data: Annotated[str | None, typer.Argument(metavar="DATA", help="CSV or Parquet.", show_default=False)] = None,
    archs: series.Archs = None,
    windows: series.Windows = 10,
    step: series.Step = None,
    horizon: series.Horizon = None,
    out: Annotated[Path | None, typer.Option(help="With --archs: folder to make that keeps the runs.")] = None,
    target: series.Target = None,
    lookback: series.Lookback = None,
    season: series.Season = None,
    time: series.Time = None,
    id_column: series.Id = None,
    known: series.Known = None,
    past: series.Past = None,
    static: series.Static = None,
    zone: series.Zone = None,
    frequency: series.Frequency = None,
    missing: series.Missing = None,
    fill: series.Fill = False,
    sort: series.Sort = False,
    repeated: series.Repeated = None,
    skipped: series.Skipped = None,
    time_unit: series.TimeUnit = None,
    time_format: series.TimeFormat = None,
    skip_short: series.SkipShort = False,
    settings: series.Settings = None,
    max_minutes: series.MaxMinutes = None,
    seed: series.Seed = None,
    device: series.WhereDevice = None,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Forecast the last windows of each series, and stand beside every baseline in one table."""
    reading = Reading(
        time, id_column, known, past, static, zone, frequency, missing, fill, sort, repeated, skipped, time_unit, time_format
    )  # fmt: skip
    if archs is None:
        own = {"target": target, "lookback": lookback, "set": settings, "max-minutes": max_minutes, "seed": seed}
        _refuse_stray({name: getattr(reading, name) for name in _OF_TRAINING} | own | {"out": out})
    elif data is not None:
        what = f"expected DATA alone with --archs, got {data!r} too"
        raise UserError(what, where="backtest", fix="leave the run out")
    prepare_torch(device or "cpu", threads)

    from seqline.backtesting.plan import Asked

    asked = Asked(horizon or 0, windows, step, season, skip_short)
    with naming_options(*(OPTIONS if archs is None else OF_TRAINING)):
        if archs is None:
            found = _of_run(Path(run_or_data), data, asked, reading, device or "cpu")
        else:
            options = {
                "data.lookback": lookback, "data.skip_short": skip_short or None, "training.max_minutes": max_minutes,
                "training.seed": seed, "training.device": device,
            }  # fmt: skip
            chosen = series.settings_of(settings, options)
            fitting = series.fitting_of(run_or_data, target, None, reading, chosen)
            found = _of_architectures(run_or_data, archs, asked, fitting, out)
    _print(found, as_json)


def _print(found: Backtest, as_json: bool) -> None:
    """Say what was noticed, and print the table."""
    for note in found.plan.notes:
        say(note)
    if as_json:
        print_json(found.as_json())
    else:
        write_lines(found.lines())


def _of_run(run: Path, data: str | None, asked: Asked, reading: Reading, device: str) -> Backtest:
    """Backtest a run."""
    from seqline.cli.progress import counting
    from seqline.forecaster import Forecaster

    if data is None:
        raise UserError(
            "DATA is missing", where="backtest", fix="seqline forecast backtest RUN DATA, or DATA --archs A,B"
        )
    forecaster = Forecaster.load(run, device=device)
    return forecaster.backtest(
        data, asked.num_windows, horizon=asked.horizon or None, step=asked.step, season=asked.season,
        skip_short=asked.skip_short, how=series.as_run(forecaster.predictor, reading), counting=partial(counting, "forecasting"),
    )  # fmt: skip


def _of_architectures(data: str, archs: str, asked: Asked, fitting: Fitting, out: Path | None) -> Backtest:
    """Train architectures and backtest them."""
    from seqline.cli.progress import counting
    from seqline.forecaster import Running, backtest_architectures
    from seqline.training.callbacks import ProgressLine, stop_on_signals

    names = tuple(name.strip() for name in archs.split(",") if name.strip())
    with stop_on_signals() as should_stop:
        running = Running([ProgressLine()], should_stop, say, partial(counting, "forecasting"))
        return backtest_architectures(data, names, asked, fitting, out, running)


def _refuse_stray(given: dict[str, Any]) -> None:
    """Refuse options of a training where a run is there already."""
    for name, value in given.items():
        if value not in (None, False):
            raise UserError("is for --archs; a run knows it already", where=f"--{name}", fix="leave it out")
