"""Reaching inside: rows of attention weights that are set by hand or cut, while everything after them is computed as always.

A part that attends asks `by_hand` for its weights; that costs one look at a variable when nothing is set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple, TypeAlias

from torch import Tensor, nn


class Row(NamedTuple):
    """A row of weights: of which query, counted from 1, one weight a key, and of which head (None: of all)."""

    step: int
    weights: tuple[float, ...]
    head: int | None = None

    def of(self, row: Tensor) -> Tensor:
        """Return what stands in the place of a row [... S]."""
        return row.new_tensor(self.weights)


class Cut(NamedTuple):
    """Keys, counted from 0, that a query, counted from 1, may not read; what is left of its weights is scaled to sum to 1."""

    step: int
    keys: tuple[int, ...]
    head: int | None = None

    def of(self, row: Tensor) -> Tensor:
        """Return what stands in the place of a row [... S]: zeros where nothing is left."""
        left = row.clone()
        left[..., list(self.keys)] = 0.0
        total = left.sum(-1, keepdim=True)
        return left / total.where(total > 0, total.new_ones(()))


Change: TypeAlias = Row | Cut


class _Hands:
    """The rows of each part, and how many queries each has been asked so far."""

    def __init__(self, rows: Mapping[nn.Module, Sequence[Change]]) -> None:
        self.rows = rows
        self.asked = dict.fromkeys(rows, 0)

    def put(self, part: nn.Module, weights: Tensor) -> Tensor:
        first, num_queries = self.asked[part], weights.shape[-2]
        self.asked[part] = first + num_queries
        mine = [row for row in self.rows[part] if first < row.step <= first + num_queries]
        if not mine:
            return weights
        changed = weights.clone()  # the softmax's own result is needed for its gradient
        for row in mine:
            of_head = changed if row.head is None else changed[:, row.head]
            at = row.step - 1 - first
            of_head[..., at, :] = row.of(of_head[..., at, :])
        return changed


_hands: ContextVar[_Hands | None] = ContextVar("seqline_hands", default=None)


def is_by_hand(part: nn.Module) -> bool:
    """Tell whether rows of that part are set; fused paths, which have no weights to set, step aside then."""
    hands = _hands.get()
    return hands is not None and part in hands.rows


def by_hand(part: nn.Module, weights: Tensor) -> Tensor:
    """Return weights [B T S] or [B H T S] with the rows that are set in their places; the same tensor where none is."""
    hands = _hands.get()
    return weights if hands is None or part not in hands.rows else hands.put(part, weights)


@contextmanager
def set_rows(rows: Mapping[nn.Module, Sequence[Change]]) -> Iterator[None]:
    """Set rows of parts inside the block. Queries are counted from its beginning, so it holds one walk over one output.

    Args:
        rows: of each part that attends, what is set or cut; all rows of a batch get the same.
    """
    token = _hands.set(_Hands(rows) if rows else None)
    try:
        yield
    finally:
        _hands.reset(token)
