"""The generated series: the same bytes for ever, and made as the formula says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqline.data.series.reading import read_panel
from seqline.data.toy_series import ToyKind, _sine, make_series, series_csv, write_series
from seqline.errors import UserError
from seqline.files import sha256


@pytest.mark.parametrize(
    ("kind", "digest"),
    [
        ("hourly", "9e4f7b22dfb6f34e53385a81ebbd673de0a3d795d636c0f831411e9d7d0a651f"),
        ("daily", "0e2d4a1f8a1b42b55fd062a5b51213504e29be3f56507009f8f9a421523f3750"),
    ],
)
def test_the_bytes_are_the_same_on_every_machine(kind: ToyKind, digest: str) -> None:
    assert sha256(series_csv(make_series(kind)).encode()) == digest


@pytest.mark.parametrize(("kind", "name"), [("hourly", "1h"), ("daily", "1d")])
def test_the_file_is_read_without_any_rule(tmp_path: Path, kind: ToyKind, name: str) -> None:
    write_series(tmp_path / "a.csv", kind, num_series=3, length=50)
    panel = read_panel(tmp_path / "a.csv")
    assert (panel.frequency.name, [one.id for one in panel.series]) == (name, ["A", "B", "C"])
    for one, made in zip(panel.series, make_series(kind, num_series=3, length=50), strict=True):
        assert one.values[:, 0].tolist() == made.values.tolist()
        assert one.times.tolist() == made.times.tolist()


def test_more_series_and_more_points_change_nothing_before() -> None:
    few, many = make_series("hourly", num_series=2, length=30), make_series("hourly", num_series=30, length=60)
    for short, long in zip(few, many, strict=False):
        assert short.values.tolist() == long.values[:30].tolist()
    assert [one.id for one in many][-5:] == ["Z", "AA", "AB", "AC", "AD"]
    assert make_series("hourly", seed=2)[0].values.tolist() != make_series("hourly")[0].values.tolist()
    assert make_series("hourly")[0].values.tolist() != make_series("hourly")[1].values.tolist()


@pytest.mark.parametrize(("kind", "day"), [("hourly", 24), ("daily", 1)])
def test_the_waves_of_the_formula_are_there_and_the_rest_is_noise_with_memory(kind: ToyKind, day: int) -> None:
    for one in make_series(kind, num_series=3, length=3 * 1461 * day):
        t = np.arange(len(one.values))
        waves = [np.ones_like(t, dtype=float), t / len(t)]
        for period in [day, 7 * day, 365.25 * day][day == 1 :]:
            waves += [np.sin(2 * np.pi * t / period), np.cos(2 * np.pi * t / period)]
        basis = np.stack(waves, axis=1)
        weights = np.linalg.lstsq(basis, one.values, rcond=None)[0]
        rest = one.values - basis @ weights
        sizes = [float(np.hypot(*pair)) for pair in weights[2:].reshape(-1, 2)]
        for size, (least, most) in zip(sizes, [(3, 6), (0.5, 1.5), (4, 8)][day == 1 :], strict=True):
            assert least - 0.5 < size < most + 0.5
        assert 0.8 < rest.std() < 2.2
        correlations = [float(np.corrcoef(rest[:-lag], rest[lag:])[0, 1]) for lag in (1, 2, 30)]
        assert np.allclose(correlations, [0.9, 0.81, 0.9**30], atol=0.07)


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=20))
def test_the_sine_is_a_sine(turns: list[float]) -> None:
    x = np.array(turns)
    assert np.abs(_sine(x) - np.sin(2 * np.pi * (x - np.round(x)))).max() < 1e-9


@pytest.mark.parametrize(("sizes", "where"), [
    ({"num_series": 0}, "num_series"), ({"num_series": 10_001}, "num_series"), ({"length": -1}, "length"),
    ({"length": 10**7}, "length"),
])  # fmt: skip
def test_sizes_out_of_range(sizes: dict[str, int], where: str) -> None:
    with pytest.raises(UserError, match=f"^{where}: expected 1 to"):
        make_series("hourly", **sizes)
