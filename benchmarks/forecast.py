"""Forecast weather, transformers and the M4 series with recurrent networks and a Transformer, and print the tables of RESULTS.md.

    python benchmarks/forecast.py weather --data DATA --out runs/forecast
    python benchmarks/forecast.py seattle ett24 ett96 m4 --data DATA --out runs/forecast --minutes 4

DATA is a folder with weather-wth/WTH.csv.gz, vega-weather/weather.csv, ett/ETTh1.csv.gz, m4/Hourly-train.csv.gz and
m4/Hourly-test.csv.
One model a recipe forecasts from every length of history. It is trained on what lies before the test rows, of which the last
validate; the test rows are forecast once. Naive, seasonal naive, climatology and a linear map for each length stand beside it.
One thread a model, two at a time. The linear map is fitted on what the network is fitted on, its
histories less their last value. The best of a table is the one with the lowest loss on the validation rows.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from running import markdown, seqline, side_by_side

from seqline.comparing.plots import Axis, Series, lines
from seqline.data.series import Panel
from seqline.evaluation.series_metrics import seasonal_scale
from seqline.forecasting.baselines import BASELINES
from seqline.forecasting.history import Array, Forecast, Past, Setting, Span
from seqline.forecasting.linear import fit_linear
from seqline.forecasting.windows import target_windows
from seqline.lab.pictures import standalone
from seqline.predictor import Predictor

COMMON = ("model.distribution=point", "training.learning_rate=0.002")
MODELS: dict[str, tuple[str, ...]] = {
    "lstm": ("model.hidden_size=128", "model.dropout=0.2"),
    "bahdanau": ("model.hidden_size=96", "model.embed_size=96", "model.dropout=0.2"),
    "transformer": (
        "model.embed_size=64",
        "model.inner_size=128",
        "model.num_layers=2",
        "model.dropout=0.1",
        "training.learning_rate=0.001",
    ),
}


class Task(NamedTuple):
    """One series and its protocol. first: the first test row. holdout: validation rows before it. end: behind the last one.

    histories: points. centre, scale: errors are of (value - centre) / scale; None: the training rows' mean and deviation.
    published: rows of others, by history.
    """

    title: str
    horizon: int
    season: int
    histories: tuple[int, ...]
    first: int
    holdout: int
    end: int
    centre: float | None
    scale: float | None
    settings: tuple[str, ...]
    published: tuple[tuple[str, str], ...]


TASKS: dict[str, Task] = {
    "weather": Task(
        "wet bulb temperature, 24 hours ahead", 24, 24, (120, 240, 480, 720, 1200), 28_052, 3508, 35_064, 1.406686, 6.788106,
        ("data.zone=UTC", "model.patch=24", "model.skip_length=24"),
        (("Informer (30 days)", ".117/.251"), ("LSTMa", ".131/.254"), ("DeepAR", ".128/.274")),
    ),
    "seattle": Task(
        "highest temperature of tomorrow, Seattle", 1, 7, (5, 10, 25, 50), 1461 - 365, 180, 1461, 0.0, 1.0,
        ("model.skip_length=7",), (),
    ),
    "ett24": Task(
        "oil temperature, 24 hours ahead", 24, 24, (96, 336, 720), 11_520, 2880, 14_400, None, None,
        ("data.zone=UTC", "model.patch=24"), (("Informer", ".098/.247"), ("DeepAR", ".107/.280")),
    ),
    "ett96": Task(
        "oil temperature, 96 hours ahead", 96, 24, (96, 336, 720), 11_520, 2880, 14_400, None, None,
        ("data.zone=UTC", "model.patch=24"), (("NLinear", ".053/.177"), ("Informer", ".193/.377")),
    ),
}  # fmt: skip


def opened(path: Path) -> Iterator[list[str]]:
    """Read the rows of a CSV file, packed or not."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        yield from csv.reader(file)


def rows_of(name: str, data: Path) -> list[tuple[str, str]]:
    """Return times and values of a task, as text."""
    if name == "weather":
        head, *rows = opened(data / "weather-wth" / "WTH.csv.gz")
        column = head.index("WetBulbCelsius")
        return [(datetime.strptime(row[0], "%m/%d/%Y %H:%M").isoformat(" "), row[column]) for row in rows]
    if name == "seattle":
        return [(row[1], row[3]) for row in opened(data / "vega-weather" / "weather.csv") if row[0] == "Seattle"]
    return [(row[0], row[-1]) for row in [*opened(data / "ett" / "ETTh1.csv.gz")][1:]]


def write(path: Path, head: Sequence[str], rows: Sequence[Sequence[object]]) -> Path:
    """Write a CSV file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([head, *rows])
    return path


def train(arch: str, data: Path, run: Path, minutes: float, settings: Sequence[str]) -> dict[str, Any]:
    """Train one model, unless it is there, and return what its manifest says."""
    if not (run / "manifest.json").exists():
        own = dict(setting.split("=") for setting in (*COMMON, *MODELS[arch], *settings))
        sets = [f"--set={key}={value}" for key, value in own.items()]
        seqline("forecast", "train", str(data), "--arch", arch, "--out", str(run), "--max-minutes", f"{minutes:g}",
                "--threads", "1", *sets)  # fmt: skip
    return json.loads(seqline("info", str(run), "--json"))


def baseline_errors(panel: Panel, task: Task, history: int, make: Forecast) -> NDArray[np.float64]:
    """Forecast every test window by a baseline; [W H] errors."""
    one = panel.series[0]
    seen = np.ones((history, 1), bool)
    found = []
    for origin in range(task.first, task.end - task.horizon + 1):
        when = one.times[origin : origin + task.horizon]
        past = Past(one.values[origin - history : origin], seen, when, 0)
        found.append(make(past, task.horizon)[:, 0] - one.values[origin : origin + task.horizon, 0])
    return np.array(found)


def model_errors(predictor: Predictor, panel: Panel, task: Task, history: int) -> NDArray[np.float64]:
    """Forecast every test window by a model; [W H] errors."""
    windows = target_windows([(task.first, task.end)], history, task.horizon)
    target = windows.targets([panel.series[0].values], task.horizon)
    return (predictor.windows(panel, windows).mean - target)[..., 0]


def show(errors: Array, scale: float) -> tuple[float, float]:
    """Return mean squared and mean absolute error."""
    scaled = errors / scale
    return float((scaled**2).mean()), float(np.abs(scaled).mean())


def of_series(name: str, given: argparse.Namespace) -> list[str]:
    """Train, forecast the test rows, and return the table of one series; the error curve is drawn beside the runs."""
    task, folder = TASKS[name], given.out / name
    settings = (*task.settings, f"data.horizon={task.horizon}", f"data.lookback={max(task.histories)}",
                f"data.holdout={task.holdout}")  # fmt: skip
    rows = rows_of(name, given.data)[: task.end]
    data = write(folder / "train.csv", ("ds", "y"), rows[: task.first])
    infos = side_by_side(
        lambda arch: train(arch, data, folder / arch, given.minutes, settings), given.archs, given.jobs
    )
    predictors = {arch: Predictor.load(folder / arch) for arch in given.archs}
    panel = predictors[given.archs[0]].read(str(write(folder / "all.csv", ("ds", "y"), rows)))
    one, num_fitted = panel.series[0], task.first - task.holdout
    span = Span(one.values[:num_fitted], when=one.times[:num_fitted])
    scale = task.scale or float(span.values.std())
    setting = Setting(task.horizon, task.season)
    found: dict[str, list[tuple[float, float]]] = {}
    for baseline in ("naive", "seasonal naive", "climatology"):
        make, longest = BASELINES[baseline]([span], setting), max(task.histories)
        found[baseline] = [show(baseline_errors(panel, task, longest, make), scale)] * len(task.histories)
    maps = {n: fit_linear([span], setting, lookbacks=(n,), normalisation="last", ridge=10.0) for n in task.histories}
    found["linear"] = [show(baseline_errors(panel, task, n, each), scale) for n, each in maps.items()]
    for arch, predictor in predictors.items():
        found[arch] = [show(model_errors(predictor, panel, task, n), scale) for n in task.histories]
    (folder / "errors.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    draw(folder / "errors.svg", task, found)
    facts = {arch: (f"{info['num_parameters']:,}", f"{info['steps']:,}", f"{info['training_seconds'] / 60:.1f}")
             for arch, info in zip(given.archs, infos, strict=True)}  # fmt: skip
    best = min(zip(given.archs, infos, strict=True), key=lambda pair: pair[1]["validation"]["loss_per_value"])[0]
    table = [
        [
            f"`{key}`" if key in facts else key,
            *(f"{mse:.4f}/{mae:.4f}" for mse, mae in values),
            *facts.get(key, ("-",) * 3),
        ]
        for key, values in found.items()
    ]
    table += [
        [f"{title}, published", numbers, *("-",) * (len(task.histories) + 2)] for title, numbers in task.published
    ]
    columns = ("", *(f"{n} points" for n in task.histories), "parameters", "steps", "minutes")
    return [
        f"{name}: {task.title}, MSE/MAE by history",
        "",
        *markdown(columns, table),
        "",
        f"Best on validation: `{best}`.",
    ]


def draw(path: Path, task: Task, found: dict[str, list[tuple[float, float]]]) -> None:
    """Draw the squared error by length of history."""
    drawn = {name: values for name, values in found.items() if name == "linear" or name in MODELS}
    series = [
        Series(name, number, [(float(n), mse) for n, (mse, _) in zip(task.histories, values, strict=True)])
        for number, (name, values) in enumerate(drawn.items())
    ]
    svg = lines(task.title, Axis("points of history"), Axis("mean squared error"), series)
    path.write_text(standalone(svg), encoding="utf-8")


def m4(given: argparse.Namespace) -> list[str]:
    """Train one model on all hourly series, forecast their next 48 hours, and return the table."""
    folder, horizon, season = given.out / "m4", 48, 24
    histories = [
        np.array([float(cell) for cell in row[1:] if cell])
        for row in [*opened(given.data / "m4" / "Hourly-train.csv.gz")][1:]
    ]
    futures = [
        np.array([float(cell) for cell in row[1:] if cell])
        for row in [*opened(given.data / "m4" / "Hourly-test.csv")][1:]
    ]
    rows = [
        (f"H{n:03}", hour, value) for n, values in enumerate(histories) for hour, value in enumerate(values.tolist())
    ]
    data = write(folder / "train.csv", ("unique_id", "ds", "y"), rows)
    settings = ("data.time_unit=row", f"data.horizon={horizon}", f"data.season={season}", "data.lookback=336", "data.holdout=48",
                "model.patch=24")  # fmt: skip
    infos = side_by_side(
        lambda arch: train(arch, data, folder / arch, given.minutes, settings), given.archs, given.jobs
    )
    scales = [float(seasonal_scale(values[:, None], season)[0]) for values in histories]
    naive = [np.repeat(values[-1], horizon) for values in histories]
    seasonal = [np.resize(values[-season:], horizon) for values in histories]
    forecasts: dict[str, list[NDArray[np.float64]]] = {"naive": naive, "seasonal naive": seasonal}
    spans = [Span(values[:, None]) for values in histories]
    make = fit_linear(spans, Setting(horizon, season, is_calendar=False))
    forecasts["linear"] = [
        make(Past(v[:, None], np.ones((len(v), 1), bool), None, n), horizon)[:, 0] for n, v in enumerate(histories)
    ]
    for arch in given.archs:
        predictor = Predictor.load(folder / arch)
        forecasts[arch] = [one.mean[:, 0] for one in predictor.predict(predictor.read(str(data)))]
    facts = {arch: (f"{info['num_parameters']:,}", f"{info['steps']:,}", f"{info['training_seconds'] / 60:.1f}")
             for arch, info in zip(given.archs, infos, strict=True)}  # fmt: skip
    table = []
    for name, found in forecasts.items():
        errors = [np.abs(f - y) for f, y in zip(found, futures, strict=True)]
        mase = np.mean([e.mean() / scale for e, scale in zip(errors, scales, strict=True)])
        sizes = [np.abs(f) + np.abs(y) for f, y in zip(found, futures, strict=True)]
        smape = np.mean([(200 * e / np.maximum(size, 1e-9)).mean() for e, size in zip(errors, sizes, strict=True)])
        table.append(
            [f"`{name}`" if name in facts else name, f"{mase:.3f}", f"{smape:.3f}", *facts.get(name, ("-",) * 3)]
        )
    table += [[f"{title}, published", mase, smape, "-", "-", "-"] for title, mase, smape in (
        ("RNN of the organisers", "3.048", "14.698"), ("ES-RNN, the winner", "0.893", "9.328"))]  # fmt: skip
    columns = ("", "MASE", "sMAPE", "parameters", "steps", "minutes")
    return ["m4: 414 hourly series, the next 48 hours, means over series", "", *markdown(columns, table)]


def main() -> None:
    """Print the tables that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tasks", nargs="+", choices=(*TASKS, "m4"))
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--archs", type=lambda text: text.split(","), default=list(MODELS), help="a,b; all by default")
    parser.add_argument("--minutes", type=float, default=10, help="of training, each model")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    for name in given.tasks:
        print("\n".join([*(m4(given) if name == "m4" else of_series(name, given)), ""]), flush=True)


if __name__ == "__main__":
    main()
