"""The linear map: weights that are known, windows that count, and the largest lookback that fits."""

from __future__ import annotations

import numpy as np
import pytest

from seqline.forecasting.history import Setting, Span, as_past
from seqline.forecasting.linear import Normalisation, fit_linear

NORMALISATIONS: tuple[Normalisation, ...] = ("window", "last", "training")


def column(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float64)[:, None]


def wave(length: int, level: float = 0.0, size: float = 1.0, shift: float = 0.0) -> np.ndarray:
    return (level + size * np.sin(0.4 * np.arange(length) + shift))[:, None]


@pytest.mark.parametrize("normalisation", NORMALISATIONS)
def test_a_wave_is_continued_exactly(normalisation: Normalisation) -> None:
    # y[t + 1] = 2 cos(0.4) y[t] - y[t - 1]: linear in two values, and in three where a centre is taken away.
    forecast = fit_linear(
        [Span(wave(400, level=3))], Setting(6, 1), lookbacks=(8,), normalisation=normalisation, ridge=1e-9
    )
    whole = wave(60, level=3, shift=1.0)
    assert forecast(as_past(whole[:50], 6), 6) == pytest.approx(
        whole[50:56], abs=1e-3 if normalisation == "window" else 1e-5
    )


def test_the_weights_are_ridge_regression() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(60, 1))
    z = (values - values.mean()) / values.std()
    inputs = np.array([[*z[t : t + 3, 0], 1.0] for t in range(60 - 3 - 2 + 1)])
    targets = np.array([z[t + 3 : t + 5, 0] for t in range(60 - 3 - 2 + 1)])
    # Ridge as extra rows: sqrt(10) for each weight, none for the constant.
    extra = np.sqrt(10) * np.eye(3, 4)
    weights = np.linalg.lstsq(np.vstack([inputs, extra]), np.vstack([targets, np.zeros((3, 2))]), rcond=None)[0]
    forecast = fit_linear([Span(values)], Setting(2, 1), lookbacks=(3,), normalisation="training")
    expected = (np.array([*z[-3:, 0], 1.0]) @ weights) * values.std() + values.mean()
    assert forecast(as_past(values, 2), 2)[:, 0] == pytest.approx(expected, rel=1e-10)


def test_the_largest_lookback_that_fits_is_used() -> None:
    training = [Span(wave(200) + np.cos(1.3 * np.arange(200))[:, None])]
    several = fit_linear(training, Setting(4, 1), lookbacks=(8, 1, 3))
    history = wave(20)
    for length, lookback in ((1, 1), (2, 1), (3, 3), (7, 3), (8, 8), (20, 8)):
        single = fit_linear(training, Setting(4, 1), lookbacks=(lookback,))
        past = as_past(history[:length], 4)
        assert (several(past, 4) == single(past, 4)).all()
    # Only the last values count, and a history shorter than every lookback is continued by its last value.
    assert (several(as_past(history, 4), 4) == several(as_past(history[-8:], 4), 4)).all()
    shortest = fit_linear(training, Setting(4, 1), lookbacks=(8,))
    assert shortest(as_past(history[:7], 4), 4)[:, 0].tolist() == [history[6, 0]] * 4


def test_one_map_serves_series_of_every_level_and_size() -> None:
    spans = [Span(wave(150, level, size, level)) for level, size in ((0, 1), (50, 3), (-9, 0.2))]
    forecast = fit_linear(spans, Setting(5, 16), lookbacks=(24,), ridge=1e-3)
    whole = wave(60, level=1e4, size=700, shift=2.0)
    assert forecast(as_past(whole[:50], 5), 5) == pytest.approx(whole[50:55], abs=7)
    moved = forecast(as_past(8 * whole[:50] + 1000, 5), 5)
    assert moved == pytest.approx(8 * forecast(as_past(whole[:50], 5), 5) + 1000, rel=1e-10)


def test_a_gap_holds_the_value_before_it_and_its_targets_do_not_count() -> None:
    values, seen = wave(120), np.ones((120, 1), bool)
    seen[[0, 1, 50, 51, 52]] = False
    poisoned = np.where(seen, values, 1e6)
    forecast = fit_linear([Span(poisoned, seen)], Setting(2, 1), lookbacks=(6,), ridge=1e-6)
    assert np.abs(forecast(as_past(values[:40], 2), 2) - values[40:42]).max() < 0.2
    held = values[:40].copy()
    held[36:38] = held[35]
    mask = np.ones((40, 1), bool)
    mask[36:38] = False
    assert (forecast(as_past(values[:40], 2, mask), 2) == forecast(as_past(held, 2), 2)).all()


def test_only_windows_with_whole_targets_count() -> None:
    values, seen = np.random.default_rng(2).normal(size=(30, 1)), np.ones((30, 1), bool)
    seen[6] = False
    held = values.copy()
    held[6] = held[5]
    z = (held[:, 0] - held.mean()) / held.std()
    starts = [s for s in range(27) if s not in (3, 4)]  # their targets hold the gap
    inputs = np.array([[*z[s : s + 2], 1.0] for s in starts] + [[1.0, 0, 0], [0, 1.0, 0]])
    targets = np.array([z[s + 2 : s + 4] for s in starts] + [[0.0, 0]] * 2)
    weights = np.linalg.lstsq(inputs, targets, rcond=None)[0]
    forecast = fit_linear([Span(values, seen)], Setting(2, 1), lookbacks=(2,), normalisation="training", ridge=1.0)
    expected = (np.array([*z[-2:], 1.0]) @ weights) * held.std() + held.mean()
    assert forecast(as_past(values, 2), 2)[:, 0] == pytest.approx(expected, rel=1e-10)


def test_leading_gaps_are_no_history() -> None:
    forecast = fit_linear([Span(wave(90))], Setting(2, 1), lookbacks=(1, 4))
    mask = np.array([False] * 5 + [True] * 3)[:, None]
    late = as_past(wave(8), 2, mask)
    assert (forecast(late, 2) == forecast(as_past(wave(8)[5:], 2), 2)).all()


def test_lookbacks_by_default_reach_over_seasons() -> None:
    # 20 seasons of 4 fit; the wave needs more than one season to be told from a longer one.
    t = np.arange(700)
    values = (np.sin(2 * np.pi * t / 4) + 2 * np.sin(2 * np.pi * t / 37))[:, None]
    forecast = fit_linear([Span(values[:600])], Setting(4, 4), ridge=1e-3)
    errors = [np.abs(forecast(as_past(values[:n][-80:], 4), 4) - values[n : n + 4]).max() for n in range(600, 690)]
    short = [np.abs(forecast(as_past(values[:n][-4:], 4), 4) - values[n : n + 4]).max() for n in range(600, 690)]
    assert max(errors) < 0.05
    assert max(short) > 10 * max(errors)


def test_without_a_window_the_last_value() -> None:
    for spans in ([Span(column(1, 2))], [Span(column(1, 2), np.zeros((2, 1), bool))]):
        forecast = fit_linear(spans, Setting(3, 1))
        assert forecast(as_past(column(5, 6), 3), 3)[:, 0].tolist() == [6, 6, 6]


def test_long_work_is_thinned_and_a_given_lookback_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(1).normal(size=(300, 1)).cumsum(axis=0)
    before = fit_linear([Span(values)], Setting(2, 1))(as_past(values, 2), 2)
    given = fit_linear([Span(values)], Setting(2, 1), lookbacks=(20,))(as_past(values, 2), 2)
    assert (before == given).all()  # 20 seasons of 1
    monkeypatch.setattr("seqline.forecasting.linear._MOST_WORK", 50 * 20**2)
    thinned = fit_linear([Span(values)], Setting(2, 1))(as_past(values, 2), 2)
    assert (thinned != before).any()
    assert thinned == pytest.approx(before, abs=3.0)
    assert (fit_linear([Span(values)], Setting(2, 1), lookbacks=(20,))(as_past(values, 2), 2) == given).all()
