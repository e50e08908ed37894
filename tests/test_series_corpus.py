"""Training on series: resumed bit for bit, the same windows every time, settings refused where they mean nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from seqline.budget import with_model
from seqline.config import Config
from seqline.errors import UserError
from seqline.run import train
from seqline.run_folder import find_recipe, load_run, read_start
from seqline.series_corpus import PreparedSeries, _patch, read

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


def prepared(data: Path, **changes: Any) -> PreparedSeries:
    """Return the windows of a run, as training takes them."""
    usual = {"data.task": "forecasting", "data.train": str(data), "data.horizon": 6, "model.architecture": "lstm"}
    config = Config().replace(**{**usual, **changes})
    corpus = read(config)
    config = with_model(corpus.fill(config), find_recipe("lstm"), "tiny")
    return PreparedSeries(corpus, corpus.train_tokenizers(config), config)


@pytest.mark.parametrize("seed", range(1, 9))
def test_the_widest_window_has_the_longest_history(data: Path, seed: int) -> None:
    found = prepared(data, **{"training.seed": seed, "data.lookback": 40, "model.patch": 1})
    task = found.training_task(Config().replace(**{"data.task": "forecasting", "training.seed": seed}))
    batch, _ = task.make_batch(found.widest(400))
    assert batch.history.steps.shape[1] == 40


def test_what_was_chosen_is_said_as_it_is(data: Path) -> None:
    def said(**changes: Any) -> tuple[str, ...]:
        usual = {"data.task": "forecasting", "data.train": str(data), "data.horizon": 6}
        return read(Config().replace(**{**usual, **changes})).notes

    assert said()[-1] == "validation: the last 12 points of 2 series (data.holdout sets their number)"
    assert said(**{"data.holdout": 0})[-1] == "validation on the training windows: data.holdout is 0"
    assert said(**{"data.holdout": 45})[-1] == "validation: the last 45 points of 1 of 2 series"
    assert said(**{"data.horizon": 39})[-1].endswith("the series are too short to hold points out")
    note = "histories of up to 48 points, not 5,000: no training span holds longer ones"
    assert note in said(**{"data.lookback": 5000})
    assert not any("no training span" in one for one in said(**{"data.lookback": 48}))


@pytest.mark.parametrize(
    ("arch", "changes", "message"),
    [
        (
            "lstm",
            {"model.distribution": "gaussian", "model.loss": "huber"},
            "loss: is for distribution point or quantile",
        ),
        ("bahdanau", {"model.query": "learned"}, "model.query: unknown key"),
        ("transformer", {"model.query_score": "dot"}, "model.query_score: unknown key"),
        (
            "lstm",
            {"model.skip": "season", "data.season": 50},
            "model.skip: season needs histories of a season, 50 points",
        ),
    ],
)
def test_a_setting_without_an_effect_is_refused(
    data: Path, arch: str, changes: dict, message: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError) as refused:
        train_small(data, tmp_path / "run", arch, **changes)
    assert message in str(refused.value)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("lookback", "season", "points"),
    [(96, 24, 1), (168, 24, 2), (336, 24, 4), (512, 24, 6), (512, 7, 7), (512, 365, 6), (400, 53, 5)],
)
def test_a_step_of_the_encoder_reads_few_points(lookback: int, season: int, points: int) -> None:
    assert _patch(lookback, season) == points


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
