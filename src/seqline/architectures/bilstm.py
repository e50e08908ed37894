"""bilstm: a text read from both ends by LSTMs.

    forward    (h_t, c_t) = LSTM(h_{t-1}, c_{t-1}, x_t)           t = 1 ... S
    backward   (h'_t, c'_t) = LSTM'(h'_{t+1}, c'_{t+1}, x_t)      t = S ... 1
    features   [h_t; h'_t], which sees the whole text at every t; layers above read these

All else is `birnn`.
Source: Graves & Schmidhuber 2005, "Framewise phoneme classification with bidirectional LSTM and other neural network
    architectures"; the paper's cells have peepholes, here a setting.
Differs: several layers are allowed; words enter as vectors that are learned.
"""

from __future__ import annotations

from seqline.architectures.recipe import Choices, Ends, Features, Recipe
from seqline.architectures.recurrent_stack import LEARNING_RATE, SIZES, BothWaysSettings, both_ways
from seqline.parts.cells import LSTMCell, PeepholeLSTMCell


class BiLSTMSettings(BothWaysSettings):
    """`peepholes`: the gates see the cell state; there is no fused kernel for it, so it is slower."""

    peepholes: bool = False


def features(settings: BiLSTMSettings, vocab: Ends) -> Features:
    """Build the recipe."""
    cell = PeepholeLSTMCell if settings.peepholes else LSTMCell
    return both_ways(settings, vocab, lambda input_size: cell(input_size, settings.hidden_size))


RECIPE = Recipe(
    name="bilstm",
    title="a text read from both ends by LSTMs",
    paper="Graves & Schmidhuber 2005",
    choices=Choices("LSTM, twice", "both directions", "-", "-", "-", "-", "none"),
    settings=BiLSTMSettings,
    sizes=SIZES,
    learning_rate=LEARNING_RATE,
    features=features,
)
