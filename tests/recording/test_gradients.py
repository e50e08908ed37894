"""Gradients per step against ones written by hand, and the memory limit of a watch."""

from __future__ import annotations

import pytest
import torch

from seqline.errors import UserError
from seqline.recording.gradients import Loss, gradients_of
from seqline.watch import watch

from ..small_models import make_model


def test_a_two_step_network_has_the_gradients_written_by_hand() -> None:
    model = make_model("encoder-decoder-simple")
    encoder = model.encoder.get_submodule("stack")
    top, below = (encoder.get_submodule(f"layers.{k}.cell") for k in (1, 0))
    ids = torch.tensor([[5, 3]])
    real = torch.ones_like(ids, dtype=torch.bool)
    block = gradients_of(model, Loss(lambda done: (model.encoder(ids, real).outputs[:, -1].sum(), done())[0], "sum"), 2)
    assert block is not None
    with torch.no_grad():
        x = model.encoder.get_submodule("embedding")(ids)[0]
        low, states = torch.zeros(8, dtype=torch.float64), [torch.zeros(8, dtype=torch.float64)]
        for step in x:
            low = torch.tanh(below.weight_ih @ step + below.bias_ih + below.weight_hh @ low + below.bias_hh)  # type: ignore[operator]
            states.append(torch.tanh(top.weight_ih @ low + top.bias_ih + top.weight_hh @ states[-1] + top.bias_hh))  # type: ignore[operator]
        last = torch.ones(8, dtype=torch.float64)
        first = top.weight_hh.T @ ((1 - states[2] ** 2) * last)  # type: ignore[operator]
        radius = torch.linalg.eigvals(top.weight_hh).abs().max()  # type: ignore[arg-type]
    assert block["norm_h"] == pytest.approx([float(first.norm()), float(last.norm())], abs=1e-6)
    assert block["spectral_radius"] == pytest.approx(float(radius), abs=1e-9)
    assert all(parameter.grad is None for parameter in model.parameters())


def test_the_limit_ends_a_watch_and_leaves_no_hook() -> None:
    model = make_model("transformer")
    ids = torch.randint(4, 9, (4, 60))
    with pytest.raises(UserError, match=r"watch: what is recorded is larger than 1 MB"), watch(model, limit_mb=1):
        model(ids, torch.ones_like(ids, dtype=torch.bool), ids)
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())


def test_frames_name_the_module_that_ran_and_only_what_is_asked_for() -> None:
    model = make_model("encoder-decoder-lstm")
    ids = torch.tensor([[5, 6, 3]])
    with torch.no_grad(), watch(model, only={"lstm cell"}) as frames:
        model(ids, torch.ones_like(ids, dtype=torch.bool), ids)
    assert {frame.part for frame in frames} == {"lstm cell"}
    assert [frame.path for frame in frames[::3]] == [
        f"{side}.stack.layers.{layer}.cell" for side in ("encoder", "decoder") for layer in (0, 1)
    ]
