"""The cells that torch lacks, by hand in NumPy, and how cells start."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from seqline.parts.cells import CELLS, LSTMCell, PeepholeLSTMCell, SimpleIdentityCell
from seqline.parts.linear_cells import LINEAR_CELLS
from seqline.parts.recurrent import Recurrent
from seqline.state import tensors_of
from seqline.watch import watch

from ..small_models import assert_equal, gradients, random_weights

INPUT_SIZE, HIDDEN_SIZE, BATCH, LENGTH = 3, 5, 4, 6


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def values(module: torch.nn.Module) -> dict[str, Any]:
    return {name: parameter.detach().numpy() for name, parameter in module.named_parameters()}


def test_peepholes_by_hand() -> None:
    cell = random_weights(PeepholeLSTMCell(INPUT_SIZE, HIDDEN_SIZE))
    x = torch.randn(BATCH, LENGTH, INPUT_SIZE, dtype=torch.float64)
    first = torch.randn(BATCH, HIDDEN_SIZE, dtype=torch.float64), torch.randn(BATCH, HIDDEN_SIZE, dtype=torch.float64)
    outputs, (h_end, c_end) = Recurrent(cell)(x, first)
    w = values(cell)
    for row in range(BATCH):
        h, c = first[0][row].numpy(), first[1][row].numpy()
        for t in range(LENGTH):
            total = w["weight_ih"] @ x[row, t].numpy() + w["bias_ih"] + w["weight_hh"] @ h + w["bias_hh"]
            i, f, g, o = np.split(total, 4)
            see_i, see_f, see_o = w["peepholes"]
            new = sigmoid(f + see_f * c) * c + sigmoid(i + see_i * c) * np.tanh(g)
            h, c = sigmoid(o + see_o * new) * np.tanh(new), new
            np.testing.assert_allclose(outputs[row, t].detach().numpy(), h, atol=1e-12)
        np.testing.assert_allclose(h_end[row].detach().numpy(), h, atol=1e-12)
        np.testing.assert_allclose(c_end[row].detach().numpy(), c, atol=1e-12)


def test_an_lstm_with_peepholes_at_zero_is_an_lstm() -> None:
    plain, cell = LSTMCell(INPUT_SIZE, HIDDEN_SIZE), PeepholeLSTMCell(INPUT_SIZE, HIDDEN_SIZE)
    random_weights(cell)
    plain.double().load_state_dict({k: v for k, v in cell.state_dict().items() if k != "peepholes"})
    with torch.no_grad():
        cell.peepholes.zero_()
    x = torch.randn(BATCH, LENGTH, INPUT_SIZE, dtype=torch.float64)
    (got, got_end), (expected, end) = (Recurrent(c)(x, c.initial_state(BATCH)) for c in (cell, plain))
    assert_equal([got, *tensors_of(got_end)], [expected, *tensors_of(end)])


def test_ssru_by_hand() -> None:
    cell: Any = random_weights(LINEAR_CELLS["ssru"](INPUT_SIZE, HIDDEN_SIZE))
    x, c = torch.randn(LENGTH, INPUT_SIZE, dtype=torch.float64), np.linspace(-1, 1, HIDDEN_SIZE)
    outputs, end = Recurrent(cell)(x[None], torch.tensor(c)[None])
    w = values(cell)
    for t in range(LENGTH):
        forget = sigmoid(w["gate.weight"] @ x[t].numpy() + w["gate.bias"])
        c = forget * c + (1 - forget) * (w["candidate.weight"] @ x[t].numpy())
        np.testing.assert_allclose(outputs[0, t].detach().numpy(), np.maximum(c, 0), atol=1e-12)
    np.testing.assert_allclose(end[0].detach().numpy(), c, atol=1e-12)
    assert (c < 0).any()  # the state is not rectified, the output is


def test_min_gru_by_hand() -> None:
    cell: Any = random_weights(LINEAR_CELLS["min-gru"](INPUT_SIZE, HIDDEN_SIZE))
    x, h = torch.randn(LENGTH, INPUT_SIZE, dtype=torch.float64), np.linspace(-1, 1, HIDDEN_SIZE)
    outputs, end = Recurrent(cell)(x[None], torch.tensor(h)[None])
    w = values(cell)
    for t in range(LENGTH):
        update = sigmoid(w["gate.weight"] @ x[t].numpy() + w["gate.bias"])
        h = (1 - update) * h + update * (w["candidate.weight"] @ x[t].numpy() + w["candidate.bias"])
        np.testing.assert_allclose(outputs[0, t].detach().numpy(), h, atol=1e-12)
    np.testing.assert_allclose(end[0].detach().numpy(), h, atol=1e-12)


@pytest.mark.parametrize("w", [0.9, 1.0, 1.1])
def test_fifty_steps_raise_the_weight_to_the_fiftieth_power(w: float) -> None:
    cell = SimpleIdentityCell(1, 1).double()
    with torch.no_grad():
        cell.weight_hh.fill_(w)
        cell.weight_ih.fill_(1.0)
    first = torch.ones(1, 1, dtype=torch.float64, requires_grad=True)
    outputs, end = Recurrent(cell)(torch.zeros(1, 50, 1, dtype=torch.float64), first)
    assert end.item() == pytest.approx(w**50, rel=1e-12)
    (slope,) = torch.autograd.grad(outputs[0, -1, 0], first)
    assert slope.item() == pytest.approx(w**50, rel=1e-12)


@pytest.mark.parametrize("kind", ["lstm", "lstm-peepholes"])
def test_an_lstm_starts_by_remembering(kind: str) -> None:
    cell: Any = CELLS[kind](INPUT_SIZE, HIDDEN_SIZE)
    assert cell.bias_ih.view(4, HIDDEN_SIZE).tolist() == [[gate] * HIDDEN_SIZE for gate in (0.0, 1.0, 0.0, 0.0)]
    assert cell.bias_hh.count_nonzero() == 0


@pytest.mark.parametrize("kind", CELLS)
def test_recurrent_weights_start_orthogonal(kind: str) -> None:
    cell: Any = CELLS[kind](INPUT_SIZE, HIDDEN_SIZE)
    for gate in cell.weight_hh.chunk(cell.num_gates):
        assert_equal([gate @ gate.T], [torch.eye(HIDDEN_SIZE)], tolerance=1e-5)


@pytest.mark.parametrize("kind", ["lstm", "lstm-peepholes"])
def test_the_gates_are_shown_by_name(kind: str) -> None:
    layer = Recurrent(random_weights(CELLS[kind](INPUT_SIZE, HIDDEN_SIZE)))
    state = layer.initial_state(2)
    with watch() as frames:
        _, (h, c) = layer(torch.randn(2, 3, INPUT_SIZE, dtype=torch.float64), state)
    assert len(frames) == 3
    last = frames[-1].values
    assert {"forget", "input", "output", "candidate"} < set(last)
    assert torch.equal(last["c"], c)
    assert torch.equal(last["output"] * torch.tanh(last["c"]), h)
    assert_equal([last["forget"] * frames[-2].values["c"] + last["input"] * last["candidate"]], [c])


@pytest.mark.parametrize("kind", [*CELLS, *LINEAR_CELLS])
def test_a_detached_state_carries_values_and_no_gradient(kind: str) -> None:
    layer = Recurrent(random_weights({**CELLS, **LINEAR_CELLS}[kind](INPUT_SIZE, HIDDEN_SIZE)))
    x = torch.randn(BATCH, 9, INPUT_SIZE, dtype=torch.float64, requires_grad=True)
    whole, end = layer(x, layer.initial_state(BATCH))
    state, pieces = layer.initial_state(BATCH), []
    for chunk in x.split([4, 4, 1], dim=1):
        y, state = layer(chunk, state)
        state = tuple(s.detach() for s in state) if isinstance(state, tuple) else state.detach()
        pieces.append(y)
    assert_equal([torch.cat(pieces, 1), *tensors_of(state)], [whole, *tensors_of(end)])
    (gradient,) = gradients([x], pieces[1])
    assert (gradient[:, :4] == 0).all()
    assert (gradient[:, 4:8] != 0).any(-1).all()
    assert (gradient[:, 8:] == 0).all()
