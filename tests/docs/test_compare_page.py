"""docs/howto/compare.md: its options are those of the command, its files are those that are written."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import typer.main

from seqline.cli import app
from seqline.comparing.budget import parse_budget
from seqline.comparing.compare import PAGE as REPORT
from seqline.comparing.compare import RESULTS, TABLE
from seqline.comparing.measuring import SCORES
from seqline.comparing.plan import CONFIGS, LOGS, PLAN, RUNS
from seqline.comparing.sets import FOLDER

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "compare.md").read_text(encoding="utf-8")
COMPARE = typer.main.get_command(app).commands["compare"]  # type: ignore[attr-defined]


def test_every_option_that_is_named_exists() -> None:
    known = {name for parameter in COMPARE.params for name in parameter.opts}
    commands = [line for line in PAGE.splitlines() if line.startswith("seqline compare")]
    assert len(commands) == 1
    assert {word for word in shlex.split(commands[0]) if word.startswith("--")} <= known
    assert set(re.findall(r"`(--[a-z-]+)", PAGE)) - {"--max-minutes"} <= known


def test_every_budget_that_is_named_can_be_given() -> None:
    rows = PAGE.split("| `--budget` |")[1].split("\n\n")[0]
    found = re.findall(r"`([0-9][^`]*)`", rows)
    assert {parse_budget(text).kind for text in found} == {"time", "steps", "tokens"}


def test_every_file_of_the_folder_is_told() -> None:
    rows = PAGE.split("| file in DIR |")[1].split("\n\n")[0]
    named = {
        name.split("/")[0] for name in re.findall(r"`([^`]*)`", " ".join(re.findall(r"^\| (`[^|]*) \|", rows, re.M)))
    }
    assert named == {REPORT, TABLE, RESULTS, RUNS, CONFIGS, LOGS, SCORES, FOLDER, PLAN}
