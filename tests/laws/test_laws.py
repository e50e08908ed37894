"""Every recipe and every option of it obeys the laws, in float64 to 1e-10 (docs/state.md)."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from seqline.architectures import ARCHITECTURES
from seqline.architectures.recipe import Vocabulary
from seqline.data.batch import Example
from seqline.evaluation.verify import LAWS, TOLERANCE, Subject, exhaustive_law

RECURRENT = {"embed_size": 6, "hidden_size": 8, "num_layers": 2, "dropout": 0.3}
ATTENDING = {"embed_size": 6, "hidden_size": 8, "attention_size": 5, "dropout": 0.3}
TTT = {"embed_size": 8, "num_heads": 2, "inner_size": 10, "num_layers": 2, "dropout": 0.3}
BLOCKS = {"embed_size": 8, "num_heads": 2, "inner_size": 10, "num_layers": 2, "dropout": 0.3}
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    *(("encoder-decoder", {**RECURRENT, "cell": cell}) for cell in ("simple", "lstm", "gru")),
    ("encoder-decoder", {**RECURRENT, "cell": "simple", "activation": "relu", "bridge": "mean"}),
    ("encoder-decoder", {**RECURRENT, "num_layers": 1, "cell": "simple", "activation": "identity", "bridge": "zeros"}),
    ("encoder-decoder", {**RECURRENT, "cell": "lstm", "bridge": "linear"}),
    ("encoder-decoder", {**RECURRENT, "num_layers": 1, "cell": "lstm", "peepholes": True}),
    ("encoder-decoder", {**RECURRENT, "num_layers": 3, "residual": True, "cell": "ssru"}),
    ("encoder-decoder", {**RECURRENT, "cell": "min-gru", "bridge": "mean"}),
    *(("contextual", {**RECURRENT, "cell": "lstm", "summary": summary}) for summary in ("final", "mean")),
    *(("contextual", {**RECURRENT, "bridge": bridge}) for bridge in ("zeros", "linear")),
    ("sutskever", {**RECURRENT, "num_layers": 3, "residual": True}),
    ("cho", {"embed_size": 6, "hidden_size": 8, "dropout": 0.3}),
    *(
        ("luong", {**RECURRENT, "score": score, "input_feeding": feeding})
        for score in ("dot", "general", "concat")
        for feeding in (True, False)
    ),
    ("luong", {**RECURRENT, "cell": "lstm"}),
    ("contextual", {**RECURRENT, "cell": "lstm", "encoder": "bidirectional"}),
    ("luong", {**RECURRENT, "window": "local-m", "window_size": 2, "input_feeding": False}),
    ("luong", {**RECURRENT, "window": "local-p", "window_size": 3, "encoder": "bidirectional", "bridge": "zeros"}),
    # A source of at most 10 tokens, and more columns of padding than the table has rows.
    ("luong", {**RECURRENT, "score": "location", "location_length": 12, "window": "local-m", "window_size": 1}),
    ("luong", {**RECURRENT, "score": "concat", "coverage": True, "window": "local-m", "encoder": "position-embedding"}),
    (
        "luong",
        {**RECURRENT, "score": "multi-head", "window": "local-p", "encoder": "convolution", "input_feeding": False},
    ),
    ("bahdanau", {"embed_size": 6, "hidden_size": 8, "attention_size": 5, "dropout": 0.3}),
    ("bahdanau", {**ATTENDING, "coverage": True, "encoder": "recurrent", "window": "local-p", "window_size": 2}),
    ("bahdanau", {**ATTENDING, "score": "multi-head", "num_heads": 2, "encoder": "embedding", "window": "local-m"}),
    ("transformer", {"embed_size": 6, "num_heads": 2, "inner_size": 10, "num_layers": 2, "dropout": 0.3}),
    ("transformer-pre", BLOCKS),
    (
        "transformer-pre",
        {**BLOCKS, "positions": "alibi", "norm": "rms", "feed_forward": "swiglu", "num_heads": 4, "num_key_heads": 2},
    ),
    ("transformer-pre", {**BLOCKS, "positions": "learned", "max_length": 200, "feed_forward": "relu", "norm": "rms"}),
    ("transformer-pre", {**BLOCKS, "positions": "relative", "num_key_heads": 1, "tie": "none"}),
    ("transformer-pre", {**BLOCKS, "positions": "sinusoidal"}),
    ("transformer-pre", {**BLOCKS, "positions": "none"}),
    ("ssru", {"embed_size": 6, "num_heads": 2, "inner_size": 10, "num_layers": 2, "dropout": 0.3}),
    *(
        ("conv", {"embed_size": 6, "hidden_size": 8, "num_layers": 2, "kernel_size": size, "dropout": 0.3})
        for size in (1, 3, 7)
    ),
    ("ttt-linear", {**TTT, "inner_batch": 4, "positions": "rotary"}),
    ("ttt-linear", {**TTT, "inner_batch": 1, "positions": "none"}),
    ("ttt-mlp", {**TTT, "inner_batch": 3, "positions": "none"}),
    ("ttt-mlp", {**TTT, "inner_batch": 16, "positions": "rotary"}),
]
TRANSLATORS = [name for name, recipe in ARCHITECTURES.items() if recipe.build is not None]
LENGTHS = [(3, 4), (1, 1), (9, 8), (5, 2)]  # source and target ids of each example, eos and bos not counted


def make_subject(name: str, settings: dict[str, Any], target_size: int, max_length: int) -> Subject:
    torch.manual_seed(1)
    recipe = ARCHITECTURES[name]
    assert recipe.build is not None
    model = recipe.build(recipe.settings(**settings), Vocabulary(11, target_size, is_shared=False)).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():  # default biases are zero and hide what they should show
            parameter.normal_(std=0.3)
    examples = [
        Example(
            [*torch.randint(4, 11, (source,)).tolist(), 3],
            torch.randint(4, target_size, (target,)).tolist(),
        )
        for source, target in LENGTHS
    ]
    return Subject(model, examples, max_length)


def test_every_recipe_stands_in_the_list() -> None:
    assert {name for name, _ in VARIANTS} == set(TRANSLATORS)


@pytest.mark.parametrize(
    ("name", "settings"),
    VARIANTS,
    ids=lambda v: v if isinstance(v, str) else "-".join(str(x) for x in v.values() if isinstance(x, (str, bool))),
)
@pytest.mark.parametrize("law", LAWS)
def test_law_holds(law: str, name: str, settings: dict[str, Any]) -> None:
    subject = make_subject(name, settings, target_size=9, max_length=12)
    with torch.no_grad():
        finding = LAWS[law].check(subject)
    assert finding.difference <= LAWS[law].tolerance, finding


@pytest.mark.parametrize("name", TRANSLATORS)
def test_a_wide_beam_is_brute_force(name: str) -> None:
    settings = dict(next(settings for variant, settings in VARIANTS if variant == name))
    subject = make_subject(name, settings, target_size=8, max_length=3)
    with torch.no_grad():
        finding = exhaustive_law(subject)
    assert finding.difference <= TOLERANCE, finding


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        pytest.param(name, settings, marks=() if name in ("transformer", "transformer-pre") else pytest.mark.slow)
        for name, settings in VARIANTS
    ],
)
def test_a_long_target_crosses_cache_blocks(name: str, settings: dict[str, Any]) -> None:
    subject = make_subject(name, settings, target_size=9, max_length=4)
    long = Subject(
        subject.model, [Example(e.source, torch.randint(4, 9, (150 - 20 * i,)).tolist()) for i, e in
                        enumerate(subject.examples)], 4,
    )  # fmt: skip
    with torch.no_grad():
        assert LAWS["split"].check(long).difference <= TOLERANCE
        assert LAWS["select"].check(long).difference <= TOLERANCE
