"""Every recipe that forecasts obeys the laws of forecasters; and what comes after a split changes no exported weight."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from seqline import series_corpus
from seqline.architectures import ARCHITECTURES
from seqline.backtesting.plan import Asked
from seqline.data.series import SeriesOptions
from seqline.evaluation.verify import TOLERANCE
from seqline.forecaster import Fitting, backtest_architectures
from seqline.predictor import Predictor
from seqline.run_folder import load_run
from seqline.training.loss import evaluating
from seqline.verifying.forecast_laws import ForecastSubject, laws_of
from seqline.verifying.made_series import choose

from ..small_forecasts import (
    COVARIATES,
    SMALL,
    columns_of,
    covariate_columns,
    make_untrained_forecaster,
    train_small,
    wave,
    write_csv,
)

QUICK = ("conv", "transformer-pre")
EVERY = [
    pytest.param(name, strategy, marks=() if name in QUICK and strategy == "direct" else pytest.mark.slow)
    for name, recipe in ARCHITECTURES.items()
    for strategy in ("direct", "recursive")
    if strategy == "direct" or recipe.build is not None
]


@pytest.mark.parametrize(("name", "strategy"), EVERY)
def test_every_law_holds(name: str, strategy: str, tmp_path: Path) -> None:
    predictor = Predictor.load(make_untrained_forecaster(tmp_path / "run", name, strategy=strategy, patch=2))
    predictor.model.double()
    panel, windows, _ = choose(predictor.coder, None, 5)
    subject = ForecastSubject(predictor, panel, windows)
    with torch.no_grad():
        for law_name, law in laws_of(predictor).items():
            found = law.check(subject)
            assert found.holds(law.tolerance), (law_name, found)
            assert law.tolerance <= TOLERANCE


SETTINGS = {
    "training.max_steps": 4, "training.validate_every": 2, "training.checkpoint_every": 2, "training.batch_tokens": 300,
    "training.validate_sentences": 8, "model.embed_size": SMALL["embed_size"], "model.hidden_size": SMALL["hidden_size"],
    "data.lookback": 12, "training.average_decay": 0.5,
}  # fmt: skip


def later_changed(columns: dict[str, list[Any]], split: int) -> dict[str, list[Any]]:
    """Add 1e6 to every value of each series from a point on, targets and covariates."""
    found = {name: list(column) for name, column in columns.items()}
    seen: dict[str, int] = {}
    for row, one in enumerate(found["unique_id"]):
        seen[one] = seen.get(one, 0) + 1
        if seen[one] > split:
            for name in ("y", "promo", "seen"):
                found[name][row] = "" if found[name][row] == "" else found[name][row] + 1e6
    return found


def test_values_after_the_split_change_no_exported_weight(tmp_path: Path) -> None:
    how = SeriesOptions(**COVARIATES)  # type: ignore[arg-type]
    columns = covariate_columns(40)
    first = {
        name: [c for one, c in zip(columns["unique_id"], column, strict=True) if one == "A"]
        for name, column in columns.items()
    }
    asked = Asked(6, 2)  # twelve points behind the split
    folders = []
    for name, data in (("one", first), ("two", later_changed(first, 28))):
        fitting = Fitting("", "y", None, how, SETTINGS)
        backtest_architectures(data, ["gru"], asked, fitting, tmp_path / name)
        folders.append(tmp_path / name / "gru")
    states = ("model", "average", "best", "optimizer")
    files = ["weights.safetensors", "series.json", "config.toml"]
    files += [f"checkpoints/step-{step}/{state}.safetensors" for step in (2, 4) for state in states]
    for file in files:
        assert (folders[0] / file).read_bytes() == (folders[1] / file).read_bytes(), file
    exported = load_file(folders[0] / "weights.safetensors")
    best, average, model = (
        load_file(folders[0] / f"checkpoints/step-4/{s}.safetensors") for s in ("best", "average", "model")
    )
    assert any(not torch.equal(model[name], average[name]) for name in model)  # the two are not one thing twice
    assert all(torch.equal(exported[name], best[name]) for name in exported)


@pytest.mark.parametrize("decay", [0.0, 0.5])
def test_points_that_validate_choose_a_weight_and_change_none(decay: float, tmp_path: Path) -> None:
    values, found = wave(60), []
    for name, more in (("a", 0.0), ("b", 1e6)):
        data = write_csv(tmp_path / f"{name}.csv", columns_of([*values[:48], *(value + more for value in values[48:])]))
        changes = {"data.holdout": 12, "training.average_decay": decay, "training.learning_rate": 0.05}
        found.append(train_small(data, tmp_path / name, "gru", **changes))
    exported, state = load_file(found[1] / "weights.safetensors"), "checkpoints/step-3/"
    candidates = [
        load_file(found[0] / f"{state}{s}.safetensors") for s in ("model", "average") if decay or s == "model"
    ]
    assert any(all(torch.equal(exported[name], one[name]) for name in exported) for one in candidates)
    labels = [json.loads((folder / "manifest.json").read_text())["weights"] for folder in found]
    assert all(label.endswith("step 3") for label in labels)


def test_validation_scores_every_window_once_whatever_the_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = write_csv(tmp_path / "a.csv", columns_of(wave(60), wave(40, 20.0, 3)))
    run = load_run(
        train_small(data, tmp_path / "run", "gru", **{"data.holdout": 12, "training.validate_sentences": 99})
    )
    config = run.config.replace(**{"data.train": str(data)})
    found = []
    for tokens in (1, 40, 8192):
        monkeypatch.setattr(series_corpus, "VALIDATION_TOKENS", tokens)
        prepared = series_corpus.read(config).prepare(run.series, config)
        counted: list[int] = []
        monkeypatch.setattr(prepared, "_batch", _counting(prepared._batch, counted))
        with evaluating(run.model):
            found.append(prepared.training_task(config).validate(run.model))
        assert sum(counted) == 2 * (12 - 6 + 1)  # N - L - H + 1 of each series: every target inside the held-out points
    for one in found[1:]:
        np.testing.assert_allclose(list(one.scores.values()), list(found[0].scores.values()), rtol=1e-5)


def _counting(batch: Any, counted: list[int]) -> Any:
    def counting(windows: Any, device: Any) -> Any:
        counted.append(len(windows.origin))
        return batch(windows, device)

    return counting
