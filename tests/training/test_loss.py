"""The loss against its explicit form, its laws about pads and smoothing, and the mean over a data set."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seqline.training import loss as loss_module
from seqline.training.loss import LossSum, evaluating, evaluation_loss, smoothed_cross_entropy

from .tiny import compute_loss, make_batch, new_model, plan_epoch

SMOOTHINGS = [0.0, 0.1, 0.5]


def explicit(logits: Tensor, targets: Tensor, is_real: Tensor, smoothing: float) -> Tensor:
    """Add (1 - e) (-log p[gold]) + e mean (-log p), token by token."""
    total = logits.new_zeros(())
    for row in range(logits.shape[0]):
        for time in range(logits.shape[1]):
            if is_real[row, time]:
                log_p = logits[row, time] - logits[row, time].exp().sum().log()
                total = total + (1 - smoothing) * -log_p[targets[row, time]] + smoothing * -log_p.mean()
    return total


def example(generator: torch.Generator, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    logits = (3 * torch.randn(3, 5, 11, generator=generator, dtype=torch.float64)).to(dtype).requires_grad_()
    lengths = torch.tensor([5, 2, 3])
    is_real = torch.arange(5) < lengths.unsqueeze(1)
    return logits, torch.randint(1, 11, (3, 5), generator=generator) * is_real, is_real


@pytest.mark.parametrize(("smoothing", "mean"), [(0.0, 1.040592), (0.1, 1.130592)])
@pytest.mark.parametrize("num_pads", [1, 11])
def test_known_numbers(smoothing: float, mean: float, num_pads: int) -> None:
    logits = torch.cat([torch.tensor([[0.0, 0, 0, 0, 0], [0, 1, 2, 0, 3]]), torch.randn(num_pads, 5)])[None].double()
    targets = torch.tensor([[2, 4] + [0] * num_pads])
    part = smoothed_cross_entropy(logits, targets, targets != 0, smoothing)
    assert part.num_tokens == 2
    assert part.loss.item() / 2 == pytest.approx(mean, abs=5e-7)
    assert part.negative_log_likelihood.item() / 2 == pytest.approx(1.040592, abs=5e-7)


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
@pytest.mark.parametrize("chunk", [1, 40, 10_000])
def test_equals_the_explicit_form(
    rng: torch.Generator, monkeypatch: pytest.MonkeyPatch, smoothing: float, chunk: int
) -> None:
    monkeypatch.setattr(loss_module, "CHUNK_ELEMENTS", chunk)
    logits, targets, is_real = example(rng)
    part = smoothed_cross_entropy(logits, targets, is_real, smoothing)
    expected = explicit(logits, targets, is_real, smoothing)
    torch.testing.assert_close(part.loss, expected, rtol=1e-12, atol=1e-12)
    (given,) = torch.autograd.grad(part.loss / 7, logits)
    (wanted,) = torch.autograd.grad(expected / 7, logits)
    torch.testing.assert_close(given, wanted, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_equals_torch_and_the_dense_divergence(rng: torch.Generator, smoothing: float) -> None:
    logits, targets, is_real = example(rng)
    part = smoothed_cross_entropy(logits, targets, is_real, smoothing)
    by_torch = F.cross_entropy(logits[is_real], targets[is_real], label_smoothing=smoothing, reduction="sum")
    torch.testing.assert_close(part.loss, by_torch, rtol=1e-12, atol=0)
    dense = F.one_hot(targets[is_real], 11).double() * (1 - smoothing) + smoothing / 11
    entropy = -(dense * dense.log().nan_to_num(0.0, neginf=0.0)).sum()
    divergence = F.kl_div(F.log_softmax(logits[is_real], -1), dense, reduction="sum")
    torch.testing.assert_close(part.loss, divergence + entropy, rtol=1e-12, atol=0)
    plain = F.cross_entropy(logits[is_real], targets[is_real], reduction="sum")
    torch.testing.assert_close(part.negative_log_likelihood, plain, rtol=1e-12, atol=0)


def test_pads_count_for_nothing_even_when_they_are_nan(rng: torch.Generator) -> None:
    logits, targets, is_real = example(rng)
    clean = smoothed_cross_entropy(logits, targets, is_real, 0.1)
    spoilt = logits.detach().masked_fill(~is_real.unsqueeze(-1), math.nan).requires_grad_()
    part = smoothed_cross_entropy(spoilt, targets.masked_fill(~is_real, 10**6), is_real, 0.1)
    part.loss.backward()
    assert part.loss.item() == clean.loss.item()
    assert spoilt.grad is not None
    assert (spoilt.grad[~is_real] == 0).all()
    assert (spoilt.grad[is_real] != 0).all()


def test_a_batch_of_pads_is_zero(rng: torch.Generator) -> None:
    logits, targets, is_real = example(rng)
    part = smoothed_cross_entropy(logits, targets, torch.zeros_like(is_real), 0.1)
    part.loss.backward()
    assert (part.loss.item(), part.negative_log_likelihood.item(), part.num_tokens) == (0.0, 0.0, 0)
    assert logits.grad is not None
    assert not logits.grad.any()


def test_half_precision_is_summed_in_float32(rng: torch.Generator) -> None:
    logits, targets, is_real = example(rng, torch.bfloat16)
    part = smoothed_cross_entropy(logits, targets, is_real, 0.1)
    part.loss.backward()
    assert part.loss.dtype == torch.float32
    assert part.loss.item() == pytest.approx(explicit(logits.double(), targets, is_real, 0.1).item(), rel=1e-5)
    assert logits.grad is not None
    assert logits.grad.dtype == torch.bfloat16


def test_a_second_differentiation_is_refused_and_not_wrong(rng: torch.Generator) -> None:
    logits, targets, is_real = example(rng)
    part = smoothed_cross_entropy(logits, targets, is_real, 0.1)
    part.loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="a second time"):
        part.loss.backward()


@pytest.mark.parametrize("smoothing", [-0.1, 1.0, math.nan])
def test_smoothing_out_of_range_is_refused(rng: torch.Generator, smoothing: float) -> None:
    with pytest.raises(ValueError, match="smoothing"):
        smoothed_cross_entropy(*example(rng), smoothing)


def test_the_mean_does_not_depend_on_batches_or_their_order() -> None:
    model = new_model().double()
    rows = list(range(30))
    means = [
        evaluation_loss(model, [make_batch(order[i : i + size]) for i in range(0, 30, size)], compute_loss)
        for size in (1, 4, 30)
        for order in (rows, rows[::-1])
    ]
    one_by_one = [compute_loss(model.eval(), make_batch([row])) for row in rows]
    total = math.fsum(part.negative_log_likelihood.item() for part in one_by_one)
    expected = total / sum(part.num_tokens for part in one_by_one)
    assert means == pytest.approx([expected] * 6, rel=1e-12)


def test_the_mean_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no target token"):
        evaluation_loss(new_model(), [], compute_loss)


@pytest.mark.parametrize("fails", [False, True])
def test_evaluating_gives_every_training_flag_back(fails: bool) -> None:
    model = nn.Sequential(nn.Dropout(0.5), nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5)))
    model[1][1].eval()
    before = [module.training for module in model.modules()]
    try:
        with evaluating(model):
            assert not any(module.training for module in model.modules())
            assert not torch.is_grad_enabled()
            if fails:
                raise KeyError
    except KeyError:
        pass
    assert [module.training for module in model.modules()] == before
    assert before == [True, True, True, True, False]
    assert torch.is_grad_enabled()


def test_a_few_steps_on_the_loss_lower_it() -> None:
    model = new_model(dropout=0.0)
    batch = make_batch(plan_epoch(0)[0])
    losses: list[LossSum] = []
    for _ in range(5):
        losses.append(compute_loss(model, batch))
        gradients = torch.autograd.grad(losses[-1].loss / losses[-1].num_tokens, list(model.parameters()))
        with torch.no_grad():
            for parameter, gradient in zip(model.parameters(), gradients, strict=True):
                parameter.sub_(0.5 * gradient)
    assert losses[-1].loss.item() < losses[0].loss.item()
