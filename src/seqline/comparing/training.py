"""The trainings of a comparison: each in a process of its own, a few at a time; what is finished is not trained again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from seqline import files
from seqline.comparing.plan import Plan, Planned
from seqline.errors import Stopped, UserError
from seqline.run_folder import CONFIG, MANIFEST, read_manifest

LOGS = "logs"
SECONDS_BETWEEN_LOOKS = 0.1
CUT_SHORT = ("interrupted", "terminated")

Say = Callable[[str], None]


class Ended(NamedTuple):
    """How a process ended. answer: what it said of itself. log: everything else it said."""

    code: int
    answer: Mapping[str, Any]
    log: str


class Process(Protocol):
    """A training that was begun."""

    def poll(self) -> Ended | None:
        """Return how it ended, None while it goes on."""
        ...

    def stop(self) -> None:
        """Ask it to end soon and keep what was learned."""
        ...


class Child:
    """A training in a process of its own; what it prints goes to files, which never fill up as a pipe does."""

    def __init__(self, plan: Plan, run: Planned, is_resumed: bool) -> None:
        threads = str(run.config.training.threads or 1)
        command = [
            sys.executable,
            "-m",
            "seqline.comparing.child",
            str(plan.config_file(run)),
            str(plan.run_folder(run)),
        ]
        self.out, self.err = (tempfile.TemporaryFile() for _ in range(2))  # noqa: SIM115 (poll closes them)
        self.process = subprocess.Popen(
            [*command, *(["--resume"] if is_resumed else [])],
            stdin=subprocess.DEVNULL,
            stdout=self.out,
            stderr=self.err,
            env={**os.environ, "OMP_NUM_THREADS": threads, "PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8"},
            start_new_session=True,  # a Ctrl-C is for the comparison, which passes it on once
        )

    def poll(self) -> Ended | None:
        """Look whether it has ended."""
        code = self.process.poll()
        if code is None:
            return None
        texts = []
        for file in (self.out, self.err):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
            file.close()
        return Ended(code, _answer(texts[0]), texts[1])

    def stop(self) -> None:
        """Send SIGTERM."""
        self.process.terminate()


def _answer(text: str) -> dict[str, Any]:
    lines = text.strip().splitlines()
    try:
        found = json.loads(lines[-1]) if lines else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


Start = Callable[[Plan, Planned, bool], Process]


class Outcome(NamedTuple):
    """A run after its training. reason: why it failed, None where it is finished. peak_memory: bytes, None: not known."""

    run: Planned
    reason: str | None
    peak_memory: int | None


def train_all(
    plan: Plan,
    *,
    jobs: int = 1,
    say: Say = lambda _: None,
    should_stop: Callable[[], str | None] = lambda: None,
    start: Start = Child,
) -> list[Outcome]:
    """Train every run of a plan that is not finished; return how each ended, in the order of the plan.

    Args:
        plan: the runs.
        jobs: how many at once.
        say: takes one line for the user.
        should_stop: a reason ends all trainings, and the next comparison in the same folder goes on from there.
        start: begins one training.

    Raises:
        Stopped: `should_stop` gave a reason.
        UserError: a folder of a run holds another one.
    """
    outcomes = {run.name: Outcome(run, None, _known(plan, run)) for run in plan.runs if is_finished(plan, run)}
    for name in outcomes:
        say(f"{name}: finished before, taken as it is")
    waiting = [run for run in plan.runs if run.name not in outcomes]
    active: dict[str, tuple[Planned, Process, float]] = {}
    try:
        while waiting or active:
            while waiting and len(active) < jobs and not should_stop():
                run = waiting.pop(0)
                is_resumed = (plan.run_folder(run) / CONFIG).exists()
                done = len(outcomes) + len(active) + 1
                say(f"{run.name}: {'goes on' if is_resumed else 'begins'} ({done} of {len(plan.runs)})")
                active[run.name] = run, start(plan, run, is_resumed), time.monotonic()
            for run, ended, began in _ended(active):
                outcomes[run.name] = _outcome(plan, run, ended)
                say(f"{run.name}: {_said(plan, outcomes[run.name], time.monotonic() - began)}")
            if reason := should_stop():
                say("what was learned is kept; the same command goes on from here")
                raise Stopped(reason)
            time.sleep(SECONDS_BETWEEN_LOOKS if active else 0)
    finally:
        _stop(active)
    return [outcomes[run.name] for run in plan.runs]


def is_finished(plan: Plan, run: Planned) -> bool:
    """Tell whether a run needs no more training.

    Raises:
        UserError: the folder holds a run of another architecture, or a damaged one.
    """
    folder = plan.run_folder(run)
    if not (folder / MANIFEST).exists():
        return False
    manifest = read_manifest(folder)
    if manifest.get("architecture") != run.arch:
        what = f"is a run of {manifest.get('architecture')}, not of {run.arch}"
        raise UserError(what, where=str(folder), fix="remove it, or name another --out")
    return manifest.get("ended") not in CUT_SHORT


def _ended(active: dict[str, tuple[Planned, Process, float]]) -> Iterable[tuple[Planned, Ended, float]]:
    for name, (run, process, began) in list(active.items()):
        ended = process.poll()
        if ended is not None:
            del active[name]
            yield run, ended, began


def _stop(active: Mapping[str, tuple[Planned, Process, float]]) -> None:
    """End what still runs, and wait for it: each keeps what it has learned."""
    for _, process, _ in active.values():
        process.stop()
    for _, process, _ in active.values():
        while process.poll() is None:
            time.sleep(SECONDS_BETWEEN_LOOKS)


def _outcome(plan: Plan, run: Planned, ended: Ended) -> Outcome:
    """Take a run's end down, beside its folder."""
    reason = ended.answer.get("error")
    if reason is None and not is_finished(plan, run):
        reason = _reason(ended)
    peak = ended.answer.get("peak_memory_bytes")
    files.write_text(plan.folder / LOGS / f"{run.name}.log", ended.log)
    peak = max((value for value in (peak, _known(plan, run)) if value is not None), default=None)
    files.write_json(_facts_file(plan, run), {"peak_memory_bytes": peak, "error": reason})
    return Outcome(run, reason, peak)


def _reason(ended: Ended) -> str:
    if ended.code < 0:
        more = ", as a system does that is out of memory" if ended.code == -9 else ""
        return f"its process was ended by signal {-ended.code}{more}"
    if ended.answer.get("ended") in CUT_SHORT:
        return f"its training was {ended.answer['ended']}"
    last = ended.log.strip().splitlines()[-1:] or ["no message"]
    return f"exit status {ended.code}: {last[0]}"


def _facts_file(plan: Plan, run: Planned) -> Path:
    return plan.folder / LOGS / f"{run.name}.json"


def _known(plan: Plan, run: Planned) -> int | None:
    """Return the peak memory that was taken down before."""
    path = _facts_file(plan, run)
    try:
        found = json.loads(files.read_bytes(path))["peak_memory_bytes"] if path.is_file() else None
    except (ValueError, KeyError, TypeError):
        return None
    return found if isinstance(found, int) else None


def _said(plan: Plan, outcome: Outcome, seconds: float) -> str:
    if outcome.reason is not None:
        return f"failed after {seconds:.0f} s: {outcome.reason}"
    facts = read_manifest(plan.run_folder(outcome.run))
    scores = {name: value for name, value in (facts["validation"] or {}).items() if name != "nats_per_token"}
    shown = "".join(f", {name} {value:.2f}" for name, value in scores.items())
    return f"{facts['ended']} after {facts['steps']:,} steps and {facts['training_seconds']:.0f} s{shown} (validation)"
