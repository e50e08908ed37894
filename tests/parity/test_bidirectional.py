"""Reading both ways: where each direction ends, the exchange of the two, and torch's packed layers."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from seqline.models.encoder import BidirectionalEncoder
from seqline.parts.cells import CELLS
from seqline.parts.embeddings import Embedding
from seqline.parts.linear_cells import LINEAR_CELLS
from seqline.parts.recurrent import Bidirectional, Recurrent, reverse_real
from seqline.state import tensors_of

from ..small_models import assert_equal, gradients, random_weights, right_padded

REFERENCES: dict[str, Any] = {
    "simple": nn.RNN,
    "simple-relu": partial(nn.RNN, nonlinearity="relu"),
    "gru": nn.GRU,
    "lstm": nn.LSTM,
}
ALL_CELLS = {**CELLS, **LINEAR_CELLS}
INPUT_SIZE, HIDDEN_SIZE = 3, 5
LENGTHS, LENGTH = [4, 1, 7, 6], 9  # the last columns are padding in every row

every_cell = pytest.mark.parametrize("kind", ALL_CELLS)
every_torch_cell = pytest.mark.parametrize("kind", REFERENCES)


def make_layer(kind: str, input_size: int = INPUT_SIZE) -> Bidirectional:
    return random_weights(Bidirectional(*(Recurrent(ALL_CELLS[kind](input_size, HIDDEN_SIZE)) for _ in range(2))))


def make_input() -> tuple[Tensor, Tensor]:
    mask = right_padded(LENGTHS, LENGTH)
    x = torch.randn(len(LENGTHS), LENGTH, INPUT_SIZE, dtype=torch.float64)
    x[~mask] = -1e4
    return x.requires_grad_(), mask


def reference_names(prefix: str, depth: int) -> dict[str, str]:
    return {
        f"{prefix}{direction}.cell.{name}": f"{name}_l{depth}{suffix}"
        for direction, suffix in (("forwards", ""), ("backwards", "_reverse"))
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    }


@every_cell
def test_each_direction_ends_where_its_row_ends(kind: str) -> None:
    (x, mask), layer = make_input(), make_layer(kind)
    outputs, (end, start) = layer(x, mask)
    h_end, h_start = (layer.forwards.cell.output_of(state) for state in (end, start))
    for row, length in enumerate(LENGTHS):
        assert torch.equal(h_end[row], outputs[row, length - 1, :HIDDEN_SIZE])
        assert torch.equal(h_start[row], outputs[row, 0, HIDDEN_SIZE:])


@every_cell
def test_exchanged_directions_on_reversed_rows_exchange_the_halves(kind: str) -> None:
    (x, mask), layer = make_input(), make_layer(kind)
    exchanged = Bidirectional(layer.backwards, layer.forwards)
    outputs, (end, start) = layer(x, mask)
    mirrored, (mirrored_end, mirrored_start) = exchanged(reverse_real(x, mask), mask)
    mirrored = reverse_real(mirrored, mask).roll(HIDDEN_SIZE, dims=-1)
    assert_equal([mirrored[mask]], [outputs[mask]])
    assert_equal(tensors_of((mirrored_start, mirrored_end)), tensors_of((end, start)))


@every_torch_cell
def test_both_ways_is_torchs_packed_layer(kind: str) -> None:
    (x, mask), layer = make_input(), make_layer(kind)
    names = reference_names("", 0)
    reference = REFERENCES[kind](INPUT_SIZE, HIDDEN_SIZE, batch_first=True, bidirectional=True).double()
    reference.load_state_dict({names[n]: weight for n, weight in layer.named_parameters()}, strict=True)
    packed = nn.utils.rnn.pack_padded_sequence(x, torch.tensor(LENGTHS), batch_first=True, enforce_sorted=False)
    expected, ends = reference(packed)
    expected, _ = nn.utils.rnn.pad_packed_sequence(expected, batch_first=True, total_length=LENGTH)

    outputs, final = layer(x, mask)

    states = [torch.stack(pair) for pair in (zip(*final, strict=True) if kind == "lstm" else [final])]
    expected_states = tensors_of(ends if kind == "lstm" else (ends,))
    assert_equal([outputs[mask], *states], [expected[mask], *expected_states])
    own = [weight for _, weight in layer.named_parameters()]
    theirs = [getattr(reference, names[n]) for n, _ in layer.named_parameters()]
    assert_equal(
        gradients([*own, x], outputs[mask], *states), gradients([*theirs, x], expected[mask], *expected_states)
    )


@every_torch_cell
def test_the_encoder_stacks_layers_as_torch_does(kind: str) -> None:
    layers = [make_layer(kind), make_layer(kind, 2 * HIDDEN_SIZE)]
    encoder = random_weights(BidirectionalEncoder(Embedding(11, INPUT_SIZE, 0.0), layers, 0.0))
    names = {**reference_names("layers.0.", 0), **reference_names("layers.1.", 1)}
    reference = REFERENCES[kind](INPUT_SIZE, HIDDEN_SIZE, num_layers=2, batch_first=True, bidirectional=True).double()
    weights = dict(encoder.named_parameters())
    reference.load_state_dict({theirs: weights[ours] for ours, theirs in names.items()}, strict=True)
    mask, ids = right_padded(LENGTHS, LENGTH), torch.randint(0, 11, (len(LENGTHS), LENGTH))
    packed = nn.utils.rnn.pack_padded_sequence(
        encoder.embedding(ids), torch.tensor(LENGTHS), batch_first=True, enforce_sorted=False
    )
    expected, ends = reference(packed)
    expected, _ = nn.utils.rnn.pad_packed_sequence(expected, batch_first=True, total_length=LENGTH)

    encoded = encoder(ids, mask)

    assert torch.equal(encoded.is_real, mask)
    directions = [state for pair in encoded.final for state in pair]  # torch's order: layer by layer, forward first
    states = [torch.stack(s) for s in (zip(*directions, strict=True) if kind == "lstm" else [directions])]
    assert_equal([encoded.outputs[mask], *states], [expected[mask], *tensors_of(ends if kind == "lstm" else (ends,))])
