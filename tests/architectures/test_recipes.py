"""Recipes: every named size builds, settings are strict, tables are shared, and parameters are counted by hand."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch import nn

from seqline.architectures import ARCHITECTURES
from seqline.architectures.recipe import Features, Vocabulary
from seqline.models.encoder_decoder import EncoderDecoder

from ..small_models import VARIANTS, make_batch

SIZES = ["tiny", "small", "base"]
VOCABULARY = Vocabulary(110, 90, is_shared=False)
V, W = VOCABULARY.target_size, VOCABULARY.source_size

every_recipe = pytest.mark.parametrize("name", ARCHITECTURES)
TRANSLATORS = [name for name, recipe in ARCHITECTURES.items() if recipe.build is not None]
every_translator = pytest.mark.parametrize("name", TRANSLATORS)


def settings_of(name: str, size: str = "tiny", **changes: Any) -> Any:
    recipe = ARCHITECTURES[name]
    return recipe.settings(**{**recipe.sizes[size], **changes})  # pyright: ignore[reportArgumentType]


def build(name: str, size: str, vocabulary: Vocabulary = VOCABULARY, **changes: Any) -> EncoderDecoder:
    make = ARCHITECTURES[name].build
    assert make is not None
    return make(settings_of(name, size, **changes), vocabulary)


def build_all(name: str, size: str, **changes: Any) -> list[nn.Module]:
    """Return every model that the recipe makes."""
    recipe, settings = ARCHITECTURES[name], settings_of(name, size, **changes)
    made = [make(settings, VOCABULARY) for make in (recipe.build, recipe.language_model, recipe.features) if make]
    return [model.encoder if isinstance(model, Features) else model for model in made]


def tables_of(model: EncoderDecoder) -> list[nn.Parameter]:
    """Return the source's table, the target's and the head's matrix."""
    parts: Any = model
    return [parts.encoder.embedding.weight, parts.decoder.embedding.weight, parts.decoder.head.weight]


def count(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


@every_recipe
def test_a_recipe_describes_itself(name: str) -> None:
    recipe = ARCHITECTURES[name]
    assert recipe.name == name
    assert recipe.title
    assert any(character.isdigit() for character in recipe.paper)
    assert list(recipe.sizes) == SIZES
    assert list(recipe.learning_rate) == SIZES
    assert all(0 < rate < 0.1 for rate in recipe.learning_rate.values())


@every_recipe
def test_every_size_builds_and_a_larger_one_is_larger(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for draw in (
        "orthogonal_",
        "xavier_uniform_",
        "kaiming_uniform_",
        "normal_",
    ):  # the numbers cost time, not the shapes
        monkeypatch.setattr(nn.init, draw, lambda tensor, *args, **kwargs: tensor)
    assert isinstance(build_all(name, "tiny")[0], EncoderDecoder) == (name in TRANSLATORS)
    for models in zip(*(build_all(name, size) for size in SIZES), strict=True):
        counts = [count(model) for model in models]
        assert counts == sorted(set(counts))


@every_recipe
def test_every_setting_of_a_size_is_used(name: str) -> None:
    def described(**changes: Any) -> set[str]:
        model = build_all(name, "tiny", **changes)[0]
        heads = {f"{type(m).__name__} {m.num_heads}" for m in model.modules() if hasattr(m, "num_heads")}
        return {str(model), *heads, *(f"{n} {tuple(p.shape)}" for n, p in model.named_parameters())}

    for key, value in ARCHITECTURES[name].sizes["tiny"].items():
        changed = value * 2 if isinstance(value, int) else 0.37
        assert described(**{key: changed}) != described(), key


@every_translator
@pytest.mark.parametrize("is_shared", [False, True])
def test_the_smallest_size_reads_a_batch(name: str, is_shared: bool) -> None:
    batch = make_batch()
    model = build(name, "tiny", Vocabulary(11, 11, is_shared))
    logits = model(batch.source, batch.source_is_real, batch.target_in)
    assert logits.shape == (*batch.target_in.shape, 11)
    assert torch.isfinite(logits).all()
    assert logits.std() < 2  # an untrained model must not be sure of anything


@every_translator
def test_a_shared_vocabulary_is_one_table(name: str) -> None:
    apart = build(name, "tiny", Vocabulary(V, V, is_shared=False))
    model = build(name, "tiny", Vocabulary(V, V, is_shared=True))
    source, target, head = tables_of(model)
    assert source is target is head
    assert count(apart) - count(model) == V * settings_of(name).embed_size


@every_translator
def test_head_and_target_embedding_are_one(name: str) -> None:
    model, batch = build(name, "tiny"), make_batch()
    source, target, head = tables_of(model)
    assert head is target
    assert source.data_ptr() != target.data_ptr()
    model(batch.source, batch.source_is_real, batch.target_in).logsumexp(-1).sum().backward()
    before = target.detach().clone()
    with torch.no_grad():
        for parameter in model.parameters():
            assert parameter.grad is not None
            parameter -= 0.1 * parameter.grad  # a step of SGD, each parameter once
    source, target, head = tables_of(model)
    assert (target != before).any()
    assert head.data_ptr() == target.data_ptr()


BAD: list[tuple[str, Any]] = [
    ("hiden_size", 8),
    ("embed_size", 0),
    ("embed_size", "96"),
    ("embed_size", 96.0),
    ("embed_size", True),
    ("dropout", 1.0),
    ("dropout", -0.1),
    ("dropout", float("nan")),
]


@every_recipe
@pytest.mark.parametrize(("key", "value"), BAD, ids=str)
def test_settings_are_strict(name: str, key: str, value: Any) -> None:
    with pytest.raises(ValidationError, match=key):
        settings_of(name, **{key: value})


@every_recipe
def test_settings_are_complete_and_frozen(name: str) -> None:
    recipe = ARCHITECTURES[name]
    for key in recipe.sizes["tiny"]:
        with pytest.raises(ValidationError, match=key):
            recipe.settings(**{k: v for k, v in recipe.sizes["tiny"].items() if k != key})
    with pytest.raises(ValidationError, match="frozen"):
        settings_of(name).embed_size = 8


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("encoder-decoder", "cell", "rnn"),
        ("encoder-decoder", "summary", "mean"),
        ("contextual", "summary", "max"),
        ("luong", "score", "additive"),
        ("luong", "input_feeding", 1),
        ("bahdanau", "num_layers", 2),
        ("transformer", "num_heads", 5),
    ],
)
def test_a_recipe_refuses_what_it_does_not_know(name: str, key: str, value: Any) -> None:
    with pytest.raises(ValidationError, match=key):
        settings_of(name, **{key: value})


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_parameter_is_drawn_anew_by_every_build(variant: str) -> None:
    name, settings = VARIANTS[variant]
    recipe = ARCHITECTURES[name]
    models = []
    for seed in (1, 2, 1):
        torch.manual_seed(seed)
        make = recipe.build
        assert make is not None
        models.append(make(recipe.settings(**settings), VOCABULARY))
    norms = {name for name, module in models[0].named_modules() if "Norm" in type(module).__name__}
    one, other, again = (dict(model.named_parameters()) for model in models)
    for parameter, value in one.items():
        assert torch.isfinite(value).all()
        assert torch.equal(value, again[parameter])
        is_constant = "bias" in parameter or "norm" in parameter or parameter.rpartition(".")[0] in norms
        assert is_constant or not torch.equal(value, other[parameter]), parameter


def gru(input_size: int, hidden_size: int) -> int:
    return 3 * hidden_size * (input_size + hidden_size + 2)


def linear(inputs: int, outputs: int) -> int:
    return outputs * (inputs + 1)


E = H = 96  # embed_size, hidden_size and attention_size of every tiny size
TABLES = W * E + V * E + V  # source, target (the head's matrix too), the head's bias
ENCODER_DECODER = TABLES + gru(E, H) + gru(E, H) + linear(H, E)
ATTENTION = H * H  # the matrix of Luong's general score
BOTH_WAYS = 2 * gru(E, H)
SELF_ATTENTION = 4 * linear(E, E)
FEED_FORWARD = linear(E, 4 * E) + linear(4 * E, E)
NORM = 2 * E
COUNTS: list[tuple[str, dict[str, Any], int]] = [
    ("encoder-decoder", {}, ENCODER_DECODER),
    ("encoder-decoder", {"cell": "simple"}, TABLES + 2 * gru(E, H) // 3 + linear(H, E)),
    ("encoder-decoder", {"cell": "lstm", "num_layers": 2}, TABLES + 4 * (4 * gru(E, H) // 3) + linear(H, E)),
    ("contextual", {}, ENCODER_DECODER + 3 * H * H),
    ("luong", {"input_feeding": False}, ENCODER_DECODER + ATTENTION + E * H),
    ("luong", {}, ENCODER_DECODER + ATTENTION + E * H + 3 * H * E),
    ("luong", {"score": "dot"}, ENCODER_DECODER + E * H + 3 * H * E),
    ("luong", {"score": "concat"}, ENCODER_DECODER + 2 * ATTENTION + H + E * H + 3 * H * E),
    (
        "bahdanau",
        {},
        TABLES + BOTH_WAYS + linear(H, H) + (3 * H * H + H) + gru(E + 2 * H, H) + linear(H + E + 2 * H, 2 * E),
    ),
    ("transformer", {}, TABLES + 2 * (3 * SELF_ATTENTION + 2 * FEED_FORWARD + 5 * NORM)),
]


@pytest.mark.parametrize(("name", "settings", "expected"), COUNTS)
def test_parameters_are_counted_by_hand(name: str, settings: dict[str, Any], expected: int) -> None:
    assert count(build(name, "tiny", **settings)) == expected
