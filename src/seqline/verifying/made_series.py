"""Series to check a run with: some made in its own scales and its own step, and one window of each series, no two of a length."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from seqline.data.series import Floats, Panel, Series, Times
from seqline.data.series.forms import TimeForm
from seqline.data.series.gaps import anchor_day
from seqline.errors import UserError
from seqline.evaluation.sentences import spread
from seqline.forecasting.coder import SeriesCoder
from seqline.forecasting.windows import Windows

FEW_SERIES = 4
SHARES = (0.5, 1.0, 0.25, 0.75)
"""Of the longest history; the other windows are short, and one is longer than what is read."""
SHORT = (1, 2, 5)
_FIRST = int(np.datetime64("2001-01-01", "us").astype(np.int64))
_FIRST_END = int(np.datetime64("2001-01-31", "us").astype(np.int64))
_MISSING = 7  # of so many points one was not observed, where the run knows missing values


def made_panel(coder: SeriesCoder, count: int) -> Panel:
    """Make waves with noise around the centre of the training spans, whole targets behind every origin.

    Args:
        coder: of the run.
        count: series.
    """
    length = coder.longest + 2 + coder.horizon
    first = 0 if coder.step.is_row else _FIRST_END if coder.step.is_end else _FIRST
    series = tuple(_made(coder, n, length, first) for n in range(count))
    form = TimeForm() if coder.step.is_row else TimeForm("%Y-%m-%dT%H:%M:%SZ")
    return Panel(
        series=series, frequency=coder.step, targets=coder.targets, known=coder.known, past=coder.past, static=coder.static,
        zone=coder.zone, form=form, time_column="ds", id_column="unique_id", notes=(),
    )  # fmt: skip


def _made(coder: SeriesCoder, number: int, length: int, first: int) -> Series:
    draw = np.random.default_rng(number)
    day = anchor_day(np.array([first], dtype=np.int64), coder.step, coder.zone)
    times: Times = coder.step.step(first, np.arange(length), coder.zone, day)
    phase = 2 * np.pi * (np.arange(length)[:, None] + number) / max(2, coder.season)

    def wave(centre: tuple[float, ...], scale: tuple[float, ...]) -> Floats:
        noise = draw.standard_normal((length, len(centre)))
        return np.array(centre) + np.array(scale) * (np.sin(phase) + 0.3 * noise)

    values = wave(coder.centre, coder.scale)
    seen = np.ones(values.shape, bool)
    if coder.has_missing:
        seen[np.arange(length) % _MISSING == number % _MISSING] = False
        seen[-1 - coder.horizon] = True  # what is left of a history of one point
    statics = tuple(
        texts[number % len(texts)] if texts else centre + scale * (number - 1)
        for texts, centre, scale in zip(coder.categories, coder.static_centre, coder.static_scale, strict=True)
    )
    known, past = wave(coder.known_centre, coder.known_scale), wave(coder.past_centre, coder.past_scale)
    return Series(f"made {number + 1}", times, np.where(seen, values, 0.0), seen, known, past, statics)


def choose(coder: SeriesCoder, given: Panel | None, most: int) -> tuple[Panel, Windows, tuple[str, ...]]:
    """Return series and a window of each, those whose target is in the series first, and notes.

    Args:
        coder: of the run.
        given: the user's; None = made.
        most: series, from `FEW_SERIES` up.

    Raises:
        UserError: no series in `given` that can be forecast.
    """
    if given is None:
        panel = made_panel(coder, most)
        return panel, _windows(coder, panel), (f"{most} series made in the run's own scales (give yours as FILE)",)
    fit = [one for one in given.series if _origin(coder, one) > 0 and _is_seen(coder, one)]
    if not fit:
        what = f"no series with a value and {coder.horizon} steps of known covariates behind it"
        raise UserError(what, where="series", fix="give longer series")
    chosen = [fit[i] for i in spread([len(one) for one in fit], most)]
    added = made_panel(coder, max(0, FEW_SERIES - len(chosen))).series
    chosen.sort(key=lambda one: _origin(coder, one) + coder.horizon > len(one))
    panel = replace(given, series=(*added, *chosen))
    notes = (
        (len(given.series) - len(fit), "{} series left out: nothing observed, or known covariates end too soon"),
        (len(fit) - len(chosen), f"{len(chosen)} of {len(fit):,} series, of different lengths"),
        (len(added), "{} series made in the run's own scales added, so that there is something to stand beside"),
    )
    return panel, _windows(coder, panel), tuple(note.format(f"{count:,}") for count, note in notes if count)


def _origin(coder: SeriesCoder, one: Series) -> int:
    """Return the last origin with a target, or known covariates of all steps; the end where there are none of either."""
    inside = len(one) - coder.horizon
    if inside > 0:
        return inside
    return len(one.known) - coder.horizon if coder.known else len(one)


def _is_seen(coder: SeriesCoder, one: Series) -> bool:
    origin = _origin(coder, one)
    return bool(one.is_observed[max(0, origin - coder.longest) : origin].any())


def _windows(coder: SeriesCoder, panel: Panel) -> Windows:
    """Return one window a series, of lengths as different as the series allow."""
    longest = coder.longest
    wanted = [*SHORT[:2], longest, *SHORT[2:], *(max(1, int(share * longest)) for share in SHARES), longest + 2]
    origins, starts = [], []
    for n, one in enumerate(panel.series):
        origin = _origin(coder, one)
        observed = np.flatnonzero(one.is_observed[:origin].any(axis=1))
        shortest = origin - int(observed[-1])
        origins.append(origin)
        starts.append(origin - min(origin, max(shortest, wanted[n % len(wanted)])))
    return Windows(np.arange(len(origins)), np.array(starts, dtype=np.int64), np.array(origins, dtype=np.int64))
