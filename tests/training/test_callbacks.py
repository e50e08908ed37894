"""Signals, the metrics log and the progress line."""

from __future__ import annotations

import io
import json
import math
import os
import signal
import threading
from pathlib import Path

import pytest

from seqline.training.callbacks import MetricsLog, ProgressLine, stop_on_signals
from seqline.training.progress import Validation
from seqline.training.reports import EndReport, StartReport, StepReport, ValidationReport
from seqline.training.trainer import train

from .tiny import TASK, Recorder, metrics, new_model, settings


@pytest.mark.parametrize(("number", "reason"), [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated")])
def test_a_signal_asks_for_a_stop_and_the_second_breaks_off(tmp_path: Path, number: int, reason: str) -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)

    class Signalled(Recorder):
        def on_step(self, report: StepReport) -> None:
            if report.step == 3:
                os.kill(os.getpid(), number)

    with stop_on_signals() as should_stop:
        result = train(
            new_model(), TASK, settings(), checkpoints=tmp_path, callbacks=[Signalled()], should_stop=should_stop
        )
        assert (result.reason, result.progress.step) == (reason, 3)
        assert (tmp_path / "step-3").is_dir()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_outside_the_main_thread_no_signal_is_taken() -> None:
    answers: list[str | None] = []

    def ask() -> None:
        with stop_on_signals() as should_stop:
            answers.append(should_stop())

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert answers == [None]


def test_the_metrics_log_is_json_lines_of_one_run(tmp_path: Path) -> None:
    path = tmp_path / "run" / "metrics.jsonl"
    for _ in range(2):  # the second run starts the file anew
        train(new_model(), TASK, settings(max_steps=5), callbacks=[MetricsLog(path)])
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["event"] for line in lines] == ["step"] * 5 + ["validation"] * 2 + ["end"]
    assert [line["step"] for line in lines[:5]] == [1, 2, 3, 4, 5]
    wanted = {
        "loss",
        "nats_per_token",
        "learning_rate",
        "gradient_norm",
        "target_tokens_per_second",
        "seconds",
        "epoch",
    }
    assert wanted <= set(lines[0])
    assert lines[-1]["reason"] == "finished"
    log = MetricsLog(path)
    log.on_validation(ValidationReport(1, "current", Validation(math.nan, {"bleu": math.inf}, math.nan), False, 1.0))
    last = json.loads(path.read_text().splitlines()[-1])
    assert (last["nats_per_token"], last["scores"], last["score"]) == (None, {"bleu": None}, None)


@pytest.mark.parametrize(("validated_step", "is_kept"), [(0, False), (5, True)])
def test_a_resumed_log_drops_a_validation_that_is_done_again(
    tmp_path: Path, validated_step: int, is_kept: bool
) -> None:
    log = MetricsLog(tmp_path / "metrics.jsonl")
    train(new_model(), TASK, settings(max_steps=6), callbacks=[log])
    log.on_start(StartReport(5, validated_step, 20, ()))
    events = [(line["event"], line["step"]) for line in metrics(tmp_path)]
    assert events == [("step", step) for step in range(1, 6)] + [("validation", 5)] * (2 * is_kept)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()])
def test_the_progress_line(stream: io.StringIO) -> None:
    now = 0.0
    line = ProgressLine(stream, clock=lambda: now)
    line.on_start(StartReport(0, 0, 1000, ("a [note]",)))
    for step in range(1, 101):
        now += 1.0
        line.on_step(StepReport(step, 1, 2.5, 2.25, 0.1, 1.0, 500, 1.0, now, (1, 2)))
    line.on_validation(ValidationReport(100, "averaged", Validation(2.125, {"bleu": 12.3456}, 12.3), True, now))
    line.on_end(EndReport(100, "interrupted", "averaged at step 100", 4000.0))
    text = stream.getvalue()
    assert "a [note]\n" in text
    series = ProgressLine(other := io.StringIO())
    series.on_start(StartReport(0, 0, 10, (), "loss/value"))
    series.on_validation(ValidationReport(1, "averaged", Validation(2.125, {}, 0.0), False, now))
    assert "2.125 loss/value\n" in other.getvalue()
    assert "step 100 averaged weights: 2.125 nats/token, bleu 12.35 (best so far)\n" in text
    assert "interrupted at step 100 after 1 h 06 min; best weights: averaged at step 100\n" in text
    assert "2.250 nats/token, 500 tokens/s, 15 min 10 s left" in text
    if not stream.isatty():
        assert [row.split(":")[0] for row in text.splitlines()[1:4]] == [f"step {s}/1,000" for s in (30, 60, 90)]
        assert "\x1b" not in text
