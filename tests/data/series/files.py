"""Small files of series, and the one line that refuses them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from seqline.data.series import Panel, SeriesOptions
from seqline.data.series.reading import read_panel
from seqline.errors import UserError

PLAIN = SeriesOptions()
MASK, CARRY = SeriesOptions(missing="mask"), SeriesOptions(missing="interpolate")
SORT = SeriesOptions(sort=True)


def write(folder: Path, *lines: str) -> Path:
    """Write lines to a CSV file."""
    path = folder / "a.csv"
    path.write_bytes("\n".join(lines).encode())
    return path


def days(count: int, first: str = "2024-02-27") -> list[str]:
    """Return days in a row, by default around a leap day."""
    return (np.datetime64(first) + np.arange(count)).astype(str).tolist()


def series(folder: Path, pairs: list[tuple[str, str]], how: SeriesOptions = PLAIN) -> Panel:
    """Read one series from its times and values."""
    return read_panel(write(folder, "ds,y", *(f"{ds},{y}" for ds, y in pairs)), how=how)


def outcome(path: Path, how: SeriesOptions = PLAIN) -> Panel | str:
    """Return the panel, or the line that refuses the file."""
    try:
        return read_panel(path, how=how)
    except UserError as error:
        return str(error)


def refusal(path: Path, how: SeriesOptions = PLAIN, target: str | None = None) -> str:
    """Return the line that refuses a file, F in place of its name."""
    with pytest.raises(UserError) as caught:
        read_panel(path, how=how, target=target)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 600
    return message.replace(f"{path}", "F")
