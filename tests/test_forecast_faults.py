"""Odd series through a whole training and forecast: constants, sizes far from 1, outliers, lengths up to what is needed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from seqline.data.series import SeriesOptions
from seqline.data.series.reading import read_panel
from seqline.errors import UserError
from seqline.predictor import Predictor
from seqline.run_folder import load_run

from .small_forecasts import COVARIATES, columns_of, covariate_columns, panel_of, train_small, wave, write_csv

ONE_STEP = {"training.max_steps": 1, "training.validate_every": 1}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "a.csv"


@pytest.mark.parametrize("norm", [True, False], ids=["instance", "pooled"])
@pytest.mark.parametrize("spread", [0.0, 1e-12, 1e-6])
def test_f7_constants_and_near_constants_are_forecast_as_themselves(
    spread: float, norm: bool, data: Path, tmp_path: Path
) -> None:
    values = (7 + 7 * spread * np.sin(np.arange(30))).tolist()
    write_csv(data, columns_of(values, [0.0] * 30))
    run = train_small(data, tmp_path / "run", "gru", **{"model.instance_norm": norm, **ONE_STEP})
    predictor = Predictor.load(run)
    near, zero = predictor.predict(predictor.read(data), quantiles=(0.1, 0.9))
    assert np.isfinite([*near.mean, *zero.mean, *near.quantiles[0.1], *near.quantiles[0.9]]).all()
    if norm:  # else the scale is that of all series together, and the two lie 7 apart
        np.testing.assert_allclose(near.mean, 7.0, atol=1e-6 + 30 * spread)
        np.testing.assert_allclose(zero.mean, 0.0, atol=1e-6 + 30 * spread)


@pytest.mark.parametrize("size", [1e-12, 1e12])
def test_f9_forecasts_do_not_depend_on_the_size_of_the_unit(size: float, data: Path, tmp_path: Path) -> None:
    found = []
    for name, factor in (("plain", 1.0), ("sized", size)):
        write_csv(data, columns_of([factor * value for value in wave(40)]))
        predictor = Predictor.load(train_small(data, tmp_path / name, "gru", **ONE_STEP))
        found.append(predictor.predict(predictor.read(data))[0].mean / factor)
    np.testing.assert_allclose(found[1], found[0], rtol=1e-3)


def test_f9_one_huge_outlier_leaves_numbers(data: Path, tmp_path: Path) -> None:
    values = wave(60)
    values[20] = 1e12
    write_csv(data, columns_of(values, wave(60, 20.0)))
    predictor = Predictor.load(train_small(data, tmp_path / "run", "gru"))
    for history in (values[:30], wave(12)):
        (found,) = predictor.predict(panel_of(history), quantiles=(0.1, 0.9))
        assert np.isfinite([found.mean, *found.quantiles.values()]).all()


@pytest.mark.parametrize("last", [1.0, 1e15, 1e30])
@pytest.mark.parametrize("level", [0.0, 1.0])
@pytest.mark.parametrize("norm", [True, False], ids=["instance", "pooled"])
def test_f9_a_jump_behind_a_constant_leaves_numbers(
    level: float, last: float, norm: bool, data: Path, tmp_path: Path
) -> None:
    values = [level] * 59 + [last]
    write_csv(data, columns_of(values))
    run = load_run(train_small(data, tmp_path / "run", "transformer", **{"model.instance_norm": norm}))
    assert all(np.isfinite(number) for number in run.manifest["validation"].values())
    for history in (values, [level] * 5, [last] * 3, [1.0, last]):
        (found,) = Predictor.of(run).predict(panel_of(history), quantiles=(0.1, 0.9))
        assert np.isfinite([found.mean, *found.quantiles.values()]).all()


@pytest.mark.parametrize("column", ["y", "promo", "seen", "size"])
def test_f9_numbers_that_no_model_holds_are_refused_where_they_stand(column: str, tmp_path: Path) -> None:
    columns = covariate_columns()
    columns[column] = [
        1e31 if one == "B" else cell for one, cell in zip(columns["unique_id"], columns[column], strict=True)
    ]
    file = write_csv(tmp_path / "large.csv", columns)
    with pytest.raises(
        UserError, match=rf"large.csv:42: column '{column}': expected numbers up to 1e\+30 in size, got 1e\+31"
    ):
        read_panel(file, target="y", how=SeriesOptions(**COVARIATES))


@pytest.mark.parametrize("length", [1, 6])
def test_f8_a_series_with_no_window_is_refused_by_its_length(length: int, data: Path, tmp_path: Path) -> None:
    write_csv(data, columns_of(wave(length)))
    with pytest.raises(UserError, match=rf"1 series too short .* need 7 points: A \({length}\)"):
        train_small(data, tmp_path / "run", "gru", **{"data.frequency": "1month", **ONE_STEP})
    assert not (tmp_path / "run").exists()


def test_f8_a_series_with_one_window_is_trained_on(data: Path, tmp_path: Path) -> None:
    write_csv(data, columns_of(wave(7)))
    predictor = Predictor.load(train_small(data, tmp_path / "run", "gru", **ONE_STEP))
    (found,) = predictor.predict(predictor.read(columns_of([3.0])))
    assert np.isfinite(found.mean).all()


def test_f8_an_empty_history_is_refused(data: Path, tmp_path: Path) -> None:
    write_csv(data, columns_of(wave(30)))
    predictor = Predictor.load(train_small(data, tmp_path / "run", "gru", **ONE_STEP))
    with pytest.raises(UserError, match="has no rows; give at least one point"):
        predictor.read({"unique_id": [], "ds": [], "y": []})
