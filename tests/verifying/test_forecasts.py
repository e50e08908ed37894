"""`verify` on forecasting runs: every law holds for runs that are sound, and each names the fault that it is there for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from seqline.errors import UserError
from seqline.forecasting.distributions import Quantiles
from seqline.forecasting.inputs import Inputs
from seqline.forecasting.scaling import Scale, denormalise
from seqline.models.forecaster import DirectForecaster, History
from seqline.predictor import Predictor
from seqline.verifying import of_series
from seqline.verifying.checks import NOT_CHECKED, TITLES
from seqline.verifying.forecast_laws import FORECAST_LAWS
from seqline.verifying.of_series import SERVED_LAWS
from seqline.verifying.verification import Verification, verify

from ..small_forecasts import columns_of, covariate_columns, make_untrained_forecaster, train_small, wave, write_csv

Patch = pytest.MonkeyPatch


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run with covariates and missing values; nobody may change it."""
    return make_untrained_forecaster(tmp_path_factory.mktemp("runs") / "gru", "gru", patch=2)


def failed(found: Verification) -> dict[str, str]:
    """Return the failures by law."""
    return {check.law: check.failure for check in found.failures}


def wrap(monkeypatch: Patch, owner: Any, name: str, change: Callable[..., Any]) -> None:
    """Let `change(original, *arguments)` stand for a function or a method."""
    original = getattr(owner, name)
    monkeypatch.setattr(owner, name, lambda *args, **kwargs: change(original, *args, **kwargs))


def of_model(p: Patch, change: Callable[[Any, Any, History], Tensor]) -> None:
    wrap(p, DirectForecaster, "forward", change)


def divide_by_zero(p: Patch) -> None:
    of_model(p, lambda f, self, history: f(self, history) / 0)


def leave_dropout_on(p: Patch) -> None:
    of_model(p, lambda f, self, history: nn.functional.dropout(f(self, history), 0.2, training=True))


def keep_something_from_call_to_call(p: Patch) -> None:
    def change(forward: Any, self: Any, history: History) -> Tensor:
        self.calls = getattr(self, "calls", 0) + 1
        return forward(self, history) * (1 + 0.01 * self.calls)

    of_model(p, change)


def mix_rows(p: Patch) -> None:
    of_model(p, lambda f, self, history: f(self, history) + 0.1 * f(self, history).mean(0, keepdim=True))


def ignore_padding(p: Patch) -> None:
    of_model(p, lambda f, self, history: f(self, history._replace(is_real=torch.ones_like(history.is_real))))


def count_the_steps_to_come(p: Patch) -> None:
    of_model(p, lambda f, self, history: f(self, history) + 0.01 * history.future.shape[1])


def take_the_scale_of_one_point_more(p: Patch) -> None:
    def change(history: Any, self: Any, one: Any, first: int, origin: int) -> Any:
        _, values = history(self, one, first, origin)
        return history(self, one, first, min(origin + 1, len(one.values)))[0], values

    wrap(p, Inputs, "_history", change)


def let_trainings_see_their_target(p: Patch) -> None:
    def change(batch: Any, self: Any, windows: Any, horizon: int, *, has_target: bool, dtype: Any) -> Any:
        found = batch(self, windows, horizon, has_target=has_target, dtype=dtype)
        recent = found.history.recent + found.target[:, :1] if has_target else found.history.recent
        return found._replace(history=found.history._replace(recent=recent))

    wrap(p, Inputs, "batch", change)


def multiply_by_another_scale(p: Patch) -> None:
    p.setattr("seqline.predictor.denormalise", lambda scaled, scale: denormalise(scaled * 1.001, scale))


def multiply_constants_by_a_scale_without_a_floor(p: Patch) -> None:
    def change(scaled: Any, scale: Scale) -> Any:
        return denormalise(scaled, Scale(scale.centre, np.where(scale.scale < 1.0, 1e-9, scale.scale)))

    p.setattr("seqline.predictor.denormalise", change)


def scale_every_history_alike(p: Patch) -> None:
    p.setattr(
        "seqline.forecasting.inputs.instance_scale",
        lambda values, *_, **__: Scale(np.zeros(values.shape[1]), np.full(values.shape[1], 10.0)),
    )


def fail_at_four_points(p: Patch) -> None:
    def change(forecast: Any, self: Any, panel: Any, windows: Any, *rest: Any, **more: Any) -> Any:
        found = forecast(self, panel, windows, *rest, **more)
        found.mean[windows.lengths == 4] = np.nan
        return found

    wrap(p, Predictor, "windows", change)


def turn_quantiles_round(p: Patch) -> None:
    wrap(p, Quantiles, "quantiles", lambda f, self, parameters, levels: f(self, parameters, levels)[..., ::-1])


def compute_coarsely(p: Patch) -> None:
    def change(forward: Any, self: Any, history: History) -> Tensor:
        found = forward(self, history)
        return found if found.dtype == torch.float64 else found + 1e-3 * found.mean()

    of_model(p, change)


def put_back_in_another_order(p: Patch) -> None:
    def change(predict: Any, self: Any, panel: Any, *rest: Any, **more: Any) -> Any:
        found = predict(self, panel, *rest, **more)
        return tuple(one._replace(mean=other.mean) for one, other in zip(found, [*found[1:], found[0]], strict=True))

    wrap(p, Predictor, "predict", change)


def join_by_place(p: Patch) -> None:
    def change(predict: Any, self: Any, panel: Any, *rest: Any, **more: Any) -> Any:
        ordered = replace(panel, series=tuple(sorted(panel.series, key=lambda one: one.id)))
        return predict(self, ordered, *rest, **more)

    wrap(p, Predictor, "predict", change)


FAULTS = [
    ("finite", divide_by_zero, "the weights have exploded"),
    ("fixed", leave_dropout_on, "dropout or another random part is still on"),
    ("pure", keep_something_from_call_to_call, "keeps something for the next call"),
    ("batch", mix_rows, "rows of a batch mix"),
    ("row", ignore_padding, "the model reads padding"),
    ("steps", count_the_steps_to_come, "a step depends on how many come after it"),
    ("lookahead", take_the_scale_of_one_point_more, "the future is read"),
    ("lookahead", let_trainings_see_their_target, "what a training window reads"),
    ("scale", multiply_by_another_scale, "forecasts are in the wrong unit"),
    ("scale", multiply_constants_by_a_scale_without_a_floor, "forecasts are in the wrong unit"),
    ("unit", scale_every_history_alike, "the scales are not those of the history"),
    ("lengths", fail_at_four_points, "is not forecast from the last 4 points of it"),
    ("quantiles", turn_quantiles_round, "a lower quantile above a higher one"),
    ("float32", compute_coarsely, "computes too coarsely"),
    ("outputs", put_back_in_another_order, "put back in another order"),
    ("outputs", join_by_place, "under another name or time"),
]


@pytest.mark.parametrize(("law", "plant", "words"), FAULTS, ids=[plant.__name__ for _, plant, _ in FAULTS])
def test_a_planted_fault_is_named(law: str, plant: Any, words: str, run: Path, monkeypatch: Patch) -> None:
    plant(monkeypatch)
    monkeypatch.setattr(of_series, "MOST_SERIES", 4)
    found = verify(run)
    assert set(failed(found)) == {TITLES.get(law, law)}
    assert words in failed(found)[TITLES.get(law, law)]
    waiting = {TITLES.get(name, name) for name, one in {**FORECAST_LAWS, **SERVED_LAWS}.items() if law in one.needs}
    assert waiting == {check.law for check in found.checks if check.status == NOT_CHECKED}


def test_no_law_is_one_that_cannot_fail() -> None:
    assert {law for law, _, _ in FAULTS} == {*FORECAST_LAWS, *SERVED_LAWS}


SLOW = [
    ("conv", {"distribution": "student-t", "skip": "season"}),
    ("transformer-pre", {"positions": "learned", "max_length": 12, "skip": "last"}),
    ("luong", {"strategy": "recursive", "distribution": "gaussian"}),
    ("ttt-linear", {"patch": 3}),
]


@pytest.mark.parametrize(
    ("arch", "model"),
    [
        ("bilstm", {"query": "learned", "distribution": "point", "instance_norm": False, "patch": 3}),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in SLOW),
    ],
)
def test_sound_runs_obey(arch: str, model: dict[str, Any], tmp_path: Path) -> None:
    folder = make_untrained_forecaster(tmp_path / "run", arch, **model)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    found = verify(folder)
    assert found.holds, found.failures
    assert {check.status for check in found.checks} == {"ok"}
    laws = {check.law for check in found.checks}
    assert ("unit" in laws) == model.get("instance_norm", True)
    assert ("quantiles" in laws) == (model.get("distribution") != "point")
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert len(found.sentences) == 8
    assert found.sentences[0] == "made 1 (1 points)"
    assert found.notes == ("8 series made in the run's own scales (give yours as FILE)",)


def test_series_of_ones_own_are_chosen_and_said(run: Path, tmp_path: Path) -> None:
    found = verify(run, write_csv(tmp_path / "own.csv", covariate_columns()))
    assert found.holds, found.failures
    assert "2 missing cells masked" in found.notes
    assert found.notes[-1:] == (
        "2 series made in the run's own scales added, so that there is something to stand beside",
    )
    assert [name.split(" (")[0] for name in found.sentences] == ["made 1", "made 2", "A", "B"]
    columns = covariate_columns()
    short = {name: column[:4] for name, column in columns.items()}
    with pytest.raises(UserError, match="no series with a value and 6 steps of known covariates behind it"):
        verify(run, short)
    with pytest.raises(UserError, match="no column 'promo'"):
        verify(run, columns_of(wave(30)))


def test_a_trained_run_without_covariates_takes_series_of_any_length(tmp_path: Path) -> None:
    data = write_csv(tmp_path / "a.csv", columns_of(wave(60), wave(40, 20.0, 3)))
    run = train_small(data, tmp_path / "run", "lstm", **{"training.max_steps": 1, "training.validate_every": 1})
    found = verify(
        run, columns_of([5.0], wave(2), wave(9), wave(40), wave(41), [7.0] * 30, wave(43), wave(44), wave(300))
    )
    assert found.holds, found.failures
    assert found.notes[-1:] == ("8 of 9 series, of different lengths",)
    assert "A (1 points)" in found.sentences
