"""The inner model's gradient by hand against autograd's, at first and at second order, and the dual form."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from seqline.parts.inner_models import (
    GeluAndSlope,
    InnerModel,
    Weights,
    learned,
    residual_while_learning,
    scaled,
    summed,
)
from seqline.state import map_tensors, tensors_of

from ..small_models import assert_equal, gradients, random_weights

ROWS, HEADS, LENGTH, HEAD_SIZE = 3, 2, 5, 4
every_model = pytest.mark.parametrize("sizes", [(4, 4), (4, 16, 4), (4, 6, 5, 4)])


def some_tokens(generator: torch.Generator) -> list[Tensor]:
    shape = ROWS, HEADS, LENGTH, HEAD_SIZE
    return [torch.randn(shape, generator=generator, dtype=torch.float64) for _ in range(3)]


def weights_of_rows(inner: InnerModel, generator: torch.Generator) -> Weights:
    """Return weights that differ from row to row, as they do after some learning."""

    def moved(w: Tensor) -> Tensor:
        return (w + 0.3 * torch.randn(w.shape, generator=generator, dtype=w.dtype)).detach().requires_grad_()

    return map_tensors(moved, inner.initial_weights(ROWS))


def by_autograd(inner: InnerModel, key: Tensor, value: Tensor, weights: Weights) -> list[Tensor]:
    return list(torch.autograd.grad(inner.loss(key, value, weights).sum(), tensors_of(weights), create_graph=True))


@every_model
def test_the_gradient_by_hand_is_autograds(sizes: tuple[int, ...], rng: torch.Generator) -> None:
    inner = random_weights(InnerModel(HEADS, sizes))
    key, value, _ = some_tokens(rng)
    weights = weights_of_rows(inner, rng)
    by_hand = tensors_of(summed(inner.backpropagate(key, value, weights)))
    expected = by_autograd(inner, key, value, weights)
    assert_equal(by_hand, expected)
    # What training differentiates is this gradient, so its own derivatives must agree too.
    leaves = [*tensors_of(weights), inner.norm_scale, inner.norm_shift]
    assert_equal(gradients(leaves, *by_hand), gradients(leaves, *expected))


def test_gelu_and_its_slope() -> None:
    z = torch.linspace(-4, 4, 33, dtype=torch.float64).requires_grad_()
    value, slope = GeluAndSlope.apply(z)
    expected = torch.nn.functional.gelu(z)
    assert_equal([value, slope], [expected, torch.autograd.grad(expected.sum(), z)[0]])
    share, density = torch.special.ndtr(z), torch.exp(-z.square() / 2) / (2 * math.pi) ** 0.5
    assert_equal(gradients([z], value, slope), gradients([z], z * share, share + z * density))


@every_model
def test_the_dual_form_is_learning_token_by_token(sizes: tuple[int, ...], rng: torch.Generator) -> None:
    inner = random_weights(InnerModel(HEADS, sizes))
    key, value, query = some_tokens(rng)
    weights = weights_of_rows(inner, rng)
    rate = torch.rand(ROWS, HEADS, LENGTH, 1, generator=rng, dtype=torch.float64)
    steps = scaled(inner.backpropagate(key, value, weights), rate)
    together = residual_while_learning(query, weights, steps)
    for t in range(LENGTH):
        until = [type(step)(step.inputs[:, :, : t + 1], step.errors[:, :, : t + 1]) for step in steps]
        after = map_tensors(torch.sub, weights, summed(until))
        assert_equal(tensors_of(learned(weights, until)), tensors_of(after))
        assert_equal([together[:, :, t : t + 1]], [inner.residual(query[:, :, t : t + 1], after)])


def test_the_model_by_hand(rng: torch.Generator) -> None:
    inner = random_weights(InnerModel(HEADS, (HEAD_SIZE, HEAD_SIZE)))
    key, value, _ = some_tokens(rng)
    ((weight, bias),) = inner.initial_weights(ROWS)
    for row, head, t in ((0, 0, 0), (2, 1, 4)):
        z = key[row, head, t] @ weight[row, head] + bias[row, head, 0]
        normal = (z - z.mean()) / (z.var(correction=0) + 1e-6).sqrt()
        prediction = (
            key[row, head, t] + normal * inner.norm_scale.view(HEADS, -1)[head] + inner.norm_shift.view(HEADS, -1)[head]
        )
        loss = (prediction - value[row, head, t]).square().sum()
        assert_equal([inner.loss(key, value, inner.initial_weights(ROWS))[row, head, t]], [loss])
