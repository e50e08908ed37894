"""Frames and Parquet give the same panel as the CSV file with the same rows."""

from __future__ import annotations

import importlib.util
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqline.data.series import Panel, SeriesOptions
from seqline.data.series.reading import read_panel
from seqline.errors import UserError

pl = pytest.importorskip("polars", reason="polars is not installed (extra: forecast)")
pd = pytest.importorskip("pandas", reason="pandas is not installed (extra: dev)")

HOURS = [datetime(2024, 10, 26, 22 + hour) if hour < 2 else datetime(2024, 10, 27, hour - 2) for hour in range(6)]
ARRAYS = ("times", "values", "is_observed", "known", "past")
IDS, YS = ["a"] * 3 + ["b"] * 3, [1.5, 2.0, 3.0, 4.0, 5.0, 6.25]
ROWS = {"unique_id": IDS, "ds": HOURS[:3] * 2, "y": YS, "x": [1, 0, 1, 1, 1, 0], "kind": ["s", "s", "s", "t", "t", "t"]}
HOW = SeriesOptions(zone="Europe/Berlin", known=("x",), static=("kind",))


def same(a: Panel, b: Panel) -> bool:
    return (a.frequency, a.zone, a.targets, a.known, a.past, a.static) == (
        b.frequency, b.zone, b.targets, b.known, b.past, b.static,
    ) and all(
        (x.id, x.static) == (y.id, y.static)
        and all(np.array_equal(getattr(x, name), getattr(y, name)) for name in ARRAYS)
        for x, y in zip(a.series, b.series, strict=True)
    )  # fmt: skip


def csv_panel(tmp_path: Path) -> Panel:
    lines = ["unique_id,ds,y,x,kind"]
    lines += [f"{i},{t:%Y-%m-%d %H:%M:%S},{y},{x},{k}" for i, t, y, x, k in zip(*ROWS.values(), strict=True)]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(lines))
    return read_panel(path, how=HOW)


def test_every_source_gives_the_same_panel(tmp_path: Path) -> None:
    expected = csv_panel(tmp_path)
    pl.DataFrame(ROWS).write_parquet(tmp_path / "rows.parquet")
    arrays = {name: np.array(column) for name, column in ROWS.items()}
    sources: list[Any] = [
        pl.DataFrame(ROWS), pd.DataFrame(ROWS), ROWS, arrays, tmp_path / "rows.parquet", pl.DataFrame(ROWS).to_arrow(),
        pd.DataFrame(ROWS).astype({"kind": "category", "x": "Int64"}), pl.DataFrame(ROWS).cast({"kind": pl.Categorical}),
        pl.DataFrame(ROWS).with_columns(pl.col("ds").dt.strftime("%Y-%m-%d %H:%M")), pd.DataFrame(ROWS, index=range(3, 9)),
        pl.DataFrame(ROWS).cast({"ds": pl.Datetime("ms"), "x": pl.UInt8}), pd.DataFrame(ROWS).astype({"x": bool}),
        pl.DataFrame(ROWS).cast({"ds": pl.Datetime("ns"), "x": pl.Boolean}),
    ]  # fmt: skip
    for source in sources:
        assert same(read_panel(source, how=HOW), expected), type(source)


def test_zones_of_frames_are_kept() -> None:
    instants = [1729976400 + 3600 * hour for hour in range(5)]
    frames = [
        pl.DataFrame({"ds": instants, "y": YS[:5]}).with_columns(
            pl.from_epoch("ds", "s").dt.replace_time_zone("UTC").dt.convert_time_zone("Europe/Berlin")
        ),
        pd.DataFrame({"ds": pd.to_datetime(instants, unit="s", utc=True).tz_convert("Europe/Berlin"), "y": YS[:5]}),
    ]  # fmt: skip
    for frame in frames:
        panel = read_panel(frame)
        assert panel.zone == "Europe/Berlin"
        assert panel.series[0].times.tolist() == [second * 1_000_000 for second in instants]
        assert panel.form.write(panel.series[0].times[1:3], panel.zone)[0] == "2024-10-27 00:00:00+02:00"
    fixed = pd.DataFrame({"ds": pd.to_datetime(["2024-01-01T00:00+01:00", "2024-01-01T01:00+01:00"]), "y": [1, 2]})
    assert read_panel(fixed).zone == "+01:00"


def test_a_zone_without_a_known_name_counts_as_utc() -> None:
    times = pd.date_range("2024-01-01", periods=3, freq="h", tz="dateutil/Europe/Berlin")
    panel = read_panel(pd.DataFrame({"ds": times, "y": [1, 2, 3]}))
    assert panel.zone == "UTC"
    assert panel.form.write(panel.series[0].times, panel.zone)[0] == "2023-12-31 23:00:00+00:00"


def test_rules_for_text_are_not_for_typed_columns() -> None:
    for column in ([date(2024, 1, 1), date(2024, 1, 2)], [1, 2]):
        with pytest.raises(UserError, match="time_format"):
            read_panel(pl.DataFrame({"ds": column, "y": [1, 2]}), how=SeriesOptions(time_format="%Y"))
    days = pl.DataFrame({"ds": [1, 2], "y": [1, 2], "born": [date(2000, 1, 1)] * 2})
    assert read_panel(days, target="y", how=SeriesOptions(static=("born",))).series[0].static == ("2000-01-01",)


def test_days_stay_dates() -> None:
    days = [date(2024, 2, 28), date(2024, 2, 29), date(2024, 3, 1)]
    midnights = [datetime(day.year, day.month, day.day) for day in days]
    for column in (days, midnights, np.array(days, dtype="datetime64[D]")):
        for frame in ({"date": column, "y": [1, 2, 3]}, pl.DataFrame({"date": column, "y": [1, 2, 3]})):
            panel = read_panel(frame)
            assert (panel.frequency.name, panel.zone) == ("1d", "")
            assert panel.form.write(panel.series[0].times, "") == ["2024-02-28", "2024-02-29", "2024-03-01"]
    assert read_panel(pd.DataFrame({"date": days, "y": [1, 2, 3]})).frequency.name == "1d"
    periods = pd.DataFrame({"ds": pd.period_range("2024-01", periods=3, freq="M"), "y": [1, 2, 3]})
    assert read_panel(periods).frequency.name == "1month"


def test_an_index_of_times_is_a_column() -> None:
    index = pd.date_range("2024-01-01", periods=3, freq="D")
    assert read_panel(pd.DataFrame({"y": [1, 2, 3]}, index=index)).time_column == "ds"
    assert read_panel(pd.DataFrame({"y": [1, 2, 3]}, index=index.rename("date"))).time_column == "date"


def test_an_index_with_a_name_is_a_column() -> None:
    days = pd.date_range("2024-01-01", periods=3, freq="D")
    named = pd.DataFrame({"y": [1, 2, 3]}, index=days.rename("when"))
    assert read_panel(named).time_column == "when"
    both = pd.DataFrame(
        {"ds": days.tolist() * 2, "y": range(6)}, index=pd.Index(["a"] * 3 + ["b"] * 3, name="unique_id")
    )
    assert [one.id for one in read_panel(both).series] == ["a", "b"]
    texts = pd.DataFrame({"y": [1, 2, 3]}, index=pd.Index(["2024-01-01", "2024-01-02", "2024-01-03"], name="ds"))
    assert read_panel(texts).time_column == "ds"
    assert read_panel(pd.DataFrame({"y": [1, 2, 3]}, index=[4, 5, 9])).time_column == ""


def test_ids_of_frames_are_taken_to_the_letter() -> None:
    for table in (pd.DataFrame, pl.DataFrame, dict):
        frame = table({"unique_id": ["a", "a ", "a\\nb"], "ds": ["2024-01-01"] * 3, "y": [1, 2, 3]})
        panel = read_panel(frame, how=SeriesOptions(frequency="1d"))
        assert [one.id for one in panel.series] == ["a", "a ", "a\\nb"]


def test_what_a_masked_array_hides_is_missing() -> None:
    masked = np.ma.masked_array([1.0, -9999.0, 3.0], mask=[False, True, False])
    with pytest.raises(UserError, match="a missing value"):
        read_panel({"y": masked})
    assert read_panel({"y": masked}, how=SeriesOptions(missing="mask")).series[0].is_observed.tolist() == [
        [True],
        [False],
        [True],
    ]


def test_missing_cells_of_every_kind() -> None:
    how = SeriesOptions(missing="mask")
    for column in ([1.0, None, 3.0], [1.0, float("nan"), 3.0], [1.0, float("inf"), 3.0], ["1", "NA", "3"]):
        for frame in (pl.DataFrame({"y": column}), pd.DataFrame({"y": column}), {"y": column}):
            series = read_panel(frame, how=how).series[0]
            assert series.is_observed.tolist() == [[True], [False], [True]]
            assert series.values.tolist() == [[1], [0], [3]]
    nullable = pd.DataFrame({"y": pd.array([2**53 + 1, None, 3], dtype="Int64")})
    panel = read_panel(nullable, how=how)
    assert panel.series[0].is_observed.tolist() == [[True], [False], [True]]
    assert any("lost digits" in note for note in panel.notes)
    assert any("lost digits" in note for note in read_panel(pl.DataFrame({"y": [2**53 + 1, None]}), how=how).notes)


@pytest.mark.parametrize(("frame", "message"), [
    (7, "frame: expected a file name"), (None, "frame: expected a file name"), ([1, 2], "frame: expected a file name"),
    (pl.DataFrame({"y": [1]}).lazy(), "frame: expected a file name, a polars or pandas frame"),
    ({"y": [1, 2], "ds": [1]}, "frame: columns differ in length"), ({}, "frame: no column is left"),
    ({"y": []}, "frame: has no rows"), ({"y": 5}, "frame: column 'y': expected a list or an array, got int"),
    ({"y": "123"}, "frame: column 'y': expected a list or an array, got str"),
    (pl.DataFrame({"y": [[1], [2]]}), "frame row 0: column 'y': expected numbers, text or"),
    (pl.DataFrame({"ds": [date(2024, 1, 1), None], "y": [1, 2]}), "frame row 1: column 'ds': expected a time"),
    (pd.DataFrame({"ds": pd.to_datetime(["2024-01-01", None]), "y": [1, 2]}), "frame row 1: column 'ds': expected a time"),
    ({"ds": np.array(["2024-01-01", "NaT"], dtype="datetime64[s]"), "y": [1, 2]}, "frame row 1: column 'ds': expected a time"),
    ({"y": np.zeros((2, 2))}, "frame row 0: column 'y': expected one value a row"),
    ({"ds": [1.5, 2.5], "y": [1, 2]}, "frame row 0: column 'ds': expected times or integers"),
    ({"ds": np.array([1, 2], dtype="datetime64[D]"), "y": np.array([1, 2], dtype="datetime64[D]")}, "frame row 0: column 'y'"),
    (pd.DataFrame([[1, 2]], columns=["y", "y"]), "frame: two columns are called 'y'"),
    (pd.DataFrame({"y": [1, 2]}, index=pd.MultiIndex.from_tuples([(1, 2), (1, 3)])), "frame: has an index of several levels"),
    (pl.DataFrame({"ds": ["a\nb"], "y": [1]}), "frame row 0: column 'ds': expected a time"),
    (pd.Series([1, 2]), "frame: is one column"),
    (pd.DataFrame({"y": [1, 2]}, index=["u", "v"]), "frame: has an index without a name"),
    (pd.DataFrame({"y": [1, 2]}, index=pd.period_range("2024-01", periods=2, freq="M")), "frame: has an index of periods"),
    (pd.DataFrame({"unique_id": [True, False], "y": [1, 2]}), "frame row 0: column 'unique_id': expected texts or whole"),
    (pl.DataFrame({"unique_id": [True, False], "y": [1, 2]}), "frame row 0: column 'unique_id': expected texts or whole"),
    (pl.DataFrame({"unique_id": [1.5, 2.5], "y": [1, 2]}), "frame row 0: column 'unique_id': expected texts or whole"),
    (pl.DataFrame({"unique_id": [date(2024, 1, 1)], "y": [1]}), "frame row 0: column 'unique_id': expected texts or whole"),
    (pd.DataFrame({"unique_id": [1, "1"], "y": [1, 2]}), "frame row 1: column 'unique_id': the ids 1 and '1' have one text"),
    (pl.DataFrame({"unique_id": ["a\nb"], "y": [1]}), "frame row 0: column 'unique_id': expected the id of a series on one"),
    ({"y": [[1, 2], [3]]}, "frame row 0: column 'y': cannot be read"),
    (pl.DataFrame({"y": ["1\n"]}), "frame row 0: column 'y': expected a number"),
    (pl.DataFrame({"ds": [10**15 + 1, 1], "y": [1, 2]}).cast({"ds": pl.Datetime("ns")}), "frame row 0: column 'ds'"),
    ({"ds": np.array([10**6], dtype="datetime64[Y]"), "y": [1]}, "frame row 0: column 'ds': expected a year from 1 to 9999"),
])  # fmt: skip
def test_what_is_no_table_is_refused(frame: Any, message: str) -> None:
    with pytest.raises(UserError) as caught:
        read_panel(frame)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_integers_of_frames_need_their_unit_too() -> None:
    frame = pl.DataFrame({"ds": [1_700_000_000, 1_700_003_600], "y": [1, 2]})
    with pytest.raises(UserError, match="frame row 0: column 'ds': expected a row number, got '1700000000'"):
        read_panel(frame)
    assert read_panel(frame, how=SeriesOptions(time_unit="s")).frequency.name == "1h"


@given(st.binary(max_size=200), st.booleans())
def test_bytes_that_are_no_parquet_are_refused(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, framed: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "bad.parquet"
    path.write_bytes(b"PAR1" + data + b"PAR1" if framed else data)
    with pytest.raises(UserError, match="cannot be read as Parquet") as caught:
        read_panel(path)
    assert "\n" not in str(caught.value)


def test_without_polars_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r'polars, which is not installed; pip install "seqline\[forecast\]"$'):
        read_panel(path)
    monkeypatch.setattr("seqline.data.series.frames.read_bytes", None)
    (tmp_path / "b.csv").write_text("ds,y\n2024-01-01,1\n2024-01-02,2\n")
    assert read_panel(tmp_path / "b.csv").frequency.name == "1d"
    assert read_panel(pd.DataFrame({"y": [1, 2]})).frequency.name == "1row"
