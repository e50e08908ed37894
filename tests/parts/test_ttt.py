"""Test-time training: the dual form against the readable one, a transcription in NumPy, and any masks and counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from seqline.parts.inner_models import InnerModel
from seqline.parts.positions import positions_from
from seqline.parts.ttt import TTT, TTTState, Turn, with_rotary, without_positions
from seqline.state import tensors_of
from seqline.watch import watch

from ..small_models import assert_equal, gradients, jacobian_support, random_weights, right_padded

WIDTH, HEADS, HEAD_SIZE, ROWS, LENGTH = 12, 3, 4, 4, 11
MODELS = {"linear": (4, 4), "mlp": (4, 16, 4)}
every_model = pytest.mark.parametrize("model", MODELS)


def make_layer(model: str, inner_batch: int = 4, turn: Turn = with_rotary, rate: float = 0.5) -> TTT:
    return random_weights(TTT(WIDTH, InnerModel(HEADS, MODELS[model]), inner_batch, rate, turn))


def make_mask(kind: str, length: int = LENGTH) -> Tensor:
    if kind == "whole":
        return torch.ones(ROWS, length, dtype=torch.bool)
    if kind == "padded":
        return right_padded([length, 1, length - 2, length // 2], length)
    return torch.arange(ROWS * length).view(ROWS, length) % 5 % 3 != 1


def some_input(generator: torch.Generator, length: int = LENGTH, rows: int = ROWS) -> Tensor:
    return torch.randn(rows, length, WIDTH, generator=generator, dtype=torch.float64)


def tensors(state: TTTState) -> list[Tensor]:
    return [tensor.double() for tensor in tensors_of(state)]


@every_model
@pytest.mark.parametrize(("inner_batch", "length"), [(1, 3), (4, 11), (16, 18)])
@pytest.mark.parametrize("mask", ["whole", "padded", "holes"])
@pytest.mark.parametrize("starts", ["together", "apart"])
def test_the_dual_form_is_the_readable_one(
    model: str, inner_batch: int, length: int, mask: str, starts: str, rng: torch.Generator
) -> None:
    layer, x, is_real = make_layer(model, inner_batch), some_input(rng, length), make_mask(mask, length)
    before, lengths = some_input(rng, 5), [0, 1, 5, 3] if starts == "apart" else [0, 0, 0, 0]
    parameters = [*layer.inner.parameters(), *layer.project.parameters(), *layer.rate.parameters()]
    found = []
    for form in (layer.one_by_one, layer.in_batches):
        _, state = layer(before, layer.initial_state(ROWS), right_padded(lengths, 5))
        tokens = layer.tokens(x, positions_from(state.num_read, is_real) % inner_batch)
        z, end = form(tokens, state, is_real)
        z = z.transpose(1, 2)[is_real]
        used = [z, *tensors(end)]
        found.append((used, gradients(parameters, *used, may_be_unused=True)))
    (values, slopes), (dual_values, dual_slopes) = found
    assert_equal(dual_values, values)
    assert_equal(dual_slopes, slopes)
    assert all(slope.abs().max() > 1e-3 for slope in slopes)


@every_model
def test_a_piece_without_a_token_changes_no_state(model: str, rng: torch.Generator) -> None:
    layer = make_layer(model)
    _, state = layer(some_input(rng), layer.initial_state(ROWS))
    _, after = layer(some_input(rng), state, torch.zeros(ROWS, LENGTH, dtype=torch.bool))
    assert_equal(tensors(after), tensors(state))


@every_model
@pytest.mark.parametrize("turn", [without_positions, with_rotary])
@pytest.mark.parametrize("cuts", [(1,), (4,), (3, 5, 9), tuple(range(1, LENGTH))])
def test_cutting_anywhere_changes_nothing(model: str, turn: Turn, cuts: tuple[int, ...], rng: torch.Generator) -> None:
    layer, x, mask = make_layer(model, 4, turn), some_input(rng), make_mask("padded")
    whole, end = layer(x, layer.initial_state(ROWS), mask)
    state, pieces = layer.initial_state(ROWS), []
    for begin, stop in zip((0, *cuts), (*cuts, LENGTH), strict=True):
        y, state = layer(x[:, begin:stop], state, mask[:, begin:stop])
        pieces.append(y)
    assert_equal([torch.cat(pieces, 1)[mask], *tensors(state)], [whole[mask], *tensors(end)])


@every_model
def test_a_row_alone_is_a_row_among_others_whatever_is_not_real(model: str, rng: torch.Generator) -> None:
    layer, x, mask = make_layer(model), some_input(rng), make_mask("holes")
    y, end = layer(x.masked_fill(~mask[..., None], 1e4), layer.initial_state(ROWS), mask)
    for row in range(ROWS):
        alone, end_alone = layer(x[row : row + 1, mask[row]], layer.initial_state(1))
        assert_equal([y[row : row + 1, mask[row]]], [alone])
        assert_equal([t[row : row + 1] for t in tensors(end)], tensors(end_alone))


@every_model
def test_each_output_depends_on_its_past_and_itself(model: str, rng: torch.Generator) -> None:
    layer = make_layer(model, 3)
    support = jacobian_support(lambda x: layer(x, layer.initial_state(1))[0], some_input(rng, 7, 1))
    assert torch.equal(support, torch.ones(7, 7).tril().bool())


def in_numpy(layer: TTT, x: np.ndarray) -> np.ndarray:
    """Return TTT-Linear's outputs for one row, written out from the paper with loops over tokens and heads."""
    p: dict[str, Any] = {name: value.detach().numpy() for name, value in layer.named_parameters()}
    w_q, w_k, w_v = p["project.weight"].reshape(3, HEADS, HEAD_SIZE, WIDTH)
    z = np.zeros((len(x), HEADS, HEAD_SIZE))
    for h in range(HEADS):
        weight, bias = p["inner.weights.0"][h], p["inner.biases.0"].reshape(HEADS, -1)[h]
        scale, shift = (p[f"inner.norm_{name}"].reshape(HEADS, -1)[h] for name in ("scale", "shift"))
        weight_step, bias_step = np.zeros_like(weight), np.zeros_like(bias)
        for t, x_t in enumerate(x):
            if t % layer.inner_batch == 0:
                weight, bias = weight - weight_step, bias - bias_step
                weight_step, bias_step = np.zeros_like(weight), np.zeros_like(bias)
            q, k, v = w_q[h] @ x_t, w_k[h] @ x_t, w_v[h] @ x_t
            eta = layer.base_rate / (1 + np.exp(-(p["rate.weight"][h] @ x_t + p["rate.bias"][h])))
            u = k @ weight + bias
            deviation = np.sqrt(u.var() + 1e-6)
            normal = (u - u.mean()) / deviation
            at_normal = 2 * (k + scale * normal + shift - v) * scale
            at_u = (at_normal - at_normal.mean() - normal * (at_normal * normal).mean()) / deviation
            weight_step, bias_step = weight_step + eta * np.outer(k, at_u), bias_step + eta * at_u
            u = q @ (weight - weight_step) + bias - bias_step
            z[t, h] = q + scale * (u - u.mean()) / np.sqrt(u.var() + 1e-6) + shift
    m = z.reshape(len(x), WIDTH)
    m = (m - m.mean(1, keepdims=True)) / np.sqrt(m.var(1, keepdims=True) + 1e-6) * p["norm.weight"] + p["norm.bias"]
    return m @ p["output.weight"].T


@pytest.mark.parametrize("inner_batch", [1, 4, 16])
def test_ttt_linear_by_hand(inner_batch: int, rng: torch.Generator) -> None:
    layer = make_layer("linear", inner_batch, without_positions)
    x = some_input(rng, 18, 1)
    y, _ = layer(x, layer.initial_state(1))
    assert_equal([y[0]], [torch.from_numpy(in_numpy(layer, x[0].numpy()))])


def test_positions_begin_again_with_each_inner_batch(rng: torch.Generator) -> None:
    layer = make_layer("linear", 4)
    x = some_input(rng, 4)
    tokens = layer.tokens(
        torch.cat([x, x], 1), positions_from(torch.zeros(ROWS, dtype=torch.long), make_mask("whole", 8)) % 4
    )
    assert_equal([tokens.query[:, :, :4], tokens.key[:, :, :4]], [tokens.query[:, :, 4:], tokens.key[:, :, 4:]])
    assert not torch.equal(tokens.key[:, :, 0], layer.tokens(x, torch.ones(ROWS, 4).long()).key[:, :, 0])


@every_model
def test_what_is_shown_says_that_a_step_lowers_the_inner_loss(model: str, rng: torch.Generator) -> None:
    layer, x = make_layer(model, 2, rate=0.01), some_input(rng)
    expected, _ = layer(x, layer.initial_state(ROWS))
    with watch() as frames:
        y, _ = layer(x, layer.initial_state(ROWS))
    assert_equal([y], [expected])
    assert [frame.part for frame in frames] == ["ttt"] * LENGTH
    first, second = frames[0].values, frames[1].values
    assert first["inner_loss"].shape == first["learning_rate"].shape == (ROWS, HEADS)
    assert (first["inner_loss_after"] < first["inner_loss"]).all()
    tokens = layer.tokens(x, positions_from(torch.zeros(ROWS, dtype=torch.long), make_mask("whole")) % 2)
    start = layer.inner.initial_weights(ROWS)
    assert_equal([first["inner_loss"]], [layer.inner.loss(tokens.key, tokens.value, start)[..., 0]])
    assert_equal([second["learning_rate"]], [tokens.rate[:, :, 1, 0]])
