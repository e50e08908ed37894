"""What each finished run is worth: its answers to the test set and how fast they came, kept beside it for the next time."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from seqline import files
from seqline.comparing.curves import Point, read_curve
from seqline.comparing.exam import Exam, Speed
from seqline.comparing.plan import Plan, Planned
from seqline.comparing.training import Outcome, Say
from seqline.errors import Stopped, told
from seqline.evaluation.metrics import Array
from seqline.run_folder import WEIGHTS, load_run, read_manifest

SCORES = "scores"


class Measured(NamedTuple):
    """One run, measured. answers, added, speed: None where it failed, and `reason` says why.

    facts: of its manifest. added: [N S] of each score, what each example adds to it.
    """

    run: Planned
    reason: str | None
    peak_memory: int | None
    curve: tuple[Point, ...]
    facts: Mapping[str, Any]
    answers: Mapping[str, Any] | None = None
    added: Mapping[str, Array] | None = None
    speed: Speed | None = None


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
        return Measured(run, outcome.reason, outcome.peak_memory, curve, {})
    facts = read_manifest(folder)
    try:
        kept = _examined(plan, run, facts, exam, say)
        added = {measure.key: measure.statistics(kept["answers"]) for measure in exam.measures}
    except Stopped:
        raise
    except Exception as error:  # one run's fault, whatever it is, is not the end of the others
        return Measured(run, f"cannot be examined: {told(error)}", outcome.peak_memory, curve, facts)
    return Measured(run, None, outcome.peak_memory, curve, facts, kept["answers"], added, Speed(**kept["speed"]))


def _examined(plan: Plan, run: Planned, facts: Mapping[str, Any], exam: Exam, say: Say) -> Mapping[str, Any]:
    """Return the answers of a run and their speed, from before where its weights were examined already."""
    key = {
        "weights": facts["files"][WEIGHTS]["sha256"],
        "data": plan.facts["data_sha256"],
        "device": plan.facts["device"],
        "examples": exam.num_examples,
    }
    kept = _kept(plan, run, key)
    if kept is None:
        say(f"{run.name}: answers the test set ({exam.num_examples:,} {exam.unit})")
        loaded = load_run(plan.run_folder(run), plan.facts["device"])
        kept = {"key": key, "answers": exam.answer(loaded), "speed": exam.time(loaded)._asdict()}
        files.write_json(_file(plan, run), kept)
    return kept


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
