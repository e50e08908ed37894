"""simple-rnn: a state carried from word to word.

    state      h_n = f(W y_n + U h_{n-1} + b),  h_0 = 0      f tanh, max(0, .) or the identity
    output     p(y_{n+1} | y_<=n) = softmax(E tanh(W_z h_n) + b)
    training   maximize sum over n of log p(y_n | y_<n), by backpropagation through time

Symbols: W `weight_ih`, U `weight_hh`, E the embedding's table, W_z the layer before the head.
    With one unit, U = w, and f the identity, d h_n / d h_{n-50} = w^50: below 1 the past is forgotten, above 1 it explodes.
Source: Elman 1990, "Finding structure in time".
Differs: tanh where the paper has the logistic function; several layers; words enter as vectors that are learned, and the head
    shares their table. As features it labels or classifies from the h_n.
"""

from __future__ import annotations

from seqline.architectures.recipe import Choices, Recipe
from seqline.architectures.recurrent_stack import (
    LEARNING_RATE,
    SIMPLE_CELLS,
    SIZES,
    Activation,
    StackSettings,
    features,
    language_model,
)
from seqline.parts.cells import Cell


class SimpleRNNSettings(StackSettings):
    """`activation`: f in the equation."""

    activation: Activation = "tanh"

    def make_cell(self, input_size: int) -> Cell:
        """Return one layer's cell."""
        return SIMPLE_CELLS[self.activation](input_size, self.hidden_size)


RECIPE = Recipe(
    name="simple-rnn",
    title="a state carried from word to word",
    paper="Elman 1990",
    choices=Choices("simple cell", "one direction", "-", "never", "-", "-", "none"),
    settings=SimpleRNNSettings,
    sizes=SIZES,
    learning_rate=LEARNING_RATE,
    language_model=language_model,
    features=features,
    carries_state=True,
)
