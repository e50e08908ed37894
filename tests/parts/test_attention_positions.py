"""Rotary, ALiBi and relative positions by hand; they know differences of positions only, whatever is masked or cached."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from itertools import pairwise

import pytest
import torch
from torch import Tensor

from seqline.parts import attention_positions
from seqline.parts.attention_positions import (
    Alibi,
    AttentionPositions,
    RelativeBias,
    Rotary,
    alibi_slopes,
    positions_of,
    rotate,
    rotation,
)
from seqline.parts.self_attention import CausalSelfAttention, MultiHeadAttention, SelfAttention

from ..small_models import assert_equal, random_weights, right_padded

BATCH, WIDTH, NUM_HEADS = 3, 8, 2
SCHEMES: dict[str, Callable[[bool], AttentionPositions]] = {
    "nothing": lambda is_causal: AttentionPositions(),
    "rotary": lambda is_causal: Rotary(),
    "alibi": lambda is_causal: Alibi(NUM_HEADS),
    "relative": lambda is_causal: RelativeBias(NUM_HEADS, is_causal, num_buckets=8, max_distance=10),
}
ORDERED = ["rotary", "alibi", "relative"]

every_scheme = pytest.mark.parametrize("scheme", SCHEMES)
every_ordered_scheme = pytest.mark.parametrize("scheme", ORDERED)


def causal(scheme: str) -> CausalSelfAttention:
    return random_weights(CausalSelfAttention(MultiHeadAttention(WIDTH, NUM_HEADS), SCHEMES[scheme](True)))


def full(scheme: str) -> SelfAttention:
    return random_weights(SelfAttention(MultiHeadAttention(WIDTH, NUM_HEADS), SCHEMES[scheme](False)))


def make_input(length: int) -> Tensor:
    return torch.randn(BATCH, length, WIDTH, dtype=torch.float64)


def fed(layer: CausalSelfAttention, x: Tensor, cuts: list[int], mask: Tensor) -> Tensor:
    cache, outputs = layer.initial_state(len(x)), []
    for begin, end in pairwise([0, *cuts, x.shape[1]]):
        y, cache = layer(x[:, begin:end], cache, mask[:, begin:end])
        outputs.append(y)
    return torch.cat(outputs, 1)


def test_a_pair_turns_as_a_complex_number_does() -> None:
    x, positions = torch.randn(2, 3, 4, 6, dtype=torch.float64), torch.tensor([[0, 1, 2, 7], [5, 5, 6, 900]])
    found = rotate(x, rotation(positions, 6, torch.float64))
    for b in range(2):
        for h in range(3):
            for t in range(4):
                for i in range(3):
                    before = complex(*x[b, h, t, 2 * i : 2 * i + 2].tolist())
                    turned = before * cmath.exp(1j * positions[b, t].item() / 10_000 ** (2 * i / 6))
                    assert complex(*found[b, h, t, 2 * i : 2 * i + 2].tolist()) == pytest.approx(turned, abs=1e-12)


@pytest.mark.parametrize(
    ("num_heads", "expected"),
    [(1, [8]), (2, [4, 8]), (3, [4, 8, 2]), (6, [2, 4, 6, 8, 1, 3]), (8, [1, 2, 3, 4, 5, 6, 7, 8])],
)
def test_slopes_are_those_of_the_paper(num_heads: int, expected: list[int]) -> None:
    assert alibi_slopes(num_heads) == [2.0**-power for power in expected]


def test_alibi_by_hand() -> None:
    is_real = torch.tensor([[True, False, True, True], [True] * 4])
    found = Alibi(2).bias(2, is_real)
    places = [[0, 1, 1, 2], [0, 1, 2, 3]]
    for b in range(2):
        for h, slope in enumerate((1 / 16, 1 / 256)):
            expected = [[-slope * abs(i - j) for j in places[b]] for i in places[b][2:]]
            assert found[b, h].tolist() == expected


def bucket_by_formula(distance: int, is_causal: bool, num_buckets: int, max_distance: int) -> int:
    """Return the bucket of j - i as in Raffel et al., section 2.1, a number at a time."""
    start = 0
    if not is_causal:
        num_buckets //= 2
        start = num_buckets if distance > 0 else 0
    n = abs(distance) if not is_causal else max(-distance, 0)
    exact = num_buckets // 2
    if n < exact:
        return start + n
    share = math.log(n / exact) / math.log(max_distance / exact)
    return start + min(num_buckets - 1, exact + int(share * (num_buckets - exact) + 1e-9))


@pytest.mark.parametrize("is_causal", [True, False])
@pytest.mark.parametrize(("num_buckets", "max_distance"), [(32, 128), (8, 10), (16, 64)])
def test_buckets_are_those_of_the_formula(is_causal: bool, num_buckets: int, max_distance: int) -> None:
    part = RelativeBias(2, is_causal, num_buckets, max_distance)
    with torch.no_grad():
        part.table.copy_(torch.arange(2 * num_buckets).view(2, num_buckets))
    distance = torch.arange(-300, 1 if is_causal else 301)
    expected = [bucket_by_formula(d, is_causal, num_buckets, max_distance) for d in distance.tolist()]
    found = part.of_distance(distance)
    assert found[0].tolist() == expected
    assert found[1].tolist() == [bucket + num_buckets for bucket in expected]
    assert set(expected) == set(range(num_buckets)) - (set() if is_causal else {num_buckets // 2})


@every_scheme
@pytest.mark.parametrize("is_ragged", [False, True])
def test_cached_is_uncached_whatever_the_pieces(scheme: str, is_ragged: bool) -> None:
    layer, x = causal(scheme), make_input(11)
    real = right_padded([11, 1, 6] if is_ragged else [11, 11, 11], 11)
    whole, _ = layer(x, layer.initial_state(BATCH), real)
    for cuts in ([1], [3, 4], list(range(1, 11)), [9, 10]):
        assert_equal([fed(layer, x, cuts, real)[real]], [whole[real]])


@every_scheme
def test_masked_entries_are_as_if_absent(scheme: str) -> None:
    x = make_input(9)
    mask = torch.tensor([[0, 1, 1, 0, 1, 0, 0, 1, 1], [1] * 9, [1, 0, 0, 0, 0, 0, 0, 0, 0]]).bool()
    poisoned = x.masked_fill(~mask[..., None], 1e4)
    step_by_step, layer, encoder = fed(causal(scheme), poisoned, [4, 5], mask), causal(scheme), full(scheme)
    at_once = encoder(poisoned, mask)
    for row in range(BATCH):
        alone = x[row : row + 1, mask[row]]
        expected, _ = layer(alone, layer.initial_state(1))
        assert_equal([step_by_step[row : row + 1, mask[row]]], [expected])
        assert_equal([at_once[row : row + 1, mask[row]]], [encoder(alone, torch.ones(1, alone.shape[1]).bool())])


@every_scheme
def test_a_shift_of_all_positions_changes_nothing(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    layer, encoder, x = causal(scheme), full(scheme), make_input(6)
    real = right_padded([6, 1, 4], 6)

    def run() -> list[Tensor]:
        return [fed(layer, x, [2, 3], real)[real], encoder(x, real)[real]]

    expected = run()
    monkeypatch.setattr(attention_positions, "positions_of", lambda is_real: positions_of(is_real) + 700)
    assert_equal(run(), expected)


@every_ordered_scheme
def test_order_matters(scheme: str) -> None:
    x, real = make_input(4), right_padded([4, 4, 4], 4)
    swapped = x[:, [0, 2, 1, 3]]
    for layer in (lambda x: full(scheme)(x, real), lambda x: fed(causal(scheme), x, [], real)):
        assert (layer(x)[:, 3] - layer(swapped)[:, 3]).abs().amax(-1).min() > 1e-3
    without = full("nothing")
    assert_equal([without(x, real)[:, 3]], [without(swapped, real)[:, 3]])


@every_ordered_scheme
def test_full_attention_tells_before_from_behind_where_it_can(scheme: str) -> None:
    x, real = make_input(3), right_padded([3, 3, 3], 3)
    mirrored = full(scheme)(x.flip(1), real).flip(1)
    is_symmetric = torch.allclose(mirrored, full(scheme)(x, real), atol=1e-10)
    assert is_symmetric == (scheme == "alibi")  # the distance counts, the side does not


@every_scheme
def test_longer_than_ever_trained_is_finite(scheme: str) -> None:
    layer = causal(scheme)
    with torch.no_grad():
        y, cache = layer(make_input(300), layer.initial_state(BATCH))
        step, _ = layer(make_input(1), cache)
    assert torch.isfinite(y).all()
    assert torch.isfinite(step).all()


def test_rotary_turns_keys_before_they_are_cached() -> None:
    layer, x = causal("rotary"), make_input(5)
    _, cache = layer(x, layer.initial_state(BATCH))
    keys = layer.attention.split(layer.attention.key(x))
    turn = rotation(torch.arange(5).expand(BATCH, 5), WIDTH // NUM_HEADS, torch.float64)
    assert_equal([cache.tail.keys], [rotate(keys, turn)])
    assert (cache.tail.keys - keys).abs().max() > 0.1


def test_biases_have_the_precision_of_the_scores() -> None:
    for scheme in SCHEMES:
        layer = CausalSelfAttention(MultiHeadAttention(WIDTH, NUM_HEADS), SCHEMES[scheme](True))
        y, cache = layer(make_input(4).float(), layer.initial_state(BATCH))
        y, _ = layer(make_input(1).float(), cache)
        assert y.dtype == torch.float32
