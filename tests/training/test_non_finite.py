"""NaN and infinity stop a run before the update, and the error says where they began."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from seqline.training.checkpoint import load_newest
from seqline.training.loss import LossSum
from seqline.training.non_finite import NonFiniteError, first_non_finite
from seqline.training.trainer import train
from seqline.training.weights import weights_of

from .tiny import TASK, Recorder, TinyModel, compute_loss, new_model, plan_epoch, settings


@pytest.mark.parametrize(("learning_rate", "weight_decay"), [(1e37, 0.0), (1e30, 0.01)])
def test_a_huge_learning_rate_stops_at_the_first_bad_number(
    tmp_path: Path, learning_rate: float, weight_decay: float
) -> None:
    changes = settings(
        learning_rate=learning_rate,
        warmup_steps=0,
        clip_norm=0.0,
        weight_decay=weight_decay,
        checkpoint_every=1,
        validate_every=1,
    )
    recorder = Recorder()
    with pytest.raises(NonFiniteError) as caught:
        train(new_model(), TASK, changes, checkpoints=tmp_path, callbacks=[recorder])
    error = caught.value
    assert error.step <= 3
    assert error.rows == tuple(plan_epoch(0)[error.step - 1])
    assert f"step {error.step}, first in {error.tensor}" in str(error)
    if weight_decay:  # the decay alone makes the weights overflow
        assert error.tensor == "weight 'recurrent.weight_ih_l0' after the update"
    assert all(str(row) in str(error) for row in error.rows)
    assert recorder.ends[0].reason == "NonFiniteError"
    checkpoint = load_newest(tmp_path)
    assert checkpoint is not None
    assert checkpoint.progress["step"] == error.step - 1
    for tensors in checkpoint.tensors.values():
        assert all(tensor.isfinite().all() for tensor in tensors.values())


def spoil_weight(model: TinyModel) -> None:
    with torch.no_grad():
        model.projection.bias[3] = math.nan


def spoil_output(model: TinyModel) -> None:
    model.recurrent.register_forward_hook(lambda _m, _i, outputs: (outputs[0] / 0.0 - outputs[0] / 0.0, outputs[1]))


def spoil_gradient(model: TinyModel) -> None:
    model.recurrent.weight_hh_l0.register_hook(lambda gradient: gradient * math.inf)


def grow_gradient(model: TinyModel) -> None:
    for parameter in model.parameters():
        parameter.register_hook(lambda gradient: torch.full_like(gradient, 1e30))


@pytest.mark.parametrize(
    ("spoil", "tensor"),
    [
        (spoil_weight, "weight 'projection.bias'"),
        (spoil_output, "output of 'recurrent'"),
        (spoil_gradient, "gradient of 'recurrent.weight_hh_l0'"),
        (grow_gradient, "the norm of all gradients, the largest being that of"),
    ],
)
def test_the_first_non_finite_tensor_is_named_and_nothing_is_updated(
    spoil: Callable[[TinyModel], None], tensor: str
) -> None:
    model = new_model()
    spoil(model)
    before = {name: value.clone() for name, value in weights_of(model).items()}
    task = replace(TASK, describe_rows=lambda rows: "lines " + " ".join(str(row + 1) for row in rows))
    with pytest.raises(NonFiniteError) as caught:
        train(model, task, settings())
    assert caught.value.tensor.startswith(tensor)
    assert caught.value.step == 1
    assert "lines " + " ".join(str(row + 1) for row in plan_epoch(0)[0]) in str(caught.value)
    for name, value in weights_of(model).items():
        torch.testing.assert_close(value, before[name], rtol=0, atol=0, equal_nan=True)


def test_a_loss_that_is_not_finite_and_a_spoilt_batch_are_named() -> None:
    def spoilt_loss(model: nn.Module, batch: Any) -> Any:
        part = compute_loss(model, batch)
        return part._replace(loss=part.loss * math.nan)

    with pytest.raises(NonFiniteError, match="first in loss"):
        train(new_model(), replace(TASK, compute_loss=spoilt_loss), settings())
    task = replace(
        TASK,
        make_batch=lambda rows: {"weights": torch.tensor([1.0, math.inf]), "inner": TASK.make_batch(rows)},
        compute_loss=lambda model, batch: spoilt_loss(model, batch["inner"]),
    )
    with pytest.raises(NonFiniteError, match=r"first in batch\.weights"):
        train(new_model(), task, settings())


def test_the_search_sees_the_random_numbers_of_the_step() -> None:
    class SpoiltByChance(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x * math.nan if torch.rand(()) == chosen else x

    model = nn.Sequential(nn.Linear(2, 2), SpoiltByChance())
    before = torch.get_rng_state()
    chosen = torch.rand(())
    after = torch.get_rng_state()
    found = first_non_finite(model, torch.ones(1, 2), lambda m, x: LossSum(m(x).sum(), x.sum(), 1), before)
    assert found == "output of '1'"
    assert torch.equal(torch.get_rng_state(), after)
