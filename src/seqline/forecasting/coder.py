"""What a forecasting run keeps of its training spans: names, frequency, scales. To series what a tokenizer is to text.

Everything here is fitted on training spans alone; nothing that comes after them can change it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from seqline.data.series import Panel
from seqline.data.series.calendar import calendar_names
from seqline.data.series.frequency import Frequency, frequency_of
from seqline.errors import UserError
from seqline.forecasting.history import Array, Mask
from seqline.forecasting.scaling import Floor, Scale, fit_floor

SERIES = "series.json"
Numbers: TypeAlias = tuple[float, ...]


class SeriesShape(NamedTuple):
    """What a recipe must know of its series.

    num_targets: F. num_inputs: numbers of one point of the history. num_known: C, numbers known of a step to come.
    horizon: H, steps to forecast. season: steps, 1 = none.
    """

    num_targets: int
    num_inputs: int
    num_known: int
    horizon: int
    season: int


@dataclass(frozen=True)
class SeriesCoder:
    """How series become numbers of order 1, and back.

    Attributes:
        targets: names of the columns to forecast, and so `known`, `past` and `static`.
        frequency: its short name. zone: of local time, "" = as written.
        season: steps, 1 = none.
        horizon: H, steps that are forecast.
        longest: most points of a history.
        trained_until: the last time of the data, microseconds since 1970 UTC or a row number; what validates chose the weights.
        has_missing: the training spans held missing values; a history then has a flag for each value.
        floor_absolute, floor_relative: [F] least scales, see scaling.py.
        centre, scale: [F] of all training spans together.
        known_centre, known_scale, past_centre, past_scale: one number a covariate.
        categories: of each static column its texts, in order; () = it holds numbers.
        static_centre, static_scale: one number a static column, 0 and 1 for texts.
    """

    targets: tuple[str, ...]
    known: tuple[str, ...]
    past: tuple[str, ...]
    static: tuple[str, ...]
    frequency: str
    zone: str
    season: int
    horizon: int
    longest: int
    trained_until: int
    has_missing: bool
    floor_absolute: Numbers
    floor_relative: Numbers
    centre: Numbers
    scale: Numbers
    known_centre: Numbers
    known_scale: Numbers
    past_centre: Numbers
    past_scale: Numbers
    categories: tuple[tuple[str, ...], ...]
    static_centre: Numbers
    static_scale: Numbers

    @property
    def step(self) -> Frequency:
        """The frequency."""
        return frequency_of(self.frequency)

    @property
    def vocabulary(self) -> SeriesShape:
        """The sizes a recipe needs."""
        targets, known = len(self.targets), len(calendar_names(self.step)) + len(self.known)
        flags = targets if self.has_missing else 0
        own = targets + flags + len(self.past) + sum(max(1, len(texts)) for texts in self.categories)
        return SeriesShape(targets, own + known, known, self.horizon, self.season)

    @cached_property
    def floor(self) -> Floor:
        """The least scale of a history."""
        return Floor(np.array(self.floor_absolute), np.array(self.floor_relative))

    @cached_property
    def pooled(self) -> Scale:
        """Centre and scale of all training spans together."""
        return Scale(np.array(self.centre), np.array(self.scale))

    def statics(self, values: Sequence[str | float]) -> Array:
        """Return what is said of a whole series as numbers; a text that no training series had is all zeros.

        Raises:
            UserError: a text where the training had numbers.
        """
        parts = [np.zeros(0)]
        for name, value, texts, centre, scale in zip(
            self.static, values, self.categories, self.static_centre, self.static_scale, strict=True
        ):
            if texts:
                parts.append(np.array([float(value == text) for text in texts]))
                continue
            try:
                parts.append(np.array([(float(value) - centre) / scale]))
            except ValueError as error:
                what = f"column {name!r}: expected a number as in the training, got {str(value)[:40]!r}"
                raise UserError(what, where="static", fix="correct the cell") from error
        return np.concatenate(parts)

    @property
    def text_statics(self) -> dict[str, tuple[str, ...]]:
        """The static columns that hold texts, each with those that the training had."""
        return {name: texts for name, texts in zip(self.static, self.categories, strict=True) if texts}

    def files(self) -> dict[str, bytes]:
        """Return what a run folder keeps, by name."""
        return {SERIES: (json.dumps(asdict(self), ensure_ascii=False, indent=1) + "\n").encode()}

    @property
    def line(self) -> str:
        """What was found, in one line."""
        covariates = len(self.known) + len(self.past) + len(self.static)
        more = f", {covariates} covariate{'s' if covariates > 1 else ''}" if covariates else ""
        return (
            f"{', '.join(self.targets)}{more}: {self.horizon} steps ahead from up to {self.longest} points of history"
        )

    @classmethod
    def from_bytes(cls, data: bytes, where: str) -> SeriesCoder:
        """Read what `files` gave.

        Raises:
            UserError: something else.
        """
        try:
            values = json.loads(data)
            if not isinstance(values, dict) or set(values) != {field.name for field in fields(cls)}:
                raise TypeError
            coder = cls(**{name: _frozen(value) for name, value in values.items()})
            sizes = {len(coder.floor_absolute), len(coder.floor_relative), len(coder.centre), len(coder.scale)}
            if sizes != {len(coder.targets)} or min(coder.horizon, coder.longest, coder.season) < 1:
                raise TypeError
            coder.step  # noqa: B018  # an unknown frequency is refused here
        except (ValueError, TypeError, KeyError, RecursionError, UserError) as error:
            raise UserError("does not describe series", where=where, fix="copy the run again") from error
        return coder


def fit_coder(panel: Panel, ends: Sequence[int], *, horizon: int, longest: int, season: int) -> SeriesCoder:
    """Fit scales on training spans.

    Args:
        panel: the series.
        ends: where the training span of each series ends; what stands from there on is not read.
        horizon: steps to forecast.
        longest: most points of a history.
        season: steps, 1 = none.
    """
    spans = [(one.values[:end], one.is_observed[:end]) for one, end in zip(panel.series, ends, strict=True) if end]
    values, masks = [span[0] for span in spans], [span[1] for span in spans]
    floor = fit_floor(values, masks)
    pooled = _scale_of(np.concatenate(values), np.concatenate(masks))
    known = _covariates([one.known[:end] for one, end in zip(panel.series, ends, strict=True)])
    past = _covariates([one.past[:end] for one, end in zip(panel.series, ends, strict=True)])
    columns = list(zip(*(one.static for one, end in zip(panel.series, ends, strict=True) if end), strict=True))
    texts = [tuple(sorted({value for value in column if isinstance(value, str)})) for column in columns]
    numbers = [
        (0.0, 1.0) if found else _numbers([float(value) for value in column])
        for column, found in zip(columns, texts, strict=True)
    ]
    return SeriesCoder(
        targets=panel.targets, known=panel.known, past=panel.past, static=panel.static,
        frequency=panel.frequency.name, zone=panel.zone, season=season, horizon=horizon, longest=longest,
        trained_until=max(int(one.times[-1]) for one in panel.series),
        has_missing=not all(mask.all() for mask in masks),
        floor_absolute=_plain(floor.absolute), floor_relative=_plain(floor.relative),
        centre=_plain(pooled.centre), scale=_plain(pooled.scale),
        known_centre=_plain(known.centre), known_scale=_plain(known.scale),
        past_centre=_plain(past.centre), past_scale=_plain(past.scale),
        categories=tuple(texts),
        static_centre=tuple(centre for centre, _ in numbers), static_scale=tuple(scale for _, scale in numbers),
    )  # fmt: skip


def series_unit(values: Array, is_observed: Mask, floor: Floor) -> Array:
    """Return the unit [F] in which the errors of one series count in training: its deviation, never under the floor."""
    found = _scale_of(values, is_observed)
    return np.maximum(found.scale, floor.absolute)


def _scale_of(values: Array, is_observed: Mask) -> Scale:
    """Return mean and deviation of each column; 1 where there is no spread."""
    count = np.maximum(is_observed.sum(axis=0), 1)
    first = values[is_observed.argmax(axis=0), np.arange(values.shape[1])] if len(values) else 0.0
    mean = first + np.where(is_observed, values - first, 0.0).sum(axis=0) / count
    deviation = np.sqrt((np.where(is_observed, values - mean, 0.0) ** 2).sum(axis=0) / count)
    least = 1e-9 * np.abs(np.where(is_observed, values, 0.0)).max(axis=0, initial=0.0)
    return Scale(mean, np.where(deviation > least, deviation, 1.0))


def _covariates(spans: Sequence[Array]) -> Scale:
    rows = np.concatenate(spans)
    return _scale_of(rows, np.ones(rows.shape, bool))


def _numbers(values: list[float]) -> tuple[float, float]:
    found = _scale_of(np.array(values)[:, None], np.ones((len(values), 1), bool))
    return float(found.centre[0]), float(found.scale[0])


def _plain(values: Array) -> Numbers:
    return tuple(np.asarray(values, dtype=np.float64).tolist())


def _frozen(value: Any) -> Any:
    return tuple(_frozen(part) for part in value) if isinstance(value, list) else value
