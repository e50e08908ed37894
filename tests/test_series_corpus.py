"""Training on series: resumed bit for bit, the same windows every time, settings refused where they mean nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from seqline.config import Config
from seqline.errors import UserError
from seqline.run import train
from seqline.run_folder import load_run, read_start

from .small_forecasts import columns_of, train_small, wave, write_csv


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "a.csv", columns_of(wave(60), wave(40, 20.0, 3)))


def test_a_resumed_run_ends_as_one_that_was_not_stopped(data: Path, tmp_path: Path) -> None:
    whole = train_small(data, tmp_path / "whole", "gru", **{"training.max_steps": 9, "training.warmup_steps": 1})
    steps = iter([None] * 4 + ["interrupted"] * 9)
    config = read_start(whole)[0].replace(**{"data.train": str(data)})
    train(config, tmp_path / "parts", should_stop=lambda: next(steps) if (tmp_path / "parts").exists() else None)
    train(Config().replace(**{"data.task": "forecasting", "data.train": str(data)}), tmp_path / "parts", resume=True)
    one, two = (load_run(tmp_path / name) for name in ("whole", "parts"))
    assert one.manifest["files"]["weights.safetensors"] == two.manifest["files"]["weights.safetensors"]
    assert one.manifest["files"]["series.json"] == two.manifest["files"]["series.json"]


def test_a_run_records_what_was_chosen(data: Path, tmp_path: Path) -> None:
    run = load_run(train_small(data, tmp_path / "run", "lstm", **{"data.horizon": None, "data.lookback": None}))
    # Months have a season of 12; the longer series has 60 points, 12 of them held out and 12 the first target.
    assert (run.config.data.horizon, run.config.data.season, run.config.data.lookback) == (12, 12, 36)
    assert run.config.data.target == ("y",)
    assert run.series.targets == ("y",)
    assert (run.series.frequency, run.series.horizon, run.series.longest) == ("1month", 12, 36)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data.task": "tagging", "data.horizon": 3}, "data.horizon: is for the task forecasting"),
        ({"data.task": "forecasting", "data.valid": "b.csv"}, "data.valid: forecasting validates on the end"),
        ({"data.task": "forecasting", "data.max_tokens": 3}, "data.max_tokens: has no meaning for series"),
    ],
)
def test_settings_of_other_tasks_are_refused(changes: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        Config().replace(**changes)


def test_other_data_is_no_resume(data: Path, tmp_path: Path) -> None:
    run = train_small(data, tmp_path / "run", "gru")
    other = write_csv(tmp_path / "b.csv", columns_of(wave(60), wave(40, 20.5, 3)))
    with pytest.raises(UserError, match="is not the corpus this run began with"):
        train(Config().replace(**{"data.task": "forecasting", "data.train": str(other)}), run, resume=True)
