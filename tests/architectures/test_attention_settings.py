"""The choices of attention recipes: what is refused, what the defaults leave as it was, and the price of a config."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from seqline.architectures import ARCHITECTURES
from seqline.architectures.recipe import Vocabulary

from ..small_models import make_batch

SMALL: dict[str, dict[str, Any]] = {
    "luong": {"embed_size": 6, "hidden_size": 8, "num_layers": 1, "dropout": 0.1},
    "bahdanau": {"embed_size": 6, "hidden_size": 8, "attention_size": 5, "dropout": 0.1},
}
VOCABULARY = Vocabulary(11, 9, is_shared=False)
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("luong", {"window_size": 3}, "window_size .*set window to local-m or local-p"),
    ("luong", {"window": "local-m", "window_size": 0}, "window_size"),
    ("luong", {"window": "local"}, "window"),
    ("luong", {"num_heads": 2}, "num_heads .*set score to multi-head"),
    ("luong", {"score": "multi-head", "num_heads": 3}, "hidden_size 8 is not divisible by num_heads 3"),
    ("luong", {"score": "multi-head", "coverage": True}, "coverage"),
    ("luong", {"coverage": True}, "coverage needs input_feeding on and score concat"),
    ("luong", {"coverage": True, "score": "concat", "input_feeding": False}, "coverage needs input_feeding on"),
    ("luong", {"location_length": 9}, "location_length has no meaning with score general"),
    (
        "luong",
        {"encoder": "bidirectional", "bridge": "last"},
        "bridge last needs encoder recurrent; set bridge to mean",
    ),
    ("luong", {"encoder": "convolution", "bridge": "linear"}, "bridge linear needs encoder recurrent"),
    ("luong", {"encoder": "bidirectional", "score": "dot"}, "16 wide and the decoder 8.*set score to general"),
    ("luong", {"encoder": "embedding", "score": "dot"}, "6 wide and the decoder 8"),
    ("luong", {"encoder": "transformer"}, "encoder"),
    ("luong", {"attention_dropout": 1.0}, "attention_dropout"),
    ("bahdanau", {"score": "dot"}, "score"),
    ("bahdanau", {"num_heads": 2}, "num_heads .*set score to multi-head"),
    ("bahdanau", {"score": "multi-head", "coverage": True}, "coverage"),
    ("bahdanau", {"window_size": 3}, "window_size"),
]
ENCODERS = ["recurrent", "bidirectional", "convolution", "embedding", "position-embedding"]


@pytest.mark.parametrize(("name", "settings", "match"), REFUSED, ids=str)
def test_a_choice_that_cannot_be_is_refused_in_one_line(name: str, settings: dict[str, Any], match: str) -> None:
    with pytest.raises(ValidationError, match=match):
        ARCHITECTURES[name].settings(**{**SMALL[name], **settings})


def test_the_bridge_fits_the_encoder_where_none_is_named() -> None:
    recipe = ARCHITECTURES["luong"]
    chosen = {name: recipe.settings(**{**SMALL["luong"], "encoder": name}).model_dump()["bridge"] for name in ENCODERS}
    assert chosen == {name: "last" if name == "recurrent" else "mean" for name in ENCODERS}
    again = recipe.settings(**recipe.settings(**{**SMALL["luong"], "encoder": "embedding"}).model_dump())
    assert again.model_dump()["bridge"] == "mean"


def test_the_defaults_keep_the_parameters_of_older_runs() -> None:
    names = {
        name: [key for key, _ in build(name).named_parameters() if "embedding" not in key and "cell" not in key]
        for name in SMALL
    }
    assert names["luong"] == [
        "decoder.attention.score.project.weight",
        "decoder.readout.project.weight",
        "decoder.readout.project.bias",
        "decoder.head.bias",
    ]
    assert names["bahdanau"] == [
        "decoder.bridge.project.weight",
        "decoder.bridge.project.bias",
        "decoder.attention.score.energy",
        "decoder.attention.score.query.weight",
        "decoder.attention.score.key.weight",
        "decoder.readout.project.weight",
        "decoder.readout.project.bias",
        "decoder.head.bias",
    ]


def build(name: str, vocabulary: Vocabulary = VOCABULARY, **settings: Any) -> Any:
    recipe = ARCHITECTURES[name]
    assert recipe.build is not None
    return recipe.build(recipe.settings(**{**SMALL[name], **settings}), vocabulary)


PRICED: list[tuple[str, dict[str, Any]]] = [
    *((name, {"encoder": encoder}) for name in SMALL for encoder in ENCODERS),
    *(("luong", {"encoder": encoder, "cell": "lstm", "num_layers": 3}) for encoder in ENCODERS),
    *((name, {"score": "multi-head", "window": "local-p", "encoder": "bidirectional"}) for name in SMALL),
    ("luong", {"score": "location", "location_length": 5000}),
    ("luong", {"score": "location"}),
    ("luong", {"score": "concat", "coverage": True, "window": "local-p", "attention_size": 16, "cell": "lstm"}),
    ("bahdanau", {"coverage": True, "window": "local-p", "attention_size": 16}),
]


@pytest.mark.parametrize(("name", "settings"), PRICED, ids=str)
def test_no_choice_has_more_parameters_than_its_price(name: str, settings: dict[str, Any]) -> None:
    for changes in ({}, {"embed_size": 8}):
        vocabulary = Vocabulary(5, 5, is_shared=False)
        count = sum(parameter.numel() for parameter in build(name, vocabulary, **changes, **settings).parameters())
        recipe = ARCHITECTURES[name]
        assert count <= recipe.settings(**{**SMALL[name], **changes, **settings}).parameters_at_most(vocabulary)


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("encoder", ENCODERS)
def test_every_encoder_is_read(name: str, encoder: str) -> None:
    batch = make_batch()
    model = build(name, encoder=encoder)
    logits = model(batch.source, batch.source_is_real, batch.target_in)
    logits[batch.target_is_real].logsumexp(-1).sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
    assert type(model.encoder).__name__.startswith(
        {"position-embedding": "Embedding", "convolution": "Conv"}.get(encoder, encoder.capitalize())
    )
