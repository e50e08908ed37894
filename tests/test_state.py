"""The three tree operations: any tree of tensors keeps its form, and rows go where they should."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from seqline.state import Encoded, expand, map_tensors, select

NUM_ROWS = 4


class Named(NamedTuple):
    value: Any
    flag: Any


@dataclass(frozen=True)
class Record:
    value: Any
    others: Any


def leaf(seed: int) -> Tensor:
    kinds = [
        torch.arange(NUM_ROWS * 3, dtype=torch.float64).view(NUM_ROWS, 3) + 100 * seed,
        torch.arange(NUM_ROWS) + 100 * seed,
        (torch.arange(NUM_ROWS * 4).view(NUM_ROWS, 2, 2) + seed) % 3 == 0,
        torch.zeros(NUM_ROWS, 2, 0),
    ]
    return kinds[seed % len(kinds)]


trees = st.recursive(
    st.one_of(st.integers(0, 9).map(leaf), st.none()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
        st.builds(Named, inner, inner),
        st.builds(Record, inner, inner),
    ),
    max_leaves=6,
)
row_lists = st.lists(st.integers(0, NUM_ROWS - 1), min_size=1, max_size=7).map(torch.tensor)


def described(tree: Any) -> Any:
    """Return a tree of plain values that compares by type, form, dtype and content."""
    if isinstance(tree, Tensor):
        return str(tree.dtype), tuple(tree.shape), tree.tolist()
    if isinstance(tree, dict):
        return {key: described(value) for key, value in tree.items()}
    if isinstance(tree, (tuple, list)):
        return type(tree).__name__, [described(value) for value in tree]
    return (type(tree).__name__, [described(v) for v in vars(tree).values()]) if tree is not None else None


@given(trees)
def test_a_map_keeps_the_form(tree: Any) -> None:
    before = described(tree)
    assert described(map_tensors(torch.clone, tree)) == before
    assert described(tree) == before


@given(trees)
def test_several_trees_meet_leaf_by_leaf(tree: Any) -> None:
    doubled = map_tensors(lambda t: t.long() * 2, tree)
    tripled = map_tensors(lambda a, b, c: a + b - c.long(), doubled, doubled, tree)
    assert described(tripled) == described(map_tensors(lambda t: t.long() * 3, tree))


@given(trees, row_lists)
def test_select_takes_rows_of_every_tensor(tree: Any, rows: Tensor) -> None:
    assert described(select(tree, rows)) == described(map_tensors(lambda t: t[rows], tree))


@given(trees, row_lists, st.data())
def test_selecting_twice_is_selecting_the_composition(tree: Any, rows: Tensor, data: st.DataObject) -> None:
    again = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=5).map(torch.tensor))
    assert described(select(select(tree, rows), again)) == described(select(tree, rows[again]))


@given(trees)
def test_selecting_all_rows_changes_nothing(tree: Any) -> None:
    assert described(select(tree, torch.arange(NUM_ROWS))) == described(tree)


@given(trees, st.integers(1, 4))
def test_expand_puts_copies_side_by_side(tree: Any, beams: int) -> None:
    rows = torch.tensor([row for row in range(NUM_ROWS) for _ in range(beams)])
    assert described(expand(tree, beams)) == described(select(tree, rows))


@given(trees, row_lists)
def test_what_comes_back_shares_no_storage(tree: Any, rows: Tensor) -> None:
    before = described(tree)
    map_tensors(lambda t: t.zero_(), select(tree, rows))
    map_tensors(lambda t: t.zero_(), expand(tree, 1))
    assert described(tree) == before


def test_an_encoded_source_is_a_tree() -> None:
    encoded = Encoded(torch.arange(6).view(2, 3), torch.ones(2, 3, dtype=torch.bool), None)
    chosen = select(encoded, torch.tensor([1]))
    assert isinstance(chosen, Encoded)
    assert chosen.outputs.tolist() == [[3, 4, 5]]
    assert chosen.final is None


@pytest.mark.parametrize("tree", [3, "h", [torch.zeros(2), 1.0], {"h": {1, 2}}, Named])
def test_what_is_no_tensor_is_refused(tree: Any) -> None:
    with pytest.raises(TypeError, match="a state is a tree of tensors; found"):
        select(tree, torch.tensor([0]))


def test_trees_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError):
        map_tensors(torch.add, (torch.zeros(1),), (torch.zeros(1), torch.zeros(1)))
