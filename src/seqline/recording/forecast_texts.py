"""A history and a forecast as the texts of a trace: a token a value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from seqline.visualize.text import Span, special_token, text_block
from seqline.visualize.widths import width_em

NO_ID = -1
MISSING = "?"
LAST = "last value"


def history_block(values: np.ndarray, is_observed: np.ndarray, patch: int) -> dict[str, Any]:
    """Return the block `source`: a token a step of the encoder, named by the mean of its observed values.

    Args:
        values: [N], the oldest first.
        is_observed: [N].
        patch: values that a step reads; the first step may hold fewer.
    """
    means: list[float | None] = []
    for end in range(len(values), 0, -patch):
        kept = values[max(0, end - patch) : end][is_observed[max(0, end - patch) : end]]
        means.append(float(kept.mean()) if len(kept) else None)
    return _values_block(means[::-1])


def forecast_block(values: Sequence[float], last: float | None) -> dict[str, Any]:
    """Return the block `target`: a token a step; `last` is what step 1 is fed where the model reads its own forecasts."""
    block = _values_block(values) | {"bos": None, "reference": None}
    if last is not None:
        block["bos"] = special_token(NO_ID, f"{LAST} {written(last)}", "bos")
    return block


def written(value: float) -> str:
    """Write a value as short as a label is: 4 digits."""
    short = f"{value:.4g}"
    return "0" if short == "-0" else short


def _values_block(values: Sequence[float | None]) -> dict[str, Any]:
    names, spans, start = [MISSING if value is None else written(value) for value in values], [], 0
    for name in names:
        spans.append(_span(name, start))
        start += len(name) + 1
    block = text_block(" ".join(names), spans)
    for token, value in zip(block["tokens"], values, strict=True):
        token |= {"value": value, "w_em": width_em(token["text"])}
    return block


def _span(name: str, start: int) -> Span:
    return (NO_ID, name, start, start + len(name))
