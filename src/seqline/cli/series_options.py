"""Options of the commands that read time series: which column is what, and the rules for what data may hold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from seqline.cli.options import option
from seqline.errors import UserError

if TYPE_CHECKING:
    from seqline.data.series import SeriesOptions
    from seqline.forecaster import Fitting
    from seqline.predictor import Predictor

Target = Annotated[
    list[str] | None,
    typer.Option("--target", metavar="A[,B]", help="Columns to forecast; y, or the only one left, when not given."),
]
Horizon = Annotated[int | None, typer.Option("--horizon", min=1, max=100_000, help="Steps to forecast.")]
Season = Annotated[
    int | None, typer.Option("--season", min=1, max=1_000_000, help="Steps in a season; found from the frequency.")
]
SkipShort = Annotated[
    bool, typer.Option("--skip-short", help="Leave out series that are too short, and name them, instead of refusing.")
]
Quantiles = Annotated[
    str | None, typer.Option("--quantiles", metavar="0.1,0.9", help="Quantiles to forecast, a column each.")
]
Time = Annotated[str | None, typer.Option("--time", metavar="COLUMN", help="The time; ds or date when not given.")]
Id = Annotated[
    str | None, typer.Option("--id", metavar="COLUMN", help="Which series a row belongs to; unique_id when not given.")
]
Known = Annotated[
    list[str] | None, typer.Option("--known", metavar="A[,B]", help="Columns known in advance, also for future rows.")
]
Past = Annotated[
    list[str] | None,
    typer.Option("--past", metavar="A[,B]", help="Columns known up to the present, beside the target."),
]
Static = Annotated[
    list[str] | None, typer.Option("--static", metavar="A[,B]", help="Columns that say one thing about each series.")
]
Zone = Annotated[
    str | None,
    typer.Option("--zone", metavar="ZONE", help="Time zone of times without one: Europe/Berlin, +01:00, UTC."),
]
Frequency = Annotated[
    str | None, typer.Option("--frequency", metavar="1h", help="The step: 15min, 1h, 1d, 1month; found when not given.")
]
Missing = Annotated[
    Literal["refuse", "mask", "interpolate"] | None,
    typer.Option("--missing", help="Missing cells: refused, masked, or filled with the last value before them."),
]
Fill = Annotated[bool, typer.Option("--fill", help="Put missing rows into gaps; their cells count as missing.")]
Sort = Annotated[bool, typer.Option("--sort", help="Sort rows by series and time instead of refusing unsorted ones.")]
Repeated = Annotated[
    Literal["refuse", "order", "first", "second"] | None,
    typer.Option("--repeated", help="What a local time means that the clock shows twice."),
]
Skipped = Annotated[
    Literal["refuse", "drop"] | None,
    typer.Option("--skipped", help="What becomes of a row whose local time the clock skips."),
]
TimeUnit = Annotated[
    Literal["row", "s", "ms", "us", "ns"] | None, typer.Option("--time-unit", help="What integer times count.")
]
TimeFormat = Annotated[
    str | None, typer.Option("--time-format", metavar="%d.%m.%Y", help="How times are written, where not as ISO 8601.")
]
Data = Annotated[str, typer.Argument(help="CSV or Parquet: wide (date and columns) or long (unique_id, ds, y).")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting, such as training.max_steps=500.")
]
MaxMinutes = Annotated[float | None, typer.Option(help="Fit the whole schedule of a training into this time.")]
Seed = Annotated[int | None, typer.Option(help="Seed of everything random; 1 when not given.")]
Lookback = Annotated[int | None, typer.Option(min=1, help="The longest history that is read, in points.")]
WhereDevice = Annotated[str | None, typer.Option("--device", help="Where to compute: cpu, cuda, cuda:N, mps.")]
Archs = Annotated[
    str | None, typer.Option(metavar="A,B", help="Train these on what lies before the backtest, in place of a run.")
]
Windows = Annotated[int, typer.Option(min=1, max=1_000_000, help="Forecasts of each series.")]
Step = Annotated[int | None, typer.Option(min=1, help="Points between two of them; the horizon when not given.")]
OneSeries = Annotated[str | None, typer.Option("--series", metavar="ID", help="Forecast: which series of several.")]
OneTarget = Annotated[str | None, typer.Option("--target", metavar="COLUMN", help="Forecast: which column of several.")]
Lengths = Annotated[
    str | None,
    typer.Option("--lengths", metavar="5,10,50", help="Forecast: points of history to forecast from, beside all."),
]
HoldBack = Annotated[
    int | None,
    typer.Option("--hold-back", min=1, help="Forecast: the last points are not read, and shown as what came true."),
]
OPTIONS = (
    "horizon", "season", "quantiles", "windows", "step", "archs",
    "zone", "missing", "fill", "sort", "repeated", "skipped", "time_unit", "time_format",
)  # fmt: skip
"""Names in errors that are options of every command here."""
OF_TRAINING = (*OPTIONS, "frequency", "target", "lookback", "time", "id", "known", "past", "static", "skip_short")
"""And of those that train; a run knows its columns already."""


class Reading(NamedTuple):
    """What was given of the reading options, under the names that `SeriesOptions` has for them."""

    time: str | None = None
    id: str | None = None
    known: list[str] | None = None
    past: list[str] | None = None
    static: list[str] | None = None
    zone: str | None = None
    frequency: str | None = None
    missing: str | None = None
    fill: bool = False
    sort: bool = False
    repeated: str | None = None
    skipped: str | None = None
    time_unit: str | None = None
    time_format: str | None = None

    def given(self) -> dict[str, Any]:
        """Return those that were given; lists of columns as tuples.

        Raises:
            UserError: an empty one.
        """
        given = {name: value for name, value in self._asdict().items() if value not in (None, False)}
        found = {name: columns(value, name) if isinstance(value, list) else value for name, value in given.items()}
        for name, value in found.items():
            _refuse_nothing(value, name)
        return found


def columns(names: Iterable[str], name: str) -> tuple[str, ...]:
    """Split names of columns at commas.

    Raises:
        UserError: none is there.
    """
    found = tuple(part.strip() for some in names for part in some.split(",") if part.strip())
    _refuse_nothing(found, name)
    return found


def _refuse_nothing(value: Any, name: str) -> None:
    if value in ("", ()):
        raise UserError("expected a value, got nothing", where=option(name), fix="give one, or leave it out")


def levels(text: str | None) -> tuple[float, ...]:
    """Read `0.1,0.5,0.9`.

    Raises:
        UserError: something that is no number between 0 and 1, or one twice.
    """
    from seqline.forecaster import checked_levels

    try:
        found = [] if text is None else [float(part) for part in text.split(",")]
    except ValueError as error:
        what = f"expected numbers between 0 and 1 with commas between them, got {(text or '')[:60]!r}"
        raise UserError(what, where="--quantiles", fix="such as 0.1,0.9") from error
    return checked_levels(found)


def lengths(text: str | None) -> tuple[int, ...] | None:
    """Read `5,10,50`; None stays None.

    Raises:
        UserError: something that is no list of whole numbers.
    """
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and len(part) < 8 for part in parts):
        what = f"expected whole numbers with commas between them, got {text[:60]!r}"
        raise UserError(what, where="--lengths", fix="such as 5,10,50")
    return tuple(int(part) for part in parts)


def as_run(predictor: Predictor, reading: Reading) -> SeriesOptions:
    """Return how a run reads its data, with the rules that were given."""
    return replace(predictor.options, **reading.given())


def fitting_of(
    data: str, target: list[str] | None, horizon: int | None, reading: Reading, settings: dict[str, Any]
) -> Fitting:
    """Return what a training is given."""
    from seqline.data.series import SeriesOptions
    from seqline.forecaster import Fitting

    return Fitting(
        data,
        columns(target, "target") if target is not None else None,
        horizon,
        SeriesOptions(**reading.given()),
        settings,
    )


def settings_of(given: list[str] | None, options: dict[str, Any]) -> dict[str, Any]:
    """Return settings by their keys: those of `--set`, and those that have an option of their own (None = not given)."""
    from seqline.tables import parse_override

    found: dict[str, Any] = {}
    said = [parse_override(setting) for setting in given or ()]
    for key, value in [*said, *((key, value) for key, value in options.items() if value is not None)]:
        if key in found:
            raise UserError("is given twice", where=key, fix="say it once")
        found[key] = value
    return found
