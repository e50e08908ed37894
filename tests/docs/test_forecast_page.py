"""docs/howto/forecast.md: its options exist, its metrics and baselines are those of the code, and its commands run."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from seqline.cli import app, main
from seqline.forecasting.baselines import BASELINES

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "forecast.md").read_text(encoding="utf-8")
COMMANDS = [
    shlex.split(line)
    for block in re.findall(r"^```sh\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)
    for line in block.splitlines()
]
EVERY = typer.main.get_command(app).commands  # type: ignore[attr-defined]
FORECAST = EVERY["forecast"]


def known(command: object) -> set[str]:
    return {name for parameter in command.params for name in parameter.opts}  # type: ignore[attr-defined]


def test_every_option_that_is_named_exists() -> None:
    every = known(EVERY["explain"]).union(*(known(command) for command in FORECAST.commands.values()))
    assert set(re.findall(r"`(--[a-z-]+)", PAGE)) - {"--list"} <= every
    assert [words[:3] for words in COMMANDS] == [
        ["seqline", "data", "series"],
        ["seqline", "forecast", "train"],
        ["seqline", "forecast", "predict"],
        ["seqline", "forecast", "backtest"],
        *[["seqline", "explain", "weather"]] * 2,
        *[["seqline", "forecast", "backtest"]] * 2,
    ]
    for words in COMMANDS[1:]:
        command = FORECAST.commands[words[2]] if words[1] == "forecast" else EVERY[words[1]]
        assert {word for word in words if word.startswith("--")} <= known(command)


def test_every_baseline_is_told() -> None:
    rows = PAGE.split("| baseline |")[1].split("\n\n")[0]
    assert re.findall(r"^\| ([a-z][a-z ]*) \|", rows, flags=re.MULTILINE) == list(BASELINES)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words[1:])
    assert ended.value.code == 0, words


@pytest.mark.slow
def test_its_commands_run(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for words in COMMANDS:
        if words[1] == "data":  # a shorter series,
            words = [*words, "--length", "150"]
        if "--max-minutes" in words:  # and a few steps in place of the time
            at = words.index("--max-minutes")
            words = [*words[:at], "--set", "training.max_steps=3", *words[at + 2 :]]
        run(words)
    rows = (place / "next.csv").read_text(encoding="utf-8").splitlines()
    assert rows[0] == "unique_id,ds,y,y_q0.1,y_q0.9"
    assert len(rows) == 8
    assert 'data-view="series"' in (place / "next.html").read_text(encoding="utf-8")
    assert (place / "lag.png").exists()
    assert (place / "runs" / "lstm" / "weights.safetensors").exists()
    printed = capfd.readouterr().out
    for name in BASELINES:
        assert printed.count(f"\n{name} ") == 3
    assert len(re.findall(r"^(lstm|gru) (beats every baseline|loses to|is no better than)", printed, re.MULTILINE)) == 4


@pytest.mark.slow
def test_the_example_runs(place: Path) -> None:
    script = Path(__file__).parents[2] / "examples" / "forecast_generated.py"
    done = subprocess.run(
        [sys.executable, str(script), str(place), "0.02"], check=False, capture_output=True, text=True, timeout=110
    )
    assert done.returncode == 0, done.stderr
    assert "lstm" in done.stdout
    assert (place / "next.csv").read_text(encoding="utf-8").startswith("unique_id,ds,y,y_q0.1,y_q0.9\n")
    assert (place / "next.svg").exists()
