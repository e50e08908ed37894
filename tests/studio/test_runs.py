"""The runs of a page: found where they are left, named apart, of any task."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from seqline.errors import UserError
from seqline.studio.asked import TraceAsked
from seqline.studio.runs import Runs, find_runs
from seqline.visualize.trace import Bundle, Trace

from ..small_forecasts import columns_of, train_small, wave, write_csv
from ..small_run import ReversingRun
from ..small_texts import quick, write_classed, write_tagged, write_texts


def test_runs_are_found_where_they_are_left(reversing_run: ReversingRun, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no finished run in this folder; name one, or make some: seqline demo"):
        find_runs(tmp_path)
    for name in ("seqline-demo/luong", "runs/luong", "mine"):
        shutil.copytree(reversing_run.folder, tmp_path / name)
    (tmp_path / "runs" / "unfinished").mkdir()
    found = find_runs(tmp_path)
    assert [str(path.relative_to(tmp_path)) for path in found] == ["mine", "runs/luong", "seqline-demo/luong"]
    assert list(Runs(found).folders) == ["mine", "runs/luong", "seqline-demo/luong"]


def test_forecasting_runs_are_left_out_and_alone_refused(reversing_run: ReversingRun, tmp_path: Path) -> None:
    data = write_csv(tmp_path / "a.csv", columns_of(wave(40)))
    series = train_small(data, tmp_path / "series" / "run", "gru", **{"training.max_steps": 1})
    lines: list[str] = []
    runs = Runs([series, reversing_run.folder], say=lines.append)
    assert lines == [f"left out, for the studio shows runs that read text: {series}"]
    assert list(runs.folders) == [entry["name"] for entry in runs.about()] == ["run"]
    assert runs.folders["run"] == reversing_run.folder.resolve()
    lines.clear()
    Runs([reversing_run.folder], say=lines.append)
    with pytest.raises(UserError, match="is a run for forecasting, and the studio shows runs that read text"):
        Runs([series], say=lines.append)
    assert lines == []


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such run folder"):
        Runs([tmp_path / "none"])


def asked(**values: Any) -> TraceAsked:
    return TraceAsked.model_validate(values)


def test_the_same_folder_twice_is_one_run(reversing_run: ReversingRun) -> None:
    runs = Runs([reversing_run.folder, reversing_run.folder])
    assert [entry["name"] for entry in runs.about()] == ["run"]
    trace = runs.record(asked(model=["run", "run"], text="a b"))
    assert isinstance(trace, Trace)


@pytest.fixture(scope="module")
def other_tasks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return quick runs of the other three tasks."""
    folder = tmp_path_factory.mktemp("tasks")
    data = {
        "lm": write_texts(folder / "texts"),
        "tagging": write_tagged(folder / "tagged"),
        "classification": write_classed(folder / "classed"),
    }
    for task, path in data.items():
        quick(task, path, folder / task, "lstm")
    return {task: folder / task for task in data}


def test_runs_of_all_tasks_are_recorded_side_by_side(reversing_run: ReversingRun, other_tasks: dict[str, Path]) -> None:
    runs = Runs([reversing_run.folder, *other_tasks.values()])
    names = ["run", "lm", "tagging", "classification"]
    found = runs.record(asked(model=names, text="the cat sees", decode={"max_tokens": 3}))
    assert isinstance(found, Bundle)
    tasks = [trace.document["task"] for trace in found.traces]
    assert tasks == ["translation", "language_model", "tagging", "classification"]
    assert len(found.traces[1].document["target"]["tokens"]) <= 3
    assert found.labels == names
    assert found.to_json()


def test_what_a_task_does_not_have_cannot_be_forced(other_tasks: dict[str, Path]) -> None:
    runs = Runs(other_tasks.values())
    runs.check(asked(model="lm", text=""))
    forced = runs.record(asked(model="lm", text="the", force=[{"step": 1, "id": 5}], decode={"max_tokens": 2}))
    assert isinstance(forced, Trace)
    assert forced.document["target"]["tokens"][0]["id"] == 5
    with pytest.raises(
        UserError, match="force: is for translation or language_model, and the run tagging is for tagging"
    ):
        runs.record(asked(model="tagging", text="the", force=[{"step": 1, "id": 5}]))
    with pytest.raises(UserError, match="attention_rows: is for translation, and the run lm is for language_model"):
        runs.record(asked(model="lm", text="the", attention_rows=[{"step": 1, "weights": [1.0]}]))
    with pytest.raises(UserError, match="got a blank one"):
        runs.check(asked(model=["lm", "tagging"], text=""))
