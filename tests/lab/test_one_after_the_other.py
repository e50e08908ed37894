"""What is counted in the graph of a training pass, against hand counts."""

from __future__ import annotations

import torch
from torch import nn

from seqline.lab.one_after_the_other import bytes_kept, longest_chain, step_by_step
from seqline.parts.cells import GRUCell
from seqline.parts.recurrent import Recurrent
from seqline.parts.self_attention import CausalSelfAttention, MultiHeadAttention


def test_the_longest_chain_is_counted() -> None:
    x = torch.ones(3, requires_grad=True)
    assert longest_chain(x * 2) == 2  # the product, and the leaf
    assert longest_chain((x * 2).exp() + x) == 4
    assert longest_chain((x * 2).exp() + (x * 3).exp()) == 4  # side by side
    y = x
    for _ in range(5_000):
        y = y * 2
    assert longest_chain(y) == 5_001


def test_the_chain_of_a_time_loop_grows_by_each_step_and_that_of_attention_does_not() -> None:
    def chain(layer: nn.Module, length: int) -> int:
        y, _ = layer(torch.ones(1, length, 8), layer.initial_state(1))  # type: ignore[operator]
        return longest_chain(y)

    loop = step_by_step(Recurrent(GRUCell(8, 8)))
    attention = step_by_step(CausalSelfAttention(MultiHeadAttention(8, 2)))
    each = chain(loop, 5) - chain(loop, 4)
    assert each > 0
    assert chain(loop, 20) - chain(loop, 4) == 16 * each
    assert chain(attention, 20) == chain(attention, 4)


def test_the_bytes_that_are_kept() -> None:
    x = torch.ones(10, requires_grad=True)
    assert bytes_kept(nn.Identity(), x.exp) == 40  # its own result
    assert bytes_kept(nn.Identity(), lambda: x.exp() * 2) == 40  # a number is no tensor
    assert bytes_kept(nn.Identity(), lambda: x + 1) == 0
    assert bytes_kept(nn.Identity(), lambda: x * x.view(10)) == 40  # one memory, once
    linear = nn.Linear(10, 10)
    assert bytes_kept(linear, lambda: linear(x[None])) == 40  # its input, not its weight


def test_step_by_step_changes_no_output() -> None:
    torch.manual_seed(1)
    x = torch.randn(2, 7, 8)
    for layer in (Recurrent(GRUCell(8, 8)), CausalSelfAttention(MultiHeadAttention(8, 2))):
        before = layer(x, layer.initial_state(2))[0]
        after = step_by_step(layer)(x, layer.initial_state(2))[0]
        torch.testing.assert_close(before, after)
