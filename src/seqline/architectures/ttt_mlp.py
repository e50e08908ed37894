"""ttt-mlp: a hidden state that is a network of two layers, trained on the text while it reads.

    inner model  f(x; W) = x + LN(GELU(x W_1 + b_1) W_2 + b_2),  the width between them four times that of a head

All else is `ttt-linear`, eta_base 0.1.
Source: Sun et al. 2024 (2407.04620), section 2.7.
Differs: as `ttt-linear`; GELU is exact, where the authors' code has its tanh form.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from seqline.architectures.recipe import Recipe
from seqline.architectures.ttt_linear import (
    CHOICES,
    LEARNING_RATE,
    SIZES,
    TTTSettings,
    build,
    features,
    language_model,
)


class TTTMLPSettings(TTTSettings):
    """As for `ttt-linear`."""

    growths: ClassVar[tuple[int, ...]] = (1, 4, 1)

    inner_learning_rate: float = Field(default=0.1, gt=0.0, le=100.0)


RECIPE = Recipe(
    name="ttt-mlp",
    title="a hidden state that is a network of two layers, trained while it reads",
    paper="Sun et al. 2024 (2407.04620)",
    choices=CHOICES,
    settings=TTTMLPSettings,
    sizes=SIZES,
    learning_rate=LEARNING_RATE,
    build=build,
    language_model=language_model,
    features=features,
)
