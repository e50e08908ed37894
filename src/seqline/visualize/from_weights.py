"""The smallest trace: attention weights that another library computed, with the words of their rows and columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from seqline.errors import UserError, did_you_mean
from seqline.visualize.blocks import AXES
from seqline.visualize.schema import MINOR, SCHEMA
from seqline.visualize.text import text_block

_QUERIES = {
    "cross": ("target.out", "target.in", "source"),
    "encoder_self": ("source", "source", "source"),
    "decoder_self": ("target.out", "target.in", "target.in"),
}


UNKNOWN_META = {"created": "1970-01-01T00:00:00Z", "seed": 0, "device": "", "dtype": "float64"}
UNKNOWN_MODEL: dict[str, Any] = {
    "arch": "unknown",
    "layer": "unknown",
    "encoder": "unknown",
    "bridge": "unknown",
    "reads_memory": "never",
    "score": "none",
    "window": "everywhere",
    "positions": "none",
    "num_layers": {"encoder": 0, "decoder": 0},
    "num_directions": 1,
    "num_heads": None,
    "width": 0,
    "head_width": None,
    "num_parameters": 0,
    "weights_sha256": None,
}
"""What is said of a model where nothing of it was recorded."""


def document_of(weights: np.ndarray, rows: list[str], cols: list[str], kind: str) -> dict[str, Any]:
    """Return a document with one attention block.

    Raises:
        UserError: an unknown kind, axes that are none, or rows that are not the columns in self-attention.
    """
    if kind not in _QUERIES:
        raise UserError(f"unknown kind {kind!r}", where="kind", fix=did_you_mean(kind, _QUERIES))
    if weights.ndim not in (2, 3, 4) or weights.dtype.kind not in "fiub":
        what = f"expected numbers [query, key], [head, query, key] or [layer, head, query, key], got {weights.shape}"
        raise UserError(what, where="weights")
    weights = weights.reshape((1,) * (4 - weights.ndim) + weights.shape)
    off = float(np.abs(weights.sum(-1, dtype=np.float64) - 1).max()) if weights.size else 0.0
    query, query_in, key = _QUERIES[kind]
    block = {"name": kind, "kind": kind, "axes": AXES, "query": query, "query_in": query_in, "key": key}
    block |= {"mask_kind": "none", "weights": weights, "row_sum_maxerr": 0.0}
    source, target = _texts(rows, cols, kind)
    num_layers, num_heads = weights.shape[:2]
    return {
        "schema": SCHEMA,
        "minor": MINOR,
        "meta": UNKNOWN_META | {"id": "weights"},
        "model": _model(kind, num_layers, num_heads),
        "task": "translation",
        "source": source,
        "target": target,
        "schedule": _schedule(weights.shape[2], writes=target is not None),
        "attention": [block],
        "checks": [
            {"id": "rows_sum_1", "text": "weights of a row sum to 1", "ok": off <= 1e-5, "value": off, "tol": 1e-5}
        ],
        "tensors": {},
    }


def joined(words: list[str]) -> tuple[str, list[tuple[int, str, int, int]]]:
    """Return words as one text, a blank between them, and the span of each."""
    spans, start = [], 0
    for index, word in enumerate(words):
        end = start + len(word.encode("utf-8"))
        spans.append((4 + index, word, start, end))
        start = end + 1
    return " ".join(words), spans


def _texts(rows: list[str], cols: list[str], kind: str) -> tuple[dict[str, Any], dict[str, Any] | None]:
    if kind == "encoder_self":
        if rows != cols:
            raise UserError("expected the same words in rows and columns", where=kind, fix="a sentence reads itself")
        return text_block(*joined(cols)), None
    target = text_block(*joined(rows))
    if kind == "cross":
        bos = joined(["<s>"])
        return text_block(*joined(cols)), target | {"bos": text_block(*bos)["tokens"][0], "reference": None}
    if cols[1:] != rows[:-1] or len(cols) != len(rows):
        what = "expected column 0 to be what is fed first, and column n + 1 what row n produced"
        raise UserError(what, where=kind, fix="rows are the produced words, columns the words fed in")
    first = text_block(*joined(cols[:1]))["tokens"][0] if cols else None
    return text_block("", []), target | {"bos": first, "reference": None}


def _schedule(num_rows: int, *, writes: bool) -> list[dict[str, Any]]:
    """Return a step a row: the attention, and the word that came of it where words are written."""
    steps = []
    for row in range(num_rows):
        fed = f"y:{row - 1}" if row else "y:init"
        events = [{"part": "attention", "pos": row, "reads": [fed if writes else f"x:{row}"], "writes": [f"ctx:{row}"]}]
        if writes:
            events.append({"part": "output", "pos": row, "reads": [f"ctx:{row}"], "writes": [f"y:{row}"]})
        steps.append({"t": row + 1, "events": events})
    return steps


def _model(kind: str, num_layers: int, num_heads: int) -> dict[str, Any]:
    is_encoder = kind == "encoder_self"
    layers = {"encoder": num_layers if is_encoder else 0, "decoder": 0 if is_encoder else num_layers}
    when = "in_each_block" if kind == "cross" else "never"
    return UNKNOWN_MODEL | {"reads_memory": when, "num_layers": layers, "num_heads": num_heads}
