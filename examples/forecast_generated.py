"""Forecast a week of a generated daily series, see it beside the baselines, and draw it.

    python examples/forecast_generated.py FOLDER [MINUTES]

writes the run, `next.csv` and `next.svg` into a new FOLDER; half a minute of training when not given.
"""

from __future__ import annotations

import sys
from pathlib import Path

from seqline import Forecaster
from seqline.backtesting.plan import Asked
from seqline.data.series import SeriesOptions
from seqline.data.toy_series import write_series
from seqline.files import write_text
from seqline.forecast_report import forecast
from seqline.forecaster import Fitting, backtest_architectures


def main(folder: Path, minutes: float) -> None:
    """Train twice: on what lies before the last ten weeks, to see how good it is; then on everything, to use it."""
    settings = {"training.max_minutes": minutes}
    data = folder / "series.csv"
    write_series(data, "daily", num_series=2)

    fitting = Fitting("", "y", None, SeriesOptions(), settings)
    print("\n".join(backtest_architectures(data, ["lstm"], Asked(horizon=7, num_windows=10), fitting).lines()))

    predictor = Forecaster.fit(data, out=folder / "run", target="y", horizon=7, settings=settings).predictor
    found = forecast(predictor, predictor.read(data), horizon=7, levels=(0.1, 0.9))
    write_text(folder / "next.csv", found.csv())
    found.plot(folder / "next.svg")
    print(f"\nthe next week: {folder / 'next.csv'}, drawn in {folder / 'next.svg'}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 0.5)
