"""Recurrent cells, one step of time each: Elman (1990), LSTM (Hochreiter & Schmidhuber 1997), GRU (Cho et al. 2014).

A cell maps an input and a state to an output and the next state. Its parameters have the names, shapes and gate order of
`torch.nn.RNN`, `LSTM` and `GRU` (one layer), so that `fused` can hand a whole sequence to torch's kernel on the same weights.
Cells whose state enters linearly, and which therefore need no loop, are in parts/linear_cells.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import nn

from seqline.shapes import Bool, Float, Tensor
from seqline.watch import is_watched, show


class Cell(nn.Module, ABC):
    """One step of a recurrent layer, and a faster way along a whole sequence where there is one.

    Args:
        input_size: width of the input x_t.
        hidden_size: width of the output h_t.

    shown_as: the part's name in frames, for which the loop runs instead of `fused`; "": any.
    """

    shown_as: str = ""

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.input_size, self.hidden_size = input_size, hidden_size

    @abstractmethod
    def initial_state(self, batch_size: int) -> Any:
        """Return zeros for `batch_size` rows."""

    @abstractmethod
    def output_of(self, state: Any) -> Float[Tensor, "B D"]:
        """Return the h that belongs to a state."""

    @abstractmethod
    def forward(self, x: Float[Tensor, "B I"], state: Any) -> tuple[Float[Tensor, "B D"], Any]:
        """Take one step: input x_t and the state before it to output h_t and the state after it."""

    def fused(
        self, x: Float[Tensor, "B T I"], state: Any, is_real: Bool[Tensor, "B T"] | None
    ) -> tuple[Tensor, Any] | None:
        """Run a right-padded sequence without the loop; the state stops at each row's last real input.

        Returns:
            Outputs [B T D] and the state, or None where there is no faster way than the loop.
        """
        return None


def state_after(
    states: Float[Tensor, "B T D"], is_real: Bool[Tensor, "B T"] | None, before: Float[Tensor, "B D"]
) -> Float[Tensor, "B D"]:
    """Return each row's state after its last real input, `before` where a row has none.

    Args:
        states: the state after every input.
        is_real: right-padded; None = all real.
        before: the state before the first input.
    """
    if is_real is None:
        return states[:, -1]
    lengths = is_real.sum(1)
    final = states[torch.arange(len(states), device=states.device), (lengths - 1).clamp(min=0)]
    return torch.where((lengths > 0)[:, None], final, before)


class _WeightedCell(Cell):
    """A cell whose gates are made of W_ih x + b_ih and W_hh h + b_hh, `num_gates` blocks of rows in torch's order."""

    num_gates: int

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size, hidden_size)
        rows = self.num_gates * hidden_size
        self.weight_ih = nn.Parameter(torch.empty(rows, input_size))
        self.weight_hh = nn.Parameter(torch.empty(rows, hidden_size))
        self.bias_ih = nn.Parameter(torch.zeros(rows))
        self.bias_hh = nn.Parameter(torch.zeros(rows))
        # Input weights by Glorot (2010), recurrent weights orthogonal, gate by gate.
        for gate in self.weight_ih.data.chunk(self.num_gates):
            nn.init.xavier_uniform_(gate)
        for gate in self.weight_hh.data.chunk(self.num_gates):
            nn.init.orthogonal_(gate)

    def weights(self) -> list[Tensor]:
        """Return the parameters in the order torch's fused kernels take them."""
        return [self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh]

    def gates(self, x: Float[Tensor, "B I"], h: Float[Tensor, "B D"]) -> Float[Tensor, "B G"]:
        """Return W_ih x + b_ih + W_hh h + b_hh."""
        return x @ self.weight_ih.T + self.bias_ih + h @ self.weight_hh.T + self.bias_hh


class _HiddenCell(_WeightedCell):
    """A cell whose state is its output, so the state after any number of steps can be read off the outputs."""

    def initial_state(self, batch_size: int) -> Float[Tensor, "B D"]:
        return self.weight_hh.new_zeros(batch_size, self.hidden_size)

    def output_of(self, state: Float[Tensor, "B D"]) -> Float[Tensor, "B D"]:
        return state

    def kernel(self, x: Tensor, state: Tensor) -> Tensor | None:
        """Return the outputs [B T D] of torch's kernel, or None where torch has none."""
        return None

    def fused(self, x: Tensor, state: Tensor, is_real: Tensor | None) -> tuple[Tensor, Tensor] | None:
        outputs = self.kernel(x, state)
        return None if outputs is None else (outputs, state_after(outputs, is_real, state))


class _ElmanCell(_HiddenCell):
    """h_t = activation(W_ih x_t + b_ih + W_hh h_{t-1} + b_hh)."""

    num_gates = 1
    shown_as = "simple cell"

    @abstractmethod
    def activation(self, total: Float[Tensor, "B D"]) -> Float[Tensor, "B D"]:
        """Return the output for the sum of what comes in."""

    def forward(self, x: Float[Tensor, "B I"], state: Float[Tensor, "B D"]) -> tuple[Tensor, Tensor]:
        h = self.activation(self.gates(x, state))
        if is_watched(self.shown_as):
            wx, uh = x @ self.weight_ih.T + self.bias_ih, state @ self.weight_hh.T + self.bias_hh
            show(self.shown_as, x=x, wx=wx, uh=uh, h=h, h_before=state)
        return h, h


class SimpleCell(_ElmanCell):
    """h_t = tanh(W_ih x_t + b_ih + W_hh h_{t-1} + b_hh).

    Args:
        input_size: I, width of x_t [B I].
        hidden_size: D, width of h_t [B D], which is the state too.

    Source: Elman 1990, "Finding structure in time".
    Differs: tanh where the paper has the logistic function; two biases, as in torch.nn.RNN.
    """

    def activation(self, total: Float[Tensor, "B D"]) -> Float[Tensor, "B D"]:
        return torch.tanh(total)

    def kernel(self, x: Tensor, state: Tensor) -> Tensor:
        return torch.rnn_tanh(x, state[None], self.weights(), True, 1, 0.0, False, False, True)[0]


class SimpleReluCell(_ElmanCell):
    """h_t = max(0, W_ih x_t + b_ih + W_hh h_{t-1} + b_hh): `SimpleCell` with a rectifier.

    Args:
        input_size: I, width of x_t [B I].
        hidden_size: D, width of h_t [B D], which is the state too.
    """

    def activation(self, total: Float[Tensor, "B D"]) -> Float[Tensor, "B D"]:
        return torch.relu(total)

    def kernel(self, x: Tensor, state: Tensor) -> Tensor:
        return torch.rnn_relu(x, state[None], self.weights(), True, 1, 0.0, False, False, True)[0]


class SimpleIdentityCell(_ElmanCell):
    """h_t = W_ih x_t + b_ih + W_hh h_{t-1} + b_hh: `SimpleCell` without an activation.

    Of width 1 it is h_t = u x_t + w h_{t-1} + b: what stood in the state 50 steps ago counts w^50 times, and so does its
    gradient. That is the whole argument for gates. torch has no kernel for it, so the loop runs.

    Args:
        input_size: I, width of x_t [B I].
        hidden_size: D, width of h_t [B D], which is the state too.
    """

    def activation(self, total: Float[Tensor, "B D"]) -> Float[Tensor, "B D"]:
        return total


class GRUCell(_HiddenCell):
    """r, z = sigma(W x + U h);  n = tanh(W_n x + r * (U_n h));  h_t = (1 - z) * n + z * h_{t-1}.

    Symbols: r reset, z update, n candidate.

    Args:
        input_size: I, width of x_t [B I].
        hidden_size: D, width of h_t [B D], which is the state too.

    Source: Cho et al. 2014 (1406.1078), section 2.3.
    Differs: the reset gate acts after the matrix product, as in torch.nn.GRU; the paper applies it before.
    """

    num_gates = 3
    shown_as = "gru cell"

    def forward(self, x: Float[Tensor, "B I"], state: Float[Tensor, "B D"]) -> tuple[Tensor, Tensor]:
        x_r, x_z, x_n = (x @ self.weight_ih.T + self.bias_ih).chunk(3, dim=-1)
        h_r, h_z, h_n = (state @ self.weight_hh.T + self.bias_hh).chunk(3, dim=-1)
        reset, update = torch.sigmoid(x_r + h_r), torch.sigmoid(x_z + h_z)
        candidate = torch.tanh(x_n + reset * h_n)
        h = (1 - update) * candidate + update * state
        show(self.shown_as, x=x, reset=reset, update=update, candidate=candidate, h=h, h_before=state)
        return h, h

    def kernel(self, x: Tensor, state: Tensor) -> Tensor:
        return torch.gru(x, state[None], self.weights(), True, 1, 0.0, False, False, True)[0]


class _PairCell(_WeightedCell):
    """A cell whose state is the pair (h, c); its forget gate's bias starts at 1, so that it starts by remembering."""

    num_gates = 4
    shown_as = "lstm cell"

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size, hidden_size)
        self.bias_ih.data[hidden_size : 2 * hidden_size] = 1.0

    def initial_state(self, batch_size: int) -> tuple[Float[Tensor, "B D"], Float[Tensor, "B D"]]:
        zeros = self.weight_hh.new_zeros(batch_size, self.hidden_size)
        return zeros, zeros.clone()

    def output_of(self, state: tuple[Tensor, Tensor]) -> Float[Tensor, "B D"]:
        return state[0]

    def show_step(
        self, x: Tensor, before: tuple[Tensor, Tensor], after: tuple[Tensor, Tensor], **gates: Tensor
    ) -> None:
        """Show a step: what came in, the gates, and the states around it."""
        (h_before, c_before), (h, c) = before, after
        show(self.shown_as, x=x, **gates, c=c, h=h, h_before=h_before, c_before=c_before)


class LSTMCell(_PairCell):
    """i, f, o = sigma(W x + U h);  g = tanh(W_g x + U_g h);  c_t = f * c_{t-1} + i * g;  h_t = o * tanh(c_t).

    Symbols: i input gate, f forget gate, g candidate, o output gate, c cell state.

    Args:
        input_size: I, width of x_t [B I].
        hidden_size: D, width of h_t and c_t [B D]; the state is the pair (h_t, c_t).

    Source: Hochreiter & Schmidhuber 1997, with the forget gate of Gers et al. 2000, whose bias starts at 1.
    """

    def forward(
        self, x: Float[Tensor, "B I"], state: tuple[Float[Tensor, "B D"], Float[Tensor, "B D"]]
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        h, c = state
        i, f, g, o = self.gates(x, h).chunk(4, dim=-1)
        input_gate, forget_gate, output_gate = torch.sigmoid(i), torch.sigmoid(f), torch.sigmoid(o)
        candidate = torch.tanh(g)
        c = forget_gate * c + input_gate * candidate
        h = output_gate * torch.tanh(c)
        gates = {"input": input_gate, "forget": forget_gate, "candidate": candidate, "output": output_gate}
        self.show_step(x, state, (h, c), **gates)
        return h, (h, c)

    def fused(
        self, x: Tensor, state: tuple[Tensor, Tensor], is_real: Tensor | None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        h, c = state
        if is_real is None or bool(is_real.all()):
            outputs, h, c = torch.lstm(x, (h[None], c[None]), self.weights(), True, 1, 0.0, False, False, True)
            return outputs, (h[0], c[0])
        # c is not among the outputs, so each row must stop at its own end: packed, longest row first.
        lengths = is_real.sum(1)
        packed = nn.utils.rnn.pack_padded_sequence(
            x, lengths.clamp(min=1).cpu(), batch_first=True, enforce_sorted=False
        )
        order = packed.sorted_indices
        data, h_end, c_end = torch.lstm(
            packed.data,
            packed.batch_sizes,
            (h[None, order], c[None, order]),
            self.weights(),
            True,
            1,
            0.0,
            False,
            False,
        )
        outputs, _ = nn.utils.rnn.pad_packed_sequence(
            packed._replace(data=data), batch_first=True, total_length=x.shape[1]
        )
        back = packed.unsorted_indices
        has_read = (lengths > 0)[:, None]
        return outputs, (torch.where(has_read, h_end[0, back], h), torch.where(has_read, c_end[0, back], c))


class PeepholeLSTMCell(_PairCell):
    """i, f = sigma(W x + U h + p * c_{t-1});  g = tanh(W_g x + U_g h);  c_t = f * c_{t-1} + i * g;
    o = sigma(W_o x + U_o h + p_o * c_t);  h_t = o * tanh(c_t).

    Symbols: p_i, p_f, p_o the peepholes, one weight a cell each (rows of `peepholes`); all else as in `LSTMCell`.

    Args:
        input_size: I, width of x_t [B I].
        hidden_size: D, width of h_t and c_t [B D]; the state is the pair (h_t, c_t).

    Source: Gers & Schmidhuber 2000, "Recurrent nets that time and count"; Gers et al. 2002.
    Differs: the gates see h_{t-1} too, where the papers' cells may see the cell state alone. torch has no kernel for it.
    """

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size, hidden_size)
        self.peepholes = nn.Parameter(torch.empty(3, hidden_size).uniform_(-1, 1) * hidden_size**-0.5)

    def forward(
        self, x: Float[Tensor, "B I"], state: tuple[Float[Tensor, "B D"], Float[Tensor, "B D"]]
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        h, c = state
        see_input, see_forget, see_output = self.peepholes
        i, f, g, o = self.gates(x, h).chunk(4, dim=-1)
        input_gate, forget_gate = torch.sigmoid(i + see_input * c), torch.sigmoid(f + see_forget * c)
        candidate = torch.tanh(g)
        c = forget_gate * c + input_gate * candidate
        output_gate = torch.sigmoid(o + see_output * c)
        h = output_gate * torch.tanh(c)
        gates = {"input": input_gate, "forget": forget_gate, "candidate": candidate, "output": output_gate}
        self.show_step(x, state, (h, c), **gates)
        return h, (h, c)


CELLS: dict[str, type[Cell]] = {
    "simple": SimpleCell,
    "simple-relu": SimpleReluCell,
    "simple-identity": SimpleIdentityCell,
    "lstm": LSTMCell,
    "lstm-peepholes": PeepholeLSTMCell,
    "gru": GRUCell,
}
