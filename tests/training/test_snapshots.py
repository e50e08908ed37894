"""Snapshots: written after the planned steps, read back in order, and no part of the training itself."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from seqline.errors import UserError
from seqline.run_folder import load_run
from seqline.training.snapshots import planned_steps, read_snapshots
from seqline.training.weights import weights_of

from ..small_run import quick_run, weights, write_letters


def test_more_copies_are_planned_early() -> None:
    assert planned_steps(6, 800) == [22, 89, 200, 356, 556, 800]
    assert planned_steps(5, 2) == [1, 2]


def test_copies_are_of_the_training_and_change_nothing_in_it(tmp_path: Path) -> None:
    data = write_letters(tmp_path / "data")
    plain = quick_run(data, tmp_path / "plain").folder
    kept = quick_run(data, tmp_path / "kept", "training.snapshots=2").folder
    copies = list(read_snapshots(kept / "snapshots"))
    assert [step for step, _ in copies] == [3, 12]
    assert not (plain / "snapshots").exists()
    assert weights(kept) == weights(plain)
    assert all(copy.keys() == weights_of(load_run(kept).model).keys() for _, copy in copies)
    assert any(not torch.equal(copies[0][1][name], tensor) for name, tensor in copies[1][1].items())


def test_a_damaged_copy_is_named(tmp_path: Path) -> None:
    (tmp_path / "step-3.safetensors").write_bytes(b"no tensors")
    for name in ("step-x", "step-007", "step--1", "step-0", "step-٣"):
        (tmp_path / f"{name}.safetensors").write_bytes(b"a stranger")
    with pytest.raises(UserError, match=r"step-3\.safetensors: is damaged"):
        list(read_snapshots(tmp_path))
    (tmp_path / "step-3.safetensors").unlink()
    assert list(read_snapshots(tmp_path)) == []
    assert list(read_snapshots(tmp_path / "nothing")) == []
