"""Reaching inside: rows of attention weights that are set by hand, while everything after them is computed as always.

A part that attends asks `by_hand` for its weights; that costs one look at a variable when nothing is set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from torch import Tensor, nn


class Row(NamedTuple):
    """A row of weights: of which query, counted from 1, one weight a key, and of which head (None: of all)."""

    step: int
    weights: tuple[float, ...]
    head: int | None = None


class _Hands:
    """The rows of each part, and how many queries each has been asked so far."""

    def __init__(self, rows: Mapping[nn.Module, Sequence[Row]]) -> None:
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
            given = changed.new_tensor(row.weights)
            of_head = changed if row.head is None else changed[:, row.head]
            of_head[..., row.step - 1 - first, :] = given
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
def set_rows(rows: Mapping[nn.Module, Sequence[Row]]) -> Iterator[None]:
    """Set rows of parts inside the block. Queries are counted from its beginning, so it holds one walk over one output.

    Args:
        rows: of each part that attends; all rows of a batch get the same.
    """
    token = _hands.set(_Hands(rows) if rows else None)
    try:
        yield
    finally:
        _hands.reset(token)
