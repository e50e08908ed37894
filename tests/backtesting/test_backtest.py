"""Models and baselines on the same windows: numbers by hand, plain words, and no look at what comes later."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import nullcontext

import numpy as np
import pytest

from seqline.backtesting.backtest import Backtest, backtest
from seqline.backtesting.contestants import Model, baselines_of
from seqline.backtesting.plan import Asked, Plan, make_plan
from seqline.data.series import SeriesOptions
from seqline.data.series.reading import read_panel
from seqline.forecasting.baselines import BASELINES
from seqline.forecasting.distributions import LEVELS

from ..hand_made_forecasts import LastPlus, daily

LINE = [float(n) for n in range(40)]


def plan_of(values: Sequence[float], asked: Asked, ids: str = "") -> Plan:
    return make_plan(read_panel(daily(values, ids)), asked)


def run(values: Sequence[float], asked: Asked, *models: Model, ids: str = "") -> Backtest:
    return backtest(plan_of(values, asked, ids), models)


def row(found: Backtest, name: str):
    return next(one for one in found.rows if one.name == name)


def test_every_baseline_stands_in_the_table_beside_the_model() -> None:
    found = run(LINE, Asked(2, 3), Model("lstm", LastPlus(1.5), ()))
    assert {one.name for one in found.rows} == {"lstm", *BASELINES}
    assert [one.name for one in found.rows if not one.is_baseline] == ["lstm"]
    # y = n: the last value is off by 1 and 2; with 1.5 added, by 0.5 and 0.5.
    assert row(found, "naive").score.mae == 1.5
    assert row(found, "naive").by_step == (1.0, 2.0)
    assert row(found, "lstm").score.mae == 0.5
    assert row(found, "lstm").score.num_windows == 3
    assert row(found, "lstm").score.mase == 0.5 / 7  # the season of days is a week
    assert row(found, "drift").score.mae == pytest.approx(0, abs=1e-12)
    assert row(found, "seasonal naive").score.mae == 7.0


def test_a_loss_is_said_with_names_and_numbers() -> None:
    found = run(LINE, Asked(2, 3), Model("lstm", LastPlus(1.5), ()))
    (sentence,) = found.sentences
    assert sentence.startswith("lstm loses to ")
    assert "drift" in sentence
    assert "naive" not in sentence
    assert ": MAE 0.5000 against " in sentence
    assert sentence in found.lines()


def test_a_win_and_a_draw_are_said() -> None:
    noise = np.random.default_rng(1).normal(size=60).cumsum().tolist()
    found = run(noise, Asked(1, 4), Model("same", LastPlus(), ()), Model("far", LastPlus(100), ()))
    naive = row(found, "naive").score.mae
    assert row(found, "same").score.mae == naive
    same, far = sorted(found.sentences, reverse=True)
    assert far.startswith("far loses to ")
    assert all(name in far for name in BASELINES)
    assert "same" in same
    assert "naive" in same


def test_a_model_without_a_better_baseline_beats_them_all() -> None:
    values = [0.0, 3.0] * 30
    exact = LastPlus()
    exact.windows = lambda panel, windows, horizon=None, quantiles=(): _truth(panel, windows)  # type: ignore[method-assign]
    found = run([*values, 1.0, 5.0], Asked(1, 2), Model("oracle", exact, None))
    assert found.rows[0].name == "oracle"
    assert found.sentences[0].startswith("oracle beats every baseline: MAE 0.000 against ")
    assert "(100.0% less)" in found.sentences[0]
    assert found.rows[0].score.crps is None


def _truth(panel, windows):
    from seqline.predictor import Windowed

    rows = zip(windows.series.tolist(), windows.origin.tolist(), strict=True)
    return Windowed(np.stack([panel.series[n].values[origin : origin + 1] for n, origin in rows]), {})


def test_several_series_are_held_against_each_other_by_mase() -> None:
    assert run(LINE, Asked(2, 3)).metric == "MAE"
    assert run(LINE, Asked(2, 3), ids="ab").metric == "MASE"
    assert run([1.0] * 40, Asked(2, 3), ids="ab").metric == "MAE"  # a constant has no scale


def test_a_constant_is_forecast_exactly_and_relative_numbers_are_undefined() -> None:
    found = run([7.0] * 40, Asked(3, 2), Model("lstm", LastPlus(), ()))
    for name in ("naive", "mean", "drift", "climatology"):
        assert row(found, name).score.mae == 0
        assert row(found, name).score.mase is None
    assert found.sentences[0].startswith("lstm is no better than ")
    assert "  -" in next(line for line in found.table() if line.startswith("lstm"))


def test_one_point_before_the_first_origin_is_enough() -> None:
    found = run([1.0, 2.0, 3.0, 4.0], Asked(1, 3), Model("lstm", LastPlus(1.0), ()))
    assert row(found, "lstm").score.mae == 0
    assert row(found, "naive").score.mae == 1
    assert row(found, "naive").score.crps is None  # one point of training shows no residual
    assert row(found, "lstm").score.crps is not None


def test_quantiles_are_scored_at_common_levels() -> None:
    some = run(LINE, Asked(2, 3), Model("lstm", LastPlus(1.5, 2.0), (0.1, 0.5, 0.9)))
    within = tuple(n / 10 for n in range(1, 10))  # a model gives what lies between two quantiles that it learned
    assert some.levels == within
    assert [level for level, _ in row(some, "naive").score.pinball] == list(within)
    assert [interval.level for interval in row(some, "lstm").score.intervals] == [0.8, 0.6, 0.4, 0.2]
    assert row(some, "lstm").score.intervals[0].coverage == 1.0
    assert some.heading.endswith(
        "season: 7 steps; quantiles that all give: 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9"
    )
    every = run(LINE, Asked(2, 3), Model("lstm", LastPlus(1.5), ()), Model("point", LastPlus(), None))
    assert every.heading.endswith("season: 7 steps")
    assert every.levels == LEVELS
    assert row(every, "point").score.intervals == ()
    header = every.table()[0].split()
    assert header[-4:] == ["in", "90%", "in", "80%"]
    assert [line.split()[-1] for line in every.table() if line.startswith("point")] == ["-"]


@pytest.mark.parametrize("ids", ["", "ab"])
def test_what_comes_after_an_origin_changes_no_forecast(ids: str) -> None:
    values = np.random.default_rng(2).normal(size=60).cumsum()
    asked = Asked(2, 4)
    later = values.copy()
    later[-2:] += 1e6  # the targets of the last window, which no history holds
    first, second = plan_of(values.tolist(), asked, ids), plan_of(later.tolist(), asked, ids)
    assert np.array_equal(first.scales, second.scales)
    for one, other in zip(baselines_of(first), baselines_of(second), strict=True):
        a, b = (each.forecast(plan, LEVELS, lambda _: None) for each, plan in ((one, first), (other, second)))
        assert np.array_equal(a.mean, b.mean), one.name
        assert a.quantiles is not None
        assert b.quantiles is not None
        assert np.array_equal(a.quantiles, b.quantiles), one.name


def test_baselines_are_fitted_before_the_backtest() -> None:
    values = np.random.default_rng(3).normal(size=60).cumsum()
    asked = Asked(2, 4)
    changed = values.copy()
    changed[52:] *= -3  # every target
    windows = [plan_of(some.tolist(), asked) for some in (values, changed)]
    found = [[one.forecast(plan, (), lambda _: None).mean[0] for one in baselines_of(plan)] for plan in windows]
    assert all(np.array_equal(a, b) for a, b in zip(*found, strict=True))  # the first forecast sees none of them


def test_a_series_is_forecast_alike_alone_and_among_others() -> None:
    values = np.random.default_rng(4).normal(size=(2, 60)).cumsum(axis=1).tolist()
    columns = [daily(some, ids) for some, ids in zip(values, "ab", strict=True)]
    together = {name: [*columns[0][name], *columns[1][name]] for name in columns[0]}
    plans = [make_plan(read_panel(data), Asked(2, 4)) for data in (*columns, together)]
    first, second, many = (
        {one.name: one.forecast(plan, (), lambda _: None).mean for one in baselines_of(plan)} for plan in plans
    )
    for name in BASELINES:
        if name != "linear":  # its one map is shared by all series
            assert many[name] == pytest.approx(np.concatenate([first[name], second[name]]), rel=1e-12)


def test_climatology_of_rows_counts_steps() -> None:
    season = np.arange(10.0).tolist() * 6
    rows = {"ds": [5 * n for n in range(60)], "y": season}
    plan = make_plan(read_panel(rows, how=SeriesOptions(time_unit="row")), Asked(5, 2, season=10))
    found = backtest(plan, [])
    assert row(found, "climatology").score.mae == pytest.approx(0.0, abs=1e-12)


def test_unobserved_targets_count_nowhere() -> None:
    data = daily(LINE)
    data["y"][-1] = None
    plan = make_plan(read_panel(data, how=SeriesOptions(missing="mask")), Asked(2, 3))
    found = backtest(plan, [Model("lstm", LastPlus(), ())])
    assert row(found, "lstm").score.num_points == 5
    assert row(found, "lstm").score.mae == pytest.approx((1 + 2 + 1 + 2 + 1) / 5)


def test_several_targets_have_their_own_errors() -> None:
    data = {"ds": daily(LINE)["ds"], "a": LINE, "b": [10 * value for value in LINE]}
    plan = make_plan(read_panel(data, target=["a", "b"]), Asked(1, 3))
    found = backtest(plan, [Model("lstm", LastPlus(), ())])
    assert found.metric == "MASE"
    assert row(found, "lstm").by_target == (1.0, 10.0)
    (kept,) = [each for each in found.as_json()["rows"] if each["name"] == "lstm"]
    assert kept["mae_by_target"] == {"a": 1.0, "b": 10.0}


def test_models_are_asked_in_batches_and_progress_is_told() -> None:
    model = LastPlus()
    plan = plan_of([float(n % 5) for n in range(400)], Asked(1, 300))
    told: list[int] = []

    def counting(total: int):
        told.append(-total)
        return nullcontext(told.append)

    backtest(plan, [Model("lstm", model, ())], counting)
    assert model.seen == [256, 44]
    assert told[0] == -300 * (1 + len(BASELINES))
    assert sum(told) == 0


def test_it_is_json_with_every_number() -> None:
    found = run(LINE, Asked(2, 3), Model("lstm", LastPlus(1.5), ()))
    kept = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert kept["windows"] == 3
    assert kept["step"] == kept["horizon"] == 2
    assert kept["season"] == 7
    (lstm,) = [each for each in kept["rows"] if each["kind"] == "model"]
    assert lstm["mae"] == 0.5
    assert lstm["mae_by_step"] == [0.5, 0.5]
    assert set(lstm["pinball"]) == {str(level) for level in LEVELS}
    assert kept["sentences"] == list(found.sentences)


def test_large_and_small_numbers_stay_readable() -> None:
    found = run([n * 1e-6 for n in LINE], Asked(2, 3))
    assert "1.500e-06" in next(line for line in found.table() if line.startswith("naive"))
    found = run([n * 123_456.0 for n in LINE], Asked(2, 3))
    assert "185,184" in next(line for line in found.table() if line.startswith("naive"))
