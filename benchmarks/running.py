"""What the benchmark scripts share: a command with one thread, runs two at a time, and a table."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def seqline(*arguments: str) -> str:
    """Run one command with one thread, print it, and return its standard output."""
    print("seqline " + " ".join(arguments), file=sys.stderr, flush=True)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "seqline", *arguments],
        env=environment,
        capture_output=True,
        check=False,
        encoding="utf-8",
    )
    if done.returncode:
        raise SystemExit(f"exit status {done.returncode}: {done.stderr.strip().splitlines()[-1]}")
    return done.stdout


def train(data: str, arch: str, run: Path, minutes: float, settings: Iterable[str], *options: str) -> dict[str, Any]:
    """Train with one thread, unless the run is there already, and return what its manifest says.

    Args:
        data: as on the command line.
        arch: the architecture.
        run: folder of the run.
        minutes: the budget; the number of steps is fixed by it before training begins.
        settings: `key=value` each.
        options: further options of `seqline train`.
    """
    if not (run / "manifest.json").exists():
        sets = [f"--set={setting}" for setting in settings]
        seqline("train", data, "--arch", arch, "--out", str(run), *options, "--threads", "1",
                "--max-minutes", f"{minutes:g}", *sets)  # fmt: skip
    return json.loads(seqline("info", str(run), "--json"))


def evaluate(run: Path, data: str, *options: str) -> dict[str, Any]:
    """Score a run with one thread."""
    return json.loads(seqline("evaluate", str(run), data, "--json", "--threads", "1", *options))


def side_by_side(function: Callable[[Item], Result], items: Iterable[Item], jobs: int) -> list[Result]:
    """Apply a function that waits for commands, `jobs` at a time; results in the order of the items."""
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        return list(pool.map(function, items))


def markdown(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a table; the first column is text, the others are numbers."""
    head = ["| " + " | ".join(columns) + " |", "| --- |" + " ---: |" * (len(columns) - 1)]
    return [*head, *("| " + " | ".join(row) + " |" for row in rows)]


def chosen(names: str | None, known: Sequence[str]) -> list[str]:
    """Return the names of an `a,b` option, all that are known where it is not given."""
    wanted = names.split(",") if names else list(known)
    if unknown := [name for name in wanted if name not in known]:
        raise SystemExit(f"unknown: {', '.join(unknown)}; choose of {', '.join(known)}")
    return wanted
