"""The learning curve of a run: the validations in its log, also while it is trained."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from seqline import files


class Point(NamedTuple):
    """A validation on the way. loss: nats a token. score: the first that the task has."""

    step: int
    seconds: float
    loss: float | None
    name: str
    score: float | None


def read_curve(folder: Path) -> tuple[Point, ...]:
    """Read the validations of a run from its log; also of one that failed."""
    points = []
    path = folder / "metrics.jsonl"
    for line in files.read_bytes(path).decode("utf-8", "replace").splitlines() if path.is_file() else ():
        try:
            event = json.loads(line)
            if event["event"] == "validation" and event["weights"] == "current":
                name, score = next(iter(event["scores"].items()), ("score", None))
                points.append(Point(event["step"], event["seconds"], event["nats_per_token"], name, score))
        except (ValueError, KeyError, TypeError):
            continue  # half a line of a killed process
    return tuple(points)
