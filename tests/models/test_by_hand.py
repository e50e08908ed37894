"""Each recurrent recipe against its equations written out in plain Python, on ragged rows."""

from __future__ import annotations

from typing import Any

import pytest

from seqline.architectures import ARCHITECTURES
from seqline.architectures.recipe import Vocabulary

from ..small_models import make_batch, random_weights
from .by_hand import ByHand, Vector, add, attend, dot, run, tanh

EMBED_SIZE, HIDDEN_SIZE, ATTENTION_SIZE = 3, 4, 5
ENCODER, DECODER = "encoder.stack.layers.0.cell", "decoder.stack.layers.0.cell"
ONE_LAYER = {"embed_size": EMBED_SIZE, "hidden_size": HIDDEN_SIZE, "dropout": 0.3, "num_layers": 1}


def check(name: str, settings: dict[str, Any], by_hand: Any) -> None:
    """Compare a model's logits on a batch with those of `by_hand(ByHand, source, target, settings)` on each row."""
    recipe = ARCHITECTURES[name]
    model = random_weights(recipe.build(recipe.settings(**settings), Vocabulary(11, 9, False)))
    batch, hand = make_batch(), ByHand(model)
    logits = model(batch.source, batch.source_is_real, batch.target_in)
    for row in range(len(batch.rows)):
        source = batch.source[row, batch.source_is_real[row]].tolist()
        target = batch.target_in[row, batch.target_is_real[row]].tolist()
        expected = by_hand(hand, source, target, settings)
        assert len(expected) == len(target)
        for n, values in enumerate(expected):
            assert logits[row, n].tolist() == pytest.approx(values, abs=1e-10)


def encode(hand: ByHand, source: list[int], cell: str) -> list[Vector]:
    step = hand.simple(ENCODER) if cell == "simple" else hand.gru(ENCODER)
    return run(step, [hand.embed("encoder", word) for word in source], [0.0] * HIDDEN_SIZE)


def fixed_context(hand: ByHand, source: list[int], target: list[int], settings: dict[str, Any]) -> list[Vector]:
    h = encode(hand, source, settings["cell"])[-1]
    step, found = hand.simple(DECODER) if settings["cell"] == "simple" else hand.gru(DECODER), []
    for word in target:
        h = step(hand.embed("decoder", word), h)
        found.append(hand.logits(tanh(hand.affine("decoder.readout.project", h))))
    return found


@pytest.mark.parametrize("cell", ["simple", "gru"])
def test_a_context_read_once(cell: str) -> None:
    check("encoder-decoder", {**ONE_LAYER, "cell": cell}, fixed_context)


def same_context(hand: ByHand, source: list[int], target: list[int], settings: dict[str, Any]) -> list[Vector]:
    states = encode(hand, source, "gru")
    h = states[-1]
    context = (
        h if settings["summary"] == "final" else [sum(column) / len(states) for column in zip(*states, strict=True)]
    )
    step, found = hand.gru(DECODER), []
    for word in target:
        h = step(hand.embed("decoder", word) + context, h)
        found.append(hand.logits(tanh(hand.affine("decoder.readout.project", h))))
    return found


@pytest.mark.parametrize("summary", ["final", "mean"])
def test_a_context_read_at_every_step(summary: str) -> None:
    check("contextual", {**ONE_LAYER, "summary": summary}, same_context)


def luong_score(hand: ByHand, name: str, settings: dict[str, Any], h: Vector, key: Vector) -> float:
    if settings["score"] == "dot":
        return dot(h, key)
    if settings["score"] == "general":
        return dot(h, hand.times(f"{name}.project.weight", key))
    both = add(hand.times(f"{name}.query.weight", h), hand.times(f"{name}.key.weight", key))
    return dot(hand.weights[f"{name}.energy"], tanh(both))


def attention_after(hand: ByHand, source: list[int], target: list[int], settings: dict[str, Any]) -> list[Vector]:
    keys = encode(hand, source, "gru")
    step, h, z, found = hand.gru(DECODER), keys[-1], [0.0] * EMBED_SIZE, []
    is_fed = settings["input_feeding"]
    name = "decoder.attention.score" if is_fed else "decoder.reader.attention.score"
    for word in target:
        y = hand.embed("decoder", word)
        h = step(y + z if is_fed else y, h)
        context = attend([luong_score(hand, name, settings, h, key) for key in keys], keys)
        z = tanh(hand.affine("decoder.readout.project", h + context))
        found.append(hand.logits(z))
    return found


@pytest.mark.parametrize("score", ["dot", "general", "concat"])
@pytest.mark.parametrize("input_feeding", [True, False])
def test_attention_after_the_cell(score: str, input_feeding: bool) -> None:
    settings = {**ONE_LAYER, "score": score, "input_feeding": input_feeding, "attention_size": ATTENTION_SIZE}
    check("luong", settings, attention_after)


def attention_before(hand: ByHand, source: list[int], target: list[int], settings: dict[str, Any]) -> list[Vector]:
    inputs, zero = [hand.embed("encoder", word) for word in source], [0.0] * HIDDEN_SIZE
    forwards = run(hand.gru("encoder.layers.0.forwards.cell"), inputs, zero)
    backwards = run(hand.gru("encoder.layers.0.backwards.cell"), inputs[::-1], zero)[::-1]
    keys = [f + b for f, b in zip(forwards, backwards, strict=True)]
    step, s, found = hand.gru("decoder.cell"), tanh(hand.affine("decoder.bridge.project", backwards[0])), []
    for word in target:
        y, name = hand.embed("decoder", word), "decoder.attention.score"
        context = attend([luong_score(hand, name, {"score": "concat"}, s, key) for key in keys], keys)
        s = step(y + context, s)
        u = hand.affine("decoder.readout.project", s + y + context)
        found.append(hand.logits([max(u[2 * j], u[2 * j + 1]) for j in range(EMBED_SIZE)]))
    return found


def test_attention_before_the_cell() -> None:
    settings = {k: v for k, v in ONE_LAYER.items() if k != "num_layers"}
    check("bahdanau", {**settings, "attention_size": ATTENTION_SIZE}, attention_before)
