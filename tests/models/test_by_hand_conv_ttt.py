"""The gated convolution and test-time training against their equations in NumPy, one position at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from seqline.parts.convolution import CausalConvolutionBlock, CentredConvolutionBlock
from seqline.parts.inner_models import InnerModel
from seqline.parts.ttt import TTT, with_rotary, without_positions

from ..small_models import TOLERANCE, random_weights, right_padded
from .by_hand import ByHand, Vector, attend, sigmoid
from .test_by_hand import check
from .test_by_hand_transformer import rotate

WIDTH, KERNEL, LENGTHS = 8, 3, [7, 1, 5]


def batch() -> torch.Tensor:
    return torch.randn(3, 7, WIDTH, generator=torch.Generator().manual_seed(5), dtype=torch.float64)


def gated(hand: ByHand, name: str, window: list[Vector]) -> Vector:
    """[a; b] = W [x_1; ...; x_k] + c;  a * sigma(b)."""
    kernel = hand.weights[f"{name}.weight"]
    both = sum(kernel[:, :, i] @ x for i, x in enumerate(window)) + hand.weights[f"{name}.bias"]
    a, b = np.split(both, 2)
    return a * sigmoid(b)


def test_causal_convolution() -> None:
    """y_t = (x_t + conv(x_{t-2}, x_{t-1}, x_t)) sqrt(0.5), zeros before the row."""
    block, x = random_weights(CausalConvolutionBlock(WIDTH, KERNEL, 0.3)), batch()
    found, _ = block(x, block.initial_state(3))
    hand = ByHand(block)
    for row in range(3):
        padded = [np.zeros(WIDTH)] * (KERNEL - 1) + list(x[row].numpy())
        for t in range(7):
            expected = (
                padded[t + KERNEL - 1] + gated(hand, "convolution.convolution", padded[t : t + KERNEL])
            ) * np.sqrt(0.5)
            assert np.abs(found[row, t].detach().numpy() - expected).max() <= TOLERANCE


def test_centred_convolution() -> None:
    """The same with the window around t, zeros beyond both ends of the row, not of the batch."""
    block, x = random_weights(CentredConvolutionBlock(WIDTH, KERNEL, 0.3)), batch()
    found = block(x, right_padded(LENGTHS, 7))
    hand = ByHand(block)
    for row, length in enumerate(LENGTHS):
        padded = [np.zeros(WIDTH), *x[row, :length].numpy(), np.zeros(WIDTH)]
        for t in range(length):
            expected = (padded[t + 1] + gated(hand, "convolution", padded[t : t + KERNEL])) * np.sqrt(0.5)
            assert np.abs(found[row, t].detach().numpy() - expected).max() <= TOLERANCE


def read_source(hand: ByHand, source: list[int]) -> tuple[list[Vector], list[Vector]]:
    """e_j = E[x_j] + p_j;  h = W_in e, then one centred block;  z = W_out h. Return z and e."""
    e = [x + p for x, p in zip(hand.embed("encoder.", source), hand.weights["encoder.positions.table"], strict=False)]
    h = [hand.affine("encoder.enter", x) for x in e]
    padded = [np.zeros(WIDTH), *h, np.zeros(WIDTH)]
    h = [
        (x + gated(hand, "encoder.blocks.0.convolution", padded[j : j + KERNEL])) * np.sqrt(0.5)
        for j, x in enumerate(h)
    ]
    return [hand.affine("encoder.leave", x) for x in h], e


def convolutional(hand: ByHand, source: list[int], target: list[int], _: dict[str, Any]) -> list[Vector]:
    z, e = read_source(hand, source)
    values = [a + b for a, b in zip(z, e, strict=True)]
    table = hand.weights["decoder.positions.scheme.table"]
    embedded = [y + p for y, p in zip(hand.embed("decoder.", target), table, strict=False)]
    x = [hand.affine("decoder.enter", g) for g in embedded]
    padded, found, name = [np.zeros(WIDTH)] * (KERNEL - 1) + x, [], "decoder.blocks.0"
    for n, g in enumerate(embedded):
        h = gated(hand, f"{name}.convolution.convolution", padded[n : n + KERNEL])
        query = hand.affine(f"{name}.query", h) + g
        context = attend([query @ key for key in z], values) * np.sqrt(len(source))
        h = (h + hand.affine(f"{name}.context", context)) * np.sqrt(0.5)
        found.append(hand.affine("decoder.head", hand.affine("decoder.leave", (h + x[n]) * np.sqrt(0.5))))
    return found


def test_convolutions_with_attention() -> None:
    """The recipe `conv`: keys z_j, values z_j + e_j, the context times sqrt(S)."""
    check("conv", {"embed_size": 3, "hidden_size": WIDTH, "num_layers": 1, "dropout": 0.3}, convolutional)


HEADS, INNER_BATCH, BASE_RATE = 2, 3, 1.0


def slope_of_loss(z: Vector, k: Vector, v: Vector, scale: Vector, shift: Vector) -> Vector:
    """d/dz |k + LN(z) - v|^2, the normalization's slopes as a matrix."""
    deviation = np.sqrt(z.var() + 1e-6)
    normal = (z - z.mean()) / deviation
    slopes = (np.eye(len(z)) - 1 / len(z) - np.outer(normal, normal) / len(z)) / deviation
    return slopes.T @ (scale * 2 * (k + scale * normal + shift - v))


def ttt_linear(hand: ByHand, xs: list[Vector], is_turned: bool) -> list[Vector]:
    """One head and token after another: W_t = W' - sum of eta grad l(W'; k, v) since the batch began;  z_t = f(q_t; W_t)."""
    w, size, found = hand.weights, WIDTH // HEADS, []
    starts = [(w["inner.weights.0"][h], w["inner.biases.0"][h, 0]) for h in range(HEADS)]
    steps: list[list[tuple[Vector, Vector]]] = [[] for _ in range(HEADS)]
    for t, x in enumerate(xs):
        rates = BASE_RATE / size * sigmoid(hand.affine("rate", x))
        parts = (w["project.weight"] @ x).reshape(3, HEADS, size)
        answers = []
        for h in range(HEADS):
            q, k, v = parts[:, h]
            if is_turned:
                q, k = rotate(q, t % INNER_BATCH), rotate(k, t % INNER_BATCH)
            matrix, bias = starts[h]
            scale, shift = w["inner.norm_scale"][h, 0], w["inner.norm_shift"][h, 0]
            error = rates[h] * slope_of_loss(k @ matrix + bias, k, v, scale, shift)
            steps[h].append((np.outer(k, error), error))
            matrix = matrix - sum(step for step, _ in steps[h])
            bias = bias - sum(step for _, step in steps[h])
            z = q @ matrix + bias
            answers.append(q + (z - z.mean()) / np.sqrt(z.var() + 1e-6) * scale + shift)
            if (t + 1) % INNER_BATCH == 0:
                starts[h], steps[h] = (matrix, bias), []
        z = np.concatenate(answers)
        normal = (z - z.mean()) / np.sqrt(z.var() + 1e-6) * w["norm.weight"] + w["norm.bias"]
        found.append(w["output.weight"] @ normal)
    return found


@pytest.mark.parametrize("is_turned", [False, True])
def test_ttt_linear(is_turned: bool) -> None:
    inner = InnerModel(HEADS, (WIDTH // HEADS, WIDTH // HEADS))
    turn = with_rotary if is_turned else without_positions
    layer, x = random_weights(TTT(WIDTH, inner, INNER_BATCH, BASE_RATE, turn)), batch()
    found, _ = layer(x, layer.initial_state(3), right_padded(LENGTHS, 7))
    for row, length in enumerate(LENGTHS):
        expected = np.stack(ttt_linear(ByHand(layer), list(x[row, :length].numpy()), is_turned))
        assert np.abs(found[row, :length].detach().numpy() - expected).max() <= TOLERANCE
