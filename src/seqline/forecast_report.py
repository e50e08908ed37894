"""What was forecast, for people and machines: rows under the keys of the history, JSON, a frame, a plot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seqline.data.series import Floats, Panel, Series
from seqline.data.series.calendar import written_times
from seqline.data.series.returning import returned
from seqline.data.series.roles import ID_NAME, TIME_NAMES
from seqline.data.series.writing import Columns, forecast_rows, rows_csv
from seqline.errors import UserError
from seqline.files import PathLike
from seqline.forecasting.history import filled
from seqline.predictor import Forecasts, Predictor
from seqline.recording.facts import origin_of
from seqline.visualize.series_plot import Forecasted, Maker, Past, write_plot

BEYOND = "beyond_training"
"""Name of the column that marks steps beyond the trained horizon; it is there where some are."""
BANDS = (0.1, 0.9)
"""Quantiles that a plot shows where none are asked for."""
_PLOTTED_HORIZONS, _FEWEST_PLOTTED, _MOST_PLOTTED = 4, 50, 400


@dataclass(frozen=True, eq=False)
class Forecast:
    """The forecasts of a panel.

    levels: the quantiles that were asked for; a plot may show more. longest: most points of a history that the model reads.
    maker: the model, as a plot names it.
    """

    panel: Panel
    found: tuple[Forecasts, ...]
    levels: tuple[float, ...]
    longest: int
    maker: Maker

    @property
    def num_beyond(self) -> int:
        """Steps at the end that lie beyond the horizon that the model was trained for."""
        return max(one.num_beyond for one in self.found)

    @property
    def names(self) -> list[str]:
        """The columns of values: each target, then its quantiles as `y_q0.1`."""
        targets = self.panel.targets
        return [*targets, *(f"{target}_q{level:g}" for target in targets for level in self.levels)]

    def columns(self) -> Columns:
        """Return rows keyed by series and time as the history was, in its order.

        Raises:
            UserError: a quantile's column has the name of another column.
        """
        names = self.names
        marks = [BEYOND] if self.num_beyond else []
        keys = {self.panel.time_column or TIME_NAMES[0], self.panel.id_column or ID_NAME, *marks}
        if twice := [name for n, name in enumerate(names) if name in names[:n] or name in keys]:
            what = f"two columns of the forecast would be called {twice[0]!r}"
            raise UserError(what, where="target", fix="rename the column, and train again")
        values = [self._values(one) for one in self.found]
        columns = forecast_rows(self.panel, values, [*names, *marks])
        for name in marks:
            columns[name] = [int(cell) for cell in columns[name]]
        return columns

    def _values(self, one: Forecasts) -> Floats:
        """Return [H V] in the order of the names."""
        by_level = np.stack([one.quantiles[level] for level in self.levels], axis=-1) if self.levels else None
        parts = [one.mean] if by_level is None else [one.mean, by_level.reshape(len(one.mean), -1)]
        if self.num_beyond:
            parts.append((np.arange(len(one.mean)) >= len(one.mean) - one.num_beyond)[:, None].astype(np.float64))
        return np.concatenate(parts, axis=1)

    def csv(self) -> str:
        """Return the rows as the text of a CSV file."""
        return rows_csv(self.columns())

    def like(self, history: Any) -> Any:
        """Return the rows as the kind of frame that the history was; see `data.series.returning.returned`."""
        times = np.concatenate([one.times for one in self.found])
        return returned(history, self.panel, self.columns(), times)

    def as_json(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "targets": list(self.panel.targets),
            "frequency": self.panel.frequency.name,
            "horizon": len(self.found[0].mean),
            "steps_beyond_training": self.num_beyond,
            "series": [
                {
                    "id": one.id,
                    "times": written_times(self.panel, one.times),
                    "mean": self._by_target(one.mean),
                    "quantiles": {f"{level:g}": self._by_target(one.quantiles[level]) for level in self.levels},
                }
                for one in self.found
            ],
        }

    def _by_target(self, values: Floats) -> dict[str, list[float]]:
        return {name: column.tolist() for name, column in zip(self.panel.targets, values.T, strict=True)}

    def plot(self, path: PathLike) -> None:
        """Draw the end of each history, the forecast and its intervals into a png, svg or html file.

        Raises:
            UserError: another suffix; a PNG or SVG without the extra `pictures`; a disk that refuses.
        """
        pairs = zip(self.panel.series, self.found, strict=True)
        write_plot(path, [panel for pair in pairs for panel in self._drawn(*pair)], self.maker)

    def _drawn(self, series: Series, one: Forecasts) -> Iterator[Forecasted]:
        """Yield a panel for each target."""
        size = min(max(_PLOTTED_HORIZONS * len(one.mean), _FEWEST_PLOTTED), _MOST_PLOTTED)
        times = [str(time) for time in written_times(self.panel, series.times[-size:])]
        future = [str(time) for time in written_times(self.panel, one.times)]
        values, seen = filled(series.values, series.is_observed)[-size:], series.is_observed[-size:]
        for column, target in enumerate(self.panel.targets):
            past = Past(times, values[:, column].tolist(), seen[:, column].tolist(), min(len(series), self.longest))
            quantiles = {level: found[:, column].tolist() for level, found in one.quantiles.items()}
            yield Forecasted(series.id, target, past, future, one.mean[:, column].tolist(), quantiles)


def forecast(
    predictor: Predictor, panel: Panel, horizon: int | None, levels: Sequence[float], more: Sequence[float] = ()
) -> Forecast:
    """Forecast a panel.

    Args:
        predictor: the model.
        panel: histories, read for it.
        horizon: steps; None = what it was trained for.
        levels: quantiles that are asked for.
        more: quantiles for a plot, in addition.

    Raises:
        UserError: see `Predictor.predict`.
    """
    every = sorted({*levels, *more})
    found = tuple(predictor.predict(panel, horizon, every))
    origin, seed = origin_of(predictor.run), predictor.config.training.seed
    maker = Maker(predictor.info.architecture, origin.weights_sha256, seed, panel.frequency.name)
    return Forecast(panel, found, tuple(levels), predictor.info.longest, maker)


def plotted_levels(given: Sequence[float] | None) -> tuple[float, ...]:
    """Return which quantiles a plot shows of those that a model gives.

    Args:
        given: ascending, each with all between it and the next; () = any, None = none.
    """
    if given is None:
        return ()
    low, high = (given[0], given[-1]) if given else (0.0, 1.0)
    if low <= BANDS[0] and BANDS[1] <= high:
        return BANDS
    return (low, high) if low < high and round(low + high, 9) == 1 else ()
