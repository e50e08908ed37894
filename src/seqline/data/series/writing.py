"""Forecasts as rows: keyed by series and time as the input was, for frames and for CSV files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from seqline.data.series import Floats, Panel
from seqline.data.series.calendar import forecast_times
from seqline.data.series.roles import ID_NAME, TIME_NAMES

Columns: TypeAlias = dict[str, list[Any]]


def forecast_rows(panel: Panel, forecasts: Sequence[Floats], names: Sequence[str]) -> Columns:
    """Put the forecasts of a panel into columns, one row a series and time, in the order of the panel.

    Args:
        panel: whose series were continued.
        forecasts: one [H V] for each series; H may differ.
        names: V names of columns, such as `y` and its quantiles.

    Returns:
        The id column where the panel has one, under its name; the time column, under its name or `ds`, written as the
        input wrote it; the values. Text, integers and floats.

    Raises:
        ValueError: forecasts that do not fit the panel or the names.
        UserError: a time after the year 9999.
    """
    time = panel.time_column or TIME_NAMES[0]
    keys = [panel.id_column or ID_NAME] if panel.id_column or len(panel.series) > 1 else []
    columns: Columns = {name: [] for name in (*keys, time, *names)}
    if len(columns) != len(keys) + 1 + len(names):
        raise ValueError(f"names of columns meet twice: {[*keys, time, *names]}")
    for series, values in zip(panel.series, forecasts, strict=True):
        if values.ndim != 2 or values.shape[1] != len(names):
            raise ValueError(f"expected [H {len(names)}] values, got {list(values.shape)}")
        for key in keys:
            columns[key] += [series.id] * len(values)
        columns[time] += forecast_times(panel, series, len(values)).written
        for name, column in zip(names, np.asarray(values, dtype=np.float64).T, strict=True):
            columns[name] += column.tolist()
    return columns


def rows_csv(columns: Mapping[str, Sequence[Any]]) -> str:
    """Write columns as the text of a CSV file that `read_panel` reads; floats have the fewest digits that keep them.

    Raises:
        ValueError: a line end in a cell or name, or columns of different lengths.
    """
    lines = [",".join(_cell(name) for name in columns)]
    lines += [",".join(_cell(cell) for cell in row) for row in zip(*columns.values(), strict=True)]
    return "\n".join(lines) + "\n"


def _cell(value: Any) -> str:
    if not isinstance(value, str):
        return repr(value)
    if "\n" in value or "\r" in value:
        raise ValueError("a cell of CSV has no line end")
    quote = any(mark in value for mark in ',"\t') or value != value.strip()
    return '"' + value.replace('"', '""') + '"' if quote else value
