"""`seqline forecast predict` and `backtest` with a hand-made model: rows out, plots, and one line for every refusal."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from seqline.data.series.writing import rows_csv
from seqline.forecasting.baselines import BASELINES
from seqline.predictor import Predictor

from ..hand_made_forecasts import HandMade, daily
from .conftest import Refused, Seqline


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a run, which loads as a hand-made model."""
    (tmp_path / "run").mkdir()
    monkeypatch.setattr(Predictor, "load", lambda folder, device="cpu": HandMade(1.0))
    return tmp_path / "run"


@pytest.fixture
def line(tmp_path: Path) -> Path:
    """Return a file with two series of 0, 1, 2, ..., 29."""
    path = tmp_path / "line.csv"
    path.write_text(rows_csv(daily([float(n) for n in range(30)], "ab")), encoding="utf-8")
    return path


def test_rows_on_stdout_and_nothing_else(seqline: Seqline, run: Path, line: Path) -> None:
    outcome = seqline("forecast", "predict", run, line, "--quantiles", "0.9,0.1")
    assert outcome.code == 0
    assert outcome.lines[0] == "unique_id,ds,y,y_q0.1,y_q0.9"
    assert outcome.lines[1] == "a,2024-01-31,30.0,29.2,30.8"
    assert len(outcome.lines) == 1 + 2 * 3
    assert "2 series" in outcome.stderr


def test_one_point_from_standard_input_is_enough(seqline: Seqline, run: Path) -> None:
    outcome = seqline("forecast", "predict", run, "-", "--horizon", "2", stdin=b"ds,y\n2024-02-28,5\n")
    assert outcome.lines == ["ds,y", "2024-02-29,6.0", "2024-03-01,6.0"]


def test_json_and_files(seqline: Seqline, run: Path, line: Path, tmp_path: Path) -> None:
    for how in (["--format", "json"], ["--json"]):
        found = json.loads(seqline("forecast", "predict", run, line, *how).stdout)
        assert [one["id"] for one in found["series"]] == ["a", "b"]
    plain = seqline("forecast", "predict", run, line).stdout
    outcome = seqline("forecast", "predict", run, line, "--out", tmp_path / "out.csv", "--plot", tmp_path / "out.svg")
    assert outcome.stdout == b""
    assert (tmp_path / "out.csv").read_bytes() == plain
    assert "10–90 %" in (tmp_path / "out.svg").read_text(encoding="utf-8")


def test_steps_beyond_the_training_are_said_and_marked(seqline: Seqline, run: Path, line: Path) -> None:
    outcome = seqline("forecast", "predict", run, line, "--horizon", "5")
    assert "the last 2 steps lie beyond the 3 that the model was trained for" in outcome.stderr
    assert [row["beyond_training"] for row in csv.DictReader(io.StringIO(outcome.stdout.decode()))][:5] == list("00011")


def test_rules_for_the_history(seqline: Seqline, refused: Refused, run: Path, tmp_path: Path) -> None:
    (tmp_path / "odd.csv").write_text("ds,y\n2024-01-04,4\n2024-01-01,1\n2024-01-02,2\n", encoding="utf-8")
    assert "odd.csv:3" in refused("forecast", "predict", run, "odd.csv")
    outcome = seqline("forecast", "predict", run, "odd.csv", "--sort", "--fill", "--missing", "interpolate")
    assert (outcome.code, outcome.lines[1]) == (0, "2024-01-05,5.0")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--quantiles", "0.1,x"], "--quantiles: expected numbers between 0 and 1"),
        (
            ["--quantiles", "0.1,1.5"],
            "--quantiles: expected different numbers between 0 and 1, of six digits, got 0.1, 1.5",
        ),
        (["--quantiles", ""], "--quantiles: expected numbers between 0 and 1"),
        (["--zone", ""], "--zone: expected a value, got nothing"),
        (["--format", "csv", "--json"], "--json: is not --format csv"),
        (["--plot", "out.csv"], "out.csv: "),
        (["--quantiles", "0.1,0.1"], "--quantiles: expected different numbers"),
        (["--horizon", "6"], "--horizon: expected 5 steps at most, got 6"),
        (["--horizon", "0"], "--horizon"),
        (["--plot", "a.jpg"], "a.jpg: cannot draw 'jpg' files"),
        (["--missing", "guess"], "--missing"),
        (["--format", "xml"], "--format"),
        (["--device", "nowhere"], "--device"),
        (["--zone", "Mars/Olympus"], "--zone"),
    ],
)
def test_predict_refuses(refused: Refused, run: Path, line: Path, arguments: list[str], said: str) -> None:
    assert said in refused("forecast", "predict", run, line, "--out", "out.csv", *arguments)


def test_what_is_read_is_never_written_over(refused: Refused, run: Path, line: Path) -> None:
    before = {path: path.read_bytes() for path in [line, *run.iterdir()]}
    for arguments in (["--out", line], ["--out", run / "weights.csv"], ["--out", "x.csv", "--plot", run / "x.svg"]):
        assert "would be written over what is read" in refused("forecast", "predict", run, line, *arguments)
    same = ["--out", "x.html", "--format", "csv", "--plot", "x.html"]
    assert "x.html: would be written over what is read" in refused("forecast", "predict", run, line, *same)
    assert {path: path.read_bytes() for path in [line, *run.iterdir()]} == before


def test_a_file_is_what_its_name_says(
    seqline: Seqline, refused: Refused, run: Path, line: Path, tmp_path: Path
) -> None:
    assert seqline("forecast", "predict", run, line, "--out", "x.json").code == 0
    assert json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))["horizon"] == 3
    assert "--out: expected a name that ends in .csv or .json" in refused(
        "forecast", "predict", run, line, "--out", "x.parquet"
    )
    assert seqline("forecast", "predict", run, line, "--out", "rows", "--format", "csv").code == 0


def test_errors_speak_of_options(refused: Refused, run: Path, tmp_path: Path) -> None:
    (tmp_path / "odd.csv").write_text("ds,y\n2024-01-04,4\n2024-01-01,1\n2024-01-02,2\n", encoding="utf-8")
    assert "sort the rows, or ask for --sort" in refused("forecast", "predict", run, "odd.csv")
    (tmp_path / "gap.csv").write_text("ds,y\n2024-01-01,4\n2024-01-02,2\n2024-01-04,1\n", encoding="utf-8")
    assert "ask for --fill and say with --missing what" in refused("forecast", "predict", run, "gap.csv")
    said = refused("forecast", "predict", run, "gap.csv", "--fill")
    assert "gap.csv:4: 2024-01-03, column 'y': a missing value" in said
    (tmp_path / "one.csv").write_text("ds,y\n2024-01-01,4\n", encoding="utf-8")
    said = refused("forecast", "train", "one.csv", "--frequency", "1d", "--horizon", "1", "--out", "new")
    assert (
        "a history and 1 step, which needs 2 points: the only one (1); leave it out with --skip-short, or lower" in said
    )


def test_columns_are_matched_by_name(refused: Refused, run: Path, tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("ds,z\n2024-01-04,4\n", encoding="utf-8")
    assert "other.csv: target: no column 'y'" in refused("forecast", "predict", run, "other.csv")
    assert "nothing.csv: no such file" in refused("forecast", "predict", run, "nothing.csv")


def test_backtest_prints_every_baseline_beside_the_model(seqline: Seqline, run: Path, line: Path) -> None:
    outcome = seqline("forecast", "backtest", run, line, "--windows", "2")
    assert outcome.code == 0
    assert outcome.lines[0].startswith(
        "y: the last 2 windows of each of 2 series, 3 points apart, 3 steps of 1 day each"
    )
    names = [row.split("  ")[0] for row in outcome.lines[3 : 4 + len(BASELINES)]]
    assert set(names) == {"lstm", *BASELINES}
    assert outcome.lines[2].split()[:5] == ["MAE", "RMSE", "sMAPE", "MASE", "CRPS"]
    assert outcome.lines[-1].startswith("lstm loses to drift")
    assert outcome.stderr == ""


def test_backtest_as_json(seqline: Seqline, run: Path, line: Path) -> None:
    found = json.loads(
        seqline("forecast", "backtest", run, line, "--windows", "2", "--step", "1", "--horizon", "1", "--json").stdout
    )
    assert (found["windows"], found["step"], found["horizon"], found["season"]) == (2, 1, 1, 7)
    assert {row["name"] for row in found["rows"]} == {"lstm", *BASELINES}
    assert next(row for row in found["rows"] if row["name"] == "lstm")["mae"] == 0  # one day later it is one more


def test_short_series_are_refused_or_left_out_by_name(
    seqline: Seqline, refused: Refused, run: Path, tmp_path: Path
) -> None:
    rows = daily([float(n) for n in range(30)], "ab")
    kept = {name: [*column[:30], *column[30:35]] for name, column in rows.items()}
    (tmp_path / "uneven.csv").write_text(rows_csv(kept), encoding="utf-8")
    said = refused("forecast", "backtest", run, "uneven.csv", "--windows", "2")
    assert "--windows: series 'b' (5 points): too short: 2 windows of 3 steps need 7 points" in said
    outcome = seqline("forecast", "backtest", run, "uneven.csv", "--windows", "2", "--skip-short")
    assert outcome.code == 0
    assert "left out: series 'b' (5 points)" in outcome.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run"], "DATA is missing"),
        (["run", "line.csv", "--target", "y"], "--target: is for --archs; a run knows it already"),
        (["run", "line.csv", "--max-minutes", "1"], "--max-minutes: is for --archs"),
        (["run", "line.csv", "--out", "runs"], "--out: is for --archs"),
        (["run", "line.csv", "--archs", "lstm"], "expected DATA alone with --archs, got 'line.csv' too"),
        (["run", "line.csv", "--windows", "0"], "--windows"),
    ],
)  # fmt: skip
def test_backtest_refuses(refused: Refused, run: Path, line: Path, arguments: list[str], said: str) -> None:
    assert said in refused("forecast", "backtest", *arguments)


def test_generated_series_are_written(seqline: Seqline, refused: Refused, tmp_path: Path) -> None:
    outcome = seqline(
        "data", "series", "--out", tmp_path / "a.csv", "--kind", "hourly", "--series", "2", "--length", "5"
    )
    assert outcome.lines == [f"{tmp_path / 'a.csv'}: hourly, 2 series of 5 points"]
    rows = (tmp_path / "a.csv").read_text(encoding="utf-8").splitlines()
    assert rows[0] == "unique_id,ds,y"
    assert len(rows) == 11
    assert rows[1].startswith("A,2024-01-01T00:00:00Z,")
    found = json.loads(seqline("data", "series", "--out", tmp_path / "b.csv", "--json").stdout)
    assert found == {"file": str(tmp_path / "b.csv"), "kind": "daily", "seed": 1, "series": 4, "points": 1096}
    refused("data", "series", "--out", "c.csv", "--kind", "weekly")
