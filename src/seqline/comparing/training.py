"""The trainings of a comparison: each in a process of its own, a few at a time; what is finished is not trained again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from seqline import files
from seqline.comparing.curves import read_curve
from seqline.comparing.plan import Plan, Planned
from seqline.errors import CUT_SHORT, Stopped, UserError
from seqline.run_folder import CONFIG, MANIFEST, read_manifest

SECONDS_BETWEEN_LOOKS = 0.1
SECONDS_BETWEEN_WORDS = 60.0

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
    """A training in a process of its own; what it prints goes to files, which never fill up as a pipe does.

    Its words can be read in the log while it runs; its answer is the last line of a file beside that.
    """

    def __init__(self, plan: Plan, run: Planned, is_resumed: bool) -> None:
        threads = str(run.config.training.threads or 1)
        command = [
            sys.executable,
            "-m",
            "seqline.comparing.child",
            str(plan.config_file(run)),
            str(plan.run_folder(run)),
            f"--parent={os.getpid()}",
        ]
        self.paths = plan.log(run).with_suffix(".out"), plan.log(run)
        out, err = map(files.new_log, self.paths)
        self.process = subprocess.Popen(
            [*command, *(["--resume"] if is_resumed else [])],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env={**os.environ, "OMP_NUM_THREADS": threads, "PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8"},
            start_new_session=True,  # a Ctrl-C is for the comparison, which passes it on once
        )
        out.close()
        err.close()

    def poll(self) -> Ended | None:
        """Look whether it has ended."""
        code = self.process.poll()
        if code is None:
            return None
        said, log = (files.read_bytes(path).decode("utf-8", "replace") for path in self.paths)
        self.paths[0].unlink(missing_ok=True)
        return Ended(code, _answer(said), log)

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
    active: dict[str, _Active] = {}
    try:
        while waiting or active:
            while waiting and len(active) < jobs and not should_stop():
                run = waiting.pop(0)
                is_resumed = (plan.run_folder(run) / CONFIG).exists()
                done = len(outcomes) + len(active) + 1
                say(f"{run.name}: {'goes on' if is_resumed else 'begins'} ({done} of {len(plan.runs)})")
                active[run.name] = _Active(plan, run, start(plan, run, is_resumed))
            for one, ended in _ended(active):
                outcomes[one.run.name] = _outcome(plan, one.run, ended)
                say(f"{one.run.name}: {_said(plan, outcomes[one.run.name], time.monotonic() - one.began)}")
            for one in active.values():
                one.tell(say)
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


class _Active:
    """A training that goes on."""

    def __init__(self, plan: Plan, run: Planned, process: Process) -> None:
        self.run, self.process, self.folder = run, process, plan.run_folder(run)
        self.began = self.looked = time.monotonic()
        self.step = 0

    def tell(self, say: Say) -> None:
        """Say, at most once a minute, what the newest validation found."""
        if time.monotonic() - self.looked < SECONDS_BETWEEN_WORDS:
            return
        self.looked = time.monotonic()
        for point in read_curve(self.folder)[-1:]:
            if point.step != self.step:
                self.step = point.step
                score = "" if point.score is None else f", {point.name} {point.score:.2f} (validation)"
                say(f"{self.run.name}: at step {point.step:,} after {point.seconds:.0f} s{score}")


def _ended(active: dict[str, _Active]) -> Iterable[tuple[_Active, Ended]]:
    for name, one in list(active.items()):
        ended = one.process.poll()
        if ended is not None:
            del active[name]
            yield one, ended


def _stop(active: Mapping[str, _Active]) -> None:
    """End what still runs, and wait for it: each keeps what it has learned."""
    for one in active.values():
        one.process.stop()
    for one in active.values():
        while one.process.poll() is None:
            time.sleep(SECONDS_BETWEEN_LOOKS)


def _outcome(plan: Plan, run: Planned, ended: Ended) -> Outcome:
    """Take a run's end down, beside its folder."""
    reason = ended.answer.get("error")
    if reason is None and not is_finished(plan, run):
        reason = _reason(ended)
    peak = ended.answer.get("peak_memory_bytes")
    files.write_text(plan.log(run), ended.log)
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
    return plan.log(run).with_suffix(".json")


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
