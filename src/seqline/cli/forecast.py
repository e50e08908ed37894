"""`seqline forecast train` and `predict`: series to a run, histories to forecasts; `backtest` has a file of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from seqline.cli import series_options as series
from seqline.cli.backtest import backtest
from seqline.cli.options import (
    Device,
    Json,
    Threads,
    naming_options,
    prepare_torch,
    print_json,
    say,
    write_lines,
    write_texts,
)
from seqline.cli.series_options import OF_TRAINING, OPTIONS, Reading
from seqline.errors import CUT_SHORT, UserError

if TYPE_CHECKING:
    from seqline.forecast_report import Forecast
    from seqline.run import Trained

DEFAULT_ARCH = "lstm"
app = typer.Typer(help="Forecast time series.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _group() -> None:
    """Forecast time series, from a history of any length."""


@app.command()
def train(
    data: series.Data,
    out: Annotated[Path, typer.Option(help="Folder of the run to make.")],
    arch: Annotated[str | None, typer.Option(help=f"Architecture; {DEFAULT_ARCH} when not given.")] = None,
    target: series.Target = None,
    horizon: series.Horizon = None,
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
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")] = False,
    device: series.WhereDevice = None,
    threads: Threads = None,
    as_json: Json = False,
) -> int:
    """Train a forecaster on one series or many, and leave everything in one folder."""
    reading = Reading(
        time, id_column, known, past, static, zone, frequency, missing, fill, sort, repeated, skipped, time_unit, time_format
    )  # fmt: skip
    options = {
        "data.lookback": lookback, "data.season": season, "data.skip_short": skip_short or None,
        "training.max_minutes": max_minutes, "training.seed": seed, "training.device": device,
    }  # fmt: skip
    chosen = series.settings_of(settings, options)

    from seqline.forecaster import training_config

    fitting = series.fitting_of(data, target, horizon, reading, chosen)
    config = training_config(arch or (None if resume else DEFAULT_ARCH), fitting)
    prepare_torch(config.training.device, threads or config.training.threads)

    from seqline.run import train as train_run
    from seqline.training.callbacks import ProgressLine, stop_on_signals

    with stop_on_signals() as should_stop, naming_options(*OF_TRAINING):
        trained = train_run(config, out, resume=resume, callbacks=[ProgressLine()], should_stop=should_stop, say=say)
    if as_json:
        print_json({"run": str(trained.folder), **trained.facts})
    else:
        write_lines(_summary(trained))
    if trained.result.reason in CUT_SHORT:
        say("what was learned is kept; the same command with --resume goes on from here")
    return {"interrupted": 130, "terminated": 143}.get(trained.result.reason, 0)


@app.command()
def predict(
    run: Annotated[Path, typer.Argument(help="Folder of a run for forecasting.")],
    history: Annotated[
        str, typer.Argument(help="CSV or Parquet with the columns of the training; - is standard input.")
    ],
    horizon: series.Horizon = None,
    quantiles: series.Quantiles = None,
    form: Annotated[
        Literal["csv", "json"] | None, typer.Option("--format", help="What is written; as --out ends, or csv.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="File to write instead of standard output.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw it into a png, svg or html file.")] = None,
    zone: series.Zone = None,
    missing: series.Missing = None,
    fill: series.Fill = False,
    sort: series.Sort = False,
    repeated: series.Repeated = None,
    skipped: series.Skipped = None,
    time_unit: series.TimeUnit = None,
    time_format: series.TimeFormat = None,
    device: Device = "cpu",
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Forecast what comes after each series of a history of one point or more."""
    prepare_torch(device, threads)

    from seqline.files import refuse_inputs
    from seqline.forecast_report import forecast, plotted_levels
    from seqline.forecaster import Forecaster
    from seqline.visualize.series_plot import check_plot

    if as_json and form == "csv":
        raise UserError("is not --format csv", where="--json", fix="leave one of them out")
    form = "json" if as_json else form or _form_of(out)
    if plot is not None:
        check_plot(plot)
        refuse_inputs(plot, run, history, *([] if out is None else [out]))
    if out is not None:
        refuse_inputs(out, run, history)
    reading = Reading(
        zone=zone, missing=missing, fill=fill, sort=sort, repeated=repeated, skipped=skipped, time_unit=time_unit,
        time_format=time_format,
    )  # fmt: skip
    with naming_options(*OPTIONS):
        asked = series.levels(quantiles)
        predictor = Forecaster.load(run, device=device).predictor
        panel = predictor.read(history, series.as_run(predictor, reading))
        more = plotted_levels(predictor.info.levels) if plot is not None and not asked else ()
        found = forecast(predictor, panel, horizon, asked, more)
    for note in panel.notes:
        say(note)
    if found.num_beyond:
        say(f"the last {found.num_beyond} steps lie beyond the {predictor.info.horizon} that the model was trained for")
    _write(found, form, out, plot)


def _write(found: Forecast, form: str, out: Path | None, plot: Path | None) -> None:
    """Write the rows, and draw them where that is asked for."""
    from seqline.files import write_text

    text = found.csv()
    if form == "json":
        text = json.dumps(found.as_json(), ensure_ascii=False, allow_nan=False) + "\n"
    if plot is not None:
        found.plot(plot)
        say(f"the plot: {plot}")
    if out is None:
        write_texts([text])
    else:
        write_text(out, text)
        say(f"the forecast: {out}")


def _form_of(out: Path | None) -> Literal["csv", "json"]:
    """Return what a file of this name holds."""
    ending = ".csv" if out is None else out.suffix.lower()
    if ending not in (".csv", ".json"):
        what = f"expected a name that ends in .csv or .json, got {str(out)!r}"
        raise UserError(what, where="--out", fix="rename it, or say --format csv or json")
    return "json" if ending == ".json" else "csv"


def _summary(trained: Trained) -> list[str]:
    facts, folder = trained.facts, trained.folder
    lines = [f"{folder}: {facts['architecture']}, {facts['num_parameters']:,} parameters, {facts['weights']}"]
    if found := facts["validation"]:
        scores = ", ".join(f"{name} {value:.4g}" for name, value in found.items() if name != "loss_per_value")
        lines.append(f"validation: {scores}")
    return [*lines, f"forecast with: seqline forecast predict {folder} HISTORY"]


app.command()(backtest)
