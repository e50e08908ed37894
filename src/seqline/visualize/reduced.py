"""A large trace made small: the mean of the heads, the eight strongest keys of each query, and a few whole heads."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from seqline.errors import UserError
from seqline.files import write_bytes

if TYPE_CHECKING:
    from seqline.visualize.trace import Trace

MAX_VALUES = 4_000_000
"""Attention of more values in all is reduced when a trace is written or drawn."""
TOP = 8
METHOD = "head_mean+top8"


def num_values(document: dict[str, Any]) -> int:
    """Count the attention weights that a document holds."""
    return sum(block["weights"].size for block in _whole(document))


def is_large(document: dict[str, Any]) -> bool:
    """Tell whether a document must be reduced."""
    return num_values(document) > MAX_VALUES


def if_large(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document, reduced if it is large."""
    return _reduced(document, (), None) if is_large(document) else document


def reduce(trace: Trace, keep_heads: Iterable[tuple[int, int]] = (), sidecar: str | None = None) -> Trace:
    """Return the trace in its reduced form; scores, which no reduced view draws, are left out.

    Args:
        trace: Is left as it is.
        keep_heads: (layer, head) to keep whole beside the head of lowest entropy in the first and the last layer.
        sidecar: The name of the file that holds all weights.

    Raises:
        UserError: there is no such head.
    """
    from seqline.visualize.trace import Trace

    return Trace(_reduced(trace.document, tuple(keep_heads), sidecar))


def write_all(path: Path, document: dict[str, Any]) -> None:
    """Write every attention block's weights into an `.npz` file, as `attention/<index>/weights`."""
    blocks = document.get("attention") or []
    arrays = {
        f"attention/{i}/weights": block["weights"] for i, block in enumerate(blocks) if block.get("weights") is not None
    }
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    write_bytes(path, buffer.getvalue())


def _whole(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [block for block in document.get("attention") or [] if block.get("weights") is not None]


def _reduced(document: dict[str, Any], keep: tuple[tuple[int, int], ...], sidecar: str | None) -> dict[str, Any]:
    total = num_values(document)
    blocks = [
        block if block.get("weights") is None else _reduced_block(block, keep, total, sidecar)
        for block in document.get("attention") or []
    ]
    return document | {"attention": blocks}


def _reduced_block(
    block: dict[str, Any], keep: tuple[tuple[int, int], ...], total: int, sidecar: str | None
) -> dict[str, Any]:
    weights: np.ndarray = block["weights"]
    num_layers, num_heads = weights.shape[:2]
    for layer, head in keep:
        if not (0 <= layer < num_layers and 0 <= head < num_heads):
            what = f"no head {head} in layer {layer}: there are {num_layers} layers of {num_heads} heads"
            raise UserError(what, where=f"attention {block['name']}", fix="count from 0")
    heads = sorted({*keep, *((layer, _sharpest(weights[layer])) for layer in {0, num_layers - 1})})
    # Stable: of equal weights the earlier key comes first, in every numpy.
    order = np.argsort(-weights, axis=-1, kind="stable")[..., :TOP]
    rest = {key: value for key, value in block.items() if key not in ("weights", "scores")}
    return rest | {
        "head_mean": weights.mean(1, dtype=np.float64),
        "topk_idx": order,
        "topk_w": np.take_along_axis(weights, order, -1),
        "kept": np.stack([weights[layer, head] for layer, head in heads]),
        "reduced": {
            "method": METHOD,
            "kept_heads": [list(pair) for pair in heads],
            "values_total": total,
            "sidecar": sidecar,
        },
    }


def _sharpest(heads: np.ndarray) -> int:
    """Return the head [H Q M] of lowest mean entropy."""
    logs = np.log(np.maximum(heads, 1e-12), dtype=np.float64)
    return int(np.argmin(-(heads * logs).sum(-1).mean(-1)))
