"""Convolutions by hand, and what they can and cannot see."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from seqline.parts.convolution import (
    CausalConvolution,
    CausalConvolutionBlock,
    CentredConvolutionBlock,
    DepthwiseConvolution,
    GatedConvolution,
)
from seqline.parts.recurrent import unroll

from ..small_models import assert_equal, gradients, jacobian_support, random_weights, right_padded

WIDTH, LENGTHS = 5, [7, 1, 4, 0]


def some_input(generator: torch.Generator, rows: int = 4, length: int = 7) -> Tensor:
    return torch.randn(rows, length, WIDTH, generator=generator, dtype=torch.float64)


def test_a_window_is_gated_by_hand(rng: torch.Generator) -> None:
    layer, x = random_weights(GatedConvolution(WIDTH, 3, 0.0)), some_input(rng)
    for t in range(5):
        both = sum(x[:, t + i] @ layer.weight[:, :, i].T for i in range(3)) + layer.bias
        by_hand = both[:, :WIDTH] * torch.sigmoid(both[:, WIDTH:])
        assert_equal([layer(x)[:, t]], [by_hand])


def causal(kernel_size: int, is_gated: bool) -> CausalConvolution:
    convolution = GatedConvolution(WIDTH, kernel_size, 0.0) if is_gated else DepthwiseConvolution(WIDTH, kernel_size)
    return random_weights(CausalConvolution(convolution))


def test_each_channel_by_itself_by_hand(rng: torch.Generator) -> None:
    layer, x = random_weights(DepthwiseConvolution(WIDTH, 3)), some_input(rng)
    for t in range(5):
        z = sum(x[:, t + i] * layer.weight[i] for i in range(3)) + layer.bias
        assert_equal([layer(x)[:, t]], [z * torch.sigmoid(z)])
    grouped = nn.functional.conv1d(x.transpose(1, 2), layer.weight.T[:, None], layer.bias, groups=WIDTH)
    assert_equal([layer(x)], [nn.functional.silu(grouped).transpose(1, 2)])


@pytest.mark.parametrize("is_gated", [True, False])
@pytest.mark.parametrize("kernel_size", [1, 2, 3, 5])
def test_whole_equals_one_at_a_time(kernel_size: int, is_gated: bool, rng: torch.Generator) -> None:
    layer = causal(kernel_size, is_gated)
    x, mask = some_input(rng), right_padded(LENGTHS, 7)
    state = layer.initial_state(4)

    def step(x_t: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        y, state = layer(x_t[:, None], state)
        return y[:, 0], state

    whole, end = layer(x, state, mask)
    stepped, end_of_steps = unroll(step, x, state, mask)
    assert_equal([whole[mask], end], [stepped[mask], end_of_steps])
    parameters = list(layer.parameters())
    assert_equal(gradients(parameters, whole[mask], end), gradients(parameters, stepped[mask], end_of_steps))


@pytest.mark.parametrize("is_gated", [True, False])
@pytest.mark.parametrize("kernel_size", [1, 3])
def test_any_mask_gives_what_the_real_inputs_alone_give(kernel_size: int, is_gated: bool, rng: torch.Generator) -> None:
    layer = causal(kernel_size, is_gated)
    x = some_input(rng)
    mask = torch.rand(4, 7, generator=rng) < 0.5
    mask[1] = False
    start = layer(some_input(rng), layer.initial_state(4))[1]
    y, end = layer(x.masked_fill(~mask[..., None], 1e4), start, mask)
    for row in range(4):
        real = x[row : row + 1, mask[row]]
        if real.shape[1]:
            alone, end_alone = layer(real, start[row : row + 1])
            assert_equal([y[row : row + 1, mask[row]], end[row : row + 1]], [alone, end_alone])
        else:
            assert torch.equal(end[row], start[row])


@pytest.mark.parametrize("kernel_size", [1, 2, 3])
def test_a_causal_stack_sees_its_receptive_field_exactly(kernel_size: int, rng: torch.Generator) -> None:
    blocks = [random_weights(CausalConvolutionBlock(WIDTH, kernel_size, 0.0)) for _ in range(2)]

    def stack(x: Tensor) -> Tensor:
        for block in blocks:
            x, _ = block(x, block.initial_state(1))
        return x

    apart = torch.arange(7)[:, None] - torch.arange(7)
    expected = (apart >= 0) & (apart <= 2 * (kernel_size - 1))
    assert torch.equal(jacobian_support(stack, some_input(rng, rows=1)), expected)


def test_a_centred_block_sees_both_sides_and_no_padding(rng: torch.Generator) -> None:
    block = random_weights(CentredConvolutionBlock(WIDTH, 3, 0.0))
    x, is_real = some_input(rng), right_padded(LENGTHS, 7)
    apart = torch.arange(7)[:, None] - torch.arange(7)
    support = jacobian_support(lambda x: block(x, torch.ones(1, 7, dtype=torch.bool)), x[:1])
    assert torch.equal(support, apart.abs() <= 1)
    y = block(x.masked_fill(~is_real[..., None], -1e4), is_real)
    for row, length in enumerate(LENGTHS):
        if length:
            alone = block(x[row : row + 1, :length], torch.ones(1, length, dtype=torch.bool))
            assert_equal([y[row : row + 1, :length]], [alone])


def test_a_window_without_a_centre_is_refused() -> None:
    with pytest.raises(ValueError, match="odd number of inputs, not 4"):
        CentredConvolutionBlock(WIDTH, 4, 0.0)


def test_first_weights_keep_the_variance() -> None:
    torch.manual_seed(0)
    layer = GatedConvolution(200, 3, 0.0)
    with torch.no_grad():
        variance = float(layer(torch.randn(2, 50, 200)).var())
    assert 1.0 < variance < 1.8  # a is N(0, 4), and the gate lets a third of its square through
