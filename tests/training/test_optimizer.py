"""The learning rate, which parameters decay, clipping, and averaged weights."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from seqline.training.optimizer import Schedule, build_optimizer, clip_gradients
from seqline.training.weights import WeightAverage, load_weights, weights_of

from .tiny import TinyModel, new_model


def test_schedule_is_its_closed_form() -> None:
    schedule = Schedule(peak=0.003, warmup_steps=10, max_steps=110)
    for step in range(1, 111):
        cosine = 0.5 * (1 + math.cos(math.pi * (step - 10) / 100))
        expected = 0.003 * step / 10 if step <= 10 else 0.003 * (0.02 + 0.98 * cosine)
        assert schedule.learning_rate(step) == pytest.approx(expected, rel=1e-12)
    assert schedule.learning_rate(10) == 0.003
    assert schedule.learning_rate(110) == pytest.approx(0.003 * 0.02, rel=1e-12)
    assert schedule.learning_rate(200) == schedule.learning_rate(110)


@pytest.mark.parametrize("warmup_steps", [0, 1, 5, 9])
def test_schedule_at_odd_lengths(warmup_steps: int) -> None:
    schedule = Schedule(1.0, warmup_steps, 5)
    rates = [schedule.learning_rate(step) for step in range(1, 6)]
    assert all(0 < rate <= 1 for rate in rates)
    with pytest.raises(ValueError, match="from 1"):
        schedule.learning_rate(0)


def test_only_matrices_decay_and_tied_ones_are_there_once() -> None:
    model = nn.ModuleDict({"tiny": TinyModel(), "norm": nn.LayerNorm(8), "linear": nn.Linear(8, 3)})
    optimizer = build_optimizer(model, 0.1, 0.5)
    decay = {id(p): group["weight_decay"] for group in optimizer.param_groups for p in group["params"]}
    expected = {
        name: 0.5 if "weight" in name and "norm" not in name and "embedding" not in name else 0.0
        for name, _ in model.named_parameters()
    }
    assert {name: decay[id(p)] for name, p in model.named_parameters()} == expected
    assert sum(len(group["params"]) for group in optimizer.param_groups) == len(expected)
    assert {group["betas"] for group in optimizer.param_groups} == {(0.9, 0.98)}


def test_a_step_moves_both_ends_of_a_tie() -> None:
    model = new_model()
    before = model.embedding.weight.detach().clone()
    optimizer = build_optimizer(model, 0.1, 0.0)
    model(torch.tensor([[2, 4, 5]])).sum().backward()
    optimizer.step()
    assert model.embedding.weight is model.projection.weight
    assert not torch.equal(model.embedding.weight, before)


def test_updates_are_the_published_ones() -> None:
    model = nn.Linear(3, 2).double()
    optimizer = build_optimizer(model, 0.1, 0.5)
    expected = model.weight.detach().clone()
    first, second = torch.zeros(2, 3).double(), torch.zeros(2, 3).double()
    for step in range(1, 6):
        gradient = torch.randn(2, 3).double()
        model.weight.grad, model.bias.grad = gradient.clone(), torch.zeros(2).double()
        optimizer.step()
        first, second = 0.9 * first + 0.1 * gradient, 0.98 * second + 0.02 * gradient**2
        move = first / (1 - 0.9**step) / ((second / (1 - 0.98**step)).sqrt() + 1e-9)
        expected = expected - 0.1 * (move + 0.5 * expected)
        torch.testing.assert_close(model.weight.detach(), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("max_norm", [0.0, 0.5, 100.0])
def test_clipping_is_torchs(max_norm: float) -> None:
    ours = [nn.Parameter(torch.zeros(3)), nn.Parameter(torch.zeros(2, 2)), nn.Parameter(torch.zeros(1))]
    theirs = [nn.Parameter(p.detach().clone()) for p in ours]
    for mine, other in zip(ours[:2], theirs[:2], strict=True):
        mine.grad = torch.randn_like(mine)
        other.grad = mine.grad.clone()
    wanted = torch.nn.utils.clip_grad_norm_(theirs, max_norm or math.inf).item()
    assert clip_gradients(ours, max_norm) == wanted
    for mine, other in zip(ours[:2], theirs[:2], strict=True):
        assert mine.grad is not None
        assert other.grad is not None
        assert torch.equal(mine.grad, other.grad)


@pytest.mark.parametrize(("max_norm", "max_value"), [(0.0, 0.25), (0.5, 0.25), (100.0, 0.25), (0.5, 100.0)])
def test_values_are_clipped_before_the_norm(max_norm: float, max_value: float) -> None:
    ours = [nn.Parameter(torch.zeros(3)), nn.Parameter(torch.zeros(2, 2)), nn.Parameter(torch.zeros(1))]
    theirs = [nn.Parameter(p.detach().clone()) for p in ours]
    for mine, other in zip(ours[:2], theirs[:2], strict=True):
        mine.grad = torch.randn_like(mine)
        other.grad = mine.grad.clone()
    before = torch.nn.utils.clip_grad_norm_(theirs, math.inf).item()
    torch.nn.utils.clip_grad_value_(theirs, max_value)
    torch.nn.utils.clip_grad_norm_(theirs, max_norm or math.inf)
    assert clip_gradients(ours, max_norm, max_value) == before  # what is reported is the norm that came
    for mine, other in zip(ours[:2], theirs[:2], strict=True):
        assert mine.grad is not None
        assert other.grad is not None
        assert torch.equal(mine.grad, other.grad)
        assert float(mine.grad.abs().max()) <= max_value


def test_a_norm_that_is_not_finite_leaves_the_gradients() -> None:
    parameter = nn.Parameter(torch.zeros(2))
    parameter.grad = torch.tensor([1.0, math.inf])
    assert clip_gradients([parameter], 1.0) == math.inf
    assert parameter.grad.tolist() == [1.0, math.inf]
    assert clip_gradients([nn.Parameter(torch.zeros(2))], 1.0) == 0.0


def test_the_average_is_its_closed_form() -> None:
    model = new_model().double()
    average = WeightAverage(model, 0.4)
    expected = {name: p.detach().clone() for name, p in model.named_parameters()}
    for step in range(1, 11):
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(torch.randn_like(parameter))
        average.update(step)
        decay = min(0.4, (1 + step) / (10 + step))
        expected = {n: decay * expected[n] + (1 - decay) * p.detach() for n, p in model.named_parameters()}
    assert list(average.weights) == list(expected)
    for name, tensor in expected.items():
        torch.testing.assert_close(average.weights[name], tensor, rtol=1e-12, atol=1e-14)


def test_the_average_of_equal_weights_is_these_weights() -> None:
    model = new_model()
    average = WeightAverage(model, 0.999)
    for step in range(1, 11):
        average.update(step)
    assert all(torch.equal(average.weights[name], p) for name, p in model.named_parameters())


@pytest.mark.parametrize("fails", [False, True])
def test_swapping_in_comes_back_bit_for_bit(fails: bool) -> None:
    model = new_model()
    average = WeightAverage(model, 0.9)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter))
    before = {name: tensor.clone() for name, tensor in weights_of(model).items()}
    try:
        with average.swapped_in():
            assert model.embedding.weight is model.projection.weight
            assert all(torch.equal(average.weights[name], p) for name, p in model.named_parameters())
            if fails:
                raise KeyError
    except KeyError:
        pass
    assert all(torch.equal(before[name], tensor) for name, tensor in weights_of(model).items())
    assert not torch.equal(average.weights["embedding.weight"], before["embedding.weight"])


def test_weights_hold_a_tie_once_and_buffers_too() -> None:
    model = new_model()
    weights = weights_of(model)
    assert "projection.weight" not in weights
    assert weights["num_seen"].dtype == torch.int64
    other = new_model(seed=8)
    load_weights(other, weights, "here")
    ids = torch.tensor([[2, 4, 5]])
    assert torch.equal(model.eval()(ids), other.eval()(ids))
