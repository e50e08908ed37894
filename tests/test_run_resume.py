"""A run that was stopped, killed or finished goes on exactly, and with nothing else than what it began with."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from torch.nn import Module

from seqline import run
from seqline.config import Config, load_config, parse_toml
from seqline.data.text import Pair
from seqline.errors import UserError
from seqline.run import Trained, train
from seqline.run_folder import load_run
from seqline.training.task import TrainerSettings, TrainingResult, TrainingTask
from seqline.translator import Translator

from .small_run import content, letter_pairs, logged, quick_run, weights, without_times, write_letters, write_tsv

STEPS = 12


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_letters(tmp_path_factory.mktemp("letters"))


@pytest.fixture(scope="module")
def whole(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """Return a run that nothing stopped."""
    return quick_run(data, tmp_path_factory.mktemp("whole") / "run")


ASKED_BEFORE_TRAINING = 3


def stop_after(steps: int, reason: str = "interrupted", is_new: bool = True) -> Callable[[], str | None]:
    """Return what asks for a stop before step `steps` + 1; it is asked once before every step, and before a new run begins."""
    asked = itertools.count(-ASKED_BEFORE_TRAINING if is_new else 0)
    return lambda: reason if next(asked) >= steps else None


@pytest.mark.parametrize("steps", [0, 1, 3, 4, 5, 6, 8, 11])
def test_a_stopped_and_resumed_run_is_the_run_that_never_stopped(
    whole: Trained, data: Path, tmp_path: Path, steps: int
) -> None:
    stopped = quick_run(data, tmp_path / "run", should_stop=stop_after(steps))
    assert (stopped.result.reason, stopped.facts["steps"]) == ("interrupted", steps)
    assert load_run(tmp_path / "run").manifest["ended"] == "interrupted"
    Translator.load(tmp_path / "run").translate(["a b"])
    resumed = quick_run(data, tmp_path / "run", resume=True)
    assert (resumed.result.reason, resumed.result.trained_steps) == ("finished", STEPS - steps)
    assert weights(tmp_path / "run") == weights(whole.folder)
    assert (tmp_path / "run/config.toml").read_bytes() == (whole.folder / "config.toml").read_bytes()
    assert logged(tmp_path / "run") == logged(whole.folder)
    assert without_times(resumed.facts) == without_times(whole.facts)


def test_a_run_stopped_many_times_is_still_the_same(whole: Trained, data: Path, tmp_path: Path) -> None:
    quick_run(data, tmp_path / "run", should_stop=stop_after(1))
    for _ in range(3):
        quick_run(data, tmp_path / "run", resume=True, should_stop=stop_after(3, is_new=False))
    quick_run(data, tmp_path / "run", resume=True)
    assert weights(tmp_path / "run") == weights(whole.folder)
    assert logged(tmp_path / "run") == logged(whole.folder)


def test_a_killed_run_is_taken_up_from_its_checkpoints(whole: Trained, data: Path, tmp_path: Path) -> None:
    class Killed(Exception):
        pass

    def kill() -> str | None:
        if next(asked) == 8:
            raise Killed
        return None

    asked = itertools.count(-ASKED_BEFORE_TRAINING)
    with pytest.raises(Killed):
        quick_run(data, tmp_path / "run", should_stop=kill)
    with pytest.raises(UserError, match="not finished"):
        load_run(tmp_path / "run")
    assert sorted(path.name for path in (tmp_path / "run/checkpoints").iterdir()) == ["step-3", "step-6"]
    resumed = quick_run(data, tmp_path / "run", resume=True)
    assert resumed.result.trained_steps == STEPS - 6
    assert weights(tmp_path / "run") == weights(whole.folder)
    assert logged(tmp_path / "run") == logged(whole.folder)


def test_a_run_killed_before_its_first_checkpoint_starts_anew(whole: Trained, data: Path, tmp_path: Path) -> None:
    shutil.copytree(whole.folder, tmp_path / "run")
    shutil.rmtree(tmp_path / "run/checkpoints")
    for name in ("manifest.json", "weights.safetensors", "metrics.jsonl"):
        (tmp_path / "run" / name).unlink()
    resumed = quick_run(data, tmp_path / "run", resume=True)
    assert any("starting at step 0" in note for note in resumed.result.notes)
    assert weights(tmp_path / "run") == weights(whole.folder)


def test_resuming_needs_the_data_and_nothing_else(whole: Trained, data: Path, tmp_path: Path) -> None:
    quick_run(data, tmp_path / "run", should_stop=stop_after(5))
    train(Config().replace(**{"data.train": str(data)}), tmp_path / "run", resume=True)
    assert weights(tmp_path / "run") == weights(whole.folder)


def test_the_same_data_under_another_name_is_the_same(whole: Trained, data: Path, tmp_path: Path) -> None:
    quick_run(data, tmp_path / "run", should_stop=stop_after(5))
    moved = shutil.copytree(data, tmp_path / "moved")
    quick_run(Path(moved), tmp_path / "run", resume=True)
    assert weights(tmp_path / "run") == weights(whole.folder)


def test_a_finished_run_says_so_and_trains_nothing(whole: Trained, data: Path, tmp_path: Path) -> None:
    shutil.copytree(whole.folder, tmp_path / "run")
    resumed = quick_run(data, tmp_path / "run", resume=True)
    assert (resumed.result.reason, resumed.result.trained_steps) == ("already finished", 0)
    assert weights(tmp_path / "run") == weights(whole.folder)
    assert (tmp_path / "run/config.toml").read_bytes() == (whole.folder / "config.toml").read_bytes()
    assert [line for line in logged(tmp_path / "run") if line["event"] != "end"] == [
        line for line in logged(whole.folder) if line["event"] != "end"
    ]


def test_more_steps_are_allowed(whole: Trained, data: Path, tmp_path: Path) -> None:
    shutil.copytree(whole.folder, tmp_path / "run")
    resumed = quick_run(data, tmp_path / "run", "training.max_steps=16", resume=True)
    assert (resumed.result.reason, resumed.result.trained_steps) == ("finished", 4)
    run = load_run(tmp_path / "run")
    assert run.config.training.max_steps == run.manifest["steps"] == 16
    assert [line["step"] for line in logged(tmp_path / "run") if line["event"] == "step"] == list(range(1, 17))
    config = parse_toml((whole.folder / "config.toml").read_bytes(), "config")
    assert run.config == config.replace(**{"training.max_steps": 16})


def test_fewer_steps_than_done_are_refused(whole: Trained, data: Path, tmp_path: Path) -> None:
    shutil.copytree(whole.folder, tmp_path / "run")
    with pytest.raises(UserError, match=r"training\.max_steps: asks for 5 steps, the run has done 12"):
        quick_run(data, tmp_path / "run", "training.max_steps=5", resume=True)
    assert content(tmp_path / "run") == content(whole.folder)


CHANGES: dict[str, Callable[[list[Pair]], list[Pair]]] = {
    "one more": lambda pairs: [*pairs, Pair("a", "a", 61)],
    "one less": lambda pairs: pairs[:-1],
    "another word": lambda pairs: [Pair("h", "h", 1), *pairs[1:]],
    "another order": lambda pairs: [pairs[1], pairs[0], *pairs[2:]],
    "sides swapped": lambda pairs: [Pair(pair.target, pair.source, pair.line) for pair in pairs],
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
def test_other_data_is_refused_with_both_hashes(
    whole: Trained, data: Path, tmp_path: Path, change: Callable[[list[Pair]], list[Pair]]
) -> None:
    shutil.copytree(whole.folder, tmp_path / "run")
    other = Path(shutil.copytree(data, tmp_path / "other"))
    write_tsv(other / "train.tsv", change(letter_pairs(60, seed=1)))
    with pytest.raises(UserError, match="is not the corpus this run began with") as refused:
        quick_run(other, tmp_path / "run", resume=True)
    assert str(refused.value).startswith(f"{other}: ")
    assert whole.facts["data_sha256"][:12] in str(refused.value)
    assert content(tmp_path / "run") == content(whole.folder)


@pytest.mark.parametrize(
    "setting",
    [
        "training.seed=2",
        "training.learning_rate=0.5",
        "training.label_smoothing=0.2",
        "training.batch_tokens=61",
        "training.max_minutes=1",
        "training.validate_every=5",
        "model.hidden_size=16",
        "model.score=general",
        "model.size=small",
        "model.architecture=encoder-decoder",
        "tokenizer.kind=char",
        "tokenizer.source.kind=char",
        "data.max_tokens=9",
        "data.normalize_whitespace=true",
        "decoding.beam_size=3",
    ],
)
def test_another_setting_is_refused_by_name(whole: Trained, data: Path, tmp_path: Path, setting: str) -> None:
    shutil.copytree(whole.folder, tmp_path / "run")
    key, _, value = setting.partition("=")
    with pytest.raises(UserError) as refused:
        quick_run(data, tmp_path / "run", setting, resume=True)
    assert key.rsplit(".", 1)[0] in str(refused.value)
    assert value.strip("'") in str(refused.value) or value.title() in str(refused.value)
    assert content(tmp_path / "run") == content(whole.folder)


@pytest.mark.parametrize(
    ("own", "asked"),
    [
        ("training.label_smoothing=0.2", "training.label_smoothing=0.1"),
        ("training.seed=2", "training.seed=1"),
        ("tokenizer.kind=word", "tokenizer.kind=unigram"),
    ],
)
def test_another_setting_is_refused_also_where_it_is_the_default(
    data: Path, tmp_path: Path, own: str, asked: str
) -> None:
    quick_run(data, tmp_path / "run", own, "training.max_steps=2")
    config = load_config(None, [f"data.train={data}", asked])
    with pytest.raises(UserError):
        train(config, tmp_path / "run", resume=True)


def test_what_is_no_run_cannot_be_resumed(data: Path, tmp_path: Path) -> None:
    for folder in (tmp_path / "none", tmp_path):
        with pytest.raises(UserError, match="is not a run"):
            quick_run(data, folder, resume=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("ended", "used", "deadline"),
    [
        ("interrupted", 200.0, 300.0),
        ("terminated", 500.0, 600.0),
        ("finished", 288.0, 588.0),
        ("no improvement", 100.0, 400.0),
        ("time limit", 300.2, 600.2),
    ],
)
def test_a_run_that_was_cut_short_has_what_is_left_of_its_minutes_and_another_as_many_again(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ended: str, used: float, deadline: float
) -> None:
    given: list[float | None] = []
    trainer = run.run_trainer

    def watched(model: Module, task: TrainingTask, settings: TrainerSettings, **more: Any) -> TrainingResult:
        given.append(settings.deadline_seconds)
        return trainer(model, task, settings, **more)

    monkeypatch.setattr(run, "run_trainer", watched)
    quick_run(data, tmp_path / "run", "training.max_minutes=5", "training.max_steps=2")
    facts = {**run.read_manifest(tmp_path / "run"), "ended": ended, "training_seconds": used}
    monkeypatch.setattr(run, "read_manifest", lambda _: facts)
    quick_run(data, tmp_path / "run", "training.max_steps=3", resume=True)
    assert given == [300.0, pytest.approx(deadline)]
