"""Each recurrent recipe that translates against its equations written out in NumPy, on ragged rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from seqline.architectures import ARCHITECTURES
from seqline.architectures.recipe import Vocabulary

from ..small_models import TOLERANCE, make_batch, random_weights
from .by_hand import ByHand, Vector, attend, both_ways, join, run

EMBED_SIZE, HIDDEN_SIZE, ATTENTION_SIZE = 3, 4, 5
ENCODER, DECODER = "encoder.stack.layers.0.cell", "decoder.stack.layers.0.cell"
ONE_LAYER = {"embed_size": EMBED_SIZE, "hidden_size": HIDDEN_SIZE, "dropout": 0.3, "num_layers": 1}
ZERO = np.zeros(HIDDEN_SIZE)


def check(name: str, settings: dict[str, Any], by_hand: Any) -> None:
    """Compare a model's logits on a batch with those of `by_hand(ByHand, source, target, settings)` on each row."""
    recipe = ARCHITECTURES[name]
    assert recipe.build is not None
    model = random_weights(recipe.build(recipe.settings(**settings), Vocabulary(11, 9, False)))
    batch, hand = make_batch(), ByHand(model)
    logits = model(batch.source, batch.source_is_real, batch.target_in).detach().numpy()
    for row in range(len(batch.rows)):
        source = batch.source[row, batch.source_is_real[row]].tolist()
        target = batch.target_in[row, batch.target_is_real[row]].tolist()
        expected = by_hand(hand, source, target, settings)
        assert len(expected) == len(target)
        assert np.abs(np.stack(expected) - logits[row, : len(target)]).max() <= TOLERANCE


def encode(hand: ByHand, source: list[int], cell: str) -> list[Any]:
    """Return the encoder's states; for an LSTM each is a pair (h, c)."""
    start = (ZERO, ZERO) if cell == "lstm" else ZERO
    return run(getattr(hand, cell)(ENCODER), hand.embed("encoder.", source), start)


def fixed_context(hand: ByHand, source: list[int], target: list[int], settings: dict[str, Any]) -> list[Vector]:
    cell = settings["cell"]
    states = run(getattr(hand, cell)(DECODER), hand.embed("decoder.", target), encode(hand, source, cell)[-1])
    outputs = [h for h, _ in states] if cell == "lstm" else states
    return [hand.affine("decoder.head", np.tanh(hand.affine("decoder.readout.project", h))) for h in outputs]


@pytest.mark.parametrize("cell", ["simple", "lstm", "gru"])
def test_a_context_read_once(cell: str) -> None:
    check("encoder-decoder", {**ONE_LAYER, "cell": cell}, fixed_context)


def same_context(hand: ByHand, source: list[int], target: list[int], settings: dict[str, Any]) -> list[Vector]:
    states = encode(hand, source, "gru")
    h = states[-1]
    context = h if settings["summary"] == "final" else np.mean(states, axis=0)
    step, found = hand.gru(DECODER), []
    for y in hand.embed("decoder.", target):
        h = step(join(y, context), h)
        found.append(hand.affine("decoder.head", np.tanh(hand.affine("decoder.readout.project", h))))
    return found


@pytest.mark.parametrize("summary", ["final", "mean"])
def test_a_context_read_at_every_step(summary: str) -> None:
    check("contextual", {**ONE_LAYER, "summary": summary}, same_context)


def reversed_words(hand: ByHand, source: list[int], target: list[int], settings: dict[str, Any]) -> list[Vector]:
    turned = [*source[-2::-1], source[-1]]  # the end mark stays last
    start = run(hand.lstm(ENCODER), hand.embed("encoder.", turned), (ZERO, ZERO))[-1]
    states = run(hand.lstm(DECODER), hand.embed("decoder.", target), start)
    return [hand.affine("decoder.head", np.tanh(hand.affine("decoder.readout.project", h))) for h, _ in states]


def test_the_source_turned_round() -> None:
    check("sutskever", ONE_LAYER, reversed_words)


def maxout(u: Vector) -> Vector:
    return np.maximum(u[0::2], u[1::2])


def context_in_cell_and_output(hand: ByHand, source: list[int], target: list[int], _: dict[str, Any]) -> list[Vector]:
    context = encode(hand, source, "gru")[-1]
    step, found = hand.gru("decoder.stack.layer.layers.0.cell"), []
    s = np.tanh(hand.affine("decoder.bridge.project.0", context))
    for y in hand.embed("decoder.", target):
        s = step(join(y, context), s)
        found.append(hand.affine("decoder.head", maxout(hand.affine("decoder.readout.project", join(s, y, context)))))
    return found


def test_a_context_in_cell_and_output() -> None:
    check("cho", {k: v for k, v in ONE_LAYER.items() if k != "num_layers"}, context_in_cell_and_output)


def luong_score(hand: ByHand, name: str, score: str, h: Vector, key: Vector) -> Any:
    if score == "dot":
        return h @ key
    if score == "general":
        return h @ (hand.weights[f"{name}.project.weight"] @ key)
    return hand.weights[f"{name}.energy"] @ np.tanh(
        hand.weights[f"{name}.query.weight"] @ h + hand.weights[f"{name}.key.weight"] @ key
    )


def attention_after(hand: ByHand, source: list[int], target: list[int], settings: dict[str, Any]) -> list[Vector]:
    keys, is_fed = encode(hand, source, "gru"), settings["input_feeding"]
    step, h, z, found = hand.gru(DECODER), keys[-1], np.zeros(EMBED_SIZE), []
    name = "decoder.attention.score"
    for y in hand.embed("decoder.", target):
        h = step(join(y, z) if is_fed else y, h)
        context = attend([luong_score(hand, name, settings["score"], h, key) for key in keys], keys)
        z = np.tanh(hand.affine("decoder.readout.project", join(h, context)))
        found.append(hand.affine("decoder.head", z))
    return found


@pytest.mark.parametrize("score", ["dot", "general", "concat"])
@pytest.mark.parametrize("input_feeding", [True, False])
def test_attention_after_the_cell(score: str, input_feeding: bool) -> None:
    width = {"attention_size": ATTENTION_SIZE} if score == "concat" else {}
    settings = {**ONE_LAYER, "score": score, "input_feeding": input_feeding, **width}
    check("luong", settings, attention_after)


def attention_before(hand: ByHand, source: list[int], target: list[int], settings: dict[str, Any]) -> list[Vector]:
    forwards, backwards = both_ways(
        hand.gru("encoder.layers.0.forwards.cell"),
        hand.gru("encoder.layers.0.backwards.cell"),
        hand.embed("encoder.", source),
        ZERO,
    )
    keys = [join(f, b) for f, b in zip(forwards, backwards, strict=True)]
    step, s, found = hand.gru("decoder.cell"), np.tanh(hand.affine("decoder.bridge.project", backwards[0])), []
    for y in hand.embed("decoder.", target):
        context = attend([luong_score(hand, "decoder.attention.score", "concat", s, key) for key in keys], keys)
        s = step(join(y, context), s)
        found.append(hand.affine("decoder.head", maxout(hand.affine("decoder.readout.project", join(s, y, context)))))
    return found


def test_attention_before_the_cell() -> None:
    settings = {k: v for k, v in ONE_LAYER.items() if k != "num_layers"}
    check("bahdanau", {**settings, "attention_size": ATTENTION_SIZE}, attention_before)
