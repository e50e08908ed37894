"""Planted bugs: a test that cannot fail is worth nothing, so each bug of the table must make the tests named beside it fail."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import seqline

from .mutation import Mutation
from .mutations import LAST_NUMBER, MUTATIONS, NOT_YET

ROOT = Path(__file__).parents[2]
SOURCE = Path(seqline.__file__).parent
Job = Outcome = dict[str, Any]
every_mutation = pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)


@every_mutation
def test_a_mutation_fits_the_source(mutation: Mutation) -> None:
    text = (SOURCE / mutation.file).read_text(encoding="utf-8")
    assert text.count(mutation.old) == 1, (
        f"stale: {mutation.old!r} stands {text.count(mutation.old)} times in {mutation.file}"
    )
    assert mutation.new != mutation.old
    compile(text.replace(mutation.old, mutation.new), mutation.file, "exec")
    for test in mutation.tests:
        path, _, name = test.partition("::")
        assert f"def {name.partition('[')[0]}(" in (ROOT / path).read_text(encoding="utf-8"), test


def test_every_number_is_planted_or_has_a_reason() -> None:
    numbers = {int(match[0]) for mutation in MUTATIONS if (match := re.match(r"\d+", mutation.name))}
    assert numbers.isdisjoint(NOT_YET)
    assert numbers | NOT_YET.keys() == set(range(1, LAST_NUMBER + 1))
    names = [mutation.name for mutation in MUTATIONS]
    assert len(set(names)) == len(names)
    assert all(mutation.laws and mutation.tests for mutation in MUTATIONS)


@pytest.mark.slow
def test_an_error_is_no_kill(tmp_path: Path) -> None:
    package = tmp_path / "source" / "seqline"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "it.py").write_text("def f(x):\n    return x\n")
    (tmp_path / "test_it.py").write_text(
        "import pytest\nfrom seqline.it import f\n\n"
        "def test_value():\n    assert f(0) == 0\n\n"
        "def test_refusal():\n    with pytest.raises(TypeError):\n        f('a') + 1\n"
    )
    bodies = {
        "wrong": "return x + 1",
        "silent": "return 0",
        "broken": "return x.y",
        "none": "assert 0",
        "absent": "retrun x",
    }
    jobs: list[Job] = [{"name": "right", "edit": None, "tests": ["test_it.py::test_*"]}]
    for name, body in bodies.items():
        edit = {"file": "it.py", "old": "return x", "new": body}
        jobs.append({"name": name, "edit": edit, "tests": ["test_it.py::test_value", "test_it.py::test_refusal"]})
    found = {name: verdict(outcome) for name, outcome in run(tmp_path, jobs, cwd=tmp_path).items()}
    assert [found[name] for name in ("right", "wrong", "silent")] == ["survived", "killed", "killed"]
    for name, error in (("broken", "AttributeError"), ("none", "AssertionError"), ("absent", "SyntaxError")):
        assert found[name].startswith("no assertion: ")
        assert error in found[name]


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_every_bug_is_noticed(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    began = time.monotonic()
    shutil.copytree(SOURCE, tmp_path / "source" / "seqline", ignore=shutil.ignore_patterns("__pycache__"))
    files = sorted({test.partition("::")[0] for mutation in MUTATIONS for test in mutation.tests})
    jobs: list[Job] = []
    for half in (files[::2], files[1::2]):
        tests = sorted({t for mutation in MUTATIONS for t in mutation.tests if t.partition("::")[0] in half})
        jobs.append({"name": f"unchanged-{len(jobs)}", "edit": None, "tests": tests})
    for number, mutation in enumerate(MUTATIONS):
        edit = {"file": mutation.file, "old": mutation.old, "new": mutation.new}
        jobs.append({"name": f"{number:03d}", "edit": edit, "tests": mutation.tests})
    outcomes = run(tmp_path, jobs)
    unchanged = [outcomes.pop(job["name"]) for job in jobs[:2]]
    for outcome in unchanged:
        assert outcome is not None
        assert outcome["is_copy"]
        assert not outcome["unmatched"], outcome["unmatched"]
        assert outcome["failure"] is None, outcome["failure"]
    verdicts = {m.name: verdict(outcome) for m, outcome in zip(MUTATIONS, outcomes.values(), strict=True)}
    text = report(verdicts, time.monotonic() - began)
    print(text)
    record_property("summary", text)
    assert all(found == "killed" for found in verdicts.values()), text


def report(verdicts: dict[str, str], seconds: float) -> str:
    """Say how many bugs were noticed, by which laws, which were not, and how long it took."""
    killed = [mutation for mutation in MUTATIONS if verdicts[mutation.name] == "killed"]
    laws = Counter(law for mutation in killed for law in mutation.laws.split())
    lines = [f"planted bugs: killed {len(killed)}/{len(MUTATIONS)} in {seconds:.0f} s; {len(NOT_YET)} numbers not yet"]
    lines.append("by law: " + ", ".join(f"{law} {count}" for law, count in laws.most_common()))
    lines += [f"NOT NOTICED {m.name}: {m.what} ({verdicts[m.name]})" for m in MUTATIONS if m not in killed]
    return "\n".join(lines)


def run(folder: Path, jobs: list[Job], cwd: Path = ROOT) -> dict[str, Outcome | None]:
    """Run the jobs; an outcome is None where a process ended without one."""
    (folder / "jobs.json").write_text(json.dumps(jobs), encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    subprocess.run(
        [sys.executable, str(Path(__file__).with_name("runner.py")), str(folder)],
        cwd=cwd,
        env={**environment, "OMP_NUM_THREADS": "1"},
        check=True,
    )
    outcomes = {job["name"]: folder / f"{job['name']}.json" for job in jobs}
    return {name: json.loads(path.read_text()) if path.exists() else None for name, path in outcomes.items()}


def verdict(outcome: Outcome | None) -> str:
    """Say how a run ended: killed, survived, or why it says nothing."""
    if outcome is None:
        return "no outcome"
    failure = outcome["failure"]
    if failure is None:
        return "survived" if outcome["num_passed"] else "no test ran"
    if not failure["is_assertion"]:
        return f"no assertion: {failure['error']} in {failure['test']}"
    return "killed" if outcome["is_copy"] else "other sources were imported"
