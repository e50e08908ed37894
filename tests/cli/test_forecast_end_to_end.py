"""`seqline forecast` from file to forecasts, in trainings of a few steps: covariates, long and wide files, resume, strategies."""

from __future__ import annotations

import csv
import io
import json
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seqline.data.series.writing import rows_csv
from seqline.forecasting.baselines import BASELINES
from seqline.training.callbacks import ProgressLine

from .conftest import Outcome, Refused, Seqline

LENGTH, HORIZON = 40, 3
SMALL = [
    "--lookback", "12", "--horizon", str(HORIZON), "--set", "training.max_steps=4", "--set", "training.validate_every=2",
    "--set", "training.checkpoint_every=2", "--set", "training.batch_tokens=300", "--set", "training.validate_sentences=8",
    "--set", "model.embed_size=4", "--set", "model.hidden_size=4",
]  # fmt: skip
LONG = ["--id", "shop", "--target", "sold", "--known", "promo", "--past", "temp", "--static", "region,size"]
WIDE = ["--target", "load,price", "--known", "holiday", "--past", "wind", "--static", "zone"]
STATES = ("model", "average", "best", "optimizer", "random")


def value(n: int, k: int) -> float:
    return round(10 + 5 * k + 3 * float(np.sin(2 * np.pi * (n + k) / 7)), 3)


def day(n: int) -> str:
    return str(np.datetime64("2024-01-01") + n)


def long_file(path: Path, future: int = 0, only: str = "abc") -> Path:
    """Write three shops, with rows of the future at the end of each, the shops' rows in any columns' order."""
    rows = [(k, shop, n) for k, shop in enumerate("abc") if shop in only for n in range(LENGTH + future)]
    columns: dict[str, list[Any]] = {
        "shop": [shop for _, shop, _ in rows],
        "ds": [day(n) for _, _, n in rows],
        "sold": ["" if n >= LENGTH else value(n, k) for k, _, n in rows],
        "promo": [(n + k) % 3 for k, _, n in rows],
        "temp": ["" if n >= LENGTH else round(20 + 0.1 * n, 1) for _, _, n in rows],
        "region": ["north" if k else "south" for k, _, _ in rows],
        "size": [10 * k + 1 for k, _, _ in rows],
    }
    path.write_text(rows_csv(columns), encoding="utf-8")
    return path


def wide_file(path: Path, future: int = 0) -> Path:
    """Write one series with two targets."""
    steps = range(LENGTH + future)
    columns: dict[str, list[Any]] = {
        "date": [day(n) for n in steps],
        "load": ["" if n >= LENGTH else value(n, 0) for n in steps],
        "price": ["" if n >= LENGTH else value(n, 3) for n in steps],
        "holiday": [int(n % 7 == 6) for n in steps],
        "wind": ["" if n >= LENGTH else n % 5 for n in steps],
        "zone": ["x" for _ in steps],
    }
    path.write_text(rows_csv(columns), encoding="utf-8")
    return path


def trained(outcome: Outcome, run: Path) -> Path:
    assert outcome.code == 0, outcome.stderr
    return run


def rows_of(outcome: Outcome) -> list[dict[str, str]]:
    assert outcome.code == 0, outcome.stderr
    return list(csv.DictReader(io.StringIO(outcome.stdout.decode())))


@pytest.fixture
def long_run(seqline: Seqline, tmp_path: Path) -> Path:
    data = long_file(tmp_path / "long.csv")
    return trained(seqline("forecast", "train", data, *LONG, *SMALL, "--out", tmp_path / "run"), tmp_path / "run")


def test_a_long_file_with_covariates(seqline: Seqline, refused: Refused, long_run: Path, tmp_path: Path) -> None:
    ahead = long_file(tmp_path / "ahead.csv", HORIZON)
    rows = rows_of(seqline("forecast", "predict", long_run, ahead, "--quantiles", "0.1,0.9"))
    assert [(row["shop"], row["ds"]) for row in rows] == [(s, day(LENGTH + h)) for s in "abc" for h in range(HORIZON)]
    assert all(float(row["sold_q0.1"]) <= float(row["sold_q0.9"]) for row in rows)
    assert np.isfinite([float(row["sold"]) for row in rows]).all()

    # Known covariates that are not there are refused in one line, and are asked for as far as the horizon only.
    what = "error: known: series 'a': promo known for {} of the 3 steps to forecast; add rows at the end with these columns"
    assert refused("forecast", "predict", long_run, tmp_path / "long.csv").startswith(what.format(0))
    part = long_file(tmp_path / "part.csv", 2)
    assert refused("forecast", "predict", long_run, part).startswith(what.format(2))
    fewer = rows_of(seqline("forecast", "predict", long_run, part, "--horizon", "2"))
    assert [row["sold"][:8] for row in fewer] == [row["sold"][:8] for row in rows if row["ds"] != day(LENGTH + 2)]

    # One shop alone is forecast as among others.
    alone = rows_of(seqline("forecast", "predict", long_run, long_file(tmp_path / "b.csv", HORIZON, "b")))
    np.testing.assert_allclose(
        [float(row["sold"]) for row in alone], [float(row["sold"]) for row in rows if row["shop"] == "b"], atol=1e-4
    )


def test_values_of_the_future_that_nobody_knows_change_nothing(
    seqline: Seqline, long_run: Path, tmp_path: Path
) -> None:
    ahead = long_file(tmp_path / "ahead.csv", HORIZON)
    first = seqline("forecast", "predict", long_run, ahead)
    text = ahead.read_text(encoding="utf-8").replace(f"{day(LENGTH)},,1,,", f"{day(LENGTH)},,1,99,")
    assert text.count(",99,") == 1
    ahead.write_text(text, encoding="utf-8")
    second = seqline("forecast", "predict", long_run, ahead)
    assert second.stdout == first.stdout
    assert "1 value of past covariates in these rows not used" in second.stderr
    ahead.write_text(text.replace(f"{day(LENGTH)},,1,99,", f"{day(LENGTH)},,2,99,"), encoding="utf-8")
    assert seqline("forecast", "predict", long_run, ahead).stdout != first.stdout  # a promo is known, and is read


def test_a_backtest_with_covariates(seqline: Seqline, long_run: Path, tmp_path: Path) -> None:
    ahead = long_file(tmp_path / "ahead.csv", HORIZON)  # rows of the future are no targets
    outcomes = [
        seqline("forecast", "backtest", long_run, data, "--windows", "2", "--json")
        for data in (ahead, tmp_path / "long.csv")
    ]
    one, two = (json.loads(outcome.stdout) for outcome in outcomes)
    assert one["rows"] == two["rows"]
    assert {row["name"] for row in one["rows"]} == {"lstm", *BASELINES}
    runs = tmp_path / "runs"
    outcome = seqline(
        "forecast", "backtest", ahead, *LONG, *SMALL, "--archs", "gru", "--windows", "2", "--out", runs, "--json"
    )
    assert outcome.code == 0, outcome.stderr
    found = json.loads(outcome.stdout)
    assert {row["name"] for row in found["rows"]} == {"gru", *BASELINES}
    # The run that was kept gives the row of the table again.
    again = json.loads(seqline("forecast", "backtest", runs / "gru", ahead, "--windows", "2", "--json").stdout)
    assert [row for row in again["rows"] if row["name"] == "gru"] == [r for r in found["rows"] if r["name"] == "gru"]


def test_a_wide_file_with_covariates(seqline: Seqline, refused: Refused, tmp_path: Path) -> None:
    data, ahead = wide_file(tmp_path / "wide.csv"), wide_file(tmp_path / "ahead.csv", HORIZON)
    command = ["forecast", "train", data, *WIDE, *SMALL, "--arch", "gru"]
    run = trained(seqline(*command, "--out", tmp_path / "run"), tmp_path / "run")
    rows = rows_of(seqline("forecast", "predict", run, ahead))
    assert [list(row) for row in rows] == [["date", "load", "price"]] * HORIZON
    assert [row["date"] for row in rows] == [day(LENGTH + h) for h in range(HORIZON)]
    said = refused("forecast", "predict", run, data)
    assert said.startswith("error: known: holiday known for 0 of the 3 steps to forecast")
    found = json.loads(seqline("forecast", "backtest", run, data, "--windows", "2", "--json").stdout)
    assert found["targets"] == ["load", "price"]
    assert set(found["rows"][0]["mae_by_target"]) == {"load", "price"}


class _Stop(ProgressLine):
    """Sends what Ctrl-C sends after the third step of the first training."""

    is_over = False

    def on_step(self, report: Any) -> None:
        if report.step == 3 and not _Stop.is_over:
            _Stop.is_over = True
            signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize(
    "arch", [["--arch", "gru"], ["--arch", "encoder-decoder", "--set", "model.strategy=recursive"]]
)
def test_a_resumed_training_gives_the_same_bits(
    seqline: Seqline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arch: list[str]
) -> None:
    data = long_file(tmp_path / "long.csv")
    command = ["forecast", "train", data, *LONG, *SMALL, *arch, "--set", "model.dropout=0.3"]
    whole = trained(seqline(*command, "--out", tmp_path / "whole"), tmp_path / "whole")
    _Stop.is_over = False
    monkeypatch.setattr("seqline.training.callbacks.ProgressLine", _Stop)
    stopped = seqline(*command, "--out", tmp_path / "parts")
    assert stopped.code == 130
    assert "the same command with --resume goes on from here" in stopped.stderr
    parts = tmp_path / "parts"
    assert (parts / "weights.safetensors").read_bytes() != (whole / "weights.safetensors").read_bytes()
    resumed = seqline(*command, "--out", parts, "--resume")
    assert resumed.code == 0, resumed.stderr
    last = "checkpoints/step-4"
    for name in ("weights.safetensors", "series.json", "config.toml", *(f"{last}/{n}.safetensors" for n in STATES)):
        assert (parts / name).read_bytes() == (whole / name).read_bytes(), name


def test_a_recursive_run_goes_on_where_a_direct_one_refuses(
    seqline: Seqline, refused: Refused, long_run: Path, tmp_path: Path
) -> None:
    data, far = tmp_path / "long.csv", long_file(tmp_path / "far.csv", 5)
    said = refused("forecast", "predict", long_run, far, "--horizon", "5")
    assert "--horizon: the run forecasts up to 3 steps, not 5" in said
    assert "train with model.strategy=recursive" in said
    arch = ["--arch", "encoder-decoder", "--set", "model.strategy=recursive"]
    out = tmp_path / "recursive"
    run = trained(seqline("forecast", "train", data, *LONG, *SMALL, *arch, "--out", out), out)
    rows = rows_of(seqline("forecast", "predict", run, far, "--horizon", "5"))
    assert [row["beyond_training"] for row in rows] == list("00011") * 3
    near = rows_of(seqline("forecast", "predict", run, far))
    assert "beyond_training" not in near[0]
    np.testing.assert_allclose(
        [float(row["sold"]) for row in near],
        [float(row["sold"]) for row in rows if row["beyond_training"] == "0"],
        atol=1e-4,
    )
    ahead = long_file(tmp_path / "ahead.csv", HORIZON)
    assert "promo known for 3 of the 5 steps" in refused("forecast", "predict", run, ahead, "--horizon", "5")
    lstm = seqline(
        "forecast", "train", data, *LONG, *SMALL, "--set", "model.strategy=recursive", "--out", tmp_path / "no"
    )
    assert lstm.code == 2
    assert "error: model.strategy: recursive needs a decoder, and lstm has none" in lstm.stderr.splitlines()[-1]
    assert not (tmp_path / "no").exists()
