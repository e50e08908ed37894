"""The state that a recurrent model carries from one batch to the next: truncated backpropagation through time.

The values go on, the gradient does not (Williams & Peng 1990): a batch begins in the state in which the batch before it
ended, cut from its graph. A checkpoint keeps the state, so that a resumed run goes on exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from seqline.state import map_tensors, select, tensors_of
from seqline.training.weights import Weights


class Carried:
    """The state after the last batch, and before it: a batch that is looked at again begins where it began."""

    def __init__(self) -> None:
        self._rows: tuple[int, ...] = ()
        self._before: Any = None
        self._after: Any = None
        self._restored: list[Tensor] = []

    def begin(self, rows: Sequence[int], is_first: bool, initial_state: Callable[[int], Any]) -> Any:
        """Return the state that a batch begins in.

        Args:
            rows: which windows the batch holds, one a lane; lanes may have ended since the last batch, those behind.
            is_first: the batch begins a stream; nothing is carried over from the one before.
            initial_state: number of rows -> the state of rows that have read nothing.
        """
        if self._restored:
            self._after = _fill(initial_state(len(self._restored[0])), self._restored)
            self._restored = []
        if self._rows != tuple(rows):
            state = initial_state(len(rows)) if is_first or self._after is None else self._after
            self._before = select(state, torch.arange(len(rows), device=tensors_of(state)[0].device))
            self._rows = tuple(rows)
        return self._before

    def keep(self, state: Any) -> None:
        """Take the state after a batch, cut from its graph."""
        self._after = map_tensors(lambda tensor: tensor.detach(), state)

    def tensors(self) -> Weights:
        """Return the state as named tensors, for a checkpoint; nothing where no batch was seen."""
        if self._restored:
            return {f"{number:04d}": tensor for number, tensor in enumerate(self._restored)}
        return {f"{number:04d}": tensor for number, tensor in enumerate(tensors_of(self._after))}

    def restore(self, tensors: Weights) -> None:
        """Go on from the state of a checkpoint."""
        self._restored = [tensors[name] for name in sorted(tensors)]
        self._rows, self._before, self._after = (), None, None


def _fill(tree: Any, tensors: Sequence[Tensor]) -> Any:
    """Put tensors into the places of a tree, in the order in which `tensors_of` lists them."""
    left = iter(tensors)
    return map_tensors(lambda place: next(left).to(place.device), tree)
