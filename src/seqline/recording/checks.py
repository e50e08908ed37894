"""The checks that every trace carries: what had to hold while it was made, with the number that was found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from seqline.state import tensors_of
from seqline.visualize.checking import token_counts
from seqline.visualize.trace import packing_error

CLOSE, SUM, LOGP, PACKED = 1e-5, 1e-5, 1e-3, 5e-4


def difference(watched: Sequence[Any], plain: Sequence[Any]) -> float:
    """Return the largest difference between two lists of trees of tensors: absolute up to 1, relative above."""
    worst = 0.0
    for one, other in zip(watched, plain, strict=True):
        for a, b in zip(tensors_of(one), tensors_of(other), strict=True):
            worst = max(worst, _apart(a, b))
    return worst


def _apart(a: Tensor, b: Tensor) -> float:
    if not a.numel() or a.shape != b.shape:
        return 0.0 if a.shape == b.shape else float("inf")
    largest = max(1.0, float(b.double().abs().max()))
    return float((a.double() - b.double()).abs().max()) / largest


def check(name: str, text: str, value: float, tolerance: float) -> dict[str, Any]:
    """Return one check: it holds where the number found is at most the tolerance."""
    return {"id": name, "text": text, "ok": bool(value <= tolerance), "value": float(value), "tol": tolerance}


def same_output(own: str, shown: str, value: float, what: str) -> dict[str, Any]:
    """Return the check that the trace says what the model says."""
    found = check("output_equal", f"the text is the model's own output; {what}", value, LOGP)
    return found | {"ok": found["ok"] and own == shown}


def rows_sum(blocks: Sequence[dict[str, Any]], is_bell: bool) -> dict[str, Any]:
    """Return the check of the rows of all attention blocks; a bell over a window makes their sums at most 1."""
    if is_bell:
        over = max((float((block["weights"].sum(-1) - 1).max()) for block in blocks), default=0.0)
        return check(
            "rows_sum_1", "attention weights of a row sum to at most 1: the window's bell scales them", over, SUM
        )
    worst = max((block["row_sum_maxerr"] for block in blocks), default=0.0)
    return check("rows_sum_1", "attention weights of a row sum to 1", worst, SUM)


def shapes(document: dict[str, Any]) -> dict[str, Any]:
    """Return the check that every axis has the size of its tokens."""
    sizes = token_counts(document)
    off = [
        block["name"]
        for block in document.get("attention") or []
        if block["weights"].shape[2:] != (sizes[block["query"]], sizes[block["key"]])
    ]
    return check("shapes_named", "every axis has the size of its tokens", len(off), 0.0)


def parity(value: float) -> dict[str, Any]:
    """Return the check that the loop that shows gates has the states of the fused layer."""
    return check("gates_parity", "h and c of the readable cell equal those of the layer in use", value, CLOSE)


def path(value: float, has_attention: bool) -> dict[str, Any]:
    """Return the check which path attention took."""
    text = "attention took the explicit path" if has_attention else "there is no attention to take another path"
    return check("attention_path", f"{text}; logits differ from those of the path in use by", value, CLOSE)


def packing(document: dict[str, Any]) -> dict[str, Any]:
    """Return the check how far packing moves a number."""
    return check("packing_error", "packing moves no number by more than", packing_error(document), PACKED)
