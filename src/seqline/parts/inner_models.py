"""The inner model of test-time training: a small network, one a row and head, whose weights are the hidden state.

Its gradient is written out by hand, because it is part of the outer model's forward pass, which training differentiates again.

Source: Sun et al. 2024 (2407.04620), sections 2.1, 2.5 to 2.7 and the appendix on the dual form.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch import nn

from seqline.shapes import Float, Tensor

EPSILON = 1e-6


class Affine(NamedTuple):
    """One layer's weights: z = x weight + bias, weight [B H I O], bias [B H 1 O]."""

    weight: Tensor
    bias: Tensor

    def __call__(self, x: Float[Tensor, "B H N I"]) -> Float[Tensor, "B H N O"]:
        """Return z."""
        return add_product(self.bias, x, self.weight)


class LayerStep(NamedTuple):
    """What one layer saw and what it should have given: inputs a [B H N I], and the loss's slopes at its z [B H N O]."""

    inputs: Tensor
    errors: Tensor


Weights = tuple[Affine, ...]


class InnerModel(nn.Module):
    """f(x) = x + LN(f_res(x)), f_res affine layers with GELU between them; loss l(W; k, v) = |f(k) - v|^2.

    The parameters of this module are what is learned outside: the first weights of every head, and the scale and shift of LN.

    Args:
        num_heads: H, each with weights of its own.
        sizes: widths from the input to the output of f_res: (E, E) is TTT-Linear's, (E, 4E, E) TTT-MLP's.
    """

    def __init__(self, num_heads: int, sizes: Sequence[int]) -> None:
        super().__init__()
        self.num_heads, self.head_size = num_heads, sizes[-1]
        pairs = list(pairwise(sizes))
        self.weights = nn.ParameterList([torch.empty(num_heads, i, o).normal_(std=0.02) for i, o in pairs])
        # One axis each, heads side by side: what has two axes is taken for a matrix, and weight decay acts on it.
        self.biases = nn.ParameterList([torch.zeros(num_heads * o) for _, o in pairs])
        self.norm_scale = nn.Parameter(torch.ones(num_heads * sizes[-1]))
        self.norm_shift = nn.Parameter(torch.zeros(num_heads * sizes[-1]))

    def initial_weights(self, batch_size: int) -> Weights:
        """Return W_0 once a row."""
        pairs = ((w, self._by_head(b)) for w, b in zip(self.weights, self.biases, strict=True))
        return tuple(Affine(*(p.expand(batch_size, -1, -1, -1) for p in pair)) for pair in pairs)

    def _by_head(self, parameter: Float[Tensor, " P"]) -> Float[Tensor, "H 1 O"]:
        return parameter.view(self.num_heads, 1, -1)

    def residual(self, x: Float[Tensor, "B H N E"], weights: Weights) -> Float[Tensor, "B H N E"]:
        """Return f_res(x)."""
        for depth, layer in enumerate(weights):
            x = layer(nn.functional.gelu(x) if depth else x)
        return x

    def finish(self, x: Float[Tensor, "*B H N E"], z: Float[Tensor, "*B H N E"]) -> Float[Tensor, "*B H N E"]:
        """Return f(x) = x + LN(z), z = f_res(x)."""
        normal = nn.functional.layer_norm(z, z.shape[-1:], eps=EPSILON)
        return x + normal * self._by_head(self.norm_scale) + self._by_head(self.norm_shift)

    def loss(
        self, key: Float[Tensor, "B H N E"], value: Float[Tensor, "B H N E"], weights: Weights
    ) -> Float[Tensor, "B H N"]:
        """Return l(W; k, v) of each token."""
        return (self.finish(key, self.residual(key, weights)) - value).square().sum(-1)

    def backpropagate(
        self, key: Float[Tensor, "B H N E"], value: Float[Tensor, "B H N E"], weights: Weights
    ) -> list[LayerStep]:
        """Return, layer by layer, inputs a and errors dl/dz of each token; its gradient is a^T (dl/dz), the bias's dl/dz."""
        inputs, slopes = [key], []
        z = weights[0](key)
        for layer in weights[1:]:
            a, slope = GeluAndSlope.apply(z)
            inputs.append(a)
            slopes.append(slope)
            z = layer(a)
        errors = [self._output_errors(z, value - key)]
        for layer, slope in zip(weights[:0:-1], slopes[::-1], strict=True):
            errors.append((errors[-1] @ layer.weight.transpose(2, 3)) * slope)
        return [LayerStep(a, error) for a, error in zip(inputs, errors[::-1], strict=True)]

    def _output_errors(self, z: Float[Tensor, "B H N E"], target: Float[Tensor, "B H N E"]) -> Float[Tensor, "B H N E"]:
        """Return the slope of |LN(z) - target|^2 at z: through scale and shift, then through the normalization."""
        centred = z - z.mean(-1, keepdim=True)
        precision = (centred.square().mean(-1, keepdim=True) + EPSILON).rsqrt()  # var_mean takes five times as long
        normal = centred * precision
        scale, shift = self._by_head(self.norm_scale), self._by_head(self.norm_shift)
        slope = 2 * scale * (scale * normal + shift - target)
        along = (slope * normal).mean(-1, keepdim=True)
        return (slope - slope.mean(-1, keepdim=True) - normal * along) * precision


class GeluAndSlope(torch.autograd.Function):
    """a = z Phi(z) and its derivative Phi(z) + z phi(z), Phi and phi of the standard normal distribution.

    The derivative of the derivative, phi(z) (2 - z^2), is written out too: autograd's own would take most of a step's time.
    """

    @staticmethod
    def forward(ctx: Any, z: Float[Tensor, "*shape"]) -> tuple[Float[Tensor, "*shape"], Float[Tensor, "*shape"]]:
        """Return a and its derivative."""
        share = torch.special.ndtr(z)
        density = torch.exp(z.square().mul_(-0.5)).mul_((2 * math.pi) ** -0.5)
        slope = torch.addcmul(share, z, density)
        ctx.save_for_backward(z, density, slope)
        return z * share, slope

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> Tensor:
        """Return the loss's slope at z from its slopes at both results."""
        at_a, at_slope = slopes
        z, density, slope = ctx.saved_tensors
        return torch.addcmul(at_a * slope, at_slope, density * (2 - z.square()))


def add_product(
    z: Float[Tensor, "B H #N O"], x: Float[Tensor, "B H N I"], y: Float[Tensor, "B H I O"], factor: float = 1.0
) -> Float[Tensor, "B H N O"]:
    """Return z + factor x y, in one pass."""
    sum_ = torch.baddbmm(z.flatten(0, 1), x.flatten(0, 1), y.flatten(0, 1), alpha=factor)
    return sum_.unflatten(0, z.shape[:2])


def scaled(steps: Sequence[LayerStep], rate: Float[Tensor, "B H N 1"]) -> list[LayerStep]:
    """Return the steps with every token's errors times its learning rate."""
    return [LayerStep(a, rate * errors) for a, errors in steps]


def norm_of(weights: Weights) -> Float[Tensor, "B H"]:
    """Return the Euclidean norm of each head's weights and biases together."""
    squares = [part.square().sum((2, 3)) for layer in weights for part in layer]
    return torch.stack(squares).sum(0).sqrt()


def summed(steps: Sequence[LayerStep]) -> Weights:
    """Return the sum over the tokens of their gradients."""
    return tuple(Affine(a.transpose(2, 3) @ errors, errors.sum(2, keepdim=True)) for a, errors in steps)


def learned(weights: Weights, steps: Sequence[LayerStep]) -> Weights:
    """Return weights - summed(steps)."""
    return tuple(
        Affine(add_product(w, a.transpose(2, 3), errors, -1.0), b - errors.sum(2, keepdim=True))
        for (w, b), (a, errors) in zip(weights, steps, strict=True)
    )


def residual_while_learning(
    x: Float[Tensor, "B H N E"], weights: Weights, steps: Sequence[LayerStep]
) -> Float[Tensor, "B H N E"]:
    """Return f_res(x_t; W - sum over s <= t of step s) for all t at once, without making those weights.

    The dual form, matrix products only, since x_t (W - sum a_s^T e_s) + b - sum e_s = x_t W + b - sum (x_t . a_s + 1) e_s.

    Args:
        x: one input a token.
        weights: before the first of these tokens.
        steps: inputs and scaled errors of the same tokens.
    """
    for depth, (layer, (a, errors)) in enumerate(zip(weights, steps, strict=True)):
        x = nn.functional.gelu(x) if depth else x
        x = add_product(layer(x), (x @ a.transpose(2, 3) + 1).tril(), errors, -1.0)
    return x
