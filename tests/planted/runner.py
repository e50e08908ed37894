"""Run pytest on changed copies of the package, each run in a fork of one process, and say how each ended.

A process of its own, without threads: it imports the libraries once, and forks a child for every job, two at a time. A child
puts its copy of the sources first on the path, so that a changed file is imported like any other. What a test fails by is
read from the exception itself: an assertion of the suite counts, an error in the package does not.

    python tests/planted/runner.py FOLDER        reads FOLDER/jobs.json, writes FOLDER/NAME.json and FOLDER/NAME.log a job
"""

from __future__ import annotations

import compileall
import fnmatch
import importlib
import importlib.util
import json
import os
import shutil
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

AT_ONCE = 2
# The checks of shapes and types are left out: what they notice is an error of types, and no law was asked.
OPTIONS = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--no-header", "--timeout", "300"]
OPTIONS += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # plugins are imported before pytest looks at them
ADDOPTS = "addopts=--strict-markers --strict-config --import-mode=importlib"


class Outcome:
    """A pytest plugin: keeps the tests that match a pattern, and notes the first failure and which sources ran.

    Args:
        patterns: node ids, `*` for anything.
        source: the folder that the package must come from.
    """

    def __init__(self, patterns: Sequence[str], source: Path) -> None:
        self.patterns, self.source = patterns, source
        self.unmatched: list[str] = []
        self.num_passed = 0
        self.failure: dict[str, Any] | None = None

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Keep what matches."""
        names = [item.nodeid for item in items]
        wanted = {name for pattern in self.patterns for name in names if matches(name, pattern)}
        self.unmatched = [p for p in self.patterns if not any(matches(name, p) for name in names)]
        items[:] = [item for item in items if item.nodeid in wanted]

    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        """Note how a phase of a test ended; pytest makes its own report too."""
        if call.excinfo is None:
            self.num_passed += call.when == "call"
        elif not isinstance(call.excinfo.value, pytest.skip.Exception) and self.failure is None:
            message = str(call.excinfo.value).split("\n", 1)[0][:200]
            is_ours = call.when == "call" and is_assertion(call.excinfo.value)
            is_ours = is_ours and not Path(call.excinfo.traceback[-1].path).is_relative_to(self.source)
            kind = type(call.excinfo.value).__name__
            self.failure = {"test": item.nodeid, "is_assertion": is_ours, "error": f"{kind}: {message}"}

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note a test file that cannot be imported."""
        if report.failed and self.failure is None:
            self.failure = {"test": report.nodeid, "is_assertion": False, "error": str(report.longrepr)[-200:]}

    def as_json(self) -> dict[str, Any]:
        """Return what was noted."""
        homes = [module.__file__ for name, module in sys.modules.items() if name.split(".")[0] == "seqline"]
        is_copy = bool(homes) and all(home and Path(home).is_relative_to(self.source) for home in homes)
        return {
            "num_passed": self.num_passed,
            "failure": self.failure,
            "unmatched": self.unmatched,
            "is_copy": is_copy,
        }


def matches(name: str, pattern: str) -> bool:
    """Tell whether a node id fits a pattern; brackets are brackets, and a test's name alone stands for all its parameters."""
    plain = pattern.replace("[", "[[]")
    return fnmatch.fnmatchcase(name, plain) or fnmatch.fnmatchcase(name, f"{plain}[[]*")


def is_assertion(error: BaseException) -> bool:
    """Tell whether a test failed by what it asserts."""
    if isinstance(error, BaseExceptionGroup):
        return all(map(is_assertion, error.exceptions))
    is_silence = isinstance(error, pytest.fail.Exception) and "DID NOT RAISE" in str(error)
    return isinstance(error, AssertionError) or is_silence


def copy_of(source: Path, folder: Path, edit: dict[str, str] | None) -> Path:
    """Copy the sources, with one text of one file replaced; its compiled form is not copied."""
    copy = Path(shutil.copytree(source, folder))
    if edit is not None:
        path = copy / "seqline" / edit["file"]
        text = path.read_text(encoding="utf-8")
        assert text.count(edit["old"]) == 1, f"stale: {edit['old']!r} in {edit['file']}"
        path.write_text(text.replace(edit["old"], edit["new"]), encoding="utf-8")
        Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)
    return copy


def run_job(job: dict[str, Any], source: Path, folder: Path) -> None:
    """Run a job's tests in this process, which is its own."""
    log = os.open(folder / f"{job['name']}.log", os.O_WRONLY | os.O_CREAT)
    for stream in (1, 2):
        os.dup2(log, stream)
    sys.path.insert(0, str(source))
    os.environ["PYTHONPATH"] = str(source)  # for the processes that tests start
    outcome = Outcome(job["tests"], source)
    files = list(dict.fromkeys(pattern.partition("::")[0] for pattern in job["tests"]))
    basetemp = folder / f"{job['name']}.tmp"
    pytest.main([*OPTIONS, "-o", ADDOPTS, "--basetemp", str(basetemp), *files], plugins=[outcome])
    shutil.rmtree(basetemp, ignore_errors=True)
    (folder / f"{job['name']}.json").write_text(json.dumps(outcome.as_json()), encoding="utf-8")


def run_all(folder: Path) -> None:
    """Run every job of a folder, on the sources as they are where it has no edit, else on a changed copy."""
    waiting = json.loads((folder / "jobs.json").read_text(encoding="utf-8"))
    source, running = folder / "source", dict[int, tuple[dict[str, Any], Path]]()
    compileall.compile_dir(source, quiet=2)  # once, and not in every copy
    while waiting or running:
        if waiting and len(running) < AT_ONCE:
            job = waiting.pop(0)
            copy = copy_of(source, folder / f"{job['name']}.src", job["edit"]) if job["edit"] else source
            running[start(job, copy, folder)] = job, copy
        else:
            job, copy = running.pop(os.wait()[0])
            if job["edit"]:
                shutil.rmtree(copy)


def start(job: dict[str, Any], source: Path, folder: Path) -> int:
    """Run a job in a fork and return its number."""
    pid = os.fork()
    if pid == 0:
        try:
            run_job(job, source, folder)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(0)
    return pid


def import_libraries() -> None:
    """Import what every child would import; of the package itself nothing."""
    for name in ("hypothesis", "numpy", "pydantic", "rich.progress", "sacrebleu.metrics", "safetensors.torch"):
        importlib.import_module(name)
    for name in ("sentencepiece", "torch", "jaxtyping", "beartype", "typer", "tomli_w"):
        importlib.import_module(name)


if __name__ == "__main__":
    import_libraries()
    run_all(Path(sys.argv[1]).resolve())
