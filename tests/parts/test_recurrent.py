"""The time loop, reversing under padding, and stacks of layers."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from seqline.parts.cells import GRUCell, LSTMCell, SimpleCell
from seqline.parts.recurrent import BesideInput, Each, Recurrent, ResidualLayer, Stack, reverse_real, unroll
from seqline.state import tensors_of

from ..small_models import assert_equal, random_weights, right_padded


class Output(NamedTuple):
    total: Tensor
    pair: tuple[Tensor, Tensor]


def adding_step(x: tuple[Tensor, Tensor], state: Tensor) -> tuple[Output, Tensor]:
    total = state + x[0] * x[1]
    return Output(total, (x[0], -total)), total


def test_the_loop_maps_trees_to_trees() -> None:
    a, b = torch.tensor([[1, 2, 3], [4, 5, 6]]), torch.tensor([[1, 1, 2], [1, 2, 1]])
    outputs, state = unroll(adding_step, (a, b), torch.tensor([10, 20]), None)
    assert isinstance(outputs, Output)
    assert outputs.total.tolist() == [[11, 13, 19], [24, 34, 40]]
    assert torch.equal(outputs.pair[0], a)
    assert torch.equal(outputs.pair[1], -outputs.total)
    assert state.tolist() == [19, 40]


def test_a_false_column_changes_no_state() -> None:
    ones = torch.ones(2, 3, dtype=torch.int64)
    mask = torch.tensor([[False, True, False], [False, False, False]])
    outputs, state = unroll(adding_step, (ones, ones), torch.tensor([10, 20]), mask)
    assert state.tolist() == [11, 20]
    assert outputs.total[0, 1].item() == 11


@given(st.lists(st.integers(0, 6), min_size=1, max_size=5), st.integers(0, 3))
def test_reversing_is_its_own_inverse(lengths: list[int], padding: int) -> None:
    width = max(*lengths, 1) + padding
    x = torch.arange(len(lengths) * width).view(len(lengths), width)
    mask = right_padded(lengths, width)
    reversed_ = reverse_real(x, mask)
    for row, length in enumerate(lengths):
        assert reversed_[row].tolist() == x[row, :length].tolist()[::-1] + x[row, length:].tolist()
    assert torch.equal(reverse_real(reversed_, mask), x)


def test_reversing_moves_whole_vectors() -> None:
    x = torch.randn(2, 4, 3)
    assert torch.equal(reverse_real(x, right_padded([4, 2], 4))[1, :2], x[1, [1, 0]])


def make_stack(dropout: float = 0.0) -> Stack:
    return random_weights(
        Stack([Recurrent(LSTMCell(3, 5)), Recurrent(GRUCell(5, 4)), Recurrent(SimpleCell(4, 2))], dropout)
    )


def test_a_stack_is_its_layers_one_after_another() -> None:
    stack, x, mask = make_stack(), torch.randn(3, 6, 3, dtype=torch.float64), right_padded([6, 0, 4], 6)
    state = stack.initial_state(3)
    outputs, after = stack(x, state, mask)
    expected: list[Any] = []
    for layer, before in zip(stack.layers, state, strict=True):
        x, new = layer(x, before, mask)
        expected.append(new)
    assert torch.equal(outputs, x)
    assert_equal(tensors_of(after), tensors_of(expected))
    assert [[len(tensor) for tensor in tensors_of(layer)] for layer in after] == [[3, 3], [3], [3]]


def test_a_stack_reads_in_pieces_as_at_once() -> None:
    stack, x, mask = make_stack(), torch.randn(3, 6, 3, dtype=torch.float64), right_padded([6, 1, 4], 6)
    whole, end = stack(x, stack.initial_state(3), mask)
    first, state = stack(x[:, :4], stack.initial_state(3), mask[:, :4])
    second, state = stack(x[:, 4:], state, mask[:, 4:])
    assert_equal([torch.cat([first, second], 1)[mask], *tensors_of(state)], [whole[mask], *tensors_of(end)])


def test_dropout_stands_between_layers_only() -> None:
    class Keeps(nn.Module):
        def initial_state(self, batch_size: int) -> Tensor:
            return torch.zeros(batch_size)

        def forward(self, x: Tensor, state: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
            return x, state

    x = torch.ones(8, 50, 10)
    for depth, share in ((1, 0.0), (2, 0.5), (3, 0.75)):
        stack = Stack([Keeps() for _ in range(depth)], 0.5).train()
        outputs, _ = stack(x, stack.initial_state(8))
        assert abs((outputs == 0).float().mean().item() - share) < 0.05
        assert torch.equal(stack.eval()(x, stack.initial_state(8))[0], x)


def test_a_residual_layer_adds_its_input() -> None:
    inner, x = random_weights(Recurrent(LSTMCell(4, 4))), torch.randn(3, 6, 4, dtype=torch.float64)
    layer, mask = ResidualLayer(inner, 0.0), right_padded([6, 1, 4], 6)
    outputs, state = layer(x, layer.initial_state(3), mask)
    change, expected = inner(x, inner.initial_state(3), mask)
    assert torch.equal(outputs, x + change)
    assert_equal(tensors_of(state), tensors_of(expected))


def test_dropout_acts_on_the_residual_branch_and_not_beside_it() -> None:
    layer, x = ResidualLayer(Each(nn.Identity()), 0.5).train(), torch.ones(8, 50, 10)
    outputs, _ = layer(x, layer.initial_state(8))
    assert set(outputs.unique().tolist()) == {1.0, 3.0}  # x + 0 and x + x / (1 - 0.5)
    assert torch.equal(layer.eval()(x, None)[0], 2 * x)


def test_a_residual_stack_reads_in_pieces_as_at_once() -> None:
    layers = [Recurrent(LSTMCell(3, 5)), *(ResidualLayer(Recurrent(GRUCell(5, 5)), 0.3) for _ in range(2))]
    stack = random_weights(Stack(layers, 0.0))
    x, mask = torch.randn(3, 6, 3, dtype=torch.float64), right_padded([6, 1, 4], 6)
    whole, end = stack(x, stack.initial_state(3), mask)
    first, state = stack(x[:, :2], stack.initial_state(3), mask[:, :2])
    second, state = stack(x[:, 2:], state, mask[:, 2:])
    assert_equal([torch.cat([first, second], 1)[mask], *tensors_of(state)], [whole[mask], *tensors_of(end)])


def test_what_stands_beside_its_input_is_outputs_then_inputs() -> None:
    inner, x = random_weights(Recurrent(GRUCell(3, 5))), torch.randn(2, 6, 3, dtype=torch.float64)
    layer = BesideInput(inner)
    outputs, state = layer(x, layer.initial_state(2))
    expected, end = inner(x, inner.initial_state(2))
    assert torch.equal(outputs, torch.cat([expected, x], -1))
    assert torch.equal(state, end)
