"""Checkpoints: complete or absent, damage noticed, ties saved once, the wrong model refused."""

from __future__ import annotations

import json
import math
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from seqline import files
from seqline.errors import UserError
from seqline.training.checkpoint import has_checkpoints, load_newest, restore, save_checkpoint
from seqline.training.optimizer import build_optimizer
from seqline.training.progress import Best, Progress, TrainingState, Validation
from seqline.training.weights import WeightAverage, weights_of

from .tiny import compute_loss, make_batch, new_model


def new_state(seed: int = 7, step: int = 10, has_best: bool = True, has_average: bool = True) -> TrainingState:
    model = new_model(seed)
    optimizer = build_optimizer(model, 0.01, 0.01)
    average = WeightAverage(model, 0.9) if has_average else None
    compute_loss(model, make_batch([1, 2, 3])).loss.backward()
    optimizer.step()
    best = None
    if has_best:
        weights = {name: tensor.clone() for name, tensor in weights_of(model).items()}
        best = Best(weights, "averaged", 5, Validation(1.5, {"bleu": 12.5, "odd": math.nan}, 12.5))
    progress = Progress(step=step, epoch=2, cursor=3, validated_step=5, bad_validations=1, tokens_seen=99, seconds=4.5)
    return TrainingState(model, optimizer, average, best, progress)


def same(first: dict[str, Any], second: dict[str, Any]) -> bool:
    return set(first) == set(second) and all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize("has_best", [False, True])
@pytest.mark.parametrize("has_average", [False, True])
def test_all_comes_back(tmp_path: Path, has_best: bool, has_average: bool) -> None:
    state = new_state(has_best=has_best, has_average=has_average)
    path = save_checkpoint(tmp_path, state)
    expected_random = torch.rand(3)
    other = new_state(seed=8, step=0, has_best=False, has_average=has_average)
    checkpoint = load_newest(tmp_path)
    assert checkpoint is not None
    assert (checkpoint.path, checkpoint.notes) == (path, ())
    restore(checkpoint, other)
    assert torch.equal(torch.rand(3), expected_random)
    assert same(weights_of(other.model), weights_of(state.model))
    assert other.progress == state.progress
    moments = [[s.optimizer.state[p] for p in s.model.parameters()] for s in (state, other)]
    assert len(moments[0]) == 6
    assert all(same(first, second) for first, second in zip(*moments, strict=True))
    if state.average and other.average:
        assert same(state.average.weights, other.average.weights)
    if not has_best:
        assert other.best is None
    else:
        assert state.best is not None
        assert other.best is not None
        assert same(state.best.weights, other.best.weights)
        assert other.best[1:] == ("averaged", 5, Validation(1.5, {"bleu": 12.5}, 12.5))
        assert other.best.label == "averaged at step 5"


def test_saving_again_gives_the_same_bytes_and_holds_no_pickle(tmp_path: Path) -> None:
    first = save_checkpoint(tmp_path / "a", new_state())
    checkpoint = load_newest(tmp_path / "a")
    assert checkpoint is not None
    state = new_state(seed=8)
    restore(checkpoint, state)
    second = save_checkpoint(tmp_path / "b", state)
    names = {path.name for path in first.iterdir()}
    assert {Path(name).suffix for name in names} == {".json", ".safetensors"}
    assert names == {path.name for path in second.iterdir()}
    assert all((first / name).read_bytes() == (second / name).read_bytes() for name in names)


def test_the_newest_two_are_kept(tmp_path: Path) -> None:
    (tmp_path / "stranger").mkdir()
    (tmp_path / "step-4.tmp").mkdir()
    for step in (5, 10, 15):
        save_checkpoint(tmp_path, new_state(step=step))
    save_checkpoint(tmp_path, new_state(step=15))
    assert {path.name for path in tmp_path.iterdir()} == {"stranger", "step-10", "step-15"}


def test_no_checkpoint_is_none(tmp_path: Path) -> None:
    (tmp_path / "step-3.tmp").mkdir()
    (tmp_path / "step-x").mkdir()
    assert not has_checkpoints(tmp_path)
    assert load_newest(tmp_path) is None
    assert load_newest(tmp_path / "nowhere") is None


def damage(path: Path, way: str) -> None:
    data = path.read_bytes()
    if way == "missing":
        path.unlink()
    elif way == "empty":
        path.write_bytes(b"")
    elif way == "cut":
        path.write_bytes(data[:-2])
    else:
        generator = random.Random(len(data))
        place = generator.randrange(len(data))
        path.write_bytes(data[:place] + bytes([data[place] ^ 1 << generator.randrange(8)]) + data[place + 1 :])


@pytest.fixture(scope="module")
def two_checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoints")
    for step in (5, 10):
        save_checkpoint(folder, new_state(step=step))
    return folder


FILES = ["model", "optimizer", "average", "best", "random"]


@pytest.mark.parametrize("way", ["missing", "empty", "cut", "flipped"])
@pytest.mark.parametrize("name", [*(f"{name}.safetensors" for name in FILES), "progress.json", "manifest.json"])
def test_a_damaged_checkpoint_is_passed_over_and_named(
    tmp_path: Path, two_checkpoints: Path, name: str, way: str
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(two_checkpoints, folder)
    damage(folder / "step-10" / name, way)
    checkpoint = load_newest(folder)
    assert checkpoint is not None
    assert checkpoint.path.name == "step-5"
    assert len(checkpoint.notes) == 1
    assert "step-10 is damaged" in checkpoint.notes[0]
    assert name in checkpoint.notes[0]
    assert "step-5 is used instead" in checkpoint.notes[0]


def test_every_flipped_bit_of_a_manifest_is_noticed(tmp_path: Path) -> None:
    path = save_checkpoint(tmp_path, new_state())
    data = (path / "manifest.json").read_bytes()
    for place in range(0, len(data), 3):
        flipped = data[:place] + bytes([data[place] ^ 1 << place % 8]) + data[place + 1 :]
        (path / "manifest.json").write_bytes(flipped)
        with pytest.raises(UserError, match="no sound checkpoint"):
            load_newest(tmp_path)


def test_files_of_another_checkpoint_are_noticed(tmp_path: Path) -> None:
    old, new = (save_checkpoint(tmp_path, new_state(step=step, seed=step)) for step in (5, 10))
    shutil.copy(old / "model.safetensors", new / "model.safetensors")
    checkpoint = load_newest(tmp_path)
    assert checkpoint is not None
    assert checkpoint.path == old
    shutil.rmtree(new)
    shutil.copytree(old, new)
    checkpoint = load_newest(tmp_path)
    assert checkpoint is not None
    assert "it is of step 5" in checkpoint.notes[0]


def test_a_newer_format_is_refused_with_both_numbers(tmp_path: Path) -> None:
    path = save_checkpoint(tmp_path, new_state()) / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["format_version"] = 999
    del manifest["sha256"]
    compact = json.dumps(manifest, sort_keys=True, separators=(",", ":"))
    path.write_text(json.dumps({**manifest, "sha256": files.sha256(compact.encode())}))
    with pytest.raises(UserError, match=r"format 999, this version reads 1"):
        load_newest(tmp_path)


def test_another_number_of_threads_is_said(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, new_state())
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(before + 1)
        checkpoint = load_newest(tmp_path)
    finally:
        torch.set_num_threads(before)
    assert checkpoint is not None
    assert checkpoint.notes == (f"not bit-exact: the number of threads was {before}, now it is {before + 1}",)


def test_a_failed_save_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_checkpoint(tmp_path, new_state(step=5))
    write_bytes = files.write_bytes

    def refuse(path: Path, data: bytes) -> None:
        if path.name == "manifest.json":
            raise UserError("no space left", where=str(path))
        write_bytes(path, data)

    monkeypatch.setattr(files, "write_bytes", refuse)
    with pytest.raises(UserError, match="no space left"):
        save_checkpoint(tmp_path, new_state(step=10))
    assert [path.name for path in tmp_path.iterdir()] == ["step-5"]
    assert load_newest(tmp_path) is not None


def test_non_finite_tensors_are_not_saved(tmp_path: Path) -> None:
    state = new_state()
    with torch.no_grad():
        next(state.model.parameters())[1, 1] = math.inf
    with pytest.raises(UserError, match=r"step-10: not written, .* weight 'embedding.weight'"):
        save_checkpoint(tmp_path, state)
    assert not has_checkpoints(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.pop("projection.bias"), "tensor 'projection.bias' is missing"),
        (lambda m: m.update(extra=torch.zeros(1)), "tensor 'extra' is not one of this model's"),
        (lambda m: m.update({"projection.bias": torch.zeros(3)}), r"is \[3\] float32, expected \[12\] float32"),
        (
            lambda m: m.update({"projection.bias": torch.zeros(12).double()}),
            r"is \[12\] float64, expected \[12\] float32",
        ),
    ],
)
def test_weights_of_another_model_are_refused(tmp_path: Path, change: Any, message: str) -> None:
    save_checkpoint(tmp_path, new_state())
    checkpoint = load_newest(tmp_path)
    assert checkpoint is not None
    change(checkpoint.tensors["model"])
    with pytest.raises(UserError, match=message):
        restore(checkpoint, new_state())


def test_averaging_switched_on_or_off_is_refused(tmp_path: Path) -> None:
    for has_average in (False, True):
        folder = tmp_path / str(has_average)
        save_checkpoint(folder, new_state(has_average=has_average))
        checkpoint = load_newest(folder)
        assert checkpoint is not None
        with pytest.raises(UserError, match="averaged weights; keep"):
            restore(checkpoint, new_state(has_average=not has_average))
