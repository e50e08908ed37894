"""The gated convolution and test-time training against their equations in NumPy, one position at a time."""

from __future__ import annotations

import math
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
from .test_by_hand_transformer import check_language_model, rotate

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
Layer = tuple[Vector, Vector]


def slope_of_loss(z: Vector, k: Vector, v: Vector, scale: Vector, shift: Vector) -> Vector:
    """d/dz |k + LN(z) - v|^2, the normalization's slopes as a matrix."""
    deviation = np.sqrt(z.var() + 1e-6)
    normal = (z - z.mean()) / deviation
    slopes = (np.eye(len(z)) - 1 / len(z) - np.outer(normal, normal) / len(z)) / deviation
    return slopes.T @ (scale * 2 * (k + scale * normal + shift - v))


def gelu(u: Vector) -> Vector:
    """u Phi(u), Phi of the standard normal distribution."""
    return u * (1 + np.array([math.erf(x / math.sqrt(2)) for x in u])) / 2


def gelu_slope(u: Vector) -> Vector:
    """Phi(u) + u phi(u)."""
    share = (1 + np.array([math.erf(x / math.sqrt(2)) for x in u])) / 2
    return share + u * np.exp(-(u**2) / 2) / np.sqrt(2 * np.pi)


def residual_map(layers: list[Layer], x: Vector) -> tuple[list[Vector], Vector]:
    """Return f_res(x), and what goes into each of its sums: x (W, b), or x (W_1, b_1), GELU, (W_2, b_2)."""
    inputs, sums = [x], [x @ layers[0][0] + layers[0][1]]
    for matrix, bias in layers[1:]:
        inputs.append(gelu(sums[-1]))
        sums.append(inputs[-1] @ matrix + bias)
    return inputs + sums[:-1], sums[-1]


def gradient(layers: list[Layer], k: Vector, v: Vector, scale: Vector, shift: Vector) -> list[Layer]:
    """Return the slopes of |k + LN(f_res(k)) - v|^2 at every matrix and bias."""
    seen, z = residual_map(layers, k)
    error = slope_of_loss(z, k, v, scale, shift)
    if len(layers) == 1:
        return [(np.outer(k, error), error)]
    _, a, u = seen
    inner = (layers[1][0] @ error) * gelu_slope(u)
    return [(np.outer(k, inner), inner), (np.outer(a, error), error)]


def learn_and_answer(hand: ByHand, xs: list[Vector], is_turned: bool, name: str = "") -> list[Vector]:
    """One head and token after another: W_t = W' - sum of eta grad l(W'; k, v) since the batch began;  z_t = f(q_t; W_t)."""
    w, size, found = hand.weights, WIDTH // HEADS, []
    by_head = {
        key: w[f"{name}inner.{key}"].reshape(HEADS, -1)
        for key in ("norm_scale", "norm_shift", "biases.0", "biases.1")
        if f"{name}inner.{key}" in w
    }
    depths = [depth for depth in (0, 1) if f"biases.{depth}" in by_head]
    starts = [[(w[f"{name}inner.weights.{d}"][h], by_head[f"biases.{d}"][h]) for d in depths] for h in range(HEADS)]
    now = list(starts)
    for t, x in enumerate(xs):
        rates = BASE_RATE / size * sigmoid(hand.affine(f"{name}rate", x))
        parts, answers = (w[f"{name}project.weight"] @ x).reshape(3, HEADS, size), []
        for h in range(HEADS):
            q, k, v = parts[:, h]
            if is_turned:
                q, k = rotate(q, t % INNER_BATCH), rotate(k, t % INNER_BATCH)
            scale, shift = by_head["norm_scale"][h], by_head["norm_shift"][h]
            slopes = gradient(starts[h], k, v, scale, shift)
            now[h] = [
                (matrix - rates[h] * d_matrix, bias - rates[h] * d_bias)
                for (matrix, bias), (d_matrix, d_bias) in zip(now[h], slopes, strict=True)
            ]
            _, z = residual_map(now[h], q)
            answers.append(q + (z - z.mean()) / np.sqrt(z.var() + 1e-6) * scale + shift)
            if (t + 1) % INNER_BATCH == 0:
                starts[h] = now[h]
        z = np.concatenate(answers)
        normal = (z - z.mean()) / np.sqrt(z.var() + 1e-6) * w[f"{name}norm.weight"] + w[f"{name}norm.bias"]
        found.append(w[f"{name}output.weight"] @ normal)
    return found


@pytest.mark.parametrize("is_turned", [False, True])
@pytest.mark.parametrize("growths", [(1, 1), (1, 4, 1)])
def test_ttt(growths: tuple[int, ...], is_turned: bool) -> None:
    inner = InnerModel(HEADS, [growth * WIDTH // HEADS for growth in growths])
    turn = with_rotary if is_turned else without_positions
    layer, x = random_weights(TTT(WIDTH, inner, INNER_BATCH, BASE_RATE, turn)), batch()
    found, _ = layer(x, layer.initial_state(3), right_padded(LENGTHS, 7))
    for row, length in enumerate(LENGTHS):
        expected = np.stack(learn_and_answer(ByHand(layer), list(x[row, :length].numpy()), is_turned))
        assert np.abs(found[row, :length].detach().numpy() - expected).max() <= TOLERANCE


def depthwise(hand: ByHand, name: str, xs: list[Vector]) -> list[Vector]:
    """x'_t = silu(sum over i of w_i * x_{t-k+i} + c), zeros before the row."""
    taps, bias = hand.weights[f"{name}.weight"], hand.weights[f"{name}.bias"]
    padded = [np.zeros(WIDTH)] * (len(taps) - 1) + xs
    sums = [bias + sum(tap * padded[t + i] for i, tap in enumerate(taps)) for t in range(len(xs))]
    return [u * sigmoid(u) for u in sums]


def learning_model(hand: ByHand, words: list[int]) -> list[Vector]:
    """The recipe's language model: in each block the convolution, the inner model, then the feed-forward map, pre-norm."""
    x = [np.sqrt(WIDTH) * e for e in hand.embed("", words)]
    for layer in (1, 2):
        name = f"layers.layers.{layer}"
        normal = [hand.layer_norm(f"{name}.around_mixer.norm", u) for u in x]
        seen = depthwise(hand, f"{name}.mixer.layers.0.convolution", normal)
        changes = learn_and_answer(hand, seen, True, f"{name}.mixer.layers.1.")
        x = [u + change for u, change in zip(x, changes, strict=True)]
        normal = [hand.layer_norm(f"{name}.around_feed_forward.norm", u) for u in x]
        hidden = [gelu(hand.affine(f"{name}.feed_forward.expand", u)) for u in normal]
        x = [u + hand.affine(f"{name}.feed_forward.contract", v) for u, v in zip(x, hidden, strict=True)]
    return [hand.affine("head", hand.layer_norm("layers.layers.3.module", u)) for u in x]


@pytest.mark.parametrize("name", ["ttt-linear", "ttt-mlp"])
def test_ttt_recipe(name: str) -> None:
    """The recipes with their convolution and rotary turns."""
    settings = {"inner_batch": INNER_BATCH, "inner_learning_rate": BASE_RATE, "positions": "rotary"}
    check_language_model(settings, learning_model, name)
