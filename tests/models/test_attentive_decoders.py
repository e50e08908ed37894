"""Attention decoders in one call and step by step, the features they read from, and the numbers their state counts."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from seqline.architectures import ARCHITECTURES
from seqline.architectures.recipe import Vocabulary
from seqline.models.embedding_encoder import EmbeddingEncoder
from seqline.models.encoder_decoder import EncoderDecoder
from seqline.parts.embeddings import Embedding
from seqline.parts.scaled_sinusoid import ScaledSinusoid
from seqline.state import tensors_of

from ..small_models import (
    SOURCE_SIZE,
    TARGET_SIZE,
    assert_equal,
    gradients,
    make_batch,
    random_weights,
    right_padded,
)

LUONG = {"embed_size": 6, "hidden_size": 8, "num_layers": 2, "dropout": 0.3, "cell": "lstm"}
UNFED: list[dict[str, Any]] = [
    {"window": "local-m", "window_size": 1},
    {"window": "local-m", "score": "multi-head", "num_heads": 4, "encoder": "bidirectional"},
    {"window": "local-p", "window_size": 2, "score": "location"},
    {"score": "multi-head", "encoder": "embedding"},
]


def make_luong(**settings: Any) -> EncoderDecoder:
    recipe = ARCHITECTURES["luong"]
    assert recipe.build is not None
    return random_weights(
        recipe.build(recipe.settings(**{**LUONG, **settings}), Vocabulary(SOURCE_SIZE, TARGET_SIZE, False))
    )


@pytest.mark.parametrize("settings", UNFED, ids=str)
def test_the_fused_call_is_step_by_step(settings: dict[str, Any]) -> None:
    model, batch = make_luong(input_feeding=False, **settings), make_batch()
    decoder, parameters = model.decoder, list(model.parameters())

    def start() -> tuple[Any, Any]:
        memory = decoder.prepare(model.encoder(batch.source, batch.source_is_real))
        return memory, decoder.initial_state(memory, len(batch.rows))

    def in_steps() -> tuple[Tensor, Any]:
        memory, state = start()
        pieces = []
        for t in range(batch.target_in.shape[1]):
            column = slice(t, t + 1)
            y, state = decoder(batch.target_in[:, column], state, memory, batch.target_is_real[:, column])
            pieces.append(y)
        return torch.cat(pieces, 1), state

    memory, state = start()
    whole, end = decoder(batch.target_in, state, memory, batch.target_is_real)
    stepped, stepped_end = in_steps()
    real = batch.target_is_real
    assert_equal([stepped[real]], [whole[real]])
    ends = [[x.double() for x in tensors_of(tree) if x is not None] for tree in (stepped_end, end)]
    assert_equal(ends[0], ends[1])
    assert_equal(gradients(parameters, stepped[real]), gradients(parameters, whole[real]))


@pytest.mark.parametrize("input_feeding", [True, False])
def test_a_monotonic_window_counts_the_real_target_tokens(input_feeding: bool) -> None:
    model, batch = make_luong(window="local-m", window_size=1, input_feeding=input_feeding), make_batch()
    memory = model.decoder.prepare(model.encoder(batch.source, batch.source_is_real))
    state = model.decoder.initial_state(memory, len(batch.rows))
    assert state.reading.tolist() == [0] * len(batch.rows)
    _, state = model.decoder(batch.target_in, state, memory, batch.target_is_real)
    assert state.reading.tolist() == batch.target_is_real.sum(1).tolist()


def test_a_model_without_a_window_carries_nothing_for_it() -> None:
    model, batch = make_luong(), make_batch()
    memory = model.decoder.prepare(model.encoder(batch.source, batch.source_is_real))
    assert model.decoder.initial_state(memory, len(batch.rows)).reading is None


def test_embeddings_are_the_features() -> None:
    embedding = random_weights(Embedding(SOURCE_SIZE, 6, 0.3))
    ids, is_real = torch.randint(4, SOURCE_SIZE, (2, 5)), right_padded([5, 1], 5)
    plain = EmbeddingEncoder(embedding).eval()(ids, is_real)
    placed = EmbeddingEncoder(embedding, ScaledSinusoid()).eval()(ids, is_real)
    assert plain.final is None
    for row, length in ((0, 5), (1, 1)):
        for s in range(length):
            vector = embedding.weight[ids[row, s]]
            assert torch.equal(plain.outputs[row, s], vector)
            angles = [s / 10000 ** (2 * (i // 2) / 6) for i in range(6)]
            wave = torch.tensor([(torch.cos if i % 2 else torch.sin)(torch.tensor(a).double()) for i, a in
                                 enumerate(angles)])  # fmt: skip
            assert_equal([placed.outputs[row, s]], [vector * 6**0.5 + wave], tolerance=1e-6)


def test_a_bag_of_tokens_has_no_order() -> None:
    model = make_luong(encoder="embedding")
    source, target = torch.tensor([[4, 5, 6, 3]]), torch.tensor([[2, 5, 7]])
    is_real = torch.ones_like(source, dtype=torch.bool)
    assert_equal([model(source[:, [2, 0, 1, 3]], is_real, target)], [model(source, is_real, target)])
    ordered = make_luong(encoder="position-embedding")
    difference = ordered(source[:, [2, 0, 1, 3]], is_real, target) - ordered(source, is_real, target)
    assert difference.abs().max() > 1e-3
