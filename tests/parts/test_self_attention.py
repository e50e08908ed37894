"""Causal self-attention: what it may see, and a cache of blocks that never change."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from torch import Tensor

from seqline.parts import self_attention
from seqline.parts.self_attention import BLOCK_LENGTH, CausalSelfAttention, KVCache
from seqline.state import map_tensors, select

from ..small_models import assert_equal, flatten, jacobian_support, random_weights, right_padded

WIDTH, NUM_HEADS, BATCH = 6, 2, 3


def make_layer() -> CausalSelfAttention:
    return random_weights(CausalSelfAttention(WIDTH, NUM_HEADS))


def make_input(length: int) -> Tensor:
    return torch.randn(BATCH, length, WIDTH, dtype=torch.float64)


def fed(layer: CausalSelfAttention, x: Tensor, cuts: list[int], mask: Tensor | None = None) -> tuple[Tensor, KVCache]:
    """Read x in pieces that end at the cuts."""
    cache, outputs = layer.initial_state(len(x)), []
    for begin, end in pairwise([0, *cuts, x.shape[1]]):
        y, cache = layer(x[:, begin:end], cache, None if mask is None else mask[:, begin:end])
        outputs.append(y)
    return torch.cat(outputs, 1), cache


def lengths(cache: KVCache) -> list[int]:
    return [piece.is_real.shape[1] for piece in (*cache.blocks, cache.tail)]


def addresses(cache: KVCache) -> list[int]:
    return [tensor.data_ptr() for tensor in flatten(cache.blocks)]


def test_an_output_depends_on_all_before_it_and_on_nothing_behind() -> None:
    layer = make_layer()
    support = jacobian_support(lambda x: layer(x, layer.initial_state(1))[0], make_input(7)[:1])
    assert torch.equal(support, torch.ones(7, 7).tril().bool())


def test_a_cached_step_is_causal_too() -> None:
    layer = make_layer()
    _, cache = layer(make_input(3)[:1], layer.initial_state(1))
    support = jacobian_support(lambda x: layer(x, cache)[0], make_input(5)[:1])
    assert torch.equal(support, torch.ones(5, 5).tril().bool())


@pytest.mark.parametrize("cuts", [[1], [3, 4], [4], [2, 7], [8], list(range(1, 11)), [9, 10]], ids=str)
@pytest.mark.parametrize("is_ragged", [False, True])
def test_cached_is_uncached_whatever_the_pieces(
    cuts: list[int], is_ragged: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    layer, x = make_layer(), make_input(11)
    real = right_padded([11, 1, 6] if is_ragged else [11, 11, 11], 11)
    whole, _ = layer(x, layer.initial_state(BATCH), real)
    monkeypatch.setattr(self_attention, "BLOCK_LENGTH", 4)
    pieces, cache = fed(layer, x, cuts, real)
    assert_equal([pieces[real]], [whole[real]])
    assert sum(lengths(cache)) == 11
    assert len(cache.blocks) > 0
    assert cache.tail.is_real.shape[1] < 4 <= min(lengths(cache)[:-1])


def test_single_steps_cross_real_blocks() -> None:
    layer, x = make_layer(), make_input(2 * BLOCK_LENGTH + 5)
    with torch.no_grad():
        whole, _ = layer(x, layer.initial_state(BATCH))
        steps, cache = fed(layer, x, list(range(1, x.shape[1])))
    assert_equal([steps], [whole])
    assert lengths(cache) == [BLOCK_LENGTH, BLOCK_LENGTH, 5]


def test_masked_entries_are_as_if_absent() -> None:
    layer, x = make_layer(), make_input(9)
    mask = torch.tensor([[0, 1, 1, 0, 1, 0, 0, 1, 1], [1] * 9, [1, 0, 0, 0, 0, 0, 0, 0, 0]]).bool()
    outputs, _ = fed(layer, x.masked_fill(~mask[..., None], 1e4), [4, 5], mask)
    for row in range(BATCH):
        expected, _ = layer(x[row : row + 1, mask[row]], layer.initial_state(1))
        assert_equal([outputs[row : row + 1, mask[row]]], [expected])


def test_a_step_leaves_the_old_cache_as_it_was() -> None:
    layer = make_layer()
    for length in (1, BLOCK_LENGTH - 1, BLOCK_LENGTH, BLOCK_LENGTH + 3):
        _, cache = layer(make_input(length), layer.initial_state(BATCH))
        before = map_tensors(torch.clone, cache)
        first, _ = layer(make_input(1), cache)
        layer(make_input(BLOCK_LENGTH), cache)
        assert lengths(cache) == lengths(before)
        assert all(torch.equal(a, b) for a, b in zip(flatten(cache), flatten(before), strict=True))
        assert torch.isfinite(first).all()


def test_a_step_copies_the_tail_only() -> None:
    layer = make_layer()
    _, cache = layer(make_input(BLOCK_LENGTH), layer.initial_state(BATCH))
    for step in range(1, BLOCK_LENGTH + 3):
        old = cache
        _, cache = layer(make_input(1), cache)
        assert addresses(cache)[: len(addresses(old))] == addresses(old)
        if step != BLOCK_LENGTH:
            assert cache.tail.keys.data_ptr() != old.tail.keys.data_ptr()
    assert lengths(cache) == [BLOCK_LENGTH, BLOCK_LENGTH, 2]


def test_selected_rows_go_on_as_those_rows() -> None:
    layer, x, rows = make_layer(), make_input(BLOCK_LENGTH + 2), torch.tensor([2, 0, 0, 1])
    _, cache = layer(x, layer.initial_state(BATCH), right_padded([BLOCK_LENGTH + 2, 1, 6], BLOCK_LENGTH + 2))
    step = make_input(2)
    expected, _ = layer(step, cache)
    got, _ = layer(step[rows], select(cache, rows))
    assert_equal([got], [expected[rows]])
