"""`seqline lab`: its options, its refusals and its exit status."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from seqline.lab import session
from seqline.lab.experiment import Experiment, Finding
from seqline.lab.laboratory import Lab

from ..lab.small_lab import experiment, finding
from .conftest import Refused, Seqline


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> list[Lab]:
    """Put made-up experiments in the place of two; return the labs that they were given."""
    labs: list[Lab] = []

    def measure(lab: Lab) -> Finding:
        labs.append(lab)
        return finding(0.5)

    def fail(lab: Lab) -> Finding:
        raise ZeroDivisionError("planted")

    known: dict[str, Experiment] = {
        "heads": experiment("heads", measure=measure),
        "cost": experiment("cost", measure=fail),
    }
    real = session.run
    monkeypatch.setattr(session, "run", lambda names, lab: real(names, lab, known))
    return labs


def test_the_list_names_all_and_needs_no_torch(seqline: Seqline) -> None:
    ended = seqline("lab", "--list")
    assert ended.code == 0
    names = [line.split()[0] for line in ended.lines]
    assert (len(names), names[0], names[-1]) == (17, "vanishing-gradient", "context-in-weights")
    found = json.loads(seqline("lab", "--list", "--json").lines[0])
    assert [each["name"] for each in found["experiments"]] == names
    run = "try: main(['lab', '--list'])\nexcept SystemExit: pass"
    code = f"import sys; from seqline.cli import main\n{run}\nassert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_verdicts_are_printed_and_progress_goes_elsewhere(planted: list[Lab], seqline: Seqline, tmp_path: Path) -> None:
    command = ["lab", "heads", "--out", tmp_path / "out", "--quick", "--seeds", "2", "--jobs", "3", "--threads", "1"]
    ended = seqline(*command)
    assert ended.code == 0, ended.stderr
    assert ended.lines[0] == "heads"
    assert ended.lines[1].split() == ["✓", "held", "the", "value", "is", "0.5"]
    assert ended.lines[-1] == f"the report, for any browser: {tmp_path / 'out' / 'index.html'}"
    assert "heads: measuring (1 of 1)" in ended.stderr
    assert (planted[0].is_quick, len(planted[0].seed_numbers()), planted[0].jobs) == (True, 2, 3)
    ended = seqline(*command, "--json")
    assert "heads: measured before" in ended.stderr
    found = json.loads(ended.lines[0])
    assert found["experiments"][0]["verdicts"][0]["state"] == "held"


def test_a_failure_is_a_row_and_only_failures_are_an_error(
    planted: list[Lab], seqline: Seqline, tmp_path: Path
) -> None:
    ended = seqline("lab", "cost,heads", "--out", tmp_path / "both")
    assert ended.code == 0
    assert "  failed: ZeroDivisionError: planted" in ended.lines
    ended = seqline("lab", "cost", "--out", tmp_path / "bad")
    assert ended.code == 1
    assert "1 of 1 experiments failed" in ended.lines[-3]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["lab"], "NAME"),
        (["lab", "heads"], "--out"),
        (["lab", "haeds", "--out", "new"], "did you mean 'heads'?"),
        (["lab", "heads,", "--out", "."], "holds no lab"),
        (["lab", ",", "--out", "new"], "names no experiment"),
        (["lab", "heads", "--out", "new", "--data", "missing.tsv"], "missing.tsv"),
        (["lab", "heads", "--out", "new", "--jobs", "0"], "--jobs"),
        (["lab", "heads", "--out", "new", "--seeds", "0"], "--seeds"),
        (["lab", "heads", "--out", "new", "--steps", "0"], "--steps"),
        (["lab", "heads", "--out", "new", "--steps", "9"], "--data"),
    ],
)
def test_a_refused_command_creates_nothing(refused: Refused, arguments: list[str], message: str) -> None:
    assert message in refused(*arguments)
