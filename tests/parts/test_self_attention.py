"""Self-attention: what it may see, a cache of blocks that never change, shared key heads, and the fused path."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
import torch
from torch import Tensor

from seqline.parts import self_attention
from seqline.parts.attention_positions import Alibi, AttentionPositions, RelativeBias, Rotary
from seqline.parts.self_attention import (
    BLOCK_LENGTH,
    CausalSelfAttention,
    KVCache,
    MultiHeadAttention,
    SelfAttention,
)
from seqline.state import map_tensors, select, tensors_of
from seqline.watch import watch

from ..small_models import assert_equal, gradients, jacobian_support, random_weights, right_padded

WIDTH, NUM_HEADS, BATCH = 6, 2, 3


def make_layer() -> CausalSelfAttention:
    return random_weights(CausalSelfAttention(MultiHeadAttention(WIDTH, NUM_HEADS)))


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
    return [tensor.data_ptr() for tensor in tensors_of(cache.blocks)]


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
        assert all(torch.equal(a, b) for a, b in zip(tensors_of(cache), tensors_of(before), strict=True))
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


@pytest.mark.parametrize("num_key_heads", [1, 2, 4])
def test_shared_key_heads_are_full_attention_with_repeated_weights(num_key_heads: int) -> None:
    width, num_heads = 12, 4
    shared = random_weights(CausalSelfAttention(MultiHeadAttention(width, num_heads, num_key_heads), Shifted()))
    whole = random_weights(CausalSelfAttention(MultiHeadAttention(width, num_heads), Shifted()))
    weights = dict(shared.state_dict())
    for name in ("key", "value"):
        for kind in ("weight", "bias"):
            by_head = weights[f"attention.{name}.{kind}"].unflatten(0, (num_key_heads, 3))
            repeated = by_head.repeat_interleave(num_heads // num_key_heads, 0).flatten(0, 1)
            weights[f"attention.{name}.{kind}"] = repeated
    whole.load_state_dict(weights)
    x, real = torch.randn(BATCH, 9, width, dtype=torch.float64), right_padded([9, 1, 5], 9)
    for cuts in ([], [4], [3, 4, 5]):
        got, cache = fed(shared, x, cuts, real)
        expected, _ = fed(whole, x, cuts, real)
        assert_equal([got[real]], [expected[real]])
        assert {tuple(piece.keys.shape[:2]) for piece in (*cache.blocks, cache.tail)} == {(BATCH, num_key_heads)}


class Shifted(AttentionPositions):
    """Heads of three numbers have no pairs to turn: positions that act on the keys in another way."""

    def place(self, query: Tensor, keys: Tensor, is_real: Tensor) -> tuple[Tensor, Tensor]:
        where = (is_real.cumsum(1) - 1)[:, None, -query.shape[2] :, None] * 0.1
        return query + where, keys - where


FUSED: dict[str, Callable[[bool], AttentionPositions]] = {
    "nothing": lambda is_causal: AttentionPositions(),
    "rotary": lambda is_causal: Rotary(),
    "alibi": lambda is_causal: Alibi(4),
    "relative": lambda is_causal: RelativeBias(4, is_causal),
}


@pytest.mark.parametrize("scheme", FUSED)
@pytest.mark.parametrize("num_key_heads", [1, 2, 4])
def test_the_fused_path_is_the_formula(scheme: str, num_key_heads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    causal = random_weights(CausalSelfAttention(MultiHeadAttention(8, 4, num_key_heads), FUSED[scheme](True)))
    full = random_weights(SelfAttention(MultiHeadAttention(8, 4, num_key_heads), FUSED[scheme](False)))
    x = torch.randn(BATCH, 7, 8, dtype=torch.float64).requires_grad_()
    # The first row begins and the second consists of entries that may attend to nothing.
    real = torch.tensor([[False, False, True, True, False, True, True], [False] * 7, [True] * 6 + [False]])

    def run() -> list[Tensor]:
        y, cache = causal(x, causal.initial_state(BATCH), real)
        outputs = [y, full(x, real), *(tensor for tensor in tensors_of(cache) if tensor.is_floating_point())]
        return [*outputs, *gradients([x, *causal.parameters(), *full.parameters()], *outputs)]

    fused = run()
    monkeypatch.setattr(MultiHeadAttention, "fused", None)
    monkeypatch.setattr(self_attention, "is_watched", lambda _part="": True)
    assert_equal(fused, run())
    nothing = causal.attention.output.bias.expand(2, 8)
    assert_equal([fused[0][0, :2]], [nothing])
    assert_equal([fused[1][1, :2]], [full.attention.output.bias.expand(2, 8)])


def test_the_formula_runs_where_weights_are_shown_or_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MultiHeadAttention, "fused", None)
    layer, x = make_layer(), make_input(4)
    with watch() as frames:
        layer(x, layer.initial_state(BATCH))
    assert [frame.part for frame in frames if "attention" in frame.part] == ["multi-head attention"]
    dropping = CausalSelfAttention(MultiHeadAttention(WIDTH, NUM_HEADS, dropout=0.5)).double().train()
    dropping(x, dropping.initial_state(BATCH))
    with pytest.raises(TypeError, match="NoneType"):
        dropping.eval()(x, dropping.initial_state(BATCH))


def test_attention_dropout_drops_weights_in_training_only() -> None:
    layer = random_weights(CausalSelfAttention(MultiHeadAttention(WIDTH, NUM_HEADS, dropout=0.5)))
    plain, x = make_layer(), make_input(1)
    expected, _ = plain(x, plain.initial_state(BATCH))
    assert_equal([layer(x, layer.initial_state(BATCH))[0]], [expected])
    # One key with weight 1: a head's context is 0 or twice its value.
    value, output = layer.attention.value(x), layer.attention.output
    layer.train()
    seen = set()
    for _ in range(20):
        y, _ = layer(x, layer.initial_state(BATCH))
        for b in range(BATCH):
            scales = [(i, j) for i in (0.0, 2.0) for j in (0.0, 2.0)]
            scaled = [output(value[b, 0] * torch.tensor([i, i, i, j, j, j], dtype=torch.float64)) for i, j in scales]
            seen |= {s for s, v in zip(scales, scaled, strict=True) if torch.allclose(v, y[b, 0], atol=1e-10)}
    assert len(seen) == 4
