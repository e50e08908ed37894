"""Calendar features follow the local clock; times to come continue the input's grid and look like it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqline.data.series import Panel, SeriesOptions, Times
from seqline.data.series.calendar import (
    calendar_features,
    calendar_names,
    forecast_times,
    future_times,
    written_times,
)
from seqline.data.series.frequency import Frequency, frequency_of
from seqline.data.series.reading import read_panel
from seqline.errors import UserError


def at(*texts: str) -> Times:
    return np.array(texts, dtype="datetime64[us]").astype(np.int64)


def panel_of(times: list[Any], **options: Any) -> Panel:
    return read_panel({"ds": times, "y": list(range(len(times)))}, how=SeriesOptions(**options))


@pytest.mark.parametrize(("name", "cycles"), [
    ("1s", "hour day week year"), ("15min", "hour day week year"), ("30min", "day week year"), ("1h", "day week year"),
    ("8h", "day week year"), ("12h", "week year"), ("1d", "week year"), ("1b", "week year"), ("3d", "year"), ("1w", "year"),
    ("1month", "year"), ("1quarter", "year"), ("6month", ""), ("1year", ""), ("1row", ""), ("1us", "hour day week year"),
])  # fmt: skip
def test_a_cycle_is_there_when_it_has_three_steps(name: str, cycles: str) -> None:
    frequency = frequency_of(name)
    assert calendar_names(frequency) == tuple(f"{wave}({c})" for c in cycles.split() for wave in ("sin", "cos"))
    features = calendar_features(at("2024-02-29T13:37", "1969-12-31"), frequency, "Europe/Berlin")
    assert features.shape == (2, len(calendar_names(frequency)))


@given(st.lists(st.integers(-(10**15), 4 * 10**15), max_size=9), st.sampled_from(["1min", "1h", "1d", "1month", "2w"]))
def test_every_pair_lies_on_the_unit_circle(instants: list[int], name: str) -> None:
    features = calendar_features(np.array(instants, dtype=np.int64), frequency_of(name), "America/New_York")
    squares = features**2
    assert np.allclose(squares[:, 0::2] + squares[:, 1::2], 1)


def test_phases_on_known_times() -> None:
    hour, day = Frequency(1, "h"), Frequency(1, "d")
    monday = calendar_features(at("2024-01-01T06:00"), hour, "")[0]
    assert np.allclose(monday, [1, 0, np.sin(np.pi / 14), np.cos(np.pi / 14), np.sin(np.pi / 732), np.cos(np.pi / 732)])
    assert np.allclose(calendar_features(at("2023-07-02T12:00"), day, "")[0, 2:], [0, -1])
    assert np.allclose(calendar_features(at("2024-07-02T00:00"), day, "")[0, 2:], [0, -1])
    months = calendar_features(at(*(f"2024-{m:02d}-28" for m in range(1, 13))), Frequency(1, "month"), "")
    assert np.allclose(np.arctan2(months[:, 0], months[:, 1]) % (2 * np.pi), np.arange(12) * np.pi / 6)
    assert (
        len({tuple(row) for row in calendar_features(at(*(f"2024-01-0{d}" for d in range(1, 8))), day, "")[:, :2]}) == 7
    )


def test_the_local_clock_counts() -> None:
    noons = at("2024-01-15T11:00", "2024-07-15T10:00")  # noon in Berlin in winter and in summer
    features = calendar_features(noons, Frequency(1, "h"), "Europe/Berlin")[:, :2]
    assert np.allclose(features, [[0, -1], [0, -1]])
    assert not np.allclose(calendar_features(noons, Frequency(1, "h"), "")[:, :2], [[0, -1], [0, -1]])


@pytest.mark.parametrize(("times", "options", "expected"), [
    (["2024-02-27", "2024-02-28"], {}, ["2024-02-29", "2024-03-01"]),
    (["2024-01-31", "2024-02-29"], {}, ["2024-03-31", "2024-04-30"]),
    (["2024-01-30", "2024-02-29"], {}, ["2024-03-30", "2024-04-30"]),
    (["2024-01", "2024-02"], {}, ["2024-03", "2024-04"]),
    (["2024-05-03", "2024-05-06"], {"frequency": "b"}, ["2024-05-07", "2024-05-08"]),
    (["2024-05-10"], {"frequency": "1b"}, ["2024-05-13", "2024-05-14"]),
    (["2024-02-29"], {"frequency": "1year"}, ["2025-02-28", "2026-02-28"]),
    ([4, 5], {}, [6, 7]), ([10, 20], {"time_unit": "row"}, [30, 40]),
    ([1_700_000_000, 1_700_003_600], {"time_unit": "s"}, [1_700_007_200, 1_700_010_800]),
    (["2024-03-31T00:00", "2024-03-31T01:00"], {"zone": "Europe/Berlin"}, ["2024-03-31T03:00", "2024-03-31T04:00"]),
    (["2024-10-27 01:00:00", "2024-10-27 02:00:00"], {"zone": "Europe/Berlin", "repeated": "first"},
     ["2024-10-27 02:00:00", "2024-10-27 03:00:00"]),
    (["2024-03-31T00:00+01:00", "2024-03-31T01:00+01:00"], {"zone": "Europe/Berlin"},
     ["2024-03-31T03:00+02:00", "2024-03-31T04:00+02:00"]),
    (["2024-03-31T00:00+01:00", "2024-03-31T01:00+01:00"], {}, ["2024-03-31T02:00+01:00", "2024-03-31T03:00+01:00"]),
    (["2024-03-31T00:00Z", "2024-03-31T01:00Z"], {"zone": "Asia/Tokyo"}, ["2024-03-31T02:00Z", "2024-03-31T03:00Z"]),
    (["31.1.2024", "1.2.2024"], {"time_format": "%d.%m.%Y"}, ["2.2.2024", "3.2.2024"]),
    (["12/31/2023 22:00", "12/31/2023 23:00"], {"time_format": "%m/%d/%Y %H:%M", "zone": "UTC"},
     ["01/01/2024 00:00", "01/01/2024 01:00"]),
    (["2024-03-30 12:00", "2024-03-31 12:00"], {"zone": "Europe/Berlin"}, ["2024-04-01 12:00", "2024-04-02 12:00"]),
    (["2024-01-01T00:00:00.25Z", "2024-01-01T00:00:00.5Z"], {},
     ["2024-01-01T00:00:00.750000Z", "2024-01-01T00:00:01.000000Z"]),
])  # fmt: skip
def test_forecasts_look_like_the_input(times: list[Any], options: dict[str, Any], expected: list[Any]) -> None:
    panel = panel_of(times, **options)
    found = forecast_times(panel, panel.series[0], 2)
    assert found.written == expected
    assert found.instants.tolist() == future_times(panel, panel.series[0], 2).tolist()
    again = written_times(panel, panel.series[0].times)
    assert again == times or ".250000Z" in str(again[0])


@given(
    st.sampled_from(["1min", "1h", "7h", "1d", "1b", "1w", "1month", "1month-end", "1quarter", "1year", "5d"]),
    st.integers(0, 1_000), st.integers(2, 30), st.integers(0, 12), st.sampled_from(["UTC", "Europe/Berlin", "+05:30"]),
)  # fmt: skip
def test_the_future_is_what_a_longer_file_says(name: str, start: int, length: int, horizon: int, zone: str) -> None:
    frequency = frequency_of(name)
    first = int(at("2023-06-30T12:00")[0]) + start // 7 * 7 * 86_400_000_000  # a Friday
    if name.startswith(("1month", "1quarter", "1year")):
        first = int(at("2024-02-29T12:00" if frequency.is_end else f"2024-02-{1 + start % 28:02d}T12:00")[0])
    times = frequency.step(first, np.arange(length + horizon), zone)
    texts = [f"{text}Z" for text in times.astype("datetime64[us]").astype("datetime64[s]").astype(str).tolist()]
    panel = panel_of(texts[:length], zone=zone, frequency=name)
    found = forecast_times(panel, panel.series[0], horizon)
    assert found.instants.tolist() == times[length:].tolist()
    assert found.written == texts[length:]
    assert all(a < b for a, b in pairwise([int(panel.series[0].times[-1]), *found.instants.tolist()]))


def test_time_ends_with_the_year_9999() -> None:
    panel = panel_of(["9999-12-29", "9999-12-30"])
    assert forecast_times(panel, panel.series[0], 1).written == ["9999-12-31"]
    with pytest.raises(UserError, match=r"^horizon: the forecast leaves the years 1 to 9999; ask for less"):
        future_times(panel, panel.series[0], 2)
    assert forecast_times(panel, panel.series[0], 0).written == []
