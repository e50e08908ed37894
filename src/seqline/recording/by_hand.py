"""What if: rows of attention to the source are set by hand at given output steps, and all that follows is computed as always."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np
from torch import nn

from seqline.errors import UserError
from seqline.intervene import Row, set_rows
from seqline.models.reading import source_readers
from seqline.recording import checks

SUM, CLOSE = 1e-3, 1e-6
WHERE = "attention_rows"


class AttentionRow(NamedTuple):
    """A row that is set: the output step, counted from 1, a weight a source token, and whose it is (None: all of them)."""

    step: int
    weights: Sequence[float]
    layer: int | None = None
    head: int | None = None


Rows = Mapping[int, Sequence[float]] | Sequence[AttentionRow]


class ByHand:
    """The rows set in one recording; `applied` puts them in force for one walk over the output."""

    def __init__(self, decoder: Any, rows: Rows, num_source: int) -> None:
        """Check the rows against the decoder and the source.

        Raises:
            UserError: a model that does not attend to its source, no such step, layer or head, or weights that are no row.
        """
        listed = [AttentionRow(*item) for item in rows.items()] if isinstance(rows, Mapping) else list(rows)
        self.rows = listed
        self._of: dict[nn.Module, list[Row]] = {}
        parts = source_readers(decoder) if listed else []
        if listed and not parts:
            raise UserError("this model does not attend to its source", where=WHERE, fix="take a model with attention")
        for row in listed:
            _check(row, num_source)
            for part in [_pick(parts, row.layer, "layer")] if row.layer is not None else parts:
                if row.head is not None:
                    _pick(range(getattr(part, "num_heads", 1)), row.head, "head")
                head = row.head if hasattr(part, "num_heads") else None
                self._of.setdefault(part, []).append(Row(row.step, tuple(row.weights), head))

    def applied(self) -> AbstractContextManager[None]:
        """Set the rows inside the block, queries counted from its beginning."""
        return set_rows(self._of) if self._of else nullcontext()

    def checked(self, blocks: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the check that the recorded rows are those that were set, [] where none is."""
        if not self.rows:
            return []
        weights = next(block["weights"] for block in blocks["attention"] if block["kind"] == "cross")
        reached = [row for row in self.rows if row.step <= weights.shape[2]]
        off = [np.abs(_of(weights, row)[..., row.step - 1, :] - np.asarray(row.weights)).max() for row in reached]
        text = f"{len(reached)} of {len(self.rows)} attention rows set by hand were reached; they are as set up to"
        return [checks.check("rows_by_hand", text, float(max(off, default=0.0)), CLOSE)]


NOTHING = ByHand(None, {}, 0)


def _of(weights: np.ndarray, row: AttentionRow) -> np.ndarray:
    """Return the weights [l h Q M] of the layers and heads that a row is for."""
    layers = weights if row.layer is None else weights[row.layer : row.layer + 1]
    return layers if row.head is None else layers[:, row.head : row.head + 1]


def _pick(among: Sequence[Any], index: int, what: str) -> Any:
    if not 0 <= index < len(among):
        raise UserError(f"expected a {what} from 0 to {len(among) - 1}, got {index}", where=WHERE)
    return among[index]


def _check(row: AttentionRow, num_source: int) -> None:
    if row.step < 1:
        raise UserError(f"expected a step from 1 up, got {row.step}", where=WHERE)
    if len(row.weights) != num_source:
        what = f"expected a weight for each of {num_source} source tokens, got {len(row.weights)}"
        raise UserError(what, where=WHERE, fix="count the end mark too")
    total = math.fsum(row.weights)
    if not all(0 <= weight <= 1 for weight in row.weights) or not abs(total - 1) <= SUM:
        what = f"expected weights from 0 to 1 that sum to 1, got a sum of {total:.4g}"
        raise UserError(what, where=WHERE, fix="divide them by their sum")
