"""Coverage against its equations in NumPy, and what the heads of a recurrent decoder compute."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from seqline.parts.attention import Attention, SourceAttention
from seqline.parts.coverage import CoverageAttention
from seqline.parts.head_attention import HeadAttention
from seqline.parts.scores import DotScore
from seqline.watch import watch

from ..small_models import assert_equal, random_weights, right_padded

QUERY_SIZE, KEY_SIZE, ATTENTION_SIZE, NUM_HEADS = 4, 6, 5, 2
LENGTH, SOURCE_LENGTH = 3, 7
LENGTHS = [7, 1, 4]


def make_inputs() -> tuple[Tensor, Tensor, Tensor]:
    is_real = right_padded(LENGTHS, SOURCE_LENGTH)
    query = torch.randn(len(LENGTHS), LENGTH, QUERY_SIZE, dtype=torch.float64)
    outputs = torch.randn(len(LENGTHS), SOURCE_LENGTH, KEY_SIZE, dtype=torch.float64)
    return query, outputs.masked_fill(~is_real[..., None], 1e4), is_real


def numbers(part: SourceAttention) -> dict[str, np.ndarray]:
    return {name: value.numpy() for name, value in part.state_dict().items()}


def softmax(scores: np.ndarray) -> np.ndarray:
    return np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)


def test_coverage_is_its_formula() -> None:
    part = random_weights(CoverageAttention(QUERY_SIZE, KEY_SIZE, ATTENTION_SIZE))
    query, outputs, is_real = make_inputs()
    memory = part.prepare(outputs, is_real)
    context, state = part.read(query, memory, part.initial_state(memory))
    weights = numbers(part)
    for b, length in enumerate(LENGTHS):
        values, coverage = outputs[b, :length].numpy(), np.zeros(length)
        for t in range(LENGTH):
            q = weights["score.query.weight"] @ query[b, t].numpy()
            inner = q + values @ weights["score.key.weight"].T + coverage[:, None] * weights["coverage"]
            shares = softmax(np.tanh(inner) @ weights["score.energy"])
            assert context[b, t].tolist() == pytest.approx((shares @ values).tolist(), abs=1e-10)
            coverage = coverage + shares
        assert state.coverage[b, :length].tolist() == pytest.approx(coverage.tolist(), abs=1e-10)
        assert (state.coverage[b, length:] == 0).all()


def test_without_its_weight_coverage_is_plain_attention() -> None:
    part = random_weights(CoverageAttention(QUERY_SIZE, KEY_SIZE, ATTENTION_SIZE))
    plain, (query, outputs, is_real) = Attention(part.score), make_inputs()
    memory = part.prepare(outputs, is_real)
    expected = plain(query, plain.prepare(outputs, is_real))
    assert (part(query, memory) - expected).abs().max() > 1e-3
    with torch.no_grad():
        part.coverage.zero_()
    assert_equal([part(query, memory)], [expected])


def test_heads_are_their_formula() -> None:
    part = random_weights(HeadAttention(QUERY_SIZE, KEY_SIZE, NUM_HEADS))
    query, outputs, is_real = make_inputs()
    context = part(query, part.prepare(outputs, is_real)).detach()
    weights, head_size = numbers(part), QUERY_SIZE // NUM_HEADS
    for b, length in enumerate(LENGTHS):
        values, heads = outputs[b, :length].numpy(), []
        for head in range(NUM_HEADS):
            rows = slice(head * head_size, (head + 1) * head_size)
            q, k, v = (weights[f"{name}.weight"][rows] for name in ("query", "key", "value"))
            scores = query[b].numpy() @ q.T @ (values @ k.T).T / head_size**0.5
            heads.append(softmax(scores) @ (values @ v.T))
        np.testing.assert_allclose(context[b].numpy(), np.concatenate(heads, axis=-1), atol=1e-10)


PARTS = {
    "plain": lambda dropout: Attention(DotScore(), dropout=dropout),
    "coverage": lambda dropout: CoverageAttention(QUERY_SIZE, KEY_SIZE, ATTENTION_SIZE, dropout=dropout),
    "heads": lambda dropout: HeadAttention(QUERY_SIZE, KEY_SIZE, NUM_HEADS, dropout=dropout),
}


@pytest.mark.parametrize("kind", PARTS)
def test_dropout_of_weights_acts_in_training_only_and_after_showing(kind: str) -> None:
    part = random_weights(PARTS[kind](0.5))
    query, outputs, is_real = make_inputs()
    outputs = outputs[..., :QUERY_SIZE].contiguous() if kind == "plain" else outputs
    memory = part.prepare(outputs, is_real)
    expected, end = part.read(query, memory, part.initial_state(memory))
    with watch() as frames:
        again, _ = part.train().read(query, memory, part.initial_state(memory))
    assert not torch.equal(again, expected)
    for frame in frames:
        weights = frame.values["weights"]
        assert_equal([weights.sum(-1)], [torch.ones_like(weights[..., 0])])
    rows = 4000
    many = part.prepare(outputs[:1].expand(rows, -1, -1), is_real[:1].expand(rows, -1))
    contexts, state = part.read(query[:1].expand(rows, -1, -1), many, part.initial_state(many))
    assert_equal([contexts.mean(0)], [expected[0]], tolerance=0.15)
    if kind == "coverage":  # coverage adds up the weights before dropout
        assert_equal([state.coverage], [end.coverage[:1].expand(rows, -1)])
