"""gru: two gates and one state.

    gates      r, z = sigma(W x_n + U h_{n-1} + b)            reset, update
    candidate  u = tanh(W_u x_n + b_u + r * (U_u h_{n-1} + c_u))
    state      h_n = (1 - z) * u + z * h_{n-1}
    output     p(y_{n+1} | y_<=n) = softmax(E tanh(W_z h_n) + b)
    training   maximize sum over n of log p(y_n | y_<n)

Symbols: x_n the embedding of y_n, E its table. With cell `min-gru` gate and candidate see x_n alone, there is no r, and a whole
    text is one scan: z = sigma(W x_n + b), u = W_u x_n + b_u, h_n = (1 - z) * h_{n-1} + z * u (`MinGRUCell`).
Source: Cho et al. 2014 (1406.1078), section 2.3; min-gru Feng et al. 2024 (2410.01201), section 3.1.
Differs: the reset gate acts after the matrix product, as in torch.nn.GRU; the head shares the embedding's table; for
    `min-gru`, the paper's blocks around the cell are left out.
"""

from __future__ import annotations

from typing import Literal

from seqline.architectures.recipe import Choices, Recipe
from seqline.architectures.recurrent_stack import LEARNING_RATE, SIZES, StackSettings, features, language_model
from seqline.parts.cells import Cell, GRUCell
from seqline.parts.linear_cells import MinGRUCell


class GRUSettings(StackSettings):
    """`cell`: the gated unit, or its minimal form that runs as a scan."""

    cell: Literal["gru", "min-gru"] = "gru"

    def make_cell(self, input_size: int) -> Cell:
        """Return one layer's cell."""
        return (GRUCell if self.cell == "gru" else MinGRUCell)(input_size, self.hidden_size)


RECIPE = Recipe(
    name="gru",
    title="two gates and one state",
    paper="Cho et al. 2014 (1406.1078)",
    choices=Choices("GRU or minGRU", "one direction", "-", "never", "-", "-", "none"),
    settings=GRUSettings,
    sizes=SIZES,
    learning_rate=LEARNING_RATE,
    language_model=language_model,
    features=features,
    carries_state=True,
)
