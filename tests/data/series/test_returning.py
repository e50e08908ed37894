"""Forecasts come back as what their history was: the kind of frame, the type of each key."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import numpy as np
import pytest

from seqline.data.series import SeriesOptions
from seqline.data.series.calendar import future_times
from seqline.data.series.reading import read_panel
from seqline.data.series.returning import returned
from seqline.data.series.writing import forecast_rows
from seqline.errors import UserError

pd = pytest.importorskip("pandas", reason="pandas is not installed (extra: dev)")
pl = pytest.importorskip("polars", reason="polars is not installed (extra: forecast)")


def forecast(history: Any, how: SeriesOptions = SeriesOptions(), horizon: int = 2) -> Any:  # noqa: B008
    panel = read_panel(history, how=how)
    rows = forecast_rows(panel, [np.arange(horizon)[:, None] + 0.5 for _ in panel.series], ["y"])
    times = np.concatenate([future_times(panel, one, horizon) for one in panel.series])
    return returned(history, panel, rows, times)


def test_pandas_columns_keep_their_types() -> None:
    times = pd.date_range("2024-03-30 22:00", periods=3, freq="h", tz="Europe/Berlin")
    found = forecast(pd.DataFrame({"unique_id": 7, "ds": times, "y": [1.0, 2.0, 3.0]}), horizon=3)
    assert list(found.columns) == ["unique_id", "ds", "y"]
    assert found["unique_id"].tolist() == [7] * 3
    assert found["ds"].dtype == times.dtype
    assert [str(time) for time in found["ds"]] == [
        "2024-03-31 01:00:00+01:00", "2024-03-31 03:00:00+02:00", "2024-03-31 04:00:00+02:00",
    ]  # fmt: skip


def test_a_pandas_index_stays_an_index() -> None:
    history = pd.DataFrame({"y": [1.0, 2.0]}, index=pd.DatetimeIndex(["2024-01-01", "2024-01-02"], name="when"))
    found = forecast(history, SeriesOptions(time="when"))
    assert found.index.name == "when"
    assert found.index.tolist() == [pd.Timestamp("2024-01-03"), pd.Timestamp("2024-01-04")]
    assert found["y"].tolist() == [0.5, 1.5]


def test_naive_pandas_times_stay_local() -> None:
    history = pd.DataFrame({"ds": pd.to_datetime(["2024-06-01 10:00", "2024-06-01 11:00"]), "y": [1, 2]})
    found = forecast(history, SeriesOptions(zone="Europe/Berlin"))
    assert found["ds"].tolist() == [pd.Timestamp("2024-06-01 12:00"), pd.Timestamp("2024-06-01 13:00")]
    assert found["ds"].dtype == history["ds"].dtype


def test_text_and_numbers_in_pandas() -> None:
    found = forecast(pd.DataFrame({"ds": ["2024-01-01", "2024-01-02"], "y": [1, 2]}))
    assert found["ds"].tolist() == ["2024-01-03", "2024-01-04"]
    assert forecast(pd.DataFrame({"y": [1, 2]}))["ds"].tolist() == [2, 3]
    shops = pd.DataFrame({"unique_id": pd.Categorical(["a", "a"]), "ds": [1, 2], "y": [1, 2]})
    found = forecast(shops, SeriesOptions(time_unit="row"))
    assert found["ds"].tolist() == [3, 4]
    assert found["unique_id"].dtype == shops["unique_id"].dtype


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_polars_keeps_its_schema(unit: Any, zone: str | None) -> None:
    times = pl.Series("ds", [datetime(2024, 6, 1, 10), datetime(2024, 6, 1, 11)]).cast(pl.Datetime(unit))
    times = times if zone is None else times.dt.replace_time_zone(zone)
    history = pl.DataFrame({"unique_id": [4, 4], "ds": times, "y": [1.0, 2.0]})
    found = forecast(history, SeriesOptions(zone="Europe/Berlin"))
    assert found.schema == history.schema
    assert [str(time)[:19] for time in found["ds"]] == ["2024-06-01 12:00:00", "2024-06-01 13:00:00"]


def test_polars_dates_and_text() -> None:
    found = forecast(pl.DataFrame({"ds": [date(2024, 1, 31), date(2024, 2, 29)], "y": [1.0, 2.0]}))
    assert found["ds"].to_list() == [date(2024, 3, 31), date(2024, 4, 30)]
    assert forecast(pl.DataFrame({"ds": ["2024-01-01", "2024-01-02"], "y": [1, 2]}))["ds"].to_list()[0] == "2024-01-03"
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed (extra: dev)")
    assert isinstance(forecast(pa.table({"ds": ["2024-01-01", "2024-01-02"], "y": [1, 2]})), pl.DataFrame)


def test_an_index_of_ids_stays_one() -> None:
    frame = pd.DataFrame({"ds": ["2024-01-01", "2024-01-02"], "y": [1, 2]}, index=pd.Index([7, 7], name="unique_id"))
    found = forecast(frame)
    assert (found.index.name, found.index.tolist(), list(found.columns)) == ("unique_id", [7, 7], ["ds", "y"])
    assert found.index.dtype == frame.index.dtype


def test_times_that_no_longer_fit_are_refused() -> None:
    for table in (pd.DataFrame, pl.DataFrame):
        frame = table({"ds": np.array(["2262-04-09", "2262-04-10"], dtype="datetime64[ns]"), "y": [1, 2]})
        with pytest.raises(UserError, match="the types of the history cannot hold the forecast"):
            forecast(frame, horizon=9)


def test_columns_whose_names_are_no_texts() -> None:
    how = SeriesOptions(time="0", id="1")
    columns = {0: ["2024-01-01", "2024-01-02"], 1: [3, 3], "y": [1, 2]}
    expected = {"1": [3, 3], "0": ["2024-01-03", "2024-01-04"], "y": [0.5, 1.5]}
    assert forecast(columns, how) == expected
    assert forecast(pd.DataFrame(columns), how).to_dict("list") == expected


def test_a_dict_stays_one() -> None:
    assert forecast({"unique_id": [3, 3], "ds": ["2024-01-01", "2024-01-02"], "y": [1, 2]}) == {
        "unique_id": [3, 3], "ds": ["2024-01-03", "2024-01-04"], "y": [0.5, 1.5],
    }  # fmt: skip
    days = np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[D]")
    found = forecast({"ds": days, "y": [1, 2]})
    assert found["ds"].dtype == days.dtype
    assert found["ds"].tolist() == [date(2024, 1, 3), date(2024, 1, 4)]
    listed = forecast({"ds": [datetime(2024, 1, 1), datetime(2024, 1, 2)], "y": [1, 2]})
    assert listed["ds"] == [datetime(2024, 1, 3), datetime(2024, 1, 4)]
