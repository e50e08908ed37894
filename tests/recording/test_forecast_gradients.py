"""The gradient by lag: what a forecast moves by when one value of its history is moved."""

from __future__ import annotations

import numpy as np
import pytest

from seqline.data.series.reading import read_panel
from seqline.predictor import Predictor
from seqline.recording.forecast_asked import Asked

from ..small_forecasts import columns_of
from .recorded_forecasts import CASES, HORIZON, LONGEST, VALUES, panel, predictor, predictor_of, recorded

BY = 1e-4


def moved(own: Predictor, values: list[float], place: int) -> np.ndarray:
    """Return the central difference of the forecast with respect to one value, [Z]."""
    found = []
    for amount in (BY, -BY):
        changed = list(values)
        changed[place] += amount
        found.append(own.predict(panel(own, changed))[0].mean[:, 0])
    return (found[0] - found[1]) / (2 * BY)


@pytest.mark.parametrize("case", CASES)
def test_it_is_the_central_difference_of_the_forecast(case: str) -> None:
    own, block = predictor(case), recorded(case)["forecast"]
    for window in block["windows"][:2]:
        size = window["lookback"]
        slopes = np.stack([moved(own, VALUES[-size:], place) for place in range(size)], axis=1)
        np.testing.assert_allclose(window["gradient"], slopes, rtol=1e-6, atol=1e-7)
    whole = block["windows"][-1]["gradient"]
    assert whole.shape == (HORIZON, LONGEST)
    for place in (0, 31, LONGEST - 1):
        np.testing.assert_allclose(whole[:, place], moved(own, VALUES[-LONGEST:], place), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("settings", [{"instance_norm": False}, {"patch": 4, "skip": "none"}, {"skip_length": 20}])
def test_whatever_scaling_and_cutting_a_run_has(settings: dict[str, int]) -> None:
    own = predictor_of("lstm", **settings)
    [window] = own.explain(columns_of(VALUES[:10]), Asked(lengths=())).document["forecast"]["windows"]
    slopes = np.stack([moved(own, VALUES[:10], place) for place in range(10)], axis=1)
    np.testing.assert_allclose(window["gradient"], slopes, rtol=1e-6, atol=1e-7)


def test_a_plain_forecast_of_the_last_value_depends_on_that_value_alone() -> None:
    own = predictor_of("lstm", skip="last", instance_norm=False, distribution="point")
    for parameter in own.model.parameters():
        parameter.data.zero_()
    [window] = own.explain(columns_of(VALUES[:8]), Asked(lengths=())).document["forecast"]["windows"]
    assert (window["gradient"][:, :-1] == 0).all()
    np.testing.assert_allclose(window["gradient"][:, -1], 1.0, rtol=1e-9)


def test_a_forecast_that_follows_its_history_has_slopes_that_sum_to_1() -> None:
    for window in recorded("transformer")["forecast"]["windows"][1:]:
        np.testing.assert_allclose(window["gradient"].sum(axis=1), 1.0, atol=1e-6)


def test_each_column_of_several_has_its_own() -> None:
    columns = {"ds": [f"2024-01-{n:02d}" for n in range(1, 13)], "a": VALUES[:12], "b": VALUES[20:32]}
    own = predictor_of("bahdanau", read_panel(columns, target=["a", "b"]))
    [window] = own.explain(columns, Asked(target="b", lengths=())).document["forecast"]["windows"]

    def forecast(place: int, amount: float) -> np.ndarray:
        values = [*columns["b"]]
        values[place] += amount
        return own.predict(own.read({**columns, "b": values}))[0].mean[:, 1]

    slopes = np.stack([(forecast(n, BY) - forecast(n, -BY)) / (2 * BY) for n in range(12)], axis=1)
    np.testing.assert_allclose(window["gradient"], slopes, rtol=1e-6, atol=1e-7)
