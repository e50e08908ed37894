"""birnn: a text read from both ends.

    forward    h_t = f(h_{t-1}, x_t)                     t = 1 ... S
    backward   h'_t = f'(h'_{t+1}, x_t)                  t = S ... 1
    features   [h_t; h'_t], which sees the whole text at every t; layers above read these

Symbols: f and f' cells with weights of their own.
Source: Schuster & Paliwal 1997, "Bidirectional recurrent neural networks", with an Elman cell.
Differs: several layers, and other cells, are allowed; words enter as vectors that are learned. Having read the end, it can label
    and classify a text and cannot continue one.
"""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from seqline.architectures.recipe import Choices, Ends, Features, Recipe
from seqline.architectures.recurrent_stack import (
    LEARNING_RATE,
    SIMPLE_CELLS,
    SIZES,
    Activation,
    BothWaysSettings,
    both_ways,
)
from seqline.parts.cells import CELLS, Cell
from seqline.parts.linear_cells import LINEAR_CELLS


class BiRNNSettings(BothWaysSettings):
    """`cell`: of both directions. `activation`: of the simple cell, tanh when not given."""

    cell: Literal["simple", "gru", "ssru", "min-gru"] = "simple"
    activation: Activation | None = None

    @model_validator(mode="after")
    def _activation_is_the_simple_cells(self) -> BiRNNSettings:
        if self.activation and self.cell != "simple":
            raise ValueError(f"activation is for the simple cell; cell is {self.cell}")
        return self

    def make_cell(self, input_size: int) -> Cell:
        """Return one direction's cell."""
        if self.cell == "simple":
            return SIMPLE_CELLS[self.activation or "tanh"](input_size, self.hidden_size)
        return {**CELLS, **LINEAR_CELLS}[self.cell](input_size, self.hidden_size)


def features(settings: BiRNNSettings, vocab: Ends) -> Features:
    """Build the recipe."""
    return both_ways(settings, vocab, settings.make_cell)


RECIPE = Recipe(
    name="birnn",
    title="a text read from both ends",
    paper="Schuster & Paliwal 1997",
    choices=Choices("any cell, twice", "both directions", "-", "-", "-", "-", "none"),
    settings=BiRNNSettings,
    sizes=SIZES,
    learning_rate=LEARNING_RATE,
    features=features,
)
