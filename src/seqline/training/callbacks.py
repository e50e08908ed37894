"""What watches a run from outside: the progress line, the metrics log, and the signals that ask it to stop.

A callback only looks; nothing it does changes the training.
"""

from __future__ import annotations

import json
import math
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from seqline import files
from seqline.training.reports import EndReport, StartReport, StepReport, ValidationReport

SECONDS_BETWEEN_LINES = 30.0
SECONDS_BETWEEN_DRAWINGS = 0.25
SMOOTHING = 0.95  # of the shown loss and speed, a step


class MetricsLog:
    """Writes `metrics.jsonl`: one JSON object a line and event, `event` = step, validation or end.

    A new run starts the file anew. A resumed run drops the lines of what it is about to do again, so that the file
    reads as if there had been no interruption.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def on_start(self, report: StartReport) -> None:
        """Keep the lines of steps and validations already done."""
        kept = [line for line in self._lines() if report.step > 0 and _is_done(line, report)]
        files.write_text(self.path, "".join(f"{line}\n" for line in kept))

    def on_step(self, report: StepReport) -> None:
        """Write the line of a step."""
        self._write(
            event="step",
            step=report.step,
            epoch=report.epoch,
            loss=report.loss,
            nats_per_token=report.nats_per_token,
            learning_rate=report.learning_rate,
            gradient_norm=report.gradient_norm,
            num_tokens=report.num_tokens,
            target_tokens_per_second=round(report.num_tokens / max(report.step_seconds, 1e-9), 1),
            seconds=round(report.seconds, 3),
        )

    def on_validation(self, report: ValidationReport) -> None:
        """Write the line of a validation."""
        self._write(
            event="validation",
            step=report.step,
            weights=report.kind,
            nats_per_token=_number(report.validation.loss),
            scores={name: _number(score) for name, score in report.validation.scores.items()},
            score=_number(report.validation.score),
            is_best=report.is_best,
            seconds=round(report.seconds, 3),
        )

    def on_end(self, report: EndReport) -> None:
        """Write the last line."""
        self._write(
            event="end", step=report.step, reason=report.reason, best=report.best, seconds=round(report.seconds, 3)
        )

    def _write(self, **values: Any) -> None:
        files.append_line(self.path, json.dumps(values, allow_nan=False))

    def _lines(self) -> list[str]:
        if not self.path.exists():
            return []
        return files.read_bytes(self.path).decode("utf-8", errors="replace").split("\n")


class ProgressLine:
    """Shows loss, speed and time left on stderr: a line that moves on a terminal, else a plain line now and then."""

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._bar: Progress | None = None
        self._drawn = 0.0
        self._max_steps = 0
        self._unit = ""
        self._loss = self._tokens = self._seconds = self._weight = 0.0  # decaying sums, each divided by another once

    def on_start(self, report: StartReport) -> None:
        """Print the notes, and draw the line on a terminal."""
        self._max_steps, self._unit, self._drawn = report.max_steps, report.loss_unit, self._clock()
        for note in report.notes:
            self._print(note)
        if self._stream.isatty() and report.step < report.max_steps:
            console = Console(file=self._stream)
            self._bar = Progress(
                TextColumn("step {task.completed:,.0f}/{task.total:,.0f}"),
                BarColumn(bar_width=20),
                TextColumn("{task.description}"),
                console=console,
                auto_refresh=False,
                transient=True,
            )
            self._bar.add_task("", total=report.max_steps, completed=report.step)
            self._bar.start()

    def on_step(self, report: StepReport) -> None:
        """Draw anew, four times a second at most; print twice a minute where there is no terminal."""
        self._loss = SMOOTHING * self._loss + report.nats_per_token
        self._weight = SMOOTHING * self._weight + 1.0
        self._tokens = SMOOTHING * self._tokens + report.num_tokens
        self._seconds = SMOOTHING * self._seconds + report.step_seconds
        now = self._clock()
        if now - self._drawn < (SECONDS_BETWEEN_DRAWINGS if self._bar else SECONDS_BETWEEN_LINES):
            return
        self._drawn = now
        left = (self._max_steps - report.step) * self._seconds / self._weight
        text = (
            f"{self._loss / self._weight:.3f} {self._unit}, "
            f"{self._tokens / max(self._seconds, 1e-9):,.0f} {self._unit.rpartition('/')[2]}s/s, {_duration(left)} left"
        )
        if self._bar:
            self._bar.update(self._bar.task_ids[0], completed=report.step, description=text, refresh=True)
        else:
            self._print(f"step {report.step:,}/{self._max_steps:,}: {text}")

    def on_validation(self, report: ValidationReport) -> None:
        """Print what was found."""
        scores = "".join(f", {name} {score:.2f}" for name, score in report.validation.scores.items())
        best = " (best so far)" if report.is_best else ""
        name = "averaged weights" if report.kind == "averaged" else "valid"
        self._print(f"step {report.step:,} {name}: {report.validation.loss:.3f} {self._unit}{scores}{best}")

    def on_end(self, report: EndReport) -> None:
        """Remove the moving line and say why the run ended."""
        if self._bar:
            self._bar.stop()
            self._bar = None
        best = f"; best weights: {report.best}" if report.best else ""
        self._print(f"{report.reason} at step {report.step:,} after {_duration(report.seconds)}{best}")

    def _print(self, text: str) -> None:
        if self._bar:
            self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            print(text, file=self._stream, flush=True)


@contextmanager
def stop_on_signals() -> Iterator[Callable[[], str | None]]:
    """Turn the first SIGINT or SIGTERM into an answer; a second raises KeyboardInterrupt at once.

    The handlers that were there are put back afterwards. Outside the main thread nothing is installed.

    Yields:
        A function that says "interrupted" after SIGINT, "terminated" after SIGTERM, else None.
    """
    reasons: list[str] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return

    def take(number: int, _frame: FrameType | None) -> None:
        if reasons:
            raise KeyboardInterrupt
        reasons.append("interrupted" if number == signal.SIGINT else "terminated")

    before = {number: signal.signal(number, take) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: reasons[0] if reasons else None
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _is_done(line: str, report: StartReport) -> bool:
    try:
        values = json.loads(line)
        limit = {"step": report.step, "validation": report.validated_step}.get(values["event"], 0)
        return 0 < values["step"] <= limit
    except (ValueError, KeyError, TypeError):
        return False  # half a line of a killed process, or an end that was none


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
