"""The readable cells are torch's: outputs, final states, all gradients; and the fused path is the loop."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from seqline.parts.cells import CELLS, Cell
from seqline.parts.linear_cells import LINEAR_CELLS
from seqline.parts.recurrent import Recurrent, Stack, is_right_padded, unroll
from seqline.state import tensors_of
from seqline.watch import watch

from ..small_models import assert_equal, gradients, random_weights, right_padded

REFERENCES: dict[str, Any] = {
    "simple": nn.RNN,
    "simple-relu": partial(nn.RNN, nonlinearity="relu"),
    "gru": nn.GRU,
    "lstm": nn.LSTM,
}
NO_REFERENCE = {
    "simple-identity",
    "lstm-peepholes",
}  # torch has no such cell; tests/parts/test_cells.py has them by hand
ALL_CELLS = {**CELLS, **LINEAR_CELLS}
FUSABLE = [kind for kind in ALL_CELLS if kind not in NO_REFERENCE]
INPUT_SIZE, HIDDEN_SIZE, BATCH, LENGTH = 3, 5, 4, 7
RIGHT_PADDED = [[7, 1, 4, 0], [3, 0, 2, 1], [7, 7, 7, 7], [0, 0, 0, 0]]

every_cell = pytest.mark.parametrize("kind", ALL_CELLS)
every_fusable_cell = pytest.mark.parametrize("kind", FUSABLE)
every_torch_cell = pytest.mark.parametrize("kind", REFERENCES)


def make_cell(kind: str) -> Cell:
    return random_weights(ALL_CELLS[kind](INPUT_SIZE, HIDDEN_SIZE))


def make_state(kind: str) -> Any:
    h, c = torch.randn(2, BATCH, HIDDEN_SIZE, dtype=torch.float64).requires_grad_().unbind()
    return (h, c) if kind.startswith("lstm") else h


def make_input(mask: Tensor | None = None) -> Tensor:
    x = torch.randn(BATCH, LENGTH, INPUT_SIZE, dtype=torch.float64)
    if mask is not None:
        x[~mask] = 1e4 * x[~mask].sign()  # what stands in the padding must not matter
    return x.requires_grad_()


def test_every_cell_has_a_reference() -> None:
    assert set(REFERENCES) == set(CELLS) - NO_REFERENCE
    assert set(FUSABLE) == set(ALL_CELLS) - NO_REFERENCE


@every_torch_cell
def test_the_loop_is_torchs_layer(kind: str) -> None:
    cell = make_cell(kind)
    reference = REFERENCES[kind](INPUT_SIZE, HIDDEN_SIZE, batch_first=True).double()
    names = [name for name, _ in cell.named_parameters()]
    reference.load_state_dict({f"{name}_l0": weight for name, weight in cell.named_parameters()}, strict=True)
    x, state = make_input(), make_state(kind)

    outputs, final = unroll(cell, x, state, None)
    first = tuple(s[None] for s in state) if kind == "lstm" else state[None]
    expected, expected_final = reference(x, first)

    final, expected_final = (
        tensors_of(final),
        [s[0] for s in tensors_of(expected_final if kind == "lstm" else (expected_final,))],
    )
    assert_equal([outputs, *final], [expected, *expected_final])
    inputs = [x, *tensors_of(state)]
    assert_equal(
        gradients([*cell.parameters(), *inputs], outputs, *final),
        gradients([*(getattr(reference, f"{n}_l0") for n in names), *inputs], expected, *expected_final),
    )


@every_torch_cell
def test_a_stack_is_torchs_layers(kind: str) -> None:
    sizes = [INPUT_SIZE, HIDDEN_SIZE]
    stack = random_weights(Stack([Recurrent(CELLS[kind](size, HIDDEN_SIZE)) for size in sizes], 0.0))
    reference = REFERENCES[kind](INPUT_SIZE, HIDDEN_SIZE, num_layers=2, batch_first=True).double()
    names = {
        f"layers.{depth}.cell.{name}": f"{name}_l{depth}"
        for depth in range(2)
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    }
    reference.load_state_dict({names[name]: weight for name, weight in stack.named_parameters()}, strict=True)
    mask = right_padded([7, 1, 4, 2], LENGTH)
    x = make_input(mask)
    packed = nn.utils.rnn.pack_padded_sequence(x, mask.sum(1), batch_first=True, enforce_sorted=False)
    expected, expected_final = reference(packed)
    expected, _ = nn.utils.rnn.pad_packed_sequence(expected, batch_first=True)

    outputs, final = stack(x, stack.initial_state(BATCH), mask)

    parts = list(zip(*final, strict=True)) if kind == "lstm" else [final]
    states = [torch.stack(layers) for layers in parts]
    expected_states = tensors_of(expected_final if kind == "lstm" else (expected_final,))
    assert_equal([outputs[mask], *states], [expected[mask], *expected_states])
    own = [weight for _, weight in stack.named_parameters()]
    theirs = [getattr(reference, names[name]) for name, _ in stack.named_parameters()]
    assert_equal(
        gradients([*own, x], outputs[mask], *states), gradients([*theirs, x], expected[mask], *expected_states)
    )


@every_fusable_cell
@pytest.mark.parametrize("lengths", [None, *RIGHT_PADDED], ids=str)
def test_the_fused_path_is_the_loop(kind: str, lengths: list[int] | None) -> None:
    cell = make_cell(kind)
    mask = None if lengths is None else right_padded(lengths, LENGTH)
    real = torch.ones(BATCH, LENGTH, dtype=torch.bool) if mask is None else mask
    x, state = make_input(mask), make_state(kind)
    outputs, final = cell.fused(x, state, mask)
    expected, expected_final = unroll(cell, x, state, mask)
    assert outputs.shape == expected.shape
    final, expected_final = tensors_of(final), tensors_of(expected_final)
    assert_equal([outputs[real], *final], [expected[real], *expected_final])
    inputs = [*cell.parameters(), x, *tensors_of(state)]
    found = gradients(inputs, outputs[real], *final)
    assert_equal(found, gradients(inputs, expected[real], *expected_final))
    assert (found[len(list(cell.parameters()))][~real] == 0).all()  # the padding has no gradient


@every_cell
def test_a_row_without_input_keeps_its_state(kind: str) -> None:
    mask, state = right_padded([0, 3, 0, 7], LENGTH), make_state(kind)
    _, final = Recurrent(make_cell(kind))(make_input(mask), state, mask)
    for before, after in zip(tensors_of(state), tensors_of(final), strict=True):
        assert torch.equal(after[[0, 2]], before[[0, 2]])
        assert (after[[1, 3]] != before[[1, 3]]).all()


@every_fusable_cell
def test_right_padding_is_fused_and_anything_else_is_not(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    layer, calls = Recurrent(make_cell(kind)), []
    fused = type(layer.cell).fused

    def counted(*args: Any) -> Any:
        calls.append(args)
        return fused(*args)

    monkeypatch.setattr(type(layer.cell), "fused", counted)
    x, state, holes = make_input(), make_state(kind), right_padded([7, 1, 4, 0], LENGTH).flip(1)
    layer(x, state)
    layer(x, state, right_padded([7, 1, 4, 0], LENGTH))
    assert len(calls) == 2
    layer(x, state, holes)
    with watch():
        layer(x, state)
    assert len(calls) == 2


@every_cell
def test_holes_in_the_mask_are_as_if_cut_out(kind: str) -> None:
    layer, x, state = Recurrent(make_cell(kind)), make_input(), make_state(kind)
    mask = torch.tensor([[0, 1, 0, 0, 1, 1, 0], [1, 1, 0, 1, 0, 0, 0], [0] * 6 + [1], [0] * 7]).bool()
    outputs, final = layer(x, state, mask)
    for row in range(BATCH):
        before = [s[row : row + 1] for s in tensors_of(state)]
        before = tuple(before) if kind.startswith("lstm") else before[0]
        if not mask[row].any():
            assert_equal([s[row : row + 1] for s in tensors_of(final)], tensors_of(before))
            continue
        expected, end = layer(x[row : row + 1, mask[row]], before)
        assert_equal([outputs[row : row + 1, mask[row]]], [expected])
        assert_equal([s[row : row + 1] for s in tensors_of(final)], tensors_of(end))


@every_cell
@pytest.mark.parametrize("lengths", [None, [7, 1, 4, 0]], ids=str)
def test_watching_changes_neither_values_nor_gradients(kind: str, lengths: list[int] | None) -> None:
    layer, state = Recurrent(make_cell(kind)), make_state(kind)
    mask = None if lengths is None else right_padded(lengths, LENGTH)
    real = torch.ones(BATCH, LENGTH, dtype=torch.bool) if mask is None else mask
    x = make_input(mask)
    outputs, final = layer(x, state, mask)
    with watch() as frames:
        watched, watched_final = layer(x, state, mask)
    assert len(frames) == LENGTH
    assert_equal([watched[real], *tensors_of(watched_final)], [outputs[real], *tensors_of(final)])
    inputs = [*layer.parameters(), x, *tensors_of(state)]
    assert_equal(
        gradients(inputs, watched[real], *tensors_of(watched_final)),
        gradients(inputs, outputs[real], *tensors_of(final)),
    )


def test_right_padding_is_recognized() -> None:
    assert is_right_padded(right_padded([3, 0, 1], 3))
    assert not is_right_padded(torch.tensor([[True, True, True], [False, True, False]]))
    assert not is_right_padded(torch.tensor([[True, False, True]]))


@pytest.mark.parametrize("kind", sorted(NO_REFERENCE))
def test_a_cell_without_a_kernel_runs_the_loop(kind: str) -> None:
    layer, x, state = Recurrent(make_cell(kind)), make_input(), make_state(kind)
    outputs, final = layer(x, state)
    expected, expected_final = unroll(layer.cell, x, state, None)
    assert torch.equal(outputs, expected)
    assert_equal(tensors_of(final), tensors_of(expected_final))
    assert layer.cell.fused(x, state, None) is None
