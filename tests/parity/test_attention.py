"""Softmax under a mask, scores and attention against explicit loops, and multi-head attention against torch's."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from seqline.parts.attention import Attention, masked_softmax
from seqline.parts.scores import AdditiveScore, DotScore, GeneralScore, Score
from seqline.parts.self_attention import MultiHeadAttention

from ..small_models import assert_equal, gradients, random_weights, right_padded

QUERY_SIZE, KEY_SIZE, ATTENTION_SIZE = 4, 6, 5
BATCH, LENGTH, SOURCE_LENGTH = 3, 2, 7
LENGTHS = [7, 1, 4]
SCORES = {
    "dot": DotScore,
    "general": lambda: GeneralScore(QUERY_SIZE, KEY_SIZE),
    "additive": lambda: AdditiveScore(QUERY_SIZE, KEY_SIZE, ATTENTION_SIZE),
}

every_score = pytest.mark.parametrize("kind", SCORES)


def make_inputs(kind: str) -> tuple[Score, Tensor, Tensor]:
    score = random_weights(SCORES[kind]())
    key_size = QUERY_SIZE if kind == "dot" else KEY_SIZE
    query = torch.randn(BATCH, LENGTH, QUERY_SIZE, dtype=torch.float64)
    return score, query.requires_grad_(), torch.randn(BATCH, SOURCE_LENGTH, key_size, dtype=torch.float64)


def dot(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def one_score(kind: str, weights: dict[str, Any], q: list[float], k: list[float]) -> float:
    if kind == "dot":
        return dot(q, k)
    if kind == "general":
        return dot(q, [dot(row, k) for row in weights["project.weight"]])
    # Luong's concat: one matrix for [q; k], whose halves are the two matrices of the additive score.
    matrix = [w + u for w, u in zip(weights["query.weight"], weights["key.weight"], strict=True)]
    return dot(weights["energy"], [math.tanh(dot(row, q + k)) for row in matrix])


@every_score
def test_a_score_is_its_formula(kind: str) -> None:
    score, query, keys = make_inputs(kind)
    weights = {name: value.tolist() for name, value in score.state_dict().items()}
    expected = [
        [[one_score(kind, weights, q, k) for k in keys[b].tolist()] for q in query[b].tolist()] for b in range(BATCH)
    ]
    is_real = torch.ones(BATCH, SOURCE_LENGTH, dtype=torch.bool)
    assert_equal([score(query, score.prepare(keys, is_real))], [torch.tensor(expected, dtype=torch.float64)])


@every_score
def test_the_context_is_the_weighted_sum_of_the_real_values(kind: str) -> None:
    score, query, keys = make_inputs(kind)
    is_real = right_padded(LENGTHS, SOURCE_LENGTH)
    poisoned = keys.masked_fill(~is_real[..., None], 1e4)
    attention = Attention(score)
    context = attention(query, attention.prepare(poisoned, is_real))
    weights = {name: value.tolist() for name, value in score.state_dict().items()}
    for b, length in enumerate(LENGTHS):
        values = keys[b, :length].tolist()
        for t, q in enumerate(query[b].tolist()):
            exponentials = [math.exp(one_score(kind, weights, q, k)) for k in values]
            shares = [e / sum(exponentials) for e in exponentials]
            expected = [dot(shares, [v[i] for v in values]) for i in range(keys.shape[2])]
            assert context[b, t].tolist() == pytest.approx(expected, abs=1e-10)


@every_score
def test_a_source_without_a_real_entry_gives_zero(kind: str) -> None:
    score, query, keys = make_inputs(kind)
    attention = Attention(score)
    keys.requires_grad_()
    context = attention(query, attention.prepare(keys, right_padded([7, 0, 4], SOURCE_LENGTH)))
    assert (context[1] == 0).all()
    assert (context[[0, 2]] != 0).all()
    # The loss reaches the empty row from both sides, with a slope that is not zero there.
    found = gradients([query, keys, *score.parameters()], context, context.exp())
    assert all(torch.isfinite(gradient).all() for gradient in found)
    assert (found[0][1] == 0).all()
    assert (found[1][1] == 0).all()


def test_masked_softmax_is_the_softmax_of_what_is_allowed() -> None:
    scores = torch.randn(BATCH, LENGTH, SOURCE_LENGTH, dtype=torch.float64)
    is_allowed = torch.rand(BATCH, LENGTH, SOURCE_LENGTH) < 0.5
    is_allowed[..., 3] = True
    weights = masked_softmax(scores, is_allowed)
    for b in range(BATCH):
        for t in range(LENGTH):
            chosen = is_allowed[b, t]
            assert_equal([weights[b, t, chosen]], [scores[b, t, chosen].softmax(0)])
            assert (weights[b, t, ~chosen] == 0).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_masked_softmax_where_nothing_is_allowed(dtype: torch.dtype) -> None:
    scores = torch.randn(BATCH, LENGTH, SOURCE_LENGTH, dtype=dtype).requires_grad_()
    is_allowed = right_padded([7, 0, 4], SOURCE_LENGTH)[:, None]
    weights = masked_softmax(scores, is_allowed)
    assert (weights[1] == 0).all()
    sums = torch.tensor([[1.0], [0.0], [1.0]], dtype=dtype).expand(-1, LENGTH)
    assert_equal([weights.sum(-1)], [sums], tolerance=1e-6)
    (gradient,) = gradients([scores], weights)
    assert torch.isfinite(gradient).all()
    assert (gradient[1] == 0).all()
    assert (gradient[2, :, 4:] == 0).all()


def test_masked_softmax_bears_extreme_scores() -> None:
    scores = torch.tensor([[1e4, -1e4, 1e30], [-1e30, -1e30, 0.0]])
    weights = masked_softmax(scores, torch.tensor([[True, True, False]]))
    assert weights.tolist() == [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]


WIDTH, NUM_HEADS = 6, 2


def load_torchs_weights(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    inputs = [ours.query, ours.key, ours.value]
    theirs.load_state_dict(
        {
            "in_proj_weight": torch.cat([p.weight for p in inputs]),
            "in_proj_bias": torch.cat([p.bias for p in inputs]),
            "out_proj.weight": ours.output.weight,
            "out_proj.bias": ours.output.bias,
        }
    )


def test_multi_head_attention_is_torchs() -> None:
    ours = random_weights(MultiHeadAttention(WIDTH, NUM_HEADS))
    theirs = nn.MultiheadAttention(WIDTH, NUM_HEADS, batch_first=True).double()
    load_torchs_weights(ours, theirs)
    x = torch.randn(BATCH, LENGTH, WIDTH, dtype=torch.float64).requires_grad_()
    source = torch.randn(BATCH, SOURCE_LENGTH, WIDTH, dtype=torch.float64).requires_grad_()
    is_real = right_padded(LENGTHS, SOURCE_LENGTH)

    got = ours(x, ours.prepare(source, is_real))
    expected, _ = theirs(x, source, source, key_padding_mask=~is_real)

    assert_equal([got], [expected])
    inputs = [ours.query, ours.key, ours.value]
    found = gradients(
        [x, source, *(p.weight for p in inputs), *(p.bias for p in inputs), ours.output.weight, ours.output.bias], got
    )
    stacked = [*found[:2], torch.cat(found[2:5]), torch.cat(found[5:8]), *found[8:]]
    output = [theirs.out_proj.weight, theirs.out_proj.bias]
    assert_equal(stacked, gradients([x, source, theirs.in_proj_weight, theirs.in_proj_bias, *output], expected))


def test_multi_head_attention_to_nothing_gives_the_output_bias() -> None:
    attention = random_weights(MultiHeadAttention(WIDTH, NUM_HEADS))
    x = torch.randn(BATCH, LENGTH, WIDTH, dtype=torch.float64).requires_grad_()
    source = torch.randn(BATCH, SOURCE_LENGTH, WIDTH, dtype=torch.float64).requires_grad_()
    got = attention(x, attention.prepare(source, right_padded([7, 0, 4], SOURCE_LENGTH)))
    assert_equal([got[1]], [attention.output.bias.expand(LENGTH, WIDTH)])
    found = gradients([x, source, *attention.parameters()], got)
    assert all(torch.isfinite(gradient).all() for gradient in found)
    assert (found[1][1] == 0).all()
