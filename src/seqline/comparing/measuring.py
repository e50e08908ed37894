"""What each finished run is worth: its answers to the test set and how fast they came, kept beside it for the next time."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from seqline import files
from seqline.comparing.exam import Exam, Speed
from seqline.comparing.plan import Plan, Planned
from seqline.comparing.training import Outcome, Say
from seqline.errors import Stopped, UserError
from seqline.run_folder import WEIGHTS, load_run, read_manifest

SCORES = "scores"


class Point(NamedTuple):
    """A validation on the way. loss: nats a token. score: the first that the task has."""

    step: int
    seconds: float
    loss: float | None
    name: str
    score: float | None


class Measured(NamedTuple):
    """One run, measured. facts: of its manifest. answers, speed: None where it failed, and `reason` says why."""

    run: Planned
    reason: str | None
    peak_memory: int | None
    facts: Mapping[str, Any]
    answers: Mapping[str, Any] | None
    speed: Speed | None
    curve: tuple[Point, ...]


def measure_all(
    plan: Plan, outcomes: Sequence[Outcome], exam: Exam, say: Say, should_stop: Callable[[], str | None]
) -> list[Measured]:
    """Examine every finished run, one after the other, while nothing else runs.

    Raises:
        Stopped: `should_stop` gave a reason; what was found so far is kept.
    """
    found = []
    for outcome in outcomes:
        if reason := should_stop():
            raise Stopped(reason)
        found.append(_measure(plan, outcome, exam, say))
    return found


def _measure(plan: Plan, outcome: Outcome, exam: Exam, say: Say) -> Measured:
    run, folder = outcome.run, plan.run_folder(outcome.run)
    curve = read_curve(folder)
    if outcome.reason is not None:
        return Measured(run, outcome.reason, outcome.peak_memory, {}, None, None, curve)
    facts = read_manifest(folder)
    key = {
        "weights": facts["files"][WEIGHTS]["sha256"],
        "data": plan.facts["data_sha256"],
        "device": plan.facts["device"],
    }
    kept = _kept(plan, run, key)
    if kept is None:
        say(f"{run.name}: answers the test set ({exam.num_examples:,} {exam.unit})")
        try:
            loaded = load_run(folder, plan.facts["device"])
            answers = exam.answer(loaded)
            kept = {"key": key, "answers": answers, "speed": exam.time(loaded)._asdict()}
        except UserError as error:
            return Measured(run, f"cannot be examined: {error}", outcome.peak_memory, facts, None, None, curve)
        files.write_json(_file(plan, run), kept)
    return Measured(run, None, outcome.peak_memory, facts, kept["answers"], Speed(**kept["speed"]), curve)


def _file(plan: Plan, run: Planned) -> Path:
    return plan.folder / SCORES / f"{run.name}.json"


def _kept(plan: Plan, run: Planned, key: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what an earlier comparison found of the same weights and data."""
    path = _file(plan, run)
    try:
        found = json.loads(files.read_bytes(path)) if path.is_file() else {}
    except ValueError:
        return None
    return found if isinstance(found, dict) and found.get("key") == key else None


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
