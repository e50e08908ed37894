"""transformer-pre: what its settings choose, what they refuse, and which matrices are one."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch import nn

from seqline.architectures import ARCHITECTURES
from seqline.architectures.recipe import Vocabulary
from seqline.architectures.transformer_pre import TransformerPreSettings
from seqline.errors import UserError
from seqline.parts.attention_positions import Alibi, RelativeBias, Rotary
from seqline.parts.feed_forward import FeedForward, GatedFeedForward
from seqline.parts.positions import AddPositions, LearnedPositions, Sinusoid
from seqline.parts.residual import LayerDrop, PreNorm
from seqline.parts.self_attention import MultiHeadAttention

from ..small_models import random_weights

RECIPE = ARCHITECTURES["transformer-pre"]
VOCABULARY = Vocabulary(11, 9, is_shared=False)
KINDS = ["build", "language_model", "features"]


def settings_of(**changes: Any) -> TransformerPreSettings:
    return RECIPE.settings(  # pyright: ignore[reportReturnType]
        **{"embed_size": 8, "num_heads": 2, "inner_size": 10, "num_layers": 2, "dropout": 0.1, **changes}
    )


def make(kind: str, vocabulary: Vocabulary = VOCABULARY, **changes: Any) -> Any:
    made = getattr(RECIPE, kind)(settings_of(**changes), vocabulary)
    return made.encoder if kind == "features" else made


def count(model: nn.Module, part: type[nn.Module]) -> int:
    return sum(type(module) is part for module in model.modules())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("changes", "part", "a_stack"),
    [
        ({"norm": "layer"}, nn.LayerNorm, None),
        ({"norm": "rms"}, nn.RMSNorm, None),
        ({"feed_forward": "relu"}, nn.ReLU, 2),
        ({"feed_forward": "gelu"}, nn.GELU, 2),
        ({"feed_forward": "gelu"}, FeedForward, 2),
        ({"feed_forward": "swiglu"}, GatedFeedForward, 2),
        ({"positions": "rotary"}, Rotary, 2),
        ({"positions": "alibi"}, Alibi, 2),
        ({"positions": "relative"}, RelativeBias, 2),
        ({"positions": "sinusoidal"}, Sinusoid, 1),
        ({"positions": "learned"}, LearnedPositions, 1),
        ({"positions": "none"}, AddPositions, 0),
        ({"positions": "rotary"}, AddPositions, 0),
    ],
    ids=str,
)
def test_a_setting_is_a_part(kind: str, changes: dict[str, Any], part: type[nn.Module], a_stack: int | None) -> None:
    model = make(kind, **changes)
    if a_stack is None:  # one in every residual connection, and one behind the last block
        expected = count(model, PreNorm) + (2 if kind == "build" else 1)
        assert count(model, nn.LayerNorm) + count(model, nn.RMSNorm) == expected
    else:
        expected = a_stack * (2 if kind == "build" else 1)
    assert count(model, part) == expected


@pytest.mark.parametrize("kind", KINDS)
def test_shares_reach_every_part(kind: str) -> None:
    model = make(kind, layer_drop=0.25, attention_dropout=0.35, num_key_heads=1)
    assert {module.p for module in model.modules() if isinstance(module, LayerDrop)} == {0.25}
    attentions = [module for module in model.modules() if isinstance(module, MultiHeadAttention)]
    assert {(part.dropout.p, part.num_heads, part.num_key_heads) for part in attentions} == {(0.35, 2, 1)}


def test_relative_positions_look_back_in_the_decoder_and_both_ways_in_the_encoder() -> None:
    model = make("build", positions="relative")
    for side, is_causal in ((model.encoder, False), (model.decoder, True)):
        assert {part.is_causal for part in side.modules() if isinstance(part, RelativeBias)} == {is_causal}


def test_the_table_of_learned_positions_has_the_length_asked_for() -> None:
    for max_length, rows in ((None, 1024), (30, 30)):
        model = make("language_model", positions="learned", max_length=max_length)
        assert [len(part.table) for part in model.modules() if isinstance(part, LearnedPositions)] == [rows]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_key_heads": 3}, "num_heads 2 is not divisible by num_key_heads 3"),
        ({"num_heads": 8, "positions": "rotary"}, "must be even, is 1"),
        ({"max_length": 10, "positions": "rotary"}, "max_length is for positions learned"),
        ({"positions": "sinusoid"}, "positions"),
        ({"norm": "batch"}, "norm"),
        ({"tie": "source"}, "tie"),
        ({"layer_drop": 1.0}, "layer_drop"),
        ({"attention_dropout": -0.1}, "attention_dropout"),
        ({"max_length": 0, "positions": "learned"}, "max_length"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        settings_of(**changes)


@pytest.mark.parametrize("is_shared", [False, True])
@pytest.mark.parametrize("tie", ["none", "target", "all"])
def test_ties(tie: str, is_shared: bool) -> None:
    vocabulary = Vocabulary(9, 9, is_shared)
    if tie == "all" and not is_shared:
        with pytest.raises(UserError, match=r"^model\.tie: expected one vocabulary"):
            make("build", vocabulary, tie=tie)
        return
    model = make("build", vocabulary, tie=tie)
    source, target, head = model.encoder.embedding.weight, model.decoder.embedding.weight, model.decoder.head.weight
    assert (source is target) == (is_shared and tie != "none")
    assert (head is target) == (tie != "none")
    loss = model(torch.tensor([[4, 5]]), torch.ones(1, 2).bool(), torch.tensor([[2, 6]])).logsumexp(-1).sum()
    loss.backward()
    for table in (source, target, head):  # one step of SGD moves all that are one
        assert table.grad is not None
        assert (table.grad != 0).any()


@pytest.mark.parametrize(("tie", "num_tables"), [("none", 2), ("target", 1), ("all", 1)])
def test_ties_of_a_language_model(tie: str, num_tables: int) -> None:
    model = make("language_model", tie=tie)
    assert len({id(table) for table in (model.embedding.weight, model.head.weight)}) == num_tables


@pytest.mark.parametrize("width", [2, 8, 32])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"feed_forward": "swiglu", "tie": "none"},
        {"positions": "learned", "max_length": 5000},
        {"positions": "relative", "num_layers": 5},
    ],
    ids=str,
)
def test_the_price_is_an_upper_bound(changes: dict[str, Any], kind: str, width: int) -> None:
    sizes = {"embed_size": width, "inner_size": width, "num_heads": 1, **changes}
    if kind == "features" and "tie" in changes:
        with pytest.raises(UserError, match=r"model\.tie: 'none' ties a head"):
            make(kind, **sizes)
        return
    model = make(kind, **sizes)
    assert sum(p.numel() for p in model.parameters()) <= settings_of(**sizes).parameters_at_most(VOCABULARY)


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary", "alibi", "relative", "none"])
def test_longer_at_use_than_in_training_works(positions: str) -> None:
    model = random_weights(make("build", positions=positions))
    source, target = torch.randint(4, 9, (2, 1100)), torch.randint(4, 9, (2, 300))
    with torch.no_grad():
        assert torch.isfinite(model(source, torch.ones(2, 1100).bool(), target)).all()


def test_longer_than_the_learned_positions_says_why_not() -> None:
    model = random_weights(make("build", positions="learned", max_length=6))
    source, target = torch.randint(4, 9, (2, 6)), torch.randint(4, 9, (2, 7))
    real = torch.ones(2, 6).bool()
    memory = model.decoder.prepare(model.encoder(source, real))
    with pytest.raises(UserError, match=r"^model\.max_length: .*7 tokens.* 6 positions"):
        model(source, real, target)
    _, state = model.decoder(target[:, :6], model.decoder.initial_state(memory, 2), memory)
    with pytest.raises(UserError, match="max_length"):
        model.decoder(target[:, 6:], state, memory)
    with pytest.raises(UserError, match="max_length"):
        model.encoder(target, torch.ones(2, 7).bool())


def test_base_has_the_numbers_of_the_paper() -> None:
    base = {"embed_size": 512, "num_heads": 8, "inner_size": 2048, "num_layers": 6, "dropout": 0.1}
    assert ARCHITECTURES["transformer"].sizes["base"] == base
    assert RECIPE.sizes["base"] == base
