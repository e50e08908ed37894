"""Forecasters with random weights in float64, and one recording of each: what the tests of recorded forecasts start from."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch

from seqline.architectures import ARCHITECTURES
from seqline.config import Config
from seqline.data.series import Panel
from seqline.forecasting.coder import fit_coder
from seqline.predictor import Predictor
from seqline.recording.forecast_asked import Asked
from seqline.sections import validate_section
from seqline.tasks import TASKS

from ..small_forecasts import SMALL, columns_of, panel_of, wave
from ..small_models import random_weights

HORIZON, LONGEST = 4, 60
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "lstm": ("lstm", {"patch": 3}),
    "bahdanau": ("bahdanau", {}),
    "bahdanau-recursive": ("bahdanau", {"strategy": "recursive", "skip": "season"}),
    "luong": ("luong", {"patch": 7, "distribution": "gaussian"}),
    "conv": ("conv", {}),
    "transformer": ("transformer", {"patch": 2, "quantiles": (0.1, 0.5, 0.9)}),
    "ttt-linear": ("ttt-linear", {"distribution": "point"}),
}
VALUES = [round(value + 0.1 * ((7 * n) % 5), 3) for n, value in enumerate(wave(70))]


def predictor_of(arch: str, data: Panel | None = None, **settings: Any) -> Predictor:
    """Return a recipe with random weights, its scales fitted on a panel; `settings` of the model."""
    recipe, task = ARCHITECTURES[arch], TASKS["forecasting"]
    sizes = {name: value for name, value in SMALL.items() if name in recipe.sizes["tiny"]}
    wanted = {f"model.{name}": value for name, value in {**sizes, **settings}.items()}
    kind = {"data.task": "forecasting", "data.missing": "mask", "model.architecture": arch}
    config = Config().replace(**{**kind, **wanted})
    data = data or panel_of(VALUES)
    coder = fit_coder(data, [len(one) for one in data.series], horizon=HORIZON, longest=LONGEST, season=12)
    own: Any = validate_section(task.settings_of(recipe), config.model.settings, "model", ("size",))
    torch.manual_seed(0)
    model = random_weights(task.build_model(recipe, own, coder.vocabulary))
    return Predictor(model, coder, config)


@cache
def predictor(case: str) -> Predictor:
    """Return the forecaster of a case; nobody may change it."""
    arch, settings = CASES[case]
    return predictor_of(arch, **settings)


def panel(case: Predictor, *series: list[Any]) -> Panel:
    """Return series as a forecaster reads them, one point or more."""
    return case.read(columns_of(*(series or (VALUES,))))


@cache
def recorded(case: str) -> dict[str, Any]:
    """Return the document of the one recording that all tests look at."""
    asked = Asked(lengths=(1, 5, 50))
    return predictor(case).explain(columns_of(VALUES), asked, timing=False).document
