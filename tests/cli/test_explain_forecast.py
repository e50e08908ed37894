"""`seqline explain` with a forecasting run: one series, how it is forecast, one file; a line for every refusal."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from seqline.cli.series_options import lengths
from seqline.errors import UserError
from seqline.visualize.trace import Trace

from ..small_forecasts import columns_of, train_small, wave, write_csv
from ..small_run import ReversingRun
from .conftest import Refused, Seqline, everything_in


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with `two.csv`, two series, and `run`, trained on them for one step to forecast three months."""
    made = tmp_path_factory.mktemp("forecast")
    data = write_csv(made / "two.csv", columns_of(wave(40), wave(30, 20.0, 3)))
    write_csv(made / "one.csv", columns_of(wave(30, 20.0, 3)))
    changes = {"training.max_steps": 1, "data.horizon": 3, "model.patch": 2}
    train_small(data, made / "run", "bahdanau", **changes)
    return made


@pytest.fixture(scope="module")
def recorded(folder: Path) -> Path:
    """Return a recorded trace of series A."""
    from seqline.api import Explaining, explain
    from seqline.recording.forecast_asked import Asked

    more = Explaining(forecast=Asked(series="A", lengths=(1, 5)))
    explain(folder / "run", str(folder / "two.csv"), more=more).write(folder / "a.json")
    return folder / "a.json"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_run_and_a_series_make_a_new_page(seqline: Seqline, folder: Path, here: Path) -> None:
    done = seqline("explain", folder / "run", folder / "one.csv", "--view", "forecast", "--lengths", "1")
    assert done.code == 0
    assert done.stderr.splitlines() == ["frequency: 1 month, 30 rows from 2017-07-01 to 2019-12-01"]
    said, written = done.lines
    assert said.startswith("y, forecast: ")
    assert len(said.split()) == 2 + 3
    assert written == "written: run-forecast.html"
    assert (here / "run-forecast.html").read_bytes().startswith(b"<!doctype html>")
    assert set(everything_in(here)) == {"run-forecast.html"}


def test_every_option_is_seen_in_the_trace(seqline: Seqline, folder: Path, here: Path) -> None:
    options = ["--series", "B", "--target", "y", "--horizon", "2", "--quantiles", "0.1,0.9", "--lengths", "5,1"]
    more = ["--hold-back", "4", "--json", "--out", "b.json.gz", "--threads", "1", "--device", "cpu"]
    done = seqline("explain", folder / "run", folder / "two.csv", *options, *more)
    assert done.code == 0
    said = json.loads(done.stdout)
    assert (said["file"], said["failed"], len(said["target"].split())) == ("b.json.gz", [], 2)
    trace = Trace.read(here / "b.json.gz")
    assert isinstance(trace, Trace)
    block = trace.document["forecast"]
    assert (block["series"], block["unit"], block["patch"], list(block["q"])) == ("B", "y", 2, ["0.1", "0.9"])
    assert [window["lookback"] for window in block["windows"]] == [1, 5, 24]
    assert block["true_y"].tolist() == wave(30, 20.0, 3)[-4:-2]
    assert trace.document["model"]["arch"] == "bahdanau"
    assert trace.document["model"]["weights_sha256"]


def test_a_history_from_standard_input(seqline: Seqline, folder: Path, here: Path) -> None:
    options = ["--lengths", "1", "--out", "one.json", "--json"]
    done = seqline("explain", folder / "run", "-", *options, stdin=b"ds,y\n2024-02-01,5\n2024-03-01,6\n")
    assert done.code == 0
    assert json.loads(done.stdout)["source"] == "5.5"  # two points are one step of this encoder


def test_the_views_of_a_forecast_draw_a_recorded_trace(seqline: Seqline, recorded: Path, here: Path) -> None:
    for view in ("forecast", "series", "lag", "timeline", "align"):
        done = seqline("explain", recorded, "--view", view, "--out", f"{view}.svg")
        assert (done.code, done.stderr) == (0, "")
    assert (here / "forecast.svg").read_bytes() == (here / "series.svg").read_bytes()
    assert "data-reach-now" in (here / "lag.svg").read_text(encoding="utf-8")
    state = ("--set", "lookback=5", "--set", "horizon=2")
    assert seqline("explain", recorded, "--view", "forecast", *state, "--out", "x.csv").code == 0
    rows = (here / "x.csv").read_text(encoding="utf-8").splitlines()
    assert rows[0].startswith("time,history,prediction,truth,quantile 0.1")
    assert len(rows) == 1 + 5 + 3


def test_the_curves_of_the_training(seqline: Seqline, folder: Path, here: Path) -> None:
    options = ("--view", "train", "--lengths", "1", "--out", "train.svg")
    assert seqline("explain", folder / "run", folder / "one.csv", *options).code == 0
    assert "<svg" in (here / "train.svg").read_text(encoding="utf-8")


def test_a_recorded_forecast_is_drawn_without_torch(recorded: Path, tmp_path: Path) -> None:
    code = """
import sys
from seqline.cli import main
try:
    main(["explain", sys.argv[1], "--view", "lag", "--out", "x.svg"])
except SystemExit as ended:
    assert ended.code == 0
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code, recorded], cwd=tmp_path, check=True, capture_output=True)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "--series: expected one series, got 2: A, B; name one of them"),
        (("--series", "C"), "--series: no series 'C'; known: A, B"),
        (("--series", "A", "--target", "z"), "--target: the run forecasts no column 'z'"),
        (("--series", "A", "--horizon", "4"), "--horizon: the run forecasts up to 3 steps, not 4"),
        (("--series", "A", "--horizon", "0"), "--horizon"),
        (("--series", "A", "--quantiles", "0.1,x"), "--quantiles: expected numbers between 0 and 1"),
        (("--series", "A", "--quantiles", "0.001"), "--quantiles: expected levels from 0.05 to 0.95, got 0.001"),
        (("--series", "A", "--lengths", "0"), "--lengths: expected lengths from 1 to 24, got 0"),
        (("--series", "A", "--lengths", "25"), "--lengths: expected lengths from 1 to 24, got 25"),
        (("--series", "A", "--lengths", "5,five"), "--lengths: expected whole numbers with commas between them"),
        (("--series", "A", "--hold-back", "40"), "--hold-back: expected 0 to 39 points to hold back, got 40"),
        (("--series", "A", "--hold-back", "0"), "--hold-back"),
        (("--series", "A", "--beam", "2"), "--beam: is for a text, and the run run forecasts series"),
        (("--series", "A", "--force", "1=5"), "--force: is for a text, and the run run forecasts series"),
        (("--series", "A", "--view", "forcast"), "did you mean 'forecast'"),
        (("--series", "A", "--view", "lag", "--set", "colour=1", "--out", "x.svg"), "no setting 'colour'"),
        (("--series", "A", "--view", "ttt", "--out", "x.svg"), "view ttt: "),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(
    refused: Refused, folder: Path, options: tuple[str, ...], said: str
) -> None:
    assert said in refused("explain", folder / "run", folder / "two.csv", *options)


UNSORTED = "ds,y\n2024-02-01,6\n2024-01-01,5\n2024-03-01,\n2024-04-01,7\n"


@pytest.fixture
def unsorted(tmp_path: Path) -> Path:
    """Return a file that needs two of the reading options."""
    file = tmp_path / "unsorted.csv"
    file.write_text(UNSORTED, encoding="utf-8")
    return file


def test_histories_are_read_by_the_options_of_predict(
    seqline: Seqline, refused: Refused, folder: Path, unsorted: Path, here: Path
) -> None:
    said = refused("explain", folder / "run", unsorted)
    assert "ask for --sort" in said
    reading = ("--sort", "--missing", "interpolate")
    done = seqline("explain", folder / "run", unsorted, *reading, "--lengths", "1", "--out", "x.json")
    assert done.code == 0
    assert "moved by sorting" in done.stderr
    trace = Trace.read(here / "x.json")
    assert isinstance(trace, Trace)
    assert trace.document["forecast"]["hist_y"].tolist() == [5.0, 6.0, 6.0, 7.0]
    checked = seqline("verify", folder / "run", unsorted, *reading)
    assert checked.code == 0
    assert [line for line in checked.lines if "moved by sorting" in line] == [
        line for line in done.stderr.splitlines() if "moved by sorting" in line
    ]


def test_the_commands_that_read_histories_have_the_same_options() -> None:
    from inspect import signature

    from seqline.cli.explain import explain
    from seqline.cli.forecast import predict
    from seqline.cli.series_options import Reading
    from seqline.cli.verify import verify

    own = set(signature(predict).parameters) & set(Reading._fields)
    assert len(own) == 8
    for command in (explain, verify):
        assert set(signature(command).parameters) & set(Reading._fields) == own


def test_data_that_is_none(refused: Refused, folder: Path, tmp_path: Path) -> None:
    assert "nowhere.csv: no such file" in refused("explain", folder / "run", "nowhere.csv")
    assert "expected a text to explain" in refused("explain", folder / "run")
    (tmp_path / "gap.csv").write_text("ds,y\n2024-01-01,1\n2024-02-01,\n", encoding="utf-8")
    assert "gap.csv" in refused("explain", folder / "run", "gap.csv")
    (tmp_path / "other.csv").write_text("ds,z\n2024-01-01,1\n", encoding="utf-8")
    assert "no column 'y'" in refused("explain", folder / "run", "other.csv")


@pytest.mark.parametrize(
    "option",
    [
        ("--series", "A"), ("--target", "y"), ("--horizon", "2"), ("--quantiles", "0.5"), ("--lengths", "5"), ("--sort",),
        ("--missing", "mask"), ("--time-format", "%Y"),
    ],
)  # fmt: skip
def test_options_of_forecasts_are_for_forecasts(
    refused: Refused, reversing_run: ReversingRun, recorded: Path, option: tuple[str, ...]
) -> None:
    said = f"{option[0]}: is for forecasting, and the run run is for translation"
    assert said in refused("explain", reversing_run.folder, "a b", *option)
    assert f"is a recorded trace, which takes no {option[0]}" in refused("explain", recorded, *option)


@given(st.lists(st.integers(0, 9_999_999), min_size=1))
def test_lengths_are_read_as_they_are_written(values: list[int]) -> None:
    assert lengths(",".join(map(str, values))) == tuple(values)
    assert lengths(" , ".join(map(str, values))) == tuple(values)


@given(st.text(st.sampled_from("0123456789,-+._ \t٣²e\n") | st.characters(), max_size=30))
@example("")
@example(",")
@example("5,")
@example("٣")
@example("²")
@example("99999999")
def test_other_lengths_are_refused_in_one_line(text: str) -> None:
    parts = [part.strip() for part in text.split(",")]
    if all(part.isdigit() and part.isascii() and len(part) <= 7 for part in parts):
        assert lengths(text) == tuple(map(int, parts))
        return
    with pytest.raises(UserError) as refused:
        lengths(text)
    assert refused.value.where == "--lengths"
    assert len(str(refused.value).splitlines()) == 1
