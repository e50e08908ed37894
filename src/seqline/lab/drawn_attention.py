"""Attention of one sentence as a picture, by the views of `seqline explain`; without their engine there is none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from seqline.lab.experiment import Picture
from seqline.visualize.engine import installed_engines
from seqline.visualize.export import Drawing
from seqline.visualize.trace import Trace

NO_ENGINE = 'the pictures of attention need one package more: pip install "seqline[pictures]"'


def draw(name: str, trace: Trace, caption: str, view: str = "align", **state: Any) -> list[Picture]:
    """Return one picture of a recording, [] where the engine for pictures is not installed.

    Args:
        name: of the picture's file.
        trace: a recording, or weights made into one.
        caption: what is seen.
        view: a view of `seqline explain`. state: its settings.
    """
    if not installed_engines():
        return []
    return [Picture(name, Drawing(trace, view, state).svg(), caption)]


def of_weights(weights: np.ndarray, rows: Sequence[str], columns: Sequence[str], kind: str = "cross") -> Trace:
    """Return weights [query, key], or with layers and heads before them, as a recording; rows and columns are words."""
    return Trace.from_numpy(weights, list(rows), list(columns), kind)


def missing_note() -> tuple[str, ...]:
    """Return what to say where pictures of attention are missing."""
    return () if installed_engines() else (NO_ENGINE,)
