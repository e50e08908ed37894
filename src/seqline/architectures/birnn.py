"""birnn: a text read from both ends.

    forward    h_t = f(h_{t-1}, x_t)                     t = 1 ... S
    backward   h'_t = f'(h'_{t+1}, x_t)                  t = S ... 1
    features   [h_t; h'_t], which sees the whole text at every t; layers above read these

Symbols: f and f' cells with weights of their own.
Source: Schuster & Paliwal 1997, "Bidirectional recurrent neural networks", with an Elman cell.
Differs: several layers, and a GRU, are allowed; words enter as vectors that are learned. Having read the end, it can label
    and classify a text and cannot continue one.
"""

from __future__ import annotations

from typing import Literal

from seqline.architectures.recipe import Choices, Features, Recipe, Vocabulary
from seqline.architectures.recurrent_stack import LEARNING_RATE, SIZES, BothWaysSettings, both_ways
from seqline.parts.cells import CELLS


class BiRNNSettings(BothWaysSettings):
    """`cell`: of both directions."""

    cell: Literal["simple", "gru"] = "simple"


def features(settings: BiRNNSettings, vocab: Vocabulary) -> Features:
    """Build the recipe."""
    return both_ways(settings, vocab, lambda input_size: CELLS[settings.cell](input_size, settings.hidden_size))


RECIPE = Recipe(
    name="birnn",
    title="a text read from both ends",
    paper="Schuster & Paliwal 1997",
    choices=Choices("simple cell or GRU, twice", "both directions", "-", "-", "-", "-", "none"),
    settings=BiRNNSettings,
    sizes=SIZES,
    learning_rate=LEARNING_RATE,
    features=features,
)
