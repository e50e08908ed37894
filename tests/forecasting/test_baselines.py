"""Baselines: closed forms by hand, any history from one point on, gaps, and no look ahead."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from seqline.errors import UserError
from seqline.forecasting.baselines import BASELINES, Baseline, Setting, Span, fit, fit_baselines

HOUR = 3_600_000_000
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


def column(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float64)[:, None]


def hours(length: int, start: str = "2021-01-01") -> np.ndarray:
    return int(np.datetime64(start, "us").astype(np.int64)) + HOUR * np.arange(length)


def wave(length: int, period: int = 6) -> np.ndarray:
    t = np.arange(length)
    return (10 + 0.05 * t + 3 * np.sin(2 * np.pi * t / period) + 0.3 * np.cos(1.7 * t))[:, None]


@pytest.fixture(scope="module")
def fitted() -> dict[str, Baseline]:
    spans = [Span(wave(120), None, hours(120)), Span(5 * wave(90) - 3, None, hours(90))]
    return fit_baselines(spans, Setting(8, 6))


def predict(name: str, history: np.ndarray, horizon: int, period: int = 1, seen: Sequence[bool] = ()) -> list[float]:
    baseline = fit(name, [Span(column(1, 2, 3))], Setting(horizon, period))
    mask = np.array(seen)[:, None] if seen else None
    return baseline.predict(history, horizon, is_observed=mask)[:, 0].tolist()


def test_the_order_of_the_table() -> None:
    assert list(BASELINES) == ["naive", "seasonal naive", "drift", "mean", "climatology", "linear"]


def test_the_last_value() -> None:
    assert predict("naive", column(4, 9, 7), 3) == [7, 7, 7]
    assert predict("naive", column(4, 9, math.nan), 2, seen=[True, True, False]) == [9, 9]


def test_one_season_before() -> None:
    assert predict("seasonal naive", column(9, 1, 2, 3), 5, period=3) == [1, 2, 3, 1, 2]
    assert predict("seasonal naive", column(1, 2, 3), 2, period=3) == [1, 2]
    assert predict("seasonal naive", column(5, 6), 3, period=3) == [6, 6, 6]  # shorter than a season: the last value
    assert predict("seasonal naive", column(5, 6), 3, period=1) == [6, 6, 6]


def test_one_season_before_with_gaps() -> None:
    seen = [True, True, True, True, False, True]
    assert predict("seasonal naive", column(1, 2, 3, 4, 99, 6), 3, period=3, seen=seen) == [4, 2, 6]
    seen = [True, False, True, True, False, True]  # a phase never observed: the last value
    assert predict("seasonal naive", column(1, 99, 3, 4, 99, 6), 3, period=3, seen=seen) == [4, 6, 6]


def test_the_line_through_the_ends() -> None:
    assert predict("drift", column(1, 5, 2, 7), 2) == [9, 11]
    assert predict("drift", column(5), 3) == [5, 5, 5]
    # First and last observed value, and the steps from there.
    assert predict("drift", column(99, 1, 5, 7, 99), 2, seen=[False, True, True, True, False]) == [13, 16]
    assert predict("drift", column(99, 4, 99), 2, seen=[False, True, False]) == [4, 4]


def test_the_mean_of_the_history() -> None:
    assert predict("mean", column(1, 2, 6), 2) == [3, 3]
    assert predict("mean", column(1, 99, 6), 2, seen=[True, False, True]) == [3.5, 3.5]
    assert predict("mean", column(*[0.1] * 7), 1) == [0.1]


@pytest.mark.parametrize("name", BASELINES)
@pytest.mark.parametrize("length", [1, 2, 7, 24, 119, 500])
def test_any_history_gives_finite_numbers_and_quantiles_that_do_not_cross(
    fitted: dict[str, Baseline], name: str, length: int
) -> None:
    history = wave(length)
    forecast = fitted[name].predict(history, 8, when=hours(8), series=0)
    assert forecast.shape == (8, 1)
    assert np.isfinite(forecast).all()
    quantiles = fitted[name].quantiles(history, 8, LEVELS, when=hours(8), series=0)
    assert quantiles.shape == (8, 1, 5)
    assert np.isfinite(quantiles).all()
    assert (np.diff(quantiles, axis=-1) >= 0).all()
    assert (quantiles[..., -1] > quantiles[..., 0]).all()
    shorter = fitted[name].predict(history, 3, when=hours(3), series=0)
    assert shorter == pytest.approx(forecast[:3], rel=1e-12)


@pytest.mark.parametrize("name", BASELINES)
@pytest.mark.parametrize("value", [7.0, 0.0, 0.1, -1e12, 1e-12])
def test_a_constant_stays_that_constant(name: str, value: float) -> None:
    baseline = fit(name, [Span(np.full((30, 1), value), None, hours(30))], Setting(12, 4))
    for length in (1, 2, 30):
        history = np.full((length, 1), value)
        for found in (baseline.predict(history, 12), baseline.quantiles(history, 12, LEVELS)):
            assert np.abs(found - value).max() <= 1e-8 * abs(value)


@given(st.data(), st.integers(1, 14), st.sampled_from(list(BASELINES)))
def test_what_is_not_observed_changes_no_bit(data: st.DataObject, length: int, name: str) -> None:
    numbers = st.floats(-1e3, 1e3)
    training, history = (data.draw(hnp.arrays(np.float64, (n, 2), elements=numbers)) for n in (14, length))
    masks = [data.draw(hnp.arrays(np.bool_, (n, 2))) for n in (14, length)]
    masks[1][data.draw(st.integers(0, length - 1))] = True
    found = []
    for poison in (0.0, 1e9, math.nan):
        spans = [Span(np.where(masks[0], training, poison), masks[0], hours(14))]
        baseline = fit(name, spans, Setting(3, 2))
        past = np.where(masks[1], history, poison)
        found.append(baseline.predict(past, 3, is_observed=masks[1], when=hours(3)))
    assert np.isfinite(found[0]).all()
    assert (found[0] == found[1]).all()
    assert (found[0] == found[2]).all()


@pytest.mark.parametrize("name", BASELINES)
@given(data=st.data())
def test_what_comes_after_changes_no_bit(name: str, data: st.DataObject) -> None:
    values = data.draw(hnp.arrays(np.float64, (40, 1), elements=st.floats(-1e3, 1e3)))
    split, origin = data.draw(st.integers(8, 30)), data.draw(st.integers(1, 36))
    later = [values.copy(), values.copy()]
    later[0][split:] += 1e6
    later[1][origin:] += 1e6
    setting = Setting(4, 5)
    one, other = (fit(name, [Span(v[:split], None, hours(split))], setting) for v in (values, later[0]))
    for v in (values, later[1]):
        when = hours(40)[origin : origin + 4]
        assert (one.predict(v[:origin], 4, when=when) == other.predict(values[:origin], 4, when=when)).all()
        args = (v[:origin], 4, LEVELS)
        assert (one.quantiles(*args, when=when) == other.quantiles(values[:origin], 4, LEVELS, when=when)).all()


@pytest.mark.parametrize("name", BASELINES)
def test_a_history_is_not_written_to(fitted: dict[str, Baseline], name: str) -> None:
    history = wave(20)
    history.flags.writeable = False
    mask = np.ones((20, 1), bool)
    mask[-1] = False
    mask.flags.writeable = False
    fitted[name].predict(history, 4, is_observed=mask, series=1)


def test_columns_are_forecast_each_by_itself() -> None:
    both = np.concatenate([wave(60), 100 - wave(60, 5)], axis=1)
    setting = Setting(4, 6)
    for name in BASELINES:
        together = fit(name, [Span(both, None, hours(60))], setting).predict(both[:50], 4, when=hours(4))
        for n in range(2):
            alone = fit(name, [Span(both[:, n : n + 1], None, hours(60))], setting)
            assert together[:, n] == pytest.approx(
                alone.predict(both[:50, n : n + 1], 4, when=hours(4))[:, 0], rel=1e-9
            )


def test_quantiles_are_those_of_what_the_forecast_was_off_by() -> None:
    # The naive forecast of a walk of +1, -1, +1, ... is off by +1 and -1 in turn.
    walk = column(*(n % 2 for n in range(101)))
    baseline = fit("naive", [Span(walk)], Setting(1, 1))
    history = column(0, 1)
    quantiles = baseline.quantiles(history, 1, (0.01, 0.25, 0.75, 0.99))
    assert quantiles[0, 0] == pytest.approx([0.0, 0.0, 2.0, 2.0], abs=0.06)


def test_quantiles_of_a_panel_follow_the_size_of_the_series(fitted: dict[str, Baseline]) -> None:
    small, large = wave(60), 1000 * wave(60)
    width = [np.ptp(fitted["naive"].quantiles(h, 4, LEVELS), axis=-1).max() for h in (small, large)]
    assert width[1] == pytest.approx(1000 * width[0], rel=1e-9)


def test_quantiles_of_a_known_series_follow_its_training_span(fitted: dict[str, Baseline]) -> None:
    flat = np.full((9, 1), 12.0)  # nothing in this history says how far the series moves
    widths = [np.ptp(fitted["naive"].quantiles(flat, 4, LEVELS, series=n), axis=-1) for n in (0, 1)]
    ratio = (5 * wave(90) - 3).std() / wave(120).std()
    assert widths[1] == pytest.approx(ratio * widths[0], rel=1e-9)
    assert (widths[0] > 1).all()


def test_residuals_of_large_series_do_not_drown_those_of_small_ones() -> None:
    small, setting = Span(wave(60)), Setting(4, 6)
    alone, panel = (fit("naive", spans, setting) for spans in ([small], [small, Span(100 * wave(60))]))
    history = wave(20)
    expected = alone.quantiles(history, 4, LEVELS)
    assert panel.quantiles(history, 4, LEVELS, series=0) == pytest.approx(expected, rel=0.05)


def test_spans_too_short_for_a_window_give_forecasts_without_quantiles() -> None:
    for name in BASELINES:
        baseline = fit(name, [Span(column(1, 2)), Span(column(3))], Setting(5, 3))
        assert np.isfinite(baseline.predict(column(4, 5), 5)).all()
        with pytest.raises(ValueError, match="hold no such window"):
            baseline.quantiles(column(4, 5), 5, LEVELS)


def test_what_is_refused(fitted: dict[str, Baseline]) -> None:
    naive = fitted["naive"]
    for bad in (np.zeros((0, 1)), np.zeros(3)):
        with pytest.raises(ValueError, match="one point or more"):
            naive.predict(bad, 3)
    with pytest.raises(ValueError, match="no observed point"):
        naive.predict(np.ones((2, 2)), 3, is_observed=[[True, False]] * 2)
    with pytest.raises(ValueError, match="not finite"):
        naive.predict(column(1, math.nan), 3)
    with pytest.raises(ValueError, match="do not fit"):
        naive.predict(column(1, 2), 3, when=hours(2))
    with pytest.raises(ValueError, match="do not fit"):
        naive.predict(column(1, 2), 3, is_observed=[[True]])
    with pytest.raises(ValueError, match="fitted for 8 steps, not 9"):
        fitted["linear"].predict(column(1, 2), 9)
    with pytest.raises(ValueError, match="no residuals for 9 steps"):
        naive.quantiles(column(1, 2), 9, LEVELS)
    with pytest.raises(ValueError, match="levels between 0 and 1"):
        naive.quantiles(column(1, 2), 3, (0.0,))
    for spans, setting in (
        ([], Setting(3, 1)),
        ([Span(np.zeros((0, 1)))], Setting(3, 1)),
        ([Span(column(1))], Setting(0, 1)),
    ):
        with pytest.raises(ValueError, match="expected training spans"):
            fit("naive", spans, setting)
    with pytest.raises(UserError, match="did you mean 'seasonal naive'"):
        fit("seasonal-naive", [Span(column(1))], Setting(1, 1))


def test_no_tensor_library_is_needed() -> None:
    modules = "baselines, windows, scaling"
    code = f"import sys; from seqline.forecasting import {modules}; import seqline.evaluation.series_metrics"
    subprocess.run([sys.executable, "-c", f"{code}; assert 'torch' not in sys.modules"], check=True)
