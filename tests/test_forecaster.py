"""Forecasting for Python: frames in, frames out; what a training is given; architectures on the same windows."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from seqline import forecaster as forecaster_file
from seqline.backtesting.plan import Asked
from seqline.config import Config
from seqline.data.series import Panel, SeriesOptions
from seqline.data.series.frequency import Frequency
from seqline.data.series.reading import read_panel
from seqline.errors import Stopped, UserError
from seqline.forecaster import Fitting, Forecaster, Running, backtest_architectures, checked_levels, training_config
from seqline.forecasting.baselines import BASELINES
from seqline.predictor import Predictor
from seqline.series_corpus import fingerprint_of

from .hand_made_forecasts import HandMade, daily

LINE = [float(n) for n in range(30)]


class Trainings:
    """Stands in for trainings: takes down what each was given, and reads its data as it would."""

    def __init__(self, reason: str = "finished") -> None:
        self.configs: list[Config] = []
        self.panels: list[Panel] = []
        self.reason = reason

    def __call__(self, config: Config, out: Any, **_: Any) -> Any:
        data = config.data
        names = ("time", "id", "zone", "frequency", "missing")
        how = SeriesOptions(**{name: getattr(data, name) for name in names})
        self.panels.append(read_panel(data.train, target=data.target, how=how))
        self.configs.append(config)
        Path(out).mkdir(parents=True)
        return SimpleNamespace(folder=Path(out), result=SimpleNamespace(reason=self.reason))


@pytest.fixture
def trainings(monkeypatch: pytest.MonkeyPatch) -> Trainings:
    """Put trainings by hand in place of real ones."""
    made = Trainings()
    monkeypatch.setattr(forecaster_file, "train_run", made)
    monkeypatch.setattr(Predictor, "load", lambda folder, device="cpu": HandMade(1.0))
    return made


def test_predict_gives_the_kind_of_frame_that_came(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas", reason="pandas is not installed (extra: dev)")
    pl = pytest.importorskip("polars", reason="polars is not installed (extra: forecast)")
    model = Forecaster(HandMade(1.0))  # type: ignore[arg-type]
    columns = daily([1.0, 2.0], "ab")
    for history in (pd.DataFrame(columns), pl.DataFrame(columns)):
        found = model.predict(history, 2, quantiles=[0.9])
        assert isinstance(found, type(history))
        assert list(found.columns) == ["unique_id", "ds", "y", "y_q0.9"]
        assert found["y"].to_numpy().tolist() == [3.0] * 4
        assert found["ds"].to_numpy().tolist() == ["2024-01-03", "2024-01-04"] * 2
    assert model.predict(columns)["y"] == [3.0] * 6
    (tmp_path / "a.csv").write_text("ds,y\n2024-01-01,1\n", encoding="utf-8")
    assert model.predict(tmp_path / "a.csv", 1) == {"ds": ["2024-01-02"], "y": [2.0]}


def test_backtest_takes_season_and_horizon_of_the_run() -> None:
    found = Forecaster(HandMade(1.0)).backtest(daily(LINE), 2)  # type: ignore[arg-type]
    assert (found.plan.asked.horizon, found.plan.asked.season) == (3, 7)
    assert {row.name for row in found.rows} == {"lstm", *BASELINES}
    own = Forecaster(HandMade(1.0)).backtest(daily(LINE), 2, horizon=1, step=2, season=5)  # type: ignore[arg-type]
    assert own.plan.asked == Asked(1, 2, 2, 5)


def test_points_in_the_time_of_the_training_are_said_to_flatter() -> None:
    model = HandMade(1.0)
    model.info = model.info._replace(trained_until=int(model.read(daily(LINE)).series[0].times[-1]))
    for later, known in (([], 6), ([30.0], 5), ([30.0] * 5, 1)):
        doubts = Forecaster(model).backtest(daily([*LINE, *later]), 2).doubts  # type: ignore[arg-type]
        assert doubts == (
            f"{known} of 6 points to forecast lie in the time that lstm was trained on, which flatters it: give what came "
            "later, or use --archs.",
        )
    assert Forecaster(model).backtest(daily([*LINE, *[30.0] * 6]), 2).doubts == ()  # type: ignore[arg-type]


def test_rows_without_times_are_said_to_flatter_where_they_are_the_very_same() -> None:
    model = HandMade(1.0)
    model.info = model.info._replace(frequency=Frequency(1, "row"))
    model.config = Config().replace(**{"data.fingerprint": fingerprint_of(model.read({"y": LINE}, SeriesOptions()))})
    same = Forecaster(model).backtest({"y": LINE}, 2, season=1, how=SeriesOptions())  # type: ignore[arg-type]
    assert same.doubts == (
        "lstm was trained on this very data, which flatters it: give what came later, or use --archs.",
    )
    other = Forecaster(model).backtest({"y": LINE[1:]}, 2, season=1, how=SeriesOptions())  # type: ignore[arg-type]
    assert other.doubts == ()


def test_levels_are_checked_and_sorted() -> None:
    assert checked_levels([0.9, 0.1]) == (0.1, 0.9)
    assert checked_levels(np.arange(0.1, 0.35, 0.1)) == (0.1, 0.2, 0.3)  # type: ignore[arg-type]  # 0.30000000000000004
    for wrong in (
        [0.0], [1.0], [0.5, 0.5], [float("nan")], [0.1234567, 0.12345671], [1e-7], [0.9999999999], "0.5", ["a"], [None], 0.5,
    ):  # fmt: skip
        with pytest.raises(UserError, match="expected different numbers between 0 and 1"):
            checked_levels(wrong)  # type: ignore[arg-type]


def test_a_training_is_given_what_differs_from_the_defaults() -> None:
    how = SeriesOptions(zone="Europe/Berlin", known=("price",), missing="mask", fill=True)
    config = training_config("gru", Fitting("a.csv", "y", 5, how, {"training.max_steps": 7, "data.season": 12}))
    data = config.data
    assert (data.task, data.train, list(data.target), data.horizon, data.season) == (
        "forecasting",
        "a.csv",
        ["y"],
        5,
        12,
    )
    assert (data.zone, list(data.known), data.missing, data.fill, data.sort) == (
        "Europe/Berlin",
        ["price"],
        "mask",
        True,
        False,
    )
    assert (config.model.architecture, config.training.max_steps) == ("gru", 7)
    plain = training_config(None, Fitting("a.csv", None, None, SeriesOptions(), {}))
    assert plain.model_dump(exclude_unset=True) == {"data": {"task": "forecasting", "train": "a.csv"}}


def test_what_is_said_twice_is_said_once() -> None:
    twice = Fitting("a.csv", "y", 5, SeriesOptions(zone="UTC"), {"data.horizon": 4})
    with pytest.raises(UserError, match=r"data.horizon: is given twice, as 5 and as 4; say it once"):
        training_config("gru", twice)
    with pytest.raises(UserError, match=r"data.zone: is given twice"):
        training_config("gru", twice._replace(settings={"data.zone": "+01:00"}))
    assert training_config("gru", twice._replace(settings={"data.horizon": 5})).data.horizon == 5


def test_frames_are_trained_on_as_files_are(trainings: Trainings, tmp_path: Path) -> None:
    data = {"shop": ["a", "a", "b", "b"], "ds": ["2024-01-01", "2024-01-02"] * 2, "sold": [1.5, None, 3.0, 4.0]}
    how = SeriesOptions(id="shop", missing="mask")
    model = Forecaster.fit(data, out=tmp_path / "run", target="sold", horizon=2, arch="gru", how=how)
    assert isinstance(model.predictor, HandMade)
    (config,), (panel,) = trainings.configs, trainings.panels
    assert (config.data.horizon, config.data.frequency, config.model.architecture) == (2, "1d", "gru")
    assert [one.id for one in panel.series] == ["a", "b"]
    assert panel.series[0].values[:, 0].tolist() == [1.5, 0.0]
    assert panel.series[0].is_observed[:, 0].tolist() == [True, False]
    assert not Path(config.data.train).exists()


def test_a_file_is_trained_on_where_it_is(trainings: Trainings, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("ds,y\n2024-01-01,1\n2024-01-02,2\n", encoding="utf-8")
    Forecaster.fit(tmp_path / "a.csv", out=tmp_path / "run")
    assert trainings.configs[0].data.train == str(tmp_path / "a.csv")


def test_a_refusal_speaks_of_the_frame(trainings: Trainings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match=r"^frame row 1"):
        Forecaster.fit(daily([1.0, float("nan")]), out=tmp_path / "run")

    def refuse(config: Config, _out: Any) -> None:
        raise UserError("too short", where=f"{config.data.train}:2")

    monkeypatch.setattr(forecaster_file, "train_run", refuse)
    with pytest.raises(UserError, match=r"^frame: too short"):
        Forecaster.fit(daily([1.0, 2.0]), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


FITTING = Fitting("", "y", None, SeriesOptions(), {})


def test_architectures_are_trained_on_what_lies_before(trainings: Trainings, tmp_path: Path) -> None:
    data = daily(LINE, "ab")
    found = backtest_architectures(data, ["lstm", "gru"], Asked(2, 3, season=5), FITTING, tmp_path / "runs")
    assert [config.model.architecture for config in trainings.configs] == ["lstm", "gru"]
    assert {row.name for row in found.rows} == {"lstm", "gru", *BASELINES}
    assert len(found.sentences) == 2
    for config, panel in zip(trainings.configs, trainings.panels, strict=True):
        assert (config.data.horizon, config.data.season) == (2, 5)
        assert [one.values[:, 0].tolist() for one in panel.series] == [LINE[:24]] * 2
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["gru", "lstm"]


def test_what_is_scored_is_what_was_trained_whichever_way_it_was_said(trainings: Trainings) -> None:
    settings = {
        "data.horizon": 3,
        "data.season": 5,
        "data.missing": "interpolate",
        "data.time": "day",
        "data.target": ["y"],
    }
    data = {"day": daily(LINE)["ds"], "y": [*LINE[:20], None, *LINE[21:]]}
    found = backtest_architectures(data, ["lstm"], Asked(0, 2), FITTING._replace(target=None, settings=settings))
    assert (found.plan.asked.horizon, found.plan.asked.season) == (3, 5)
    (config,), (panel,) = trainings.configs, trainings.panels
    assert (config.data.horizon, config.data.season, config.data.missing) == (3, 5, "interpolate")
    assert panel.series[0].values[20] == LINE[19]
    for asked, said in (
        (Asked(2, 2), "horizon: is given twice, as 2 and as 3"),
        (Asked(3, 2, season=7), "season: is given"),
    ):
        with pytest.raises(UserError, match=said):
            backtest_architectures(data, ["lstm"], asked, FITTING._replace(target=None, settings=settings))


def test_runs_are_kept_only_where_asked(trainings: Trainings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = backtest_architectures(daily(LINE), ["lstm"], Asked(0, 1), FITTING)
    assert found.plan.asked.horizon == 7  # a season
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("archs", [[], ["lstm", "lstm"], ["lstm", "nothing"]])
def test_architectures_are_checked_before_anything_is_read(
    trainings: Trainings, tmp_path: Path, archs: list[str]
) -> None:
    with pytest.raises(UserError):
        backtest_architectures("no file", archs, Asked(2, 3), FITTING, tmp_path / "runs")
    assert trainings.configs == []
    assert not (tmp_path / "runs").exists()


def test_a_signal_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forecaster_file, "train_run", Trainings("interrupted"))
    said: list[str] = []
    with pytest.raises(Stopped):
        backtest_architectures(daily(LINE), ["lstm"], Asked(2, 3), FITTING, None, Running(say=said.append))
    assert said == ["lstm: training on what lies before the backtest"]


def test_later_values_change_no_training(trainings: Trainings) -> None:
    changed = np.array(LINE)
    changed[24:] += 1e6
    for values in (LINE, changed.tolist()):
        backtest_architectures(daily(values), ["lstm"], Asked(2, 3), FITTING)
    one, other = trainings.panels
    assert np.array_equal(one.series[0].values, other.series[0].values)


def test_a_real_training_from_frame_to_frame(tmp_path: Path) -> None:
    values = [10 + 3 * float(np.sin(n)) for n in range(40)]
    settings = {"training.max_steps": 2, "model.hidden_size": 4, "model.embed_size": 4, "data.lookback": 8}
    model = Forecaster.fit(daily(values, "ab"), out=tmp_path / "run", horizon=3, settings=settings)
    found = model.predict({"ds": ["2025-02-27"], "y": [4.0]}, quantiles=[0.1, 0.9])  # one point, of a series never seen
    assert found["ds"] == ["2025-02-28", "2025-03-01", "2025-03-02"]
    assert np.isfinite([found[name] for name in ("y", "y_q0.1", "y_q0.9")]).all()
    assert all(low <= high for low, high in zip(found["y_q0.1"], found["y_q0.9"], strict=True))
    again = Forecaster.load(tmp_path / "run")
    assert again.predict({"ds": ["2025-02-27"], "y": [4.0]}, quantiles=[0.1, 0.9]) == found
    tested = again.backtest(daily(values, "ab"), 2)
    assert len(tested.doubts) == 1  # its own training data, although it came as a frame
    assert len(tested.sentences) == 1
    with pytest.raises(
        UserError, match="frequency: the run was trained on steps of 1 day, the data has steps of 1 week"
    ):
        again.predict({"ds": ["2025-01-05", "2025-01-12"], "y": [1.0, 2.0]}, how=SeriesOptions())
