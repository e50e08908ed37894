"""Backpropagation through time for the simple RNN, written out in NumPy, against autograd (docs/line/02-simple-rnn.md)."""

from __future__ import annotations

import numpy as np
import pytest

from seqline.architectures import ARCHITECTURES
from seqline.architectures.recipe import Vocabulary

from ..small_models import TOLERANCE, make_batch, random_weights
from .by_hand import ByHand, Vector, one_hot, run, sentences, softmax

TABLE, OUT = "embedding.table.weight", "head.bias"
CELL, READOUT = "layers.layers.1.layers.0.cell", "layers.layers.3.module.project"


def loss_and_gradients(hand: ByHand, words: list[int]) -> tuple[float, dict[str, Vector]]:
    """Return L = -sum over t of log p(x_{t+1} | x_1 ... x_t) and its gradient for every weight, last step first."""
    w = hand.weights
    inputs, expected = words[:-1], words[1:]
    x = hand.embed("", inputs)
    h = run(hand.simple(CELL), x, np.zeros(len(w[f"{CELL}.weight_hh"])))
    grown = {name: np.zeros_like(value) for name, value in w.items()}
    loss, d_after = 0.0, np.zeros_like(h[0])  # d_after: U^T d a_{t+1}
    for t in reversed(range(len(inputs))):
        z = np.tanh(hand.affine(READOUT, h[t]))
        p = softmax(hand.affine("head", z))
        loss -= np.log(p[expected[t]])
        before = h[t - 1] if t else np.zeros_like(h[0])

        d_logits = p - one_hot(expected[t], len(p))
        d_u = (1 - z**2) * (w["head.weight"].T @ d_logits)
        d_h = w[f"{READOUT}.weight"].T @ d_u + d_after
        d_a = (1 - h[t] ** 2) * d_h
        d_after = w[f"{CELL}.weight_hh"].T @ d_a

        grown[TABLE] += np.outer(d_logits, z)  # the head's matrix is the table
        grown[TABLE][inputs[t]] += w[f"{CELL}.weight_ih"].T @ d_a
        grown[OUT] += d_logits
        grown[f"{READOUT}.weight"] += np.outer(d_u, h[t])
        grown[f"{READOUT}.bias"] += d_u
        grown[f"{CELL}.weight_ih"] += np.outer(d_a, x[t])
        grown[f"{CELL}.weight_hh"] += np.outer(d_a, before)
        grown[f"{CELL}.bias_ih"] += d_a
        grown[f"{CELL}.bias_hh"] += d_a
    return float(loss), grown


def test_the_gradient_of_every_weight() -> None:
    recipe = ARCHITECTURES["simple-rnn"]
    assert recipe.language_model is not None
    sizes = {"embed_size": 3, "hidden_size": 4, "num_layers": 1, "dropout": 0.3}
    model = random_weights(recipe.language_model(recipe.settings(**sizes), Vocabulary(11, 11, True)))
    batch, hand = make_batch(), ByHand(model)

    ids, is_real = batch.source, batch.source_is_real
    logits, _ = model(ids[:, :-1], model.initial_state(None, len(ids)), None, is_real[:, :-1])
    log_probs = logits.log_softmax(-1).gather(2, ids[:, 1:, None])[..., 0]
    loss = -log_probs[is_real[:, 1:]].sum()
    loss.backward()

    found = [loss_and_gradients(hand, words) for words in sentences(ids, is_real)]
    assert sum(part for part, _ in found) == pytest.approx(loss.item(), abs=TOLERANCE)
    parameters = dict(model.named_parameters())
    assert len(parameters) == 8
    for name, parameter in parameters.items():
        assert parameter.grad is not None
        by_hand = sum(grown[name] for _, grown in found)
        assert np.abs(by_hand).max() > 1e-3
        assert np.abs(parameter.grad.numpy() - by_hand).max() <= TOLERANCE, name
