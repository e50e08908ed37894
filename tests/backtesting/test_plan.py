"""Where the windows of a backtest lie, and what lies before them."""

from __future__ import annotations

import numpy as np
import pytest

from seqline.backtesting.plan import Asked, make_plan
from seqline.data.series import SeriesOptions
from seqline.data.series.reading import read_panel
from seqline.errors import UserError

from ..hand_made_forecasts import daily

UNEVEN = {
    "unique_id": ["a"] * 10 + ["b"] * 4 + ["c"] * 2,
    "ds": [f"2024-01-{n + 1:02d}" for length in (10, 4, 2) for n in range(length)],
    "y": [float(n) for n in range(16)],
}


def test_windows_end_with_the_series_and_touch() -> None:
    plan = make_plan(read_panel(daily(range(10), "ab")), Asked(2, 3))
    assert plan.origins == (4, 4)
    assert plan.windows.series.tolist() == [0, 0, 0, 1, 1, 1]
    assert plan.windows.origin.tolist() == [4, 6, 8] * 2
    assert plan.windows.start.tolist() == [0] * 6
    assert make_plan(read_panel(daily(range(10))), Asked(2, 3, step=1)).windows.origin.tolist() == [6, 7, 8]


def test_training_is_what_lies_before_the_first_origin() -> None:
    panel = read_panel(daily(range(10)))
    plan = make_plan(panel, Asked(2, 3))
    assert plan.training[0].values[:, 0].tolist() == [0, 1, 2, 3]
    before = plan.before()
    assert [len(one) for one in before.series] == [4]
    assert before.series[0].times.tolist() == panel.series[0].times[:4].tolist()
    assert before.targets == panel.targets
    assert (plan.setting.period, plan.setting.is_calendar) == (7, True)


def test_the_scale_is_of_the_training_span_alone() -> None:
    values = [0.0, 1.0, 3.0, 6.0, 1e6, -1e6]
    plan = make_plan(read_panel(daily(values)), Asked(1, 2, season=1))
    assert plan.scales.tolist() == [[2.0]]


def test_known_covariates_are_cut_with_their_series() -> None:
    data = daily(range(8)) | {"price": [float(n) for n in range(8)]}
    plan = make_plan(read_panel(data, target="y", how=SeriesOptions(known=("price",))), Asked(2, 2))
    assert plan.before().series[0].known[:, 0].tolist() == [0, 1, 2, 3]


def test_short_series_are_refused_by_name() -> None:
    with pytest.raises(UserError) as refused:
        make_plan(read_panel(UNEVEN), Asked(2, 3))
    assert refused.value.where == "windows"
    message = str(refused.value)
    assert "series 'b' (4 points), 'c' (2 points): too short: 3 windows of 2 steps need 7 points" in message
    assert "ask for 1 windows at most" in message
    assert "skip_short" in message


def test_short_series_are_left_out_by_name_on_demand() -> None:
    plan = make_plan(read_panel(UNEVEN), Asked(2, 3, skip_short=True))
    assert [one.id for one in plan.panel.series] == ["a"]
    assert plan.notes == ("left out: series 'b' (4 points), 'c' (2 points): 3 windows of 2 steps need 7 points",)


@pytest.mark.parametrize("skip_short", [False, True])
def test_nothing_left_is_refused(skip_short: bool) -> None:
    with pytest.raises(UserError, match="a series of 3 points: too short") as refused:
        make_plan(read_panel(daily([1, 2, 3])), Asked(4, 1, skip_short=skip_short))
    assert "skip_short" not in str(refused.value)
    assert "shorter horizon" in str(refused.value)


def test_a_series_needs_a_value_before_its_first_origin() -> None:
    data = {"ds": [f"2024-01-{n:02d}" for n in range(1, 9)], "y": [None, None, None, None, 5.0, 6.0, 7.0, 8.0]}
    panel = read_panel(data, how=SeriesOptions(missing="mask"))
    with pytest.raises(UserError, match="ask for 1 windows at most"):
        make_plan(panel, Asked(2, 2))
    assert make_plan(panel, Asked(2, 1)).origins == (6,)


def test_sizes_are_at_least_one() -> None:
    panel = read_panel(daily(range(9)))
    for asked in (Asked(0), Asked(1, 0), Asked(1, 1, step=0), Asked(1, 1, season=0)):
        with pytest.raises(UserError, match="expected sizes of 1 or more"):
            make_plan(panel, asked)


def test_row_numbers_have_no_calendar() -> None:
    plan = make_plan(read_panel({"y": np.arange(9.0)}), Asked(1, 2))
    assert not plan.setting.is_calendar
    assert plan.local(plan.panel.series[0].times).tolist() == list(range(9))
