"""The scan is the loop: values and gradients, at any length and for any decay."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from seqline.parts.recurrent import unroll
from seqline.parts.scan import scan

from ..small_models import assert_equal, gradients


def loop(decay: Tensor, inputs: Tensor, first: Tensor) -> Tensor:
    def step(x: tuple[Tensor, Tensor], h: Tensor) -> tuple[Tensor, Tensor]:
        h = x[0] * h + x[1]
        return h, h

    return unroll(step, (decay, inputs), first, None)[0]


@given(st.integers(1, 40), st.integers(0, 1000))
def test_the_scan_is_the_loop(length: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    decay = torch.rand(3, length, 2, generator=generator, dtype=torch.float64).requires_grad_()
    inputs = torch.randn(3, length, 2, generator=generator, dtype=torch.float64).requires_grad_()
    first = torch.randn(3, 2, generator=generator, dtype=torch.float64).requires_grad_()
    got, expected = scan(decay, inputs, first), loop(decay, inputs, first)
    assert_equal([got], [expected])
    leaves = [decay, inputs, first]
    assert_equal(gradients(leaves, got, got[:, -1]), gradients(leaves, expected, expected[:, -1]))


@pytest.mark.parametrize("value", [0.0, 1e-300, 1.0])
def test_any_decay_is_safe(value: float) -> None:
    decay = torch.full((2, 500, 3), value, dtype=torch.float64, requires_grad=True)
    inputs = torch.randn(2, 500, 3, dtype=torch.float64, requires_grad=True)
    first = torch.ones(2, 3, dtype=torch.float64, requires_grad=True)
    got, expected = scan(decay, inputs, first), loop(decay, inputs, first)
    assert_equal([got], [expected])
    assert_equal(gradients([decay, inputs, first], got), gradients([decay, inputs, first], expected))


def test_it_changes_nothing_that_it_was_given() -> None:
    given_ = torch.rand(2, 9, 3), torch.randn(2, 9, 3), torch.randn(2, 3)
    kept = [tensor.clone() for tensor in given_]
    scan(*given_)
    assert all(torch.equal(a, b) for a, b in zip(given_, kept, strict=True))
