"""lstm: a state that three gates protect.

    gates      i, f, o = sigma(W x_n + U h_{n-1} + b)         input, forget, output
    candidate  g = tanh(W_g x_n + U_g h_{n-1} + b_g)
    cell state c_n = f * c_{n-1} + i * g                      the long memory: only scaled and added to
    output     h_n = o * tanh(c_n),  p(y_{n+1} | y_<=n) = softmax(E tanh(W_z h_n) + b)
    training   maximize sum over n of log p(y_n | y_<n)

Symbols: x_n the embedding of y_n, E its table; with `peepholes` the gates see the cell state too (`PeepholeLSTMCell`).
Source: Hochreiter & Schmidhuber 1997; the forget gate Gers et al. 2000, its bias 1 at the start; peepholes Gers & Schmidhuber
    2000.
Differs: gradients flow through all gates (the 1997 paper cuts some); the head shares the embedding's table.
"""

from __future__ import annotations

from seqline.architectures.recipe import Choices, Recipe
from seqline.architectures.recurrent_stack import LEARNING_RATE, SIZES, StackSettings, features, language_model
from seqline.parts.cells import Cell, LSTMCell, PeepholeLSTMCell


class LSTMSettings(StackSettings):
    """`peepholes`: the gates see the cell state; there is no fused kernel for it, so it is slower."""

    peepholes: bool = False

    def make_cell(self, input_size: int) -> Cell:
        """Return one layer's cell."""
        return (PeepholeLSTMCell if self.peepholes else LSTMCell)(input_size, self.hidden_size)


RECIPE = Recipe(
    name="lstm",
    title="a cell state that gates protect",
    paper="Hochreiter & Schmidhuber 1997",
    choices=Choices("LSTM", "one direction", "-", "never", "-", "-", "none"),
    settings=LSTMSettings,
    sizes=SIZES,
    learning_rate=LEARNING_RATE,
    language_model=language_model,
    features=features,
    carries_state=True,
)
