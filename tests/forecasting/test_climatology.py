"""Climatology: means by place of the calendar, found by hand, and what stands in where a place was never seen."""

from __future__ import annotations

import numpy as np
import pytest

from seqline.forecasting.climatology import fit_climatology
from seqline.forecasting.history import Setting, Span, as_past

DAY = 86_400_000_000
DAILY, ROWS = Setting(3, 7), Setting(3, 4, is_calendar=False)


def at(*texts: str) -> np.ndarray:
    return np.array([np.datetime64(text, "us").astype(np.int64) for text in texts])


def days(start: str, number: int, step: int = DAY) -> np.ndarray:
    return at(start)[0] + step * np.arange(number)


def usual(spans: list[Span], setting: Setting, when: np.ndarray, series: int | None = None) -> list[float]:
    past = as_past([[50.0], [60.0]], len(when), when=when, series=series)
    return fit_climatology(spans, setting)(past, len(when))[:, 0].tolist()


def test_the_mean_of_fifteen_days_on_each_side() -> None:
    values = np.zeros((730, 1))
    values[31 + 28] = 31.0  # 1 March 2021
    spans = [Span(values, None, days("2021-01-01", 730))]
    found = usual(spans, DAILY, at("2023-03-01", "2023-03-16", "2023-02-15", "2023-03-17", "2023-02-14"))
    # 31 days of two years, without the 29 February that neither of them has.
    assert found == pytest.approx([31 / 60, 31 / 62, 31 / 60, 0, 0], abs=1e-12)


def test_the_turn_of_the_year_is_no_edge() -> None:
    values = np.zeros((730, 1))
    values[365] = 62.0  # 1 January 2022
    spans = [Span(values, None, days("2021-01-01", 730))]
    assert usual(spans, DAILY, at("2024-12-20", "2025-01-16", "2024-12-16")) == pytest.approx([1, 1, 0], abs=1e-12)


def test_the_29th_of_february_has_its_place() -> None:
    values = np.zeros((1461, 1))
    values[366 + 31 + 28] = 1.0
    spans = [Span(values, None, days("2019-01-01", 1461))]
    assert usual(spans, DAILY, at("2024-02-29", "2023-02-28"))[0] > 0
    assert usual(spans, DAILY, at("2024-03-15", "2024-03-16")) == pytest.approx(
        [1 / (4 * 31 - 3), 1 / (4 * 31 - 3)], abs=1e-2
    )


def test_hours_of_the_day_are_apart() -> None:
    when = days("2021-01-01", 24 * 365, DAY // 24)
    hour, day = np.arange(24 * 365) % 24, np.arange(24 * 365) // 24
    spans = [Span((hour + 100.0 * (day < 181))[:, None], None, when)]
    found = usual(spans, DAILY, at("2022-03-01T05:00", "2022-03-01T23:00", "2022-09-01T00:00"))
    assert found == pytest.approx([105, 123, 0], abs=1e-9)


def test_a_span_of_less_than_a_year_knows_no_season() -> None:
    when = days("2021-01-01", 24 * 40, DAY // 24)
    hour, day = np.arange(24 * 40) % 24, np.arange(24 * 40) // 24
    spans = [Span((hour + day)[:, None].astype(float), None, when)]
    assert usual(spans, DAILY, at("2021-08-01T05:00", "2021-01-01T07:00")) == pytest.approx([24.5, 26.5])


def test_places_never_seen() -> None:
    when = days("2021-01-01", 365 * 2, DAY)
    values = np.arange(730.0)[:, None]
    seen = np.ones((730, 1), bool)
    seen[(when // DAY % 365 >= 0) & (np.abs((when - when[0]) // DAY % 365 - 180) < 40)] = False
    spans = [Span(np.where(seen, values, 1e9), seen, when)]
    # Noon was never measured: the mean of the span. Nor was late June: the mean at midnight, here the same.
    mean = values[seen].mean()
    assert usual(spans, DAILY, at("2023-01-05T12:00", "2023-06-30", "2023-06-29")) == pytest.approx([mean] * 3)


def test_phases_of_rows() -> None:
    spans = [Span(np.array([[1.0], [2], [3], [4], [5], [6]]), None, np.arange(10, 16))]
    assert usual(spans, ROWS, np.array([16, 17, 18])) == [3, 4, 1.0 + 2]  # 10 and 14 are phase 2: 1 and 5
    assert usual(spans, ROWS, np.array([100])) == [3]


def test_without_a_calendar_the_mean_of_the_span() -> None:
    spans = [Span(np.array([[1.0], [2], [6]]))]
    past = as_past([[50.0]], 2)
    assert fit_climatology(spans, DAILY)(past, 2)[:, 0].tolist() == [3, 3]


def test_each_series_has_its_own_and_a_stranger_the_mean_of_its_history() -> None:
    when = np.arange(4)
    spans = [Span(np.full((4, 1), 10.0), None, when), Span(np.array([[1.0], [2], [3], [4]]), None, when)]
    assert usual(spans, ROWS, np.array([4, 5]), series=0) == [10, 10]
    assert usual(spans, ROWS, np.array([4, 5]), series=1) == [1, 2]
    assert usual(spans, ROWS, np.array([4, 5])) == [55, 55]


def test_a_span_that_was_never_observed_says_nothing() -> None:
    spans = [Span(np.full((3, 1), np.nan), np.zeros((3, 1), bool), np.arange(3))]
    assert usual(spans, ROWS, np.array([3, 4])) == [55, 55]
