"""The trainings: what is begun, how many at once, what is said, and what a failure does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from seqline.comparing.curves import Point
from seqline.comparing.plan import Plan, Planned
from seqline.comparing.training import Child, Ended, train_all
from seqline.config import Config
from seqline.errors import Stopped, UserError
from seqline.machine import peak_memory


def plan_of(folder: Path, *names: str) -> Plan:
    runs = tuple(Planned(name, "luong", n, Config()) for n, name in enumerate(names, 1))
    return Plan(folder, runs, {"data_sha256": "x", "device": "cpu", "task": "translation"})


class Fake:
    """A training that ends when it is looked at for the second time."""

    active = most = 0
    stopped: list[str]
    answer: dict[str, Any]

    def __init__(self, plan: Plan, run: Planned, is_resumed: bool) -> None:
        self.name, self.looks = run.name, 0
        Fake.active += 1
        Fake.most = max(Fake.most, Fake.active)

    def poll(self) -> Ended | None:
        self.looks += 1
        if self.looks == 2:
            Fake.active -= 1
        return Ended(2, Fake.answer, "one\ntwo\n") if self.looks >= 2 else None

    def stop(self) -> None:
        Fake.stopped.append(self.name)


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    Fake.active, Fake.most, Fake.stopped, Fake.answer = 0, 0, [], {"error": "NaN at step 3", "peak_memory_bytes": 77}
    monkeypatch.setattr("seqline.comparing.training.SECONDS_BETWEEN_LOOKS", 0.0)


def test_so_many_at_once_and_every_failure_is_a_reason(tmp_path: Path) -> None:
    said: list[str] = []
    outcomes = train_all(plan_of(tmp_path, *"abcde"), jobs=2, say=said.append, start=Fake)
    assert Fake.most == 2
    assert [(o.run.name, o.reason, o.peak_memory) for o in outcomes] == [
        (name, "NaN at step 3", 77) for name in "abcde"
    ]
    assert said[0] == "a: begins (1 of 5)"
    assert sum("failed after 0 s: NaN at step 3" in line for line in said) == 5
    assert (tmp_path / "logs" / "a.log").read_text() == "one\ntwo\n"


@pytest.mark.parametrize(
    ("code", "reason"),
    [(-9, "its process was ended by signal 9, as a system does that is out of memory"), (1, "exit status 1: two")],
)
def test_a_process_that_says_nothing_has_a_reason_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, reason: str
) -> None:
    monkeypatch.setattr(Fake, "poll", lambda self: Ended(code, {}, "one\ntwo\n"))
    (outcome,) = train_all(plan_of(tmp_path, "a"), start=Fake)
    assert (outcome.reason, outcome.peak_memory) == (reason, None)


def test_a_signal_ends_what_runs_and_begins_nothing_more(tmp_path: Path) -> None:
    said: list[str] = []
    with pytest.raises(Stopped, match="terminated"):
        train_all(
            plan_of(tmp_path, *"abc"), say=said.append, start=Fake, should_stop=lambda: "terminated" if said else None
        )
    assert said == ["a: begins (1 of 3)", "what was learned is kept; the same command goes on from here"]
    assert Fake.stopped == ["a"]
    assert Fake.active == 0


def test_the_most_memory_is_remembered_over_a_second_try(tmp_path: Path) -> None:
    train_all(plan_of(tmp_path, "a"), start=Fake)
    Fake.answer = {"error": "again", "peak_memory_bytes": 5}
    (outcome,) = train_all(plan_of(tmp_path, "a"), start=Fake)
    assert outcome.peak_memory == 77


def test_a_long_training_says_now_and_then_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seqline.comparing.training.SECONDS_BETWEEN_WORDS", -1.0)
    curve = [Point(20, 3.2, 1.5, "BLEU", 12.345)]
    monkeypatch.setattr("seqline.comparing.training.read_curve", lambda _: curve)
    said: list[str] = []
    train_all(plan_of(tmp_path, "a"), say=said.append, start=Fake)
    assert said[1] == "a: at step 20 after 3 s, BLEU 12.35 (validation)"
    assert len(said) == 3  # each validation once


def test_a_folder_of_another_architecture_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "runs" / "a").mkdir(parents=True)
    (tmp_path / "runs" / "a" / "manifest.json").write_text("{}")
    monkeypatch.setattr("seqline.comparing.training.read_manifest", lambda _: {"architecture": "cho"})
    with pytest.raises(UserError, match="is a run of cho, not of luong"):
        train_all(plan_of(tmp_path, "a"), start=Fake)


def test_peak_memory_is_of_this_process() -> None:
    peak = peak_memory()
    assert peak is None or peak > 10_000_000


@pytest.mark.timeout(300)
def test_a_real_process_says_how_it_ended(tmp_path: Path) -> None:
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "a.toml").write_text('[model]\narchitecture = "luong"\n[data]\ntrain = "nothing.tsv"\n')
    child, ended = Child(plan_of(tmp_path, "a"), plan_of(tmp_path, "a").runs[0], False), None
    assert (tmp_path / "logs" / "a.log").is_file()  # to be read while it goes on
    while ended is None:
        ended = child.poll()
    assert [path.name for path in (tmp_path / "logs").iterdir()] == ["a.log"]
    assert ended.code == 2
    assert ended.answer["error"].startswith("nothing.tsv: no such file")
    peak = ended.answer["peak_memory_bytes"]
    assert peak is None or 50_000_000 < peak < 3_000_000_000
    assert not (tmp_path / "runs").exists()
    json.dumps(ended.answer)
