"""Windows as a model reads them, in training and in forecasts: by hand, alone or in a batch, with nothing that comes later."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from seqline.data.series import Panel, SeriesOptions
from seqline.data.series.reading import read_panel
from seqline.errors import UserError
from seqline.forecasting.coder import fit_coder
from seqline.forecasting.inputs import ForecastBatch, InputOptions, Inputs
from seqline.forecasting.scaling import denormalise, instance_scale
from seqline.forecasting.windows import Windows

from ..small_forecasts import columns_of, panel_of, wave

HORIZON, LONGEST = 3, 8


def batch_of(
    panel: Panel, windows: list[tuple[int, int, int]], *, split: int = 20, patch: int = 1, has_target: bool = True
) -> ForecastBatch:
    """Put windows (series, start, origin) into tensors, scales fitted on what stands before `split`."""
    ends = [min(split, len(one)) for one in panel.series]
    coder = fit_coder(panel, ends, horizon=HORIZON, longest=LONGEST, season=12)
    inputs = Inputs(coder, InputOptions(patch, 2, has_instance_norm=True), panel, HORIZON)
    columns = Windows(*(np.array(column, dtype=np.int64) for column in zip(*windows, strict=True)))
    return inputs.batch(columns, HORIZON, has_target=has_target, dtype=torch.float64)


def known_of(ds: list[str], trained_on: list[str]) -> list[list[float]]:
    """Return the calendar of the steps after a history, as a run that was trained on other times sees it."""
    trained = read_panel({"ds": trained_on, "y": wave(len(trained_on))})
    panel = read_panel({"ds": ds, "y": wave(len(ds))})
    coder = fit_coder(trained, [len(trained_on)], horizon=HORIZON, longest=LONGEST, season=7)
    inputs = Inputs(coder, InputOptions(1, 2, has_instance_norm=True), panel, HORIZON)
    windows = Windows(*(np.array([n]) for n in (0, 0, len(ds))))
    return inputs.batch(windows, HORIZON, has_target=False, dtype=torch.float64).history.future[0].tolist()


def test_days_are_the_same_days_however_they_are_written() -> None:
    dates = [f"2024-01-{n:02d}" for n in range(1, 20)]
    midnights = [f"{date}T00:00+13:00" for date in dates]
    expected = known_of(dates, dates)
    assert known_of(midnights, dates) == expected
    assert known_of(dates, midnights) == expected
    assert known_of(midnights, midnights) == expected


def test_numbers_are_made_of_the_series_that_are_asked_for() -> None:
    panel = panel_of(wave(30), wave(25), wave(20))
    coder = fit_coder(panel, [20] * 3, horizon=HORIZON, longest=LONGEST, season=12)
    inputs = Inputs(coder, InputOptions(1, 2, has_instance_norm=True), panel, HORIZON)
    inputs.batch(Windows(*(np.array([n]) for n in (1, 0, 8))), HORIZON, has_target=True, dtype=torch.float64)
    assert list(inputs._series) == [1]


def test_a_batch_by_hand() -> None:
    batch = batch_of(panel_of([float(n) for n in range(30)], wave(25)), [(0, 4, 8), (1, 20, 21)])
    assert batch.history.is_real.tolist() == [[True] * 4, [True] + [False] * 3]
    scale = np.sqrt(1.25)  # of 4, 5, 6, 7, whose mean is 5.5
    assert batch.scale.centre[0].tolist() == [[5.5]]
    assert batch.scale.scale[0, 0, 0] == pytest.approx(scale)
    assert batch.history.steps[0, :, 0].tolist() == pytest.approx([(n - 5.5) / scale for n in (4, 5, 6, 7)])
    # The history ends where the target begins: the two share no point.
    assert denormalise(batch.target[0, :, 0].numpy(), batch.scale)[0, 0].tolist() == pytest.approx([8, 9, 10])
    assert batch.history.recent[0, :, 0].tolist() == pytest.approx([(n - 5.5) / scale for n in (6, 7)])
    assert batch.history.num_recent.tolist() == [2, 1]
    assert batch.history.steps[1, 0, 0] == 0  # one point is its own centre
    assert (batch.history.steps[1, 1:] == 0).all()


def test_points_of_a_step_end_with_the_history() -> None:
    batch = batch_of(panel_of([float(n) for n in range(30)]), [(0, 3, 8)], patch=2)
    assert batch.history.steps.shape[:2] == (1, 3)
    is_point = batch.history.steps.view(1, 6, -1)[0, :, 1]
    assert is_point.tolist() == [0, 1, 1, 1, 1, 1]


@given(st.integers(1, 26), st.integers(1, 12), st.integers(1, 3))
def test_what_comes_later_changes_no_bit(origin: int, length: int, patch: int) -> None:
    values, start = wave(30), max(0, origin - length)
    panel = panel_of(values, wave(28, 20.0))
    later = panel_of([v if n < origin else v + 1e6 for n, v in enumerate(values)], wave(28, -5.0))
    split = min(origin, 20)
    one, other = (
        batch_of(replace(p, series=p.series[:1]), [(0, start, origin)], split=split, patch=patch, has_target=False)
        for p in (panel, later)
    )
    assert all(torch.equal(a, b) for a, b in zip(one.history, other.history, strict=True))
    assert np.array_equal(one.scale.scale, other.scale.scale)
    trained = batch_of(replace(panel, series=panel.series[:1]), [(0, start, origin)], split=split, patch=patch)
    assert all(torch.equal(a, b) for a, b in zip(one.history, trained.history, strict=True))


def test_a_window_is_the_same_alone() -> None:
    panel, windows = panel_of(wave(30), wave(25, 20.0, 3)), [(0, 2, 10), (1, 5, 6), (0, 20, 25), (1, 1, 20)]
    together = batch_of(panel, windows)
    for row, window in enumerate(windows):
        alone, steps = batch_of(panel, [window]), min(8, window[2] - window[1])
        assert torch.equal(alone.history.steps[0], together.history.steps[row, :steps])
        assert not together.history.is_real[row, steps:].any()
        assert torch.equal(alone.target[0], together.target[row])


@pytest.mark.parametrize("spread", [0.0, 1e-12, 1e-6])
@pytest.mark.parametrize("value", [0.0, 1.0, 1e12, 1e-12])
def test_f7_the_way_back_of_constants_and_near_constants(value: float, spread: float) -> None:
    values = value + spread * max(abs(value), 1e-12) * np.sin(np.arange(30))
    panel = panel_of(values.tolist())
    batch = batch_of(panel, [(0, 4, 12), (0, 19, 20)])
    assert torch.isfinite(batch.history.steps).all()
    back = denormalise(batch.target.numpy(), batch.scale)
    for row, origin in enumerate((12, 20)):
        expected = panel.series[0].values[origin : origin + HORIZON]
        np.testing.assert_allclose(back[row], expected, rtol=1e-10, atol=1e-30)


def test_f1_what_was_not_observed_is_no_number_of_a_batch() -> None:
    values: list = wave(30)
    values[5] = values[9] = ""
    found = panel_of(values, how=SeriesOptions(missing="mask"))
    poisoned = replace(
        found,
        series=tuple(replace(one, values=np.where(one.is_observed, one.values, np.nan)) for one in found.series),
    )
    for one in (found, poisoned):
        batch = batch_of(one, [(0, 2, 8)])
        assert all(torch.isfinite(part.double()).all() for part in batch.history)
        assert torch.isfinite(batch.target).all()
        assert batch.is_wanted[0, :, 0].tolist() == [True, False, True]
        own = instance_scale(np.array(wave(30)[2:5] + wave(30)[6:8])[:, None])
        assert batch.scale.scale[0, 0, 0] == pytest.approx(float(own.scale[0]))


def test_f12_known_covariates_must_reach() -> None:
    columns = columns_of([*wave(30), "", ""])
    columns["promo"] = list(range(32))
    panel = read_panel(columns, target="y", how=SeriesOptions(known=("promo",)))
    assert batch_of(panel, [(0, 20, 29)], has_target=False).history.future.shape[1] == HORIZON
    with pytest.raises(UserError, match="known: series 'A': promo known for 2 of the 3 steps to forecast"):
        batch_of(panel, [(0, 20, 30)], has_target=False)
