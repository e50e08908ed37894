"""The simple RNN, LSTM, GRU and the layers that read both ways against their equations in NumPy; a weight to the 50th power."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from seqline.architectures import ARCHITECTURES
from seqline.architectures.recipe import Vocabulary
from seqline.parts.cells import SimpleIdentityCell
from seqline.parts.recurrent import Recurrent

from ..small_models import TOLERANCE, make_batch, random_weights
from .by_hand import ByHand, Vector, both_ways, join, run, sentences

SIZES = {"embed_size": 3, "hidden_size": 4, "num_layers": 1, "dropout": 0.3}
ZERO = np.zeros(4)
VOCABULARY = Vocabulary(11, 11, True)
CELLS = {"simple-rnn": "simple", "lstm": "lstm", "gru": "gru"}


def start_of(cell: str) -> Any:
    return (ZERO, ZERO) if cell == "lstm" else ZERO


def outputs_of(cell: str, states: list[Any]) -> list[Vector]:
    return [h for h, _ in states] if cell == "lstm" else states


@pytest.mark.parametrize("name", list(CELLS))
def test_a_language_model(name: str) -> None:
    """p(x_{t+1} | x_1 ... x_t) = softmax(V tanh(W_z h_t + b_z) + b), h_t the state after x_t."""
    recipe, cell = ARCHITECTURES[name], CELLS[name]
    assert recipe.language_model is not None
    model = random_weights(recipe.language_model(recipe.settings(**SIZES), VOCABULARY))
    batch, hand = make_batch(), ByHand(model)
    logits, _ = model(batch.source, model.initial_state(None, len(batch.source)), None, batch.source_is_real)
    for row, words in enumerate(sentences(batch.source, batch.source_is_real)):
        step = getattr(hand, cell)("layers.layers.1.layers.0.cell")
        outputs = outputs_of(cell, run(step, hand.embed("", words), start_of(cell)))
        for t, h in enumerate(outputs):
            expected = hand.affine("head", np.tanh(hand.affine("layers.layers.3.module.project", h)))
            assert np.abs(logits[row, t].detach().numpy() - expected).max() <= TOLERANCE


@pytest.mark.parametrize(("name", "cell"), [("birnn", "simple"), ("bilstm", "lstm")])
def test_both_directions(name: str, cell: str) -> None:
    """h_t = [h after x_1 ... x_t from the left; h after x_S ... x_t from the right]."""
    recipe = ARCHITECTURES[name]
    assert recipe.features is not None
    more = {"cell": cell} if "cell" in recipe.settings.model_fields else {}
    encoder = random_weights(recipe.features(recipe.settings(**SIZES, **more), VOCABULARY).encoder)
    batch, hand = make_batch(), ByHand(encoder)
    encoded = encoder(batch.source, batch.source_is_real).outputs.detach().numpy()
    for row, words in enumerate(sentences(batch.source, batch.source_is_real)):
        steps = [getattr(hand, cell)(f"layers.0.{way}.cell") for way in ("forwards", "backwards")]
        forwards, backwards = (
            outputs_of(cell, states) for states in both_ways(*steps, hand.embed("", words), start_of(cell))
        )
        expected = [join(f, b) for f, b in zip(forwards, backwards, strict=True)]
        assert np.abs(encoded[row, : len(words)] - np.stack(expected)).max() <= TOLERANCE


@pytest.mark.parametrize(("weight", "power"), [(0.9, 0.005154), (1.0, 1.0), (1.1, 117.39)])
def test_a_weight_to_the_50th_power(weight: float, power: float) -> None:
    """The gradient of h_50 with respect to h_0 of h_t = w h_{t-1} + x_t, as docs/line/02-simple-rnn.md prints it."""
    layer = Recurrent(SimpleIdentityCell(1, 1)).double()
    with torch.no_grad():
        layer.cell.weight_hh.fill_(weight)
    first = torch.zeros(1, 1, dtype=torch.float64, requires_grad=True)
    _, last = layer(torch.randn(1, 50, 1, dtype=torch.float64), first)
    (slope,) = torch.autograd.grad(last.sum(), first)
    assert slope.item() == pytest.approx(weight**50, rel=1e-12)
    assert slope.item() == pytest.approx(power, rel=1e-4)
