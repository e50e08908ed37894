"""Time series in memory: one `Series`, the `Panel` that a file or a frame holds, and how it was to be read.

`seqline.data.series.reading.read_panel` fills these records; everything that forecasts takes them. No torch, no polars.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from seqline.data.series.forms import TimeForm
    from seqline.data.series.frequency import Frequency

Floats: TypeAlias = NDArray[np.float64]
Times: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Series:
    """One series on a regular grid: ascending times, one frequency step apart, at least one point.

    Attributes:
        id: its key in the input; "" where the input holds one series and no id column.
        times: [N] microseconds since 1970 UTC. A time without clock or zone counts as if it were UTC. Row numbers where
            the panel's frequency has the unit `row`.
        values: [N F] the targets, finite everywhere; 0 where `is_observed` is False.
        is_observed: [N F] False only where a cell was missing and `missing="mask"` was asked.
        known: [M C1] covariates known in advance, M >= N; the rows from N on belong to the steps after the last value.
        past: [N C2] covariates known up to the present.
        static: one text or number for each static column.
    """

    id: str
    times: Times
    values: Floats
    is_observed: Flags
    known: Floats
    past: Floats
    static: tuple[str | float, ...] = ()

    def __len__(self) -> int:
        return len(self.times)

    @property
    def num_future(self) -> int:
        """How many steps after the last value have their known covariates."""
        return len(self.known) - len(self.times)


@dataclass(frozen=True, eq=False)
class Panel:
    """One or many series of one frequency, as a file or a frame held them.

    Attributes:
        series: in the order of the input, by id where rows were sorted; ids are unique.
        frequency: one step of every series.
        targets: names of the F target columns.
        known: names of the covariates known in advance.
        past: names of the covariates known up to the present.
        static: names of the static columns.
        zone: what turns instants into local time: an IANA name or an offset such as `+02:00`; "" where times are
            dates, naive or row numbers (local time is then the time as written).
        form: how the input wrote its times, for writing forecasts in the same form.
        time_column: name of the time column; "" if there was none.
        id_column: name of the id column; "" if there was none.
        notes: plain sentences about what was found and done, for the user.
    """

    series: tuple[Series, ...]
    frequency: Frequency
    targets: tuple[str, ...]
    known: tuple[str, ...]
    past: tuple[str, ...]
    static: tuple[str, ...]
    zone: str
    form: TimeForm
    time_column: str
    id_column: str
    notes: tuple[str, ...]


Missing: TypeAlias = Literal["refuse", "mask", "interpolate"]
Repeated: TypeAlias = Literal["refuse", "order", "first", "second"]
Skipped: TypeAlias = Literal["refuse", "drop"]
TimeUnit: TypeAlias = Literal["", "row", "s", "ms", "us", "ns"]


@dataclass(frozen=True)
class SeriesOptions:
    """How a file or a frame is read; what is not stated is found, never guessed.

    Attributes:
        time: the time column; "" = `ds` or `date`, and rows are numbered where there is neither.
        id: the column that says which series a row belongs to; "" = `unique_id`, one series where there is none.
        known: covariates known in advance. Rows at the end of a series without any target are its future rows.
        past: covariates known up to the present.
        static: columns that say one thing about each series.
        zone: IANA name or fixed offset (`+01:00`) of naive times below a day; also where local time is wanted for
            times with an offset.
        frequency: a name such as `1h`, `15min`, `1month`; "" = found from the steps. Needed where every series has
            one point.
        missing: what becomes of missing cells: refused; masked (targets only); or filled with the last value before
            them, which looks at the past only.
        fill: put missing rows into gaps; their cells then count as missing.
        sort: sort rows by id and time instead of refusing unsorted ones.
        repeated: what a local time that the clock shows twice means: refused; `order` = the first such row of a series
            is the earlier instant, the second the later; `first` or `second` = always that instant (needed where only
            one of the two was written, as by hours on a clock that goes back by half an hour).
        skipped: what becomes of a row whose local time the clock skips: refused, or dropped and counted.
        time_unit: what integers in the time column count; "" = row numbers in steps of 1, else refused.
        time_format: how the time column writes its times, where not as ISO 8601: `%Y %m %d %H %M %S` and literal
            characters.
    """

    time: str = ""
    id: str = ""
    known: tuple[str, ...] = ()
    past: tuple[str, ...] = ()
    static: tuple[str, ...] = ()
    zone: str = ""
    frequency: str = ""
    missing: Missing = "refuse"
    fill: bool = False
    sort: bool = False
    repeated: Repeated = "refuse"
    skipped: Skipped = "refuse"
    time_unit: TimeUnit = ""
    time_format: str = ""
