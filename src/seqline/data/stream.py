"""A long stream of ids cut into windows: which pieces of it go together, and in what order.

A window is a span of the stream. Where the cuts lie changes from epoch to epoch; each id is in exactly one window. An index of a
window holds its epoch too, so that a batch is a pure function of its indices.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from seqline.data.loader import mix

_FIRST_CUT, _ORDER = 5, 6  # each use of chance has its own stream; data/loader.py has 1 to 4


class Span(NamedTuple):
    """A piece of a stream: the ids from `start`, `end` not among them."""

    start: int
    end: int


class Windows(NamedTuple):
    """How a stream is cut.

    num_ids: its length. context: ids in a window, at most. seed: of the cuts and the order.
    """

    num_ids: int
    context: int
    seed: int

    def count(self, epoch: int) -> int:
        """Count the windows of an epoch."""
        return 1 + max(0, -(-(self.num_ids - self._first(epoch)) // self.context))

    def plan_shuffled(self, epoch: int, rows: int) -> list[list[int]]:
        """Plan the epoch's batches of `rows` windows in random order."""
        count = self.count(epoch)
        order = np.argsort(mix(self.seed, epoch, _ORDER, np.arange(count)), kind="stable")
        return [[self._index(epoch, window) for window in order[i : i + rows].tolist()] for i in range(0, count, rows)]

    def plan_carried(self, epoch: int, rows: int) -> list[list[int]]:
        """Plan batches in which row b goes on where row b of the batch before ended: `rows` lanes through the stream.

        A lane that ends earlier leaves; those are the last rows.
        """
        count = self.count(epoch)
        lane = -(-count // min(rows, count))
        return [[self._index(epoch, window) for window in range(step, count, lane)] for step in range(lane)]

    def is_first(self, index: int) -> bool:
        """Tell whether a window begins an epoch's stream."""
        return index % self._stride == 0

    def span(self, index: int) -> Span:
        """Return the window of an index; the first of an epoch may be short, and the last."""
        epoch, window = divmod(index, self._stride)
        first = self._first(epoch)
        start = first + (window - 1) * self.context if window else 0
        return Span(start, min(first + window * self.context, self.num_ids))

    def _first(self, epoch: int) -> int:
        """Return the length of an epoch's first window, 1 to context."""
        drawn = mix(self.seed, epoch, _FIRST_CUT, np.zeros(1, dtype=np.int64))[0]
        return 1 + int(drawn % np.uint64(self.context))

    def _index(self, epoch: int, window: int) -> int:
        return epoch * self._stride + window

    @property
    def _stride(self) -> int:
        return self.num_ids // self.context + 2


def overlapping(num_ids: int, context: int) -> list[tuple[Span, int]]:
    """Cut a stream so that each id is predicted once, with at least half a window before it (but for the stream's beginning).

    Returns:
        Windows, each with how many of its ids at the beginning are read only.
    """
    step = max(1, context // 2)
    windows = [(Span(0, min(context, num_ids)), 0)]
    while (done := windows[-1][0].end) < num_ids:
        start = max(0, done + step - context)
        windows.append((Span(start, min(done + step, num_ids)), done - start))
    return windows


def consecutive(num_ids: int, context: int) -> list[Span]:
    """Cut a stream into windows side by side."""
    return [Span(start, min(start + context, num_ids)) for start in range(0, num_ids, context)]


def lanes(num_ids: int, count: int) -> Sequence[Span]:
    """Cut a stream into `count` long pieces of nearly one length, the longer ones first."""
    sizes = [num_ids // count + (lane < num_ids % count) for lane in range(count)]
    starts = [sum(sizes[:lane]) for lane in range(count)]
    return [Span(start, start + size) for start, size in zip(starts, sizes, strict=True) if size]
