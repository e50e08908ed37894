"""Positions: the real entries before one in its row, and the sinusoid by hand."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from seqline.errors import UserError
from seqline.parts.positions import AddPositions, LearnedPositions, PositionScheme, Sinusoid, positions_from, sinusoid

from ..small_models import assert_equal, random_weights, right_padded

rows = st.integers(1, 8).flatmap(
    lambda length: st.lists(
        st.tuples(st.integers(0, 9), st.lists(st.booleans(), min_size=length, max_size=length)), min_size=1, max_size=4
    )
)


@given(rows)
def test_a_position_counts_the_real_entries_before_it(rows: list[tuple[int, list[bool]]]) -> None:
    found = positions_from(torch.tensor([start for start, _ in rows]), torch.tensor([mask for _, mask in rows]))
    assert found.tolist() == [[start + sum(mask[:t]) for t in range(len(mask))] for start, mask in rows]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 5), st.integers(0, 4)), min_size=1, max_size=4))
def test_padding_moves_no_position(paddings: list[tuple[int, int, int]]) -> None:
    width = max(sum(padding) for padding in paddings)
    columns = torch.arange(width)
    is_real = torch.stack([(columns >= left) & (columns < left + length) for left, length, _ in paddings])
    found = positions_from(torch.full((len(paddings),), 3), is_real)
    for row, (_, length, _) in enumerate(paddings):
        assert found[row, is_real[row]].tolist() == list(range(3, 3 + length))


@given(st.lists(st.booleans(), min_size=2, max_size=9), st.data())
def test_positions_go_on_where_the_piece_before_ended(mask: list[bool], data: st.DataObject) -> None:
    cut, whole, start = data.draw(st.integers(1, len(mask) - 1)), torch.tensor([mask]), torch.tensor([2])
    first = positions_from(start, whole[:, :cut])
    second = positions_from(start + whole[:, :cut].sum(1), whole[:, cut:])
    assert torch.equal(torch.cat([first, second], 1), positions_from(start, whole))


def test_the_first_values_by_hand() -> None:
    table = sinusoid(torch.tensor([[0, 1]]), 4, torch.float64)[0].tolist()
    assert table[0] == [0.0, 1.0, 0.0, 1.0]
    assert table[1] == pytest.approx([math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)], abs=1e-15)


@pytest.mark.parametrize("width", [1, 5, 8])
def test_every_value_is_the_formula(width: int) -> None:
    positions = torch.tensor([[0, 1, 2, 900], [3, 3, 0, 10_000]])
    found = sinusoid(positions, width, torch.float64)
    assert found.shape == (2, 4, width)
    for b in range(2):
        for t in range(4):
            for i in range(width):
                angle = positions[b, t].item() / 10_000 ** (2 * (i // 2) / width)
                expected = math.cos(angle) if i % 2 else math.sin(angle)
                assert found[b, t, i].item() == pytest.approx(expected, abs=1e-11)


def test_float32_is_the_rounded_float64() -> None:
    positions = torch.tensor([[10_000, 99_999]])
    exact = sinusoid(positions, 6, torch.float64)
    assert torch.equal(sinusoid(positions, 6, torch.float32), exact.float())


SCHEMES = {"sinusoid": Sinusoid, "learned": lambda: LearnedPositions(12, 6)}


def make_layer(scheme: str) -> AddPositions:
    part: PositionScheme = SCHEMES[scheme]()
    return random_weights(AddPositions(part))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_layer_counts_what_each_row_has_read(scheme: str) -> None:
    layer, x = make_layer(scheme), torch.zeros(3, 9, 6, dtype=torch.float64)
    mask = torch.tensor([[0, 1, 1, 0, 1, 0, 0, 1, 1], [1] * 9, [1, 0, 0, 0, 0, 0, 0, 0, 0]]).bool()
    table, _ = layer(x[:1], layer.initial_state(1))
    for cuts in ([9], [4, 5], [1] * 9):
        state, pieces = layer.initial_state(3), []
        for piece, real in zip(x.split(cuts, 1), mask.split(cuts, 1), strict=True):
            y, state = layer(piece, state, real)
            pieces.append(y)
        assert state.tolist() == [5, 9, 1]
        for row in range(3):
            found = torch.cat(pieces, 1)[row, mask[row]]
            assert_equal([found], [table[0, : len(found)]])


def test_learned_positions_are_rows_of_the_table() -> None:
    layer = make_layer("learned")
    y, _ = layer(torch.ones(2, 4, 6, dtype=torch.float64), torch.tensor([0, 8]))
    table = layer.get_parameter("scheme.table")
    assert_equal([y - 1], [torch.stack([table[:4], table[8:]])])


def test_beyond_the_table_is_refused_by_name() -> None:
    layer, x = make_layer("learned"), torch.zeros(2, 13, 6, dtype=torch.float64)
    with pytest.raises(UserError, match=r"^model\.max_length: .*13 tokens.* 12 positions"):
        layer(x, layer.initial_state(2))
    _, state = layer(x[:, :12], layer.initial_state(2))
    with pytest.raises(UserError, match="max_length"):
        layer(x[:, :1], state)


def test_padding_is_never_beyond_the_table() -> None:
    layer, x = make_layer("learned"), torch.zeros(2, 15, 6, dtype=torch.float64)
    y, state = layer(x, layer.initial_state(2), right_padded([12, 3], 15))
    assert state.tolist() == [12, 3]
    assert_equal([y[0, :12]], [layer(x[:1, :12], layer.initial_state(1))[0][0]])


def test_any_length_has_a_sinusoid() -> None:
    layer, x = make_layer("sinusoid"), torch.zeros(2, 3, 6, dtype=torch.float64)
    far = torch.tensor([5, 100_000])
    y, _ = layer(x, far)
    assert_equal([y], [sinusoid(far[:, None] + torch.arange(3), 6, torch.float64)])
