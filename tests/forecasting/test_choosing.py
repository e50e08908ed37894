"""Whether the level of a history says something: on series whose answer is known."""

from __future__ import annotations

import math

import numpy as np
from tests.small_forecasts import panel_of, wave

from seqline.forecasting.choosing import Errors, squared_errors


def _errors(*series: list[float], ends: list[int] | None = None, longest: int = 48) -> Errors:
    return squared_errors(
        panel_of(*series), ends or [len(one) for one in series], horizon=6, longest=longest, season=12
    )


def _returning(length: int, share: float, level: float = 0.0) -> list[float]:
    """Return y_t = share y_{t-1} + noise around a level, other noise for another level."""
    values = [0.0]
    for noise in np.random.default_rng(int(level)).normal(size=length - 1):
        values.append(share * values[-1] + noise)
    return [level + value for value in values]


def test_a_level_that_is_left_for_that_of_the_season_says_something() -> None:
    noise = np.repeat(np.random.default_rng(1).normal(size=80), 6) * 3  # half a year too warm or too cold
    found = _errors((np.array(wave(480)) + noise).tolist(), longest=6)
    assert found.level_counts
    assert found.alike < 0.8 * found.own
    assert str(found).startswith("all histories are scaled alike")


def test_the_level_of_a_rising_series_says_nothing() -> None:
    found = _errors([n + value for n, value in enumerate(_returning(400, 0.5))])
    assert not found.level_counts
    assert str(found).startswith("each history is scaled by itself")


def test_levels_of_their_own_say_nothing() -> None:
    assert not _errors(*(_returning(90, 0.9, level) for level in (1.0, 50.0, 3000.0, 200.0, 7.0))).level_counts


def test_what_comes_after_the_training_spans_is_not_read() -> None:
    values = _returning(300, 0.8)
    assert _errors(values, ends=[200]) == _errors([*values[:200], *(v + 1e6 for v in values[200:])], ends=[200])


def test_too_short_to_tell() -> None:
    for found in (_errors(wave(12)), _errors(wave(30), ends=[0])):
        assert all(math.isnan(error) for error in found)
        assert not found.level_counts
        assert str(found) == "each history is scaled by itself"
