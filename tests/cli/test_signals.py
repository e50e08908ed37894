"""Ctrl-C and SIGTERM end a training with what it has learnt, and it goes on from there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from seqline.run_folder import load_run
from seqline.training.callbacks import ProgressLine
from seqline.training.reports import StepReport

from ..small_run import quick_run, settings, weights, write_letters
from .conftest import Seqline

ENDS = [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]


@pytest.mark.parametrize(("number", "code", "reason"), ENDS)
def test_a_signal_between_steps_saves_and_a_resume_is_exact(
    seqline: Seqline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: int, reason: str
) -> None:
    data, run = write_letters(tmp_path / "data"), tmp_path / "run"
    seen = ProgressLine.on_step

    def signal_at_5(self: ProgressLine, report: StepReport) -> None:
        seen(self, report)
        if report.step == 5:
            os.kill(os.getpid(), number)

    monkeypatch.setattr(ProgressLine, "on_step", signal_at_5)
    command = ("train", data, "--out", run, *(f"--set={setting}" for setting in settings()))
    before = signal.getsignal(signal.SIGINT)
    ended = seqline(*command)
    assert ended.code == code
    assert f"{reason} at step 5" in ended.stderr
    assert signal.getsignal(signal.SIGINT) is before
    assert load_run(run).manifest["ended"] == reason
    assert load_run(run).manifest["steps"] == 5
    monkeypatch.undo()
    assert seqline(*command, "--resume").code == 0
    assert weights(run) == weights(quick_run(data, tmp_path / "whole").folder)


def test_ctrl_c_from_outside(seqline: Seqline, tmp_path: Path) -> None:
    data, run = write_letters(tmp_path / "data"), tmp_path / "run"
    more = (
        "training.max_steps=1000000",
        "training.validate_every=1000000",
        "training.checkpoint_every=1000000",
        "training.warmup_steps=0",
    )
    arguments = ["train", str(data), "--out", str(run), *(f"--set={s}" for s in settings(*more)), "--threads=1"]
    process = subprocess.Popen(
        [sys.executable, "-m", "seqline", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    metrics = run / "metrics.jsonl"
    while process.poll() is None and not (metrics.exists() and metrics.read_bytes().count(b"\n") >= 5):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=100)
    assert process.returncode == 130
    assert b"interrupted at step " in err
    assert b"Traceback" not in err
    assert out.startswith(str(run).encode())
    steps = load_run(run).manifest["steps"]
    assert steps >= 5
    ended = seqline("train", data, "--out", run, "--resume", "--set", f"training.max_steps={steps + 3}")
    assert ended.code == 0
    assert load_run(run).manifest["steps"] == steps + 3
    assert load_run(run).manifest["ended"] == "finished"
