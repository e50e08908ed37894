"""docs/howto/evaluate.md: its options and metrics are those of the command, and its commands parse."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import typer.main

from seqline.cli import app
from seqline.evaluation.metrics import METRICS
from seqline.judging.judge import ALWAYS, DISTINCT

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "evaluate.md").read_text(encoding="utf-8")
EVALUATE = typer.main.get_command(app).commands["evaluate"]  # type: ignore[attr-defined]


def test_every_option_that_is_named_exists() -> None:
    known = {name for parameter in EVALUATE.params for name in parameter.opts}
    commands = [line for line in PAGE.splitlines() if line.startswith("seqline evaluate")]
    assert len(commands) == 2
    for command in commands:
        assert {word for word in shlex.split(command) if word.startswith("--")} <= known
    assert set(re.findall(r"`(--[a-z-]+)", PAGE)) <= known


def test_every_metric_has_its_formula() -> None:
    rows = re.findall(r"^\| ([^|]*) \|", PAGE.split("## What each number means")[1], flags=re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert named == {*METRICS, DISTINCT} - set(ALWAYS)
