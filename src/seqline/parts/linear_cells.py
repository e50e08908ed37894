"""Cells whose gates see the input alone: SSRU (Kim et al. 2019) and minGRU (Feng et al. 2024).

The state enters linearly, c_t = a_t * c_{t-1} + b_t, so a whole sequence is one scan (parts/scan.py) rather than a loop.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import NamedTuple

import torch
from torch import nn

from seqline.parts.cells import Cell, state_after
from seqline.parts.scan import scan
from seqline.shapes import Bool, Float, Tensor
from seqline.watch import is_watched, show


class Gated(NamedTuple):
    """What a step makes of its input alone: the share of the old state that stays, and what is added to it."""

    decay: Tensor
    added: Tensor


class _LinearCell(Cell):
    """c_t = decay_t * c_{t-1} + added_t, both made of x_t alone; h_t is a function of c_t; the state is c."""

    shown_as = "linear cell"

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size, hidden_size)
        self.gate = nn.Linear(input_size, hidden_size)
        nn.init.xavier_uniform_(self.gate.weight)
        nn.init.zeros_(self.gate.bias)

    @abstractmethod
    def gated(self, x: Float[Tensor, "*shape I"]) -> Gated:
        """Return decay and addition for each input."""

    def initial_state(self, batch_size: int) -> Float[Tensor, "B D"]:
        """Return zeros for `batch_size` rows."""
        return self.gate.weight.new_zeros(batch_size, self.hidden_size)

    def forward(self, x: Float[Tensor, "B I"], state: Float[Tensor, "B D"]) -> tuple[Tensor, Tensor]:
        """Take one step."""
        decay, added = self.gated(x)
        c = decay * state + added
        h = self.output_of(c)
        if is_watched(self.shown_as):
            h_before = self.output_of(state)
            show(self.shown_as, x=x, decay=decay, added=added, c=c, h=h, c_before=state, h_before=h_before)
        return h, c

    def fused(
        self, x: Float[Tensor, "B T I"], state: Float[Tensor, "B D"], is_real: Bool[Tensor, "B T"] | None
    ) -> tuple[Tensor, Tensor]:
        """Run a right-padded sequence as one scan."""
        c = scan(*self.gated(x), state)
        return self.output_of(c), state_after(c, is_real, state)


class SSRUCell(_LinearCell):
    """f_t = sigma(W_f x_t + b_f);  c_t = f_t * c_{t-1} + (1 - f_t) * (W x_t);  h_t = max(0, c_t).

    Symbols: f forget gate (`gate`), W `candidate`, c the state.

    Args:
        input_size: I, width of x_t [B I].
        hidden_size: D, width of h_t and of the state c_t [B D].

    Source: Kim et al. 2019, "From research to production and back: ludicrously fast neural machine translation" (WNGT), where it
        stands in the place of a Transformer decoder's self-attention.
    """

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size, hidden_size)
        self.candidate = nn.Linear(input_size, hidden_size, bias=False)
        nn.init.xavier_uniform_(self.candidate.weight)

    def gated(self, x: Float[Tensor, "*shape I"]) -> Gated:
        """Return f and (1 - f) * (W x)."""
        forget = torch.sigmoid(self.gate(x))
        return Gated(forget, (1 - forget) * self.candidate(x))

    def output_of(self, state: Float[Tensor, "*shape D"]) -> Float[Tensor, "*shape D"]:
        """Return max(0, c)."""
        return torch.relu(state)


class MinGRUCell(_LinearCell):
    """z_t = sigma(W_z x_t + b_z);  h_t = (1 - z_t) * h_{t-1} + z_t * (W_h x_t + b_h).

    Symbols: z update gate (`gate`), W_h `candidate`; the state is h.

    Args:
        input_size: I, width of x_t [B I].
        hidden_size: D, width of h_t [B D], which is the state too.

    Source: Feng et al. 2024 (2410.01201), section 3.1.
    Differs: the paper's code computes in logarithms, for which its appendix passes the candidate through a positive g; here
        the scan needs no logarithms, so the candidate stays linear, as in the section's equations.
    """

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size, hidden_size)
        self.candidate = nn.Linear(input_size, hidden_size)
        nn.init.xavier_uniform_(self.candidate.weight)
        nn.init.zeros_(self.candidate.bias)

    def gated(self, x: Float[Tensor, "*shape I"]) -> Gated:
        """Return 1 - z and z * (W_h x + b_h)."""
        update = torch.sigmoid(self.gate(x))
        return Gated(1 - update, update * self.candidate(x))

    def output_of(self, state: Float[Tensor, "*shape D"]) -> Float[Tensor, "*shape D"]:
        """Return h, which is the state."""
        return state


LINEAR_CELLS: dict[str, type[Cell]] = {"ssru": SSRUCell, "min-gru": MinGRUCell}
