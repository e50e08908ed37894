"""A forecasting run handed to a command for text: one line that names the command it is for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seqline.data.series.writing import rows_csv

from ..hand_made_forecasts import daily
from .conftest import Refused, Seqline


@pytest.fixture
def run(seqline: Seqline, tmp_path: Path) -> Path:
    """Return a forecasting run of one step."""
    data = tmp_path / "line.csv"
    data.write_text(rows_csv(daily([float(n % 7) for n in range(60)], "a")), encoding="utf-8")
    sizes = ("--set", "model.embed_size=4", "--set", "model.hidden_size=4")
    command = ["forecast", "train", data, "--arch", "lstm", "--horizon", "3", "--out", tmp_path / "run"]
    outcome = seqline(*command, *sizes, "--set", "training.max_steps=1")
    assert outcome.code == 0, outcome.stderr
    return tmp_path / "run"


def test_commands_for_text_name_the_one_for_series(seqline: Seqline, run: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("one\ttwo\n", encoding="utf-8")
    for command in (
        ["translate", run],
        ["generate", run],
        ["evaluate", run, text],
    ):
        outcome = seqline(*command)
        assert outcome.code == 2, command
        assert "is a run for forecasting" in outcome.stderr
        assert "seqline forecast predict" in outcome.stderr
        assert len(outcome.stderr.strip().splitlines()) == 1


def test_a_studio_of_forecasting_runs_alone_is_refused(seqline: Seqline, run: Path) -> None:
    pytest.importorskip("starlette")
    outcome = seqline("studio", run, "--port", "0")
    assert outcome.code == 2
    assert outcome.stderr.startswith(
        f"error: {run}: is a run for forecasting, and the studio shows runs that read text"
    )
    assert len(outcome.stderr.strip().splitlines()) == 1


def test_a_run_for_series_is_verified(seqline: Seqline, refused: Refused, run: Path, tmp_path: Path) -> None:
    outcome = seqline("verify", run)
    assert (outcome.code, outcome.stderr) == (0, "")
    assert outcome.lines[0] == f"{run}: lstm for forecasting"
    assert {"lookahead", "lengths", "scale"} <= {line.split()[0] for line in outcome.lines[3:]}
    assert outcome.lines[-1] == "all 15 laws hold"
    own = json.loads(seqline("verify", run, tmp_path / "line.csv", "--json").stdout)
    assert own["holds"]
    assert own["sentences"][-1].startswith("a (")
    (tmp_path / "other.csv").write_text("ds,z\n2024-01-04,4\n", encoding="utf-8")
    assert "other.csv: target: no column 'y'" in refused("verify", run, "other.csv")


def test_comparisons_of_forecasters_are_backtests(seqline: Seqline, tmp_path: Path) -> None:
    outcome = seqline(
        "compare", tmp_path / "x.csv", "--archs", "lstm", "--task", "forecasting", "--out", tmp_path / "out"
    )
    assert outcome.code == 2
    assert "seqline forecast backtest" in outcome.stderr
