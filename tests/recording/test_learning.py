"""How a run learned: curves from what its training wrote down, and attention from the copies of its weights."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from seqline.api import explain
from seqline.errors import UserError
from seqline.recording.learning import attention_of, curves, read_history, training_block
from seqline.run_folder import Run, load_run
from seqline.visualize.trace import Trace

from ..small_run import quick_run, write_letters
from .recorded import chosen, make_model, recorded


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run of 12 steps with a validation after every second and three copies of its weights."""
    place = tmp_path_factory.mktemp("learning")
    quick_run(write_letters(place / "data"), place / "run", "training.validate_every=2", "training.snapshots=3")
    return place / "run"


@pytest.fixture(scope="module")
def run(folder: Path) -> Run:
    return load_run(folder)


def events(folder: Path, name: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [line for line in lines if line["event"] == name]


def test_points_stand_at_the_validations(folder: Path, run: Run) -> None:
    trace = explain(run, "a b", training=True)
    block = trace.document["training"]
    validations = [event for event in events(folder, "validation") if event["weights"] == "current"]
    steps = {event["step"]: event for event in events(folder, "step")}
    assert block["steps"].tolist() == [2, 4, 6, 8, 10, 12] == [event["step"] for event in validations]
    means = [(steps[k - 1]["nats_per_token"] + steps[k]["nats_per_token"]) / 2 for k in block["steps"].tolist()]
    assert block["loss"] == pytest.approx(means)
    assert block["lr"].tolist() == [steps[k]["learning_rate"] for k in block["steps"].tolist()]
    assert block["val_loss"].tolist() == [event["nats_per_token"] for event in validations]
    assert set(block["metrics"]) == set(validations[0]["scores"])
    assert isinstance(Trace.from_json(trace.to_json()), Trace)
    assert explain(run, "a b").document.get("training") is None


def test_each_copy_of_the_weights_reads_the_same_text(run: Run) -> None:
    before = {name: tensor.clone() for name, tensor in run.model.state_dict().items()}
    document = explain(run, "a b c", beam_size=1).document
    block = training_block(run, document)
    assert block is not None
    shots = block["snapshots"]
    assert [shot["step"] for shot in shots] == [1, 5, 12]
    shape = document["attention"][0]["weights"].shape
    assert {shot["weights"].shape for shot in shots} == {shape}
    assert all(np.abs(shot["weights"].sum(-1) - 1).max() < 1e-5 for shot in shots)
    assert np.abs(shots[0]["weights"] - shots[-1]["weights"]).max() > 1e-6
    assert all(torch.equal(before[name], tensor) for name, tensor in run.model.state_dict().items())


@pytest.mark.parametrize(("variant", "task"), chosen())
def test_attention_of_the_same_weights_is_that_of_the_trace(variant: str, task: str) -> None:
    document = recorded(variant, task)
    found = attention_of(make_model(variant, task), document)
    blocks = {block["kind"]: block["weights"] for block in document.get("attention") or []}
    kind = next((kind for kind in ("cross", "decoder_self", "encoder_self") if kind in blocks), None)
    if kind is None or (task == "translation" and kind == "decoder_self"):
        assert found is None or kind == "decoder_self"
        return
    assert found is not None
    assert np.abs(found - blocks[kind][:, :, -found.shape[2] :]).max() <= 1e-10


def test_few_validations_leave_equal_intervals(folder: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "run"))
    steps = [json.dumps(event) for event in events(folder, "step")]
    (copy / "metrics.jsonl").write_text("".join(f"{line}\n" for line in steps))
    shutil.rmtree(copy / "snapshots")
    loaded = load_run(copy)
    block = training_block(loaded, {})
    assert block is not None
    assert block["steps"].tolist() == list(range(1, 13))
    assert (block.get("val_loss"), block.get("metrics"), block["snapshots"]) == (None, None, None)
    assert curves(read_history(loaded), [5, 99])["steps"].tolist() == [5, 99]
    (copy / "metrics.jsonl").unlink()
    assert training_block(loaded, {}) is None


def test_what_is_damaged_is_named(folder: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "run"))
    loaded = load_run(copy)
    document = explain(loaded, "a b").document
    shot = copy / "snapshots" / "step-5.safetensors"
    shot.write_bytes(shot.read_bytes()[:100])
    with pytest.raises(UserError, match=r"step-5\.safetensors: is damaged"):
        training_block(loaded, document)
    with (copy / "metrics.jsonl").open("a") as file:
        file.write('{"event": "step", "step": 13}\n')
    with pytest.raises(UserError, match=r"metrics\.jsonl line \d+: is damaged"):
        training_block(loaded, document)
