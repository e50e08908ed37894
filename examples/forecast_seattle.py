"""Forecast the highest temperature of tomorrow in Seattle, with one model, from the last 5, 10, 25 or 50 days.

    pip install pandas vega_datasets          # daily weather of 2012 to 2015, inside the package
    python examples/forecast_seattle.py FOLDER [MINUTES]

The last year is kept from the training. Every day of it is forecast from each length of history, and the mean absolute error
stands beside the plain forecast that tomorrow is like today. FOLDER (new) then holds the run, and `tomorrow.svg`: the day after
the last one. One minute of training when not given.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
from vega_datasets import data as vega

from seqline import Forecaster
from seqline.forecast_report import forecast

YEAR, HISTORIES, TARGET = 365, (5, 10, 25, 50), "temp_max"


def histories_of(frame: pd.DataFrame, days: int) -> pd.DataFrame:
    """Return one series for each day of the last year: the days before it, named by it."""
    origins = range(len(frame) - YEAR, len(frame))
    return pd.concat([frame.iloc[origin - days : origin].assign(unique_id=f"day {origin}") for origin in origins])


def main(folder: Path, minutes: float) -> None:
    """Train on what lies before the last year; forecast each day of it from every length of history."""
    frame = vega.seattle_weather()[["date", TARGET]]
    settings = {"training.max_minutes": minutes, "data.lookback": max(HISTORIES)}
    model = Forecaster.fit(frame[:-YEAR], out=folder / "run", target=TARGET, horizon=1, settings=settings)

    truth = frame[TARGET].to_numpy()[-YEAR:]
    like_today = abs(frame[TARGET].to_numpy()[-YEAR - 1 : -1] - truth).mean()
    print(f"tomorrow is like today: off by {like_today:.2f} degrees")
    for days in HISTORIES:
        found = model.predict(histories_of(frame, days))
        print(
            f"the model, from the last {days} days: off by {abs(found[TARGET].to_numpy() - truth).mean():.2f} degrees"
        )

    predictor = model.predictor
    forecast(predictor, predictor.read(frame), 1, levels=(0.1, 0.9)).plot(folder / "tomorrow.svg")
    print(f"the day after the last one, drawn: {folder / 'tomorrow.svg'}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 1.0)
