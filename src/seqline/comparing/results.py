"""Everything that a comparison found, as plain values: what `results.json` holds and the table and the page are made of."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from seqline.comparing.asked import Asked
from seqline.comparing.budget import Budget
from seqline.comparing.exam import MARKING, Exam, Marking, Measure, check_marking
from seqline.comparing.measuring import Measured
from seqline.comparing.plan import Plan, leaves
from seqline.comparing.statistics import TOLD, as_json, by_length, contrast, spread
from seqline.errors import UserError, did_you_mean
from seqline.evaluation.metrics import Array
from seqline.judging.comparison import Resampling
from seqline.machine import described
from seqline.run_folder import LIBRARIES
from seqline.visualize.html import seqline_version

FORMAT = 1
OFF_BUDGET = 0.05  # of a budget in time, from which on a run is told of

Statistics = Mapping[str, Mapping[str, Array]]
"""[N S] by run and score."""


@dataclass(frozen=True)
class Judging:
    """How runs are judged; nothing here needs a new training.

    baseline: the architecture that the others are tested against; None: the best one. trials: of each test. seed: of the
    tests. sentence: the text that all models are shown on the page; None: one of the test set. marking: of translations.
    """

    baseline: str | None = None
    trials: int = Resampling.resamples
    seed: int = Resampling.seed
    sentence: str | None = None
    marking: Marking = MARKING


def check_judging(judging: Judging, asked: Asked) -> None:
    """Refuse a baseline that is not compared and metrics that are not known, before any work.

    Raises:
        UserError: as said, no trial, or metrics for another task than translation.
    """
    check_marking(judging.marking, asked.task)
    if judging.baseline is not None and judging.baseline not in asked.archs:
        fix = did_you_mean(judging.baseline, asked.archs)
        raise UserError(f"{judging.baseline!r} is not compared", where="--baseline", fix=fix)
    if judging.sentence is not None and not judging.sentence.strip():
        raise UserError(
            "expected a text, got a blank one", where="--sentence", fix="leave it out for one of the test set"
        )
    Resampling(judging.trials, judging.seed)  # refuses what cannot be drawn


def results(
    plan: Plan, asked: Asked, exam: Exam, measured: Sequence[Measured], judging: Judging, command: str
) -> dict[str, Any]:
    """Put everything together.

    Args:
        plan: what was run.
        asked: as asked for.
        exam: the test set.
        measured: each run.
        judging: how they are judged.
        command: what makes the same comparison.
    """
    added = {one.run.name: one.added for one in measured if one.added is not None}
    rows = [_architecture(arch, [m for m in measured if m.run.arch == arch], exam, added) for arch in asked.archs]
    baseline = judging.baseline or best_of(rows, exam.measures[0])
    return {
        "format": FORMAT,
        "version": seqline_version(),
        "command": command,
        "task": asked.task,
        "budget": {**asked.budget._asdict(), "text": str(asked.budget), "said": asked.budget.said},
        "parameters_asked": asked.parameters,
        "seeds": list(asked.seed_numbers()),
        "threads": asked.threads,
        "device": asked.device,
        "data_sha256": plan.facts["data_sha256"],
        "length": {"name": exam.length, "unit": exam.lengths()[1]},
        "test": {"examples": exam.num_examples, "unit": exam.unit},
        "measures": [_told(measure) for measure in exam.measures],
        "architectures": rows,
        "baseline": baseline,
        "significance": {
            "how": TOLD,
            "trials": judging.trials,
            "seed": judging.seed,
            "tests": _tests(measured, exam, added, baseline, judging) if baseline else {},
        },
        "runs": [_run(plan, one, exam, added) for one in measured],
        "notes": [*plan.notes, *_notes(measured, exam, asked.budget)],
        "versions": {"python": platform.python_version(), **{name: version(name) for name in LIBRARIES}},
        "machine": described(),
    }  # fmt: skip


def _score(measure: Measure, statistics: Array) -> float:
    return float(measure.value(statistics.sum(axis=0)))


def best_of(rows: Sequence[Mapping[str, Any]], measure: Measure) -> str | None:
    """Return the architecture with the best mean; None where none was finished."""
    found = [(row["scores"][measure.key]["mean"], row["name"]) for row in rows if row["num_finished"]]
    if not found:
        return None
    choose = max if measure.is_higher_better else min
    return choose(found, key=lambda pair: pair[0])[1]


def _told(measure: Measure) -> dict[str, Any]:
    kept = ("key", "label", "is_higher_better", "signature", "digits")
    return {name: getattr(measure, name) for name in kept}


def _architecture(arch: str, measured: Sequence[Measured], exam: Exam, added: Statistics) -> dict[str, Any]:
    """Return one row of the table: means over the seeds that were finished."""
    good = [one for one in measured if one.answers is not None]
    mine = [added[one.run.name] for one in good]
    values = [_costs(one) for one in good]
    spreads = {key: spread([number for each in values if (number := each[key]) is not None]) for key in _COSTS}
    scores = {m.key: spread([_score(m, each[m.key]) for each in mine]) for m in exam.measures}
    main = exam.measures[0]
    return {
        "name": arch,
        "num_finished": len(good),
        "num_failed": len(measured) - len(good),
        "scores": as_json(scores),
        **{key: as_json(value) for key, value in spreads.items()},
        "by_length": as_json(by_length(exam, main, [each[main.key] for each in mine])) if mine else [],
        "settings": _settings(measured[0]),
    }  # fmt: skip


_COSTS = ("parameters", "steps", "target_tokens", "training_seconds", "training_tokens_per_second", "answers_per_second",
          "peak_memory_bytes")  # fmt: skip


def _costs(one: Measured) -> dict[str, float | None]:
    facts, speed = one.facts, one.speed
    seconds = facts["training_seconds"]
    return {
        "parameters": facts["num_parameters"],
        "steps": facts["steps"],
        "target_tokens": facts["target_tokens_seen"],
        "training_seconds": seconds,
        "training_tokens_per_second": facts["target_tokens_seen"] / seconds if seconds else None,
        "answers_per_second": speed.per_second if speed else None,
        "peak_memory_bytes": one.peak_memory,
    }


def _settings(one: Measured) -> dict[str, Any]:
    """Return what was set for an architecture, its seed and data left out."""
    table = one.run.config.model_dump(exclude_unset=True, exclude_none=True, mode="json")
    return {key: value for key, value in leaves(table) if key not in ("data.train", "training.seed")}


def _tests(
    measured: Sequence[Measured], exam: Exam, added: Statistics, baseline: str, judging: Judging
) -> dict[str, list[dict[str, Any]]]:
    """Test every architecture against the baseline, on the seeds that both have."""
    runs: dict[str, dict[int, str]] = {}
    for one in measured:
        if one.answers is not None:
            runs.setdefault(one.run.arch, {})[one.run.seed] = one.run.name
    found = {}
    for arch, mine in runs.items():
        theirs = runs.get(baseline, {})
        common = sorted(set(mine) & set(theirs))
        if arch != baseline and common:
            pairs = [[[added[side[seed]][m.key] for seed in common] for side in (mine, theirs)] for m in exam.measures]
            tests = zip(exam.measures, pairs, strict=True)
            found[arch] = [as_json(contrast(m, pair[0], pair[1], judging.trials, judging.seed)) for m, pair in tests]
    return found


def _run(plan: Plan, one: Measured, exam: Exam, added: Statistics) -> dict[str, Any]:
    mine = added.get(one.run.name)
    scores = None if mine is None else {m.key: _score(m, mine[m.key]) for m in exam.measures}
    return {
        "name": one.run.name,
        "architecture": one.run.arch,
        "seed": one.run.seed,
        "state": "finished" if mine is not None else "failed",
        "reason": one.reason,
        "ended": one.facts.get("ended"),
        "weights": one.facts.get("weights"),
        "folder": str(plan.run_folder(one.run)),
        "command": shlex.join(plan.command(one.run)),
        "scores": scores,
        **(_costs(one) if mine is not None else dict.fromkeys(_COSTS)),
        "speed_unit": one.speed.unit if one.speed else None,
        "curve": as_json(one.curve),
    }


def _notes(measured: Sequence[Measured], exam: Exam, budget: Budget) -> list[str]:
    """Say what stands out in the runs, one note a run and reason."""
    said = []
    for one in measured:
        if one.answers is not None:
            notes = [*off_budget(one.facts["training_seconds"], budget), *exam.notes(one.answers)]
            said += [f"{one.run.name}: {note}" for note in notes]
    return said


def off_budget(seconds: float, budget: Budget) -> list[str]:
    """Say that a run took clearly less or more than the time that it was to have."""
    if budget.kind != "time" or abs(seconds / budget.amount - 1) <= OFF_BUDGET:
        return []
    return [
        f"trained for {seconds:.0f} of {budget.amount:.0f} s: the number of steps is fixed beforehand by one measurement of "
        "its speed, and the machine was slower or faster after it, or the training was at its longest"
    ]
