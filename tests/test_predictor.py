"""Forecasting runs: any history, alone or in a batch, by every recipe; what is refused; nothing from the future."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from seqline.architectures import ARCHITECTURES
from seqline.data.series import Panel
from seqline.errors import UserError
from seqline.forecasting.windows import Windows
from seqline.predictor import Predictor

from .small_forecasts import columns_of, panel_of, train_small, wave, write_csv

QUICK = ("encoder-decoder", "luong", "conv", "ssru")  # of the recursive ones; the others are slow
EVERY = [
    pytest.param(name, strategy, marks=() if strategy == "direct" or name in QUICK else pytest.mark.slow)
    for name, recipe in ARCHITECTURES.items()
    for strategy in ("direct", "recursive")
    if strategy == "direct" or recipe.build is not None
]
HISTORIES = [1, 2, 7, 24, 500]
TOLERANCE = 1e-5 * 3  # of the scale of these series, in float32


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_csv(tmp_path_factory.mktemp("series") / "a.csv", columns_of(wave(90), wave(70, 20.0, 3)))


@pytest.fixture(scope="module")
def lstm(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    return Predictor.load(train_small(data, tmp_path_factory.mktemp("lstm") / "run", "lstm", **{"model.patch": 3}))


@pytest.mark.parametrize(("name", "strategy"), EVERY)
def test_every_recipe_forecasts_from_any_history(name: str, strategy: str, data: Path, tmp_path: Path) -> None:
    run = train_small(data, tmp_path / "run", name, **{"model.strategy": strategy})
    predictor = Predictor.load(run)
    panel = panel_of(*(wave(length, 10.0 + length, length) for length in HISTORIES))
    together = predictor.predict(panel, quantiles=(0.1, 0.5, 0.9))
    assert [forecast.id for forecast in together] == ["A", "B", "C", "D", "E"]
    for length, forecast in zip(HISTORIES, together, strict=True):
        assert forecast.mean.shape == (6, 1)
        assert np.isfinite(forecast.mean).all()
        assert forecast.times.shape == (6,)
        low, middle, high = forecast.quantiles.values()
        assert (low <= middle).all()
        assert (middle <= high).all()
        (alone,) = predictor.predict(_one(panel, length))
        np.testing.assert_allclose(alone.mean, forecast.mean, rtol=0, atol=TOLERANCE)


def _one(panel: Panel, length: int) -> Panel:
    return replace(panel, series=tuple(one for one in panel.series if len(one) == length))


def test_the_steps_continue_the_calendar(lstm: Predictor) -> None:
    (found,) = lstm.predict(panel_of(wave(5)), horizon=3)
    months = found.times.astype("datetime64[us]").astype("datetime64[M]").astype(str).tolist()
    assert months == ["2020-01", "2020-02", "2020-03"]


@pytest.mark.parametrize("distribution", ["point", "quantile", "gaussian", "student-t"])
@pytest.mark.parametrize("value", [7.0, 0.0])
def test_a_constant_is_forecast_as_itself(value: float, distribution: str, tmp_path: Path) -> None:
    data = write_csv(tmp_path / "c.csv", columns_of([value] * 30))
    predictor = Predictor.load(train_small(data, tmp_path / "run", "gru", **{"model.distribution": distribution}))
    (found,) = predictor.predict(predictor.read(data))
    np.testing.assert_allclose(found.mean, value, atol=0.07)


def test_a_line_goes_on(tmp_path: Path) -> None:
    data = write_csv(tmp_path / "l.csv", columns_of([float(n) for n in range(1, 61)]))
    predictor = Predictor.load(train_small(data, tmp_path / "run", "lstm", **{"data.horizon": 12}))
    (found,) = predictor.predict(predictor.read(data))
    np.testing.assert_allclose(found.mean[:, 0], np.arange(61, 73), rtol=0.05)


def test_a_constant_history_stays_near_the_constant(lstm: Predictor) -> None:
    (found,) = lstm.predict(panel_of([1000.0] * 30), quantiles=(0.05, 0.95))
    assert np.isfinite(found.mean).all()
    # The least scale is a tenth of the least spread seen in training, as a share of the magnitude.
    np.testing.assert_allclose(found.mean, 1000.0, rtol=0.05)


def test_forecasts_follow_their_history(lstm: Predictor) -> None:
    plain, scaled = (lstm.predict(panel_of([a * x + b for x in wave(20)]))[0].mean for a, b in ((1.0, 0.0), (4.0, 9.0)))
    np.testing.assert_allclose(scaled, 4.0 * plain + 9.0, rtol=1e-5)


def test_nothing_from_an_origin_on_is_read(lstm: Predictor) -> None:
    panel, other = panel_of(wave(40)), panel_of([*wave(40)[:30], *[1e6] * 10])
    windows = Windows(np.array([0, 0]), np.array([5, 0]), np.array([30, 20]))
    for one, two in zip(lstm.windows(panel, windows).mean, lstm.windows(other, windows).mean, strict=True):
        assert np.array_equal(one, two)


def test_what_a_longer_history_begins_with_is_not_read(lstm: Predictor) -> None:
    (short,), (long,) = (lstm.predict(panel_of(values)) for values in (wave(24), [5.0] * 50 + wave(24)))
    np.testing.assert_allclose(long.mean, short.mean, atol=TOLERANCE)


def test_the_past_of_training_alone_makes_the_model(tmp_path: Path) -> None:
    values = wave(60)
    runs = []
    for name, held in (("a", values[48:]), ("b", [value + 1e6 for value in values[48:]])):
        data = write_csv(tmp_path / f"{name}.csv", columns_of([*values[:48], *held]))
        runs.append(train_small(data, tmp_path / name, "gru", **{"data.holdout": 12}))
    for file in ("series.json", "checkpoints/step-3/model.safetensors", "checkpoints/step-3/optimizer.safetensors"):
        assert (runs[0] / file).read_bytes() == (runs[1] / file).read_bytes()


def test_a_recursive_model_goes_on_beyond_its_horizon_and_says_so(data: Path, tmp_path: Path) -> None:
    run = train_small(data, tmp_path / "run", "bahdanau", **{"model.strategy": "recursive", "model.skip": "season"})
    predictor = Predictor.load(run)
    (far,) = predictor.predict(panel_of(wave(30)), horizon=20)
    (near,) = predictor.predict(panel_of(wave(30)))
    assert (far.num_beyond, near.num_beyond) == (14, 0)
    np.testing.assert_allclose(far.mean[:6], near.mean, atol=TOLERANCE)


def test_a_direct_model_refuses_a_longer_horizon(lstm: Predictor) -> None:
    with pytest.raises(UserError, match="up to 6 steps, not 7"):
        lstm.predict(panel_of(wave(30)), horizon=7)


def test_missing_values_are_masked(tmp_path: Path) -> None:
    values: list = wave(80)
    for n in (3, 4, 20, 61):
        values[n] = ""
    data = write_csv(tmp_path / "m.csv", columns_of(values))
    run = train_small(data, tmp_path / "run", "lstm", **{"data.missing": "mask"})
    predictor = Predictor.load(run)
    assert predictor.coder.has_missing
    found = [predictor.predict(predictor.read(columns_of([*wave(10), *end])))[0].mean for end in (["", ""], wave(2))]
    assert np.isfinite(found[0]).all()
    assert not np.array_equal(found[0], found[1])


def test_covariates_known_ahead_are_read_and_must_reach_the_horizon(tmp_path: Path) -> None:
    columns = columns_of(wave(60))
    columns["promo"], columns["seen"], columns["kind"] = [n % 5 for n in range(60)], list(range(60)), ["shop"] * 60
    data = write_csv(tmp_path / "k.csv", columns)
    names = {"data.known": ("promo",), "data.past": ("seen",), "data.static": ("kind",), "data.target": ("y",)}
    predictor = Predictor.load(train_small(data, tmp_path / "run", "transformer", **names))
    with pytest.raises(UserError, match="promo known for 0 of the 6 steps"):
        predictor.predict(predictor.read(data))
    found = []
    for ahead in (1.0, 3.0):
        more = columns_of([*wave(60), *[""] * 6])
        more |= {
            "promo": [*columns["promo"], *[ahead] * 6],
            "seen": [*columns["seen"], *[""] * 6],
            "kind": ["shop"] * 66,
        }
        found.append(predictor.predict(predictor.read(more))[0].mean)
    assert not np.array_equal(found[0], found[1])


def test_another_frequency_is_refused(lstm: Predictor) -> None:
    days = {"ds": ["2020-01-01", "2020-01-02"], "y": [1.0, 2.0]}
    with pytest.raises(UserError, match="steps of 1 month, the data has steps of 1 day"):
        lstm.read(days)


@pytest.mark.parametrize("when", ["2030-02-27", "1999-12-31"])
def test_a_dated_history_of_one_point_takes_the_frequency_of_the_run(
    when: str, lstm: Predictor, tmp_path: Path
) -> None:
    target = lstm.info.targets[0]
    file = tmp_path / "one.csv"
    file.write_text(f"ds,{target}\n{when},5\n", encoding="utf-8")
    for one in (str(file), {"ds": [when], target: [5.0]}):
        panel = lstm.read(one)
        assert panel.frequency == lstm.info.frequency
        [found] = lstm.predict(panel)
        assert np.isfinite(found.mean).all()
        assert len(found.times) == lstm.info.horizon


def test_quantiles_that_it_does_not_give_are_refused(lstm: Predictor) -> None:
    with pytest.raises(UserError, match=r"expected levels from 0\.05 to 0\.95, got 0\.01"):
        lstm.predict(panel_of(wave(9)), quantiles=(0.01,))


def test_a_recipe_without_a_decoder_is_not_recursive(data: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="recursive needs a decoder, and lstm has none"):
        train_small(data, tmp_path / "run", "lstm", **{"model.strategy": "recursive"})
    assert not (tmp_path / "run").exists()


def test_short_series_are_refused_by_name_or_left_out_by_name(tmp_path: Path) -> None:
    data = write_csv(tmp_path / "s.csv", columns_of(wave(60), wave(1), wave(6)))
    with pytest.raises(UserError, match=r"2 series too short .* need 7 points: B \(1\), C \(6\)"):
        train_small(data, tmp_path / "run", "gru")
    train_small(data, tmp_path / "run", "gru", **{"data.skip_short": True})


def _statics(*kinds: str) -> dict[str, list]:
    columns = columns_of(*(wave(30, 10.0 * n) for n in range(1, len(kinds) + 1)))
    columns["kind"] = [kind for kind in kinds for _ in range(30)]
    return columns


def test_f11_a_static_column_is_what_it_was_in_training(tmp_path: Path) -> None:
    how = {"data.static": ("kind",), "data.target": ("y",), "training.max_steps": 1, "training.validate_every": 1}
    texts = write_csv(tmp_path / "t.csv", _statics("1", "x"))
    predictor = Predictor.load(train_small(texts, tmp_path / "texts", "gru", **how))
    alone = predictor.read(_statics("1"))  # looks like a number, and is the text of the training
    assert alone.series[0].static == ("1",)
    both = predictor.read(_statics("1", "x"))
    np.testing.assert_allclose(predictor.predict(alone)[0].mean, predictor.predict(both)[0].mean, atol=TOLERANCE)
    strange = predictor.read(_statics("1.0", "new"))
    assert "column 'kind': '1.0', 'new' was in no training series, and counts as none of them" in strange.notes
    assert not any("no training series" in note for note in both.notes)
    assert np.isfinite(predictor.predict(strange)[1].mean).all()
    numbers = write_csv(tmp_path / "n.csv", _statics("1", "2"))
    predictor = Predictor.load(train_small(numbers, tmp_path / "numbers", "gru", **how))
    with pytest.raises(UserError, match="static: column 'kind': expected a number as in the training, got 'x'"):
        predictor.predict(predictor.read(_statics("1", "x")))
