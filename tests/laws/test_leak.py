"""What is drawn at random cannot be foretold: a model that foretells it has seen the answer."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch
from torch import nn

from seqline.architectures import ARCHITECTURES
from seqline.architectures.recipe import Vocabulary
from seqline.data.batch import Example, collate, collate_lines
from seqline.training.loss import evaluating, smoothed_cross_entropy
from seqline.training.optimizer import build_optimizer

NUM_WORDS, LENGTH, ROWS, STEPS = 5, 4, 16, 100
SIZE = 4 + NUM_WORDS
BLOCKS = {"embed_size": 16, "num_heads": 2, "inner_size": 16, "num_layers": 1, "dropout": 0.0}
RECURRENT = {"embed_size": 16, "hidden_size": 16, "num_layers": 1, "dropout": 0.0}
SETTINGS: dict[str, dict[str, Any]] = {
    "transformer": BLOCKS,
    "luong": {**RECURRENT, "cell": "gru", "input_feeding": False},
    "gru": RECURRENT,
}


class Guess(NamedTuple):
    """What a model says of random words, and the words."""

    logits: torch.Tensor
    words: torch.Tensor


def random_words(rng: torch.Generator, rows: int) -> list[list[int]]:
    return torch.randint(4, SIZE, (rows, LENGTH), generator=rng).tolist()


def make(name: str) -> tuple[nn.Module, Callable[[nn.Module, torch.Generator, int], Guess]]:
    """Return a model, and what guesses: a translation of a source that has nothing to do with it, or a text."""
    recipe, settings = ARCHITECTURES[name], ARCHITECTURES[name].settings(**SETTINGS[name])
    vocabulary = Vocabulary(SIZE, SIZE, False)

    def translate(model: nn.Module, rng: torch.Generator, rows: int) -> Guess:
        examples = [Example([*s, 3], t) for s, t in zip(random_words(rng, rows), random_words(rng, rows), strict=True)]
        batch = collate(examples, range(rows))
        return Guess(model(batch.source, batch.source_is_real, batch.target_in), batch.target_out)

    def go_on(model: Any, rng: torch.Generator, rows: int) -> Guess:
        batch = collate_lines(random_words(rng, rows), range(rows))
        return Guess(model(batch.inputs, model.initial_state(None, rows))[0], batch.targets)

    if recipe.build is not None:
        return recipe.build(settings, vocabulary), translate
    assert recipe.language_model is not None
    return recipe.language_model(settings, vocabulary), go_on


def nats(guess: Guess) -> torch.Tensor:
    """Return nats per word; the end mark, which every text has at the same place, does not count."""
    is_word = guess.words >= 4
    part = smoothed_cross_entropy(guess.logits, guess.words, is_word, 0.0)
    return part.loss / part.num_tokens


@pytest.mark.parametrize("name", SETTINGS)
def test_random_targets_cannot_be_foretold(name: str, rng: torch.Generator) -> None:
    model, guess = make(name)
    optimizer = build_optimizer(model, 0.02, 0.0)
    for _ in range(STEPS):
        optimizer.zero_grad()
        nats(guess(model, rng, ROWS)).backward()
        optimizer.step()
    with evaluating(model):
        found = nats(guess(model, rng, 1000)).item()
    assert math.log(NUM_WORDS) - 0.05 <= found <= math.log(NUM_WORDS) + 0.2  # it has learnt which ids are words
