"""Every architecture as a whole: causality, the fused path, watching, dropout, padding."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from seqline.architectures import ARCHITECTURES
from seqline.models.encoder_decoder import EncoderDecoder
from seqline.parts.attention import KeyValues
from seqline.parts.cells import Cell
from seqline.parts.residual import LayerDrop
from seqline.state import map_tensors
from seqline.watch import watch

from ..small_models import (
    TARGET_SIZE,
    VARIANTS,
    assert_equal,
    gradients,
    jacobian_support,
    make_batch,
    make_model,
)

every_variant = pytest.mark.parametrize("variant", VARIANTS)


def logits_of(model: EncoderDecoder, target_in: Tensor | None = None) -> Tensor:
    batch = make_batch()
    return model(batch.source, batch.source_is_real, batch.target_in if target_in is None else target_in)


def test_every_architecture_is_among_the_variants() -> None:
    translators = {name for name, recipe in ARCHITECTURES.items() if recipe.build is not None}
    assert {name for name, _ in VARIANTS.values()} == translators


@every_variant
def test_a_target_token_changes_nothing_before_it(variant: str) -> None:
    model, target_in = make_model(variant), make_batch().target_in
    with torch.no_grad():
        logits = logits_of(model)
        for k in (0, 1, 4, target_in.shape[1] - 1):
            changed = target_in.clone()
            changed[:, k] = (changed[:, k] - 3) % (TARGET_SIZE - 4) + 4
            assert (changed[:, k] != target_in[:, k]).all()
            after = logits_of(model, changed)
            assert torch.equal(after[:, :k], logits[:, :k])
            assert (after[:, k:] != logits[:, k:]).any(-1).all()


@every_variant
def test_every_logit_depends_on_the_whole_prefix_and_nothing_else(variant: str) -> None:
    model, batch = make_model(variant), make_batch()
    one = slice(2, 3)
    memory = model.decoder.prepare(model.encoder(batch.source[one], batch.source_is_real[one]))
    table = model.decoder.embedding  # pyright: ignore[reportAttributeAccessIssue]
    x = table(batch.target_in[one, :7]).detach()

    def from_vectors(vectors: Tensor) -> Tensor:
        table.forward = lambda ids: vectors
        try:
            return model.decoder(batch.target_in[one, :7], model.decoder.initial_state(memory, 1), memory)[0]
        finally:
            del table.forward

    assert torch.equal(jacobian_support(from_vectors, x), torch.ones(7, 7).tril().bool())


@every_variant
def test_the_loop_has_the_gradients_of_the_fused_path(variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, batch = make_model(variant), make_batch()
    parameters = list(model.parameters())
    real = batch.target_is_real
    fused = logits_of(model)[real]
    expected = gradients(parameters, fused)
    monkeypatch.setattr("seqline.parts.recurrent.is_watched", lambda _part="": True)
    monkeypatch.setattr("seqline.parts.cells.Cell.fused", None)
    looped = logits_of(model)[real]
    assert_equal([looped], [fused])
    assert_equal(gradients(parameters, looped), expected)
    assert all((gradient != 0).any() for gradient in expected)


@every_variant
def test_watching_changes_no_result(variant: str) -> None:
    model, real = make_model(variant), make_batch().target_is_real
    expected = logits_of(model)[real]
    with watch() as frames:
        got = logits_of(model)[real]
    assert_equal([got], [expected])
    parameters = list(model.parameters())
    assert_equal(gradients(parameters, got), gradients(parameters, expected))
    assert {frame.part for frame in frames} >= {"embedding", "encoder", "head"}
    assert not any(value.requires_grad for frame in frames for value in frame.values.values())


@every_variant
def test_watching_draws_no_random_number(variant: str) -> None:
    model = make_model(variant).train()
    states = []
    for is_watched in (False, True):
        torch.manual_seed(5)
        with watch() if is_watched else nullcontext():
            logits_of(model)
        states.append(torch.get_rng_state())
    assert torch.equal(*states)
    assert not torch.equal(states[0], torch.manual_seed(5).get_state())


@every_variant
def test_training_without_dropout_is_evaluation(variant: str) -> None:
    model = make_model(variant)
    expected = logits_of(model)
    for module in model.train().modules():
        if isinstance(module, (nn.Dropout, LayerDrop)):
            module.p = 0.0
    assert torch.equal(logits_of(model), expected)
    model.eval()
    with torch.inference_mode():
        assert_equal([logits_of(model)], [expected])


@every_variant
def test_shown_weights_are_shares_of_the_real_source(variant: str) -> None:
    model, batch = make_model(variant), make_batch()
    memory = model.decoder.prepare(model.encoder(batch.source, batch.source_is_real))
    with watch() as frames:
        model.decoder(batch.target_in, model.decoder.initial_state(memory, len(batch.rows)), memory)
    shown = [frame for frame in frames if frame.part == "attention"]
    if variant.endswith("-heads"):
        shown = [frame for frame in frames if frame.part == "multi-head attention"]
    if variant.startswith("transformer"):  # self-attention and attention to the source take turns in a layer
        shown = [frame for frame in frames if frame.part == "multi-head attention"][1::2]
    assert bool(shown) == variant.startswith(("luong", "bahdanau", "conv", "transformer"))
    for number, frame in enumerate(shown):
        weights, context = frame.values["weights"], frame.values["context"]
        per_head = batch.source_is_real[:, None, None] if weights.dim() == 4 else batch.source_is_real[:, None]
        assert (weights[~per_head.expand_as(weights)] == 0).all()
        if VARIANTS[variant][1].get("window") == "local-p":  # the bell scales the shares and nothing makes up for it
            assert (weights.sum(-1) < 1).all()
        else:
            assert_equal([weights.sum(-1)], [torch.ones_like(weights[..., 0])])
        values = source_values(memory, number)
        if weights.dim() == 4:  # several heads of queries may read one of values
            values = values.repeat_interleave(weights.shape[1] // values.shape[1], 1)
        assert_equal([context], [weights @ values])


def source_values(memory: Any, layer: int) -> Tensor:
    """Return the values that the decoder attends to: the encoder's outputs, or a layer's own projection."""
    if isinstance(memory, KeyValues):
        return memory.values
    read = getattr(memory, "read", None)
    return read.values if read is not None else memory[layer].values


@every_variant
def test_dropout_acts_in_training_only(variant: str) -> None:
    model = make_model(variant)
    with torch.no_grad():
        assert torch.equal(logits_of(model), logits_of(model))
        model.train()
        assert (logits_of(model) != logits_of(model)).any(-1).all()


@every_variant
def test_padding_has_no_gradient(variant: str) -> None:
    model, batch = make_model(variant), make_batch()
    padding = ~batch.source_is_real
    source = batch.source.masked_fill(padding, 0)  # id 0 stands in the padding and nowhere else
    logits = model(source, batch.source_is_real, batch.target_in)
    (gradient,) = gradients([model.get_parameter("encoder.embedding.table.weight")], logits[batch.target_is_real])
    assert padding.any()
    assert (gradient[0] == 0).all()
    assert (gradient[source[~padding].unique()] != 0).any(-1).all()


@every_variant
def test_frames_hold_what_happened_in_order(variant: str) -> None:
    model, batch = make_model(variant), make_batch()
    with watch() as frames:
        logits = logits_of(model)
    parts = [frame.part for frame in frames]
    assert parts[-1] == "head"
    assert torch.equal(frames[-1].values["logits"], logits)
    first = frames[parts.index("embedding")]
    assert torch.equal(first.values["ids"], batch.source)
    shown = sum(part.endswith("cell") for part in parts)
    of_source, of_target = (cells_in(side) for side in (model.encoder, model.decoder))
    assert shown == of_source * batch.source.shape[1] + of_target * batch.target_in.shape[1]


def cells_in(side: Any) -> int:
    return sum(isinstance(module, Cell) for module in side.modules())


@every_variant
def test_a_state_is_a_value_with_the_batch_first(variant: str) -> None:
    model, batch = make_model(variant), make_batch()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    kept = {name: set(vars(module)) for name, module in model.named_modules()}
    memory = model.decoder.prepare(model.encoder(batch.source, batch.source_is_real))
    state = model.decoder.initial_state(memory, len(batch.rows))
    _, after = model.decoder(batch.target_in, state, memory)
    trees = tensors_of((memory, state, after))
    assert trees
    assert {len(tensor) for tensor in trees} == {len(batch.rows)}
    assert kept == {name: set(vars(module)) for name, module in model.named_modules()}
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def tensors_of(tree: Any) -> list[Tensor]:
    """Return the tensors of a tree, of which some branches may be None."""
    found: list[Tensor] = []
    map_tensors(lambda tensor: found.append(tensor) or tensor, tree)
    return found
