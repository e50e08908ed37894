r"""The built-in time series: seasons, a trend and weather-like noise, made by a formula and a seed.

Series number i of a set has at step t = 0, 1, ..., with p = 2 pi and constants drawn for (seed, i):

    y_t = level + slope t + day sin(p t / D + a) + week sin(p t / (7 D) + b) + year sin(p t / (365.25 D) + c) + w_t
    w_t = 0.9 w_(t-1) + 0.44 size g_t,    w_(-1) = 0

D is the number of steps in a day: 24 for `hourly`; `daily` has D = 1 and no day wave. The constants are uniform: level in
[15, 25), slope in [-3, 3) a year, day in [3, 6), week in [0.5, 1.5), year in [4, 8), size in [1, 2), and a, b, c anywhere
in the circle. g_t is noise near to standard normal, the sum of 12 uniform numbers less 6, so that w has about the
deviation `size` (0.44^2 = 1 - 0.9^2, nearly).

Uniform numbers come from the counter-based mix of `seqline.data.loader`, sines from additions and multiplications in a
stated order, so that the bytes are the same on every machine. Values are rounded to 2 decimals.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from seqline.data.loader import mix
from seqline.data.series import Floats, Times
from seqline.data.series.forms import TimeForm
from seqline.data.series.zones import DAY
from seqline.errors import UserError
from seqline.files import PathLike, write_text

ToyKind = Literal["hourly", "daily"]
MAX_SERIES, MAX_LENGTH = 10_000, 1_000_000
START = 1_704_067_200_000_000
"""2024-01-01T00:00:00Z, a Monday, in microseconds since 1970."""
_CONSTANTS, _NOISE = 1, 2  # each use of chance has its own stream
_AR, _INNOVATION = 0.9, 0.44


class ToySeries(NamedTuple):
    """One generated series.

    Attributes:
        id: `A`, `B`, ..., `Z`, `AA`, ...
        times: [N] microseconds since 1970 UTC.
        values: [N].
    """

    id: str
    times: Times
    values: Floats


def make_series(kind: ToyKind, *, num_series: int = 4, length: int = 0, seed: int = 1) -> list[ToySeries]:
    """Generate a set of series by the formula above.

    Args:
        kind: the step.
        num_series: 1 to 10,000; the first series of a set are the same whatever their number.
        length: points of each, 1 to 1,000,000; 0 = 60 days of hours, or 3 years of days. A longer series begins with the
            shorter.
        seed: any integer.

    Raises:
        UserError: a number out of range.
    """
    length = length or {"hourly": 1440, "daily": 1096}[kind]
    for name, number, most in (("num_series", num_series, MAX_SERIES), ("length", length, MAX_LENGTH)):
        if not 1 <= number <= most:
            raise UserError(f"expected 1 to {most:,}, got {number}", where=name)
    steps_a_day = {"hourly": 24, "daily": 1}[kind]
    times = START + np.arange(length) * (DAY // steps_a_day)
    return [ToySeries(_name(i), times, _values(i, length, steps_a_day, seed)) for i in range(num_series)]


def series_csv(series: list[ToySeries]) -> str:
    """Write generated series as CSV text in the long form: `unique_id,ds,y`; hours in UTC with a Z, days as dates."""
    is_daily = all(not (one.times % DAY).any() for one in series)
    form = TimeForm("%Y-%m-%d" if is_daily else "%Y-%m-%dT%H:%M:%SZ")
    lines = ["unique_id,ds,y"]
    for one in series:
        written = form.write(one.times, "")
        lines += [f"{one.id},{ds},{y:.2f}" for ds, y in zip(written, one.values.tolist(), strict=True)]
    return "\n".join(lines) + "\n"


def write_series(path: PathLike, kind: ToyKind, *, num_series: int = 4, length: int = 0, seed: int = 1) -> None:
    """Write the set that `make_series` gives as a CSV file.

    Raises:
        UserError: as `make_series`, or the disk refuses.
    """
    write_text(path, series_csv(make_series(kind, num_series=num_series, length=length, seed=seed)))


def _values(number: int, length: int, steps_a_day: int, seed: int) -> Floats:
    """Return the values of one series."""
    drawn = _uniform(seed, number, _CONSTANTS, 9).tolist()
    level, slope = 15.0 + 10.0 * drawn[0], (drawn[1] - 0.5) * 6.0 / (365.25 * steps_a_day)
    day, week, year = 3.0 + 3.0 * drawn[2], 0.5 + drawn[3], 4.0 + 4.0 * drawn[4]
    size = 1.0 + drawn[5]
    t = np.arange(length, dtype=np.float64)
    values = level + slope * t + _weather(seed, number, length) * size
    if steps_a_day > 1:
        values += day * _sine(t / steps_a_day + drawn[6])
    values += week * _sine(t / (7.0 * steps_a_day) + drawn[7])
    values += year * _sine(t / (365.25 * steps_a_day) + drawn[8])
    return np.round(values, 2) + 0.0


def _weather(seed: int, number: int, length: int) -> Floats:
    """Return the autoregressive noise with deviation about 1."""
    g = _uniform(seed, number, _NOISE, 12 * length).reshape(length, 12)
    total = g[:, 0].copy()
    for column in range(1, 12):  # in a stated order, for sums of floats depend on it
        total += g[:, column]
    noise = np.empty(length)
    last = 0.0
    for t, shock in enumerate((total - 6.0).tolist()):
        last = _AR * last + _INNOVATION * shock
        noise[t] = last
    return noise


def _uniform(seed: int, number: int, stream: int, count: int) -> Floats:
    """Return `count` uniform numbers in [0, 1), multiples of 2^-53."""
    return (mix(seed, number, stream, np.arange(count)) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _sine(turns: Floats) -> Floats:
    """Return sin(2 pi turns) within 1e-9, by additions and multiplications alone: libraries differ in their sine.

    The angle is brought to a quarter turn, and the sine is its power series there, up to the 15th power.
    """
    x = turns - np.floor(turns + 0.5)  # [-1/2, 1/2)
    x = np.where(x > 0.25, 0.5 - x, np.where(x < -0.25, -0.5 - x, x)) * (2.0 * np.pi)
    square = x * x
    total = np.zeros_like(x)
    for n in (15, 13, 11, 9, 7, 5, 3):
        total = (1.0 + total) * square * (-1.0 / ((n - 1) * n))
    return x * (1.0 + total)


def _name(number: int) -> str:
    letters = ""
    number += 1
    while number:
        number, letter = divmod(number - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return letters
