"""The general attention frame run as a classifier, and its other parts, against their equations in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from seqline.architectures import ARCHITECTURES
from seqline.architectures.recipe import Vocabulary
from seqline.parts.attention import Attention, SourceAttention
from seqline.parts.coverage import CoverageAttention
from seqline.parts.scores import GeneralScore, LocationScore
from seqline.parts.windows import MonotonicWindow, PredictiveWindow
from seqline.tasks import TASKS

from ..small_models import TOLERANCE, make_batch, random_weights, right_padded
from .by_hand import ByHand, Vector, attend, run, sentences, sigmoid, softmax

QUERY_SIZE, KEY_SIZE, LENGTHS = 4, 4, [6, 1, 3]


@pytest.mark.parametrize("query", ["learned", "last"])
@pytest.mark.parametrize("score", ["dot", "general", "additive"])
def test_classifier(query: str, score: str) -> None:
    """F by a GRU, K = V = F, q learned or f_S, a = softmax(score(q, k_s)), C = sum of a_s v_s, logits = W C + b."""
    task, recipe = TASKS["classification"], ARCHITECTURES["gru"]
    settings = task.settings_of(recipe)(
        embed_size=3, hidden_size=QUERY_SIZE, num_layers=1, dropout=0.3, query=query, query_score=score
    )
    model = random_weights(task.build_model(recipe, settings, Vocabulary(11, 5, False)))
    batch, hand = make_batch(), ByHand(model)
    logits = model(batch.source, batch.source_is_real).detach().numpy()
    for row, words in enumerate(sentences(batch.source, batch.source_is_real)):
        step = hand.gru("encoder.stack.layers.0.cell")
        features = run(step, hand.embed("encoder.", words), np.zeros(QUERY_SIZE))
        q = hand.weights["query.vector"] if query == "learned" else features[-1]
        context = attend([score_of(hand, score, "attention.score", q, k) for k in features], features)
        assert np.abs(logits[row] - hand.affine("head", context)).max() <= TOLERANCE


def score_of(hand: ByHand, score: str, name: str, q: Vector, k: Vector) -> Any:
    if score == "dot":
        return q @ k
    if score == "general":
        return q @ (hand.weights[f"{name}.project.weight"] @ k)
    inside = hand.weights[f"{name}.query.weight"] @ q + hand.weights[f"{name}.key.weight"] @ k
    return hand.weights[f"{name}.energy"] @ np.tanh(inside)


def check_attention(attention: SourceAttention, by_hand: Any) -> None:
    """Compare contexts with those of `by_hand(ByHand, queries, keys)` on ragged rows."""
    attention = random_weights(attention)
    generator = torch.Generator().manual_seed(4)
    query = torch.randn(3, 8, QUERY_SIZE, generator=generator, dtype=torch.float64)
    keys = torch.randn(3, 6, KEY_SIZE, generator=generator, dtype=torch.float64)
    contexts = attention(query, attention.prepare(keys, right_padded(LENGTHS, 6))).detach().numpy()
    hand = ByHand(attention)
    for row, length in enumerate(LENGTHS):
        expected = by_hand(hand, list(query[row].numpy()), list(keys[row, :length].numpy()))
        assert np.abs(contexts[row] - np.stack(expected)).max() <= TOLERANCE


def test_local_monotonic() -> None:
    """Only s = n - D ... n + D, counted from 1; beyond the source the window stays at its end."""

    def by_hand(hand: ByHand, queries: list[Vector], keys: list[Vector]) -> list[Vector]:
        found = []
        for n, q in enumerate(queries, start=1):
            center = min(n, len(keys))
            seen = [k for s, k in enumerate(keys, start=1) if abs(s - center) <= 2]
            found.append(attend([score_of(hand, "general", "score", q, k) for k in seen], seen))
        return found

    check_attention(Attention(GeneralScore(QUERY_SIZE, KEY_SIZE), MonotonicWindow(2)), by_hand)


def test_local_predictive() -> None:
    """p = S sigma(v . tanh(W h)); softmax over |s - p| <= D, then times exp(-(s - p)^2 / (2 (D/2)^2)), not normalized again."""

    def by_hand(hand: ByHand, queries: list[Vector], keys: list[Vector]) -> list[Vector]:
        found = []
        for q in queries:
            hidden = np.tanh(hand.weights["window.hidden.weight"] @ q)
            place = len(keys) * sigmoid(hand.weights["window.place"] @ hidden)
            seen = [s for s in range(1, len(keys) + 1) if abs(s - place) <= 2]
            weights = softmax(np.array([score_of(hand, "general", "score", q, keys[s - 1]) for s in seen]))
            shares = [a * np.exp(-((s - place) ** 2) / (2 * 1.0**2)) for a, s in zip(weights, seen, strict=True)]
            found.append(sum(a * keys[s - 1] for a, s in zip(shares, seen, strict=True)))
        return found

    check_attention(Attention(GeneralScore(QUERY_SIZE, KEY_SIZE), PredictiveWindow(QUERY_SIZE, 2)), by_hand)


def test_location() -> None:
    """The score of position s is row s of W_a times q."""

    def by_hand(hand: ByHand, queries: list[Vector], keys: list[Vector]) -> list[Vector]:
        return [attend(list((hand.weights["score.place.weight"] @ q)[: len(keys)]), keys) for q in queries]

    check_attention(Attention(LocationScore(QUERY_SIZE, 7)), by_hand)


def test_coverage() -> None:
    """e_s = v . tanh(W q + U k_s + V b_s), b_s the weights that s has had so far."""

    def by_hand(hand: ByHand, queries: list[Vector], keys: list[Vector]) -> list[Vector]:
        w, covered, found = hand.weights, np.zeros(len(keys)), []
        for q in queries:
            weights = softmax(
                np.array(
                    [
                        w["score.energy"]
                        @ np.tanh(w["score.query.weight"] @ q + w["score.key.weight"] @ k + w["coverage"] * b)
                        for k, b in zip(keys, covered, strict=True)
                    ]
                )
            )
            covered = covered + weights
            found.append(np.stack(keys).T @ weights)
        return found

    check_attention(CoverageAttention(QUERY_SIZE, KEY_SIZE, 5), by_hand)
