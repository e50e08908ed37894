"""Hand-made forecasters for tests: what they say is known beforehand, and they look at nothing after an origin."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from seqline.config import Config
from seqline.data.series import Panel, SeriesOptions
from seqline.data.series.calendar import future_times
from seqline.data.series.frequency import Frequency
from seqline.data.series.reading import read_panel
from seqline.errors import UserError
from seqline.forecasting.windows import Windows
from seqline.predictor import Forecasts, Info, Windowed


class LastPlus:
    """Forecasts the last value and a constant; its quantiles lie `spread` (2 q - 1) around that."""

    def __init__(self, plus: float = 0.0, spread: float = 1.0) -> None:
        self.plus, self.spread = plus, spread
        self.seen: list[int] = []

    def windows(
        self, panel: Panel, windows: Windows, horizon: int | None = None, quantiles: Sequence[float] = ()
    ) -> Windowed:
        """See `Predictor.windows`."""
        self.seen.append(len(windows.origin))
        assert horizon is not None
        rows = zip(windows.series.tolist(), windows.origin.tolist(), strict=True)
        last = np.stack([panel.series[n].values[origin - 1] for n, origin in rows])
        mean = np.repeat(last[:, None] + self.plus, horizon, axis=1)
        return Windowed(mean, {q: mean + self.spread * (2 * q - 1) for q in quantiles})


def daily(values: Sequence[float], ids: str = "") -> dict[str, list[object]]:
    """Return columns of daily series from 2024-01-01 on, all with these values; `ids`: a letter each."""
    days = [str(np.datetime64("2024-01-01") + n) for n in range(len(values))]
    if not ids:
        return {"ds": list(days), "y": list(values)}
    return {
        "unique_id": [one for one in ids for _ in values],
        "ds": [day for _ in ids for day in days],
        "y": [value for _ in ids for value in values],
    }


class HandMade(LastPlus):
    """A whole predictor of daily `y` for three steps, as a run holds one."""

    info = Info(
        architecture="lstm", strategy="direct", targets=("y",), known=(), past=(), static=(), frequency=Frequency(1, "d"),
        zone="", season=7, horizon=3, longest=20, levels=(0.1, 0.5, 0.9),
        trained_until=0,
    )  # fmt: skip

    config = Config()
    run = None

    @property
    def options(self) -> SeriesOptions:
        """See `Predictor.options`."""
        return SeriesOptions(frequency="1d")

    def read(self, data: object, how: SeriesOptions | None = None) -> Panel:
        """See `Predictor.read`."""
        return read_panel(data, target=self.info.targets, how=how or self.options)

    def predict(
        self, panel: Panel, horizon: int | None = None, quantiles: Sequence[float] = ()
    ) -> tuple[Forecasts, ...]:
        """See `Predictor.predict`; five steps at most, two of them beyond the training."""
        steps = horizon or self.info.horizon
        if steps > 5:
            raise UserError(f"expected 5 steps at most, got {steps}", where="horizon", fix="ask for less")
        found = []
        for one in panel.series:
            mean = np.repeat(one.values[-1:] + self.plus, steps, axis=0)
            levels = {q: mean + self.spread * (2 * q - 1) for q in quantiles}
            found.append(Forecasts(one.id, future_times(panel, one, steps), mean, levels, max(0, steps - 3)))
        return tuple(found)
