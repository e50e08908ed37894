"""Where a trace holds arrays, what each means and which axes it has: the one table that packing and checking follow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

INLINE_BELOW = 512
"""An array of fewer numbers stands in the document itself, a larger one in `tensors`."""


class ArraySpec(NamedTuple):
    """One array of the format.

    content: `unit` (numbers in [0, 1]), `state` (half precision does), `exact` (it does not), `index` or `mask`.
    axes: A letter an axis; S and T are the tokens of source and target, the others are bound inside their block.
    """

    content: str
    axes: str


_STATES = {
    "h": "{lead} D",
    "c": "{lead} D",
    "h0": "{start} D",
    "c0": "{start} D",
    "gates.*": "{lead} D",
    "terms.*": "{lead} D",
}
ARRAYS: dict[str, ArraySpec] = {
    **{f"encoder.{k}": ArraySpec("state", v.format(lead="L R S", start="L R")) for k, v in _STATES.items()},
    **{f"decoder.{k}": ArraySpec("state", v.format(lead="L T", start="L")) for k, v in _STATES.items()},
    "decoder.context": ArraySpec("state", "T C"),
    "decoder.z": ArraySpec("state", "T Z"),
    "embeddings.source": ArraySpec("state", "S D"),
    "embeddings.target": ArraySpec("state", "T D"),
    "attention[].weights": ArraySpec("unit", "L H Q M"),
    "attention[].scores": ArraySpec("state", "L H Q M"),
    "attention[].mask": ArraySpec("mask", "Q M"),
    "attention[].head_mean": ArraySpec("unit", "L Q M"),
    "attention[].topk_idx": ArraySpec("index", "L H Q K"),
    "attention[].topk_w": ArraySpec("unit", "L H Q K"),
    "attention[].kept": ArraySpec("unit", "N Q M"),
    "qkv[].q": ArraySpec("state", "Q E"),
    "qkv[].k": ArraySpec("state", "M E"),
    "qkv[].v": ArraySpec("state", "M V"),
    "qkv[].out": ArraySpec("state", "Q V"),
    "positions.table": ArraySpec("exact", "P D"),
    "positions.used": ArraySpec("index", "U"),
    **{f"ttt.{name}": ArraySpec("exact", "I") for name in ("loss_before", "loss_after", "eta", "w_norm", "dw_norm")},
    "ttt.w": ArraySpec("state", "J r c"),
    "gradients.norm_h": ArraySpec("exact", "S"),
    "gradients.norm_c": ArraySpec("exact", "S"),
    "beam.attention": ArraySpec("unit", "B S"),
    "forecast.hist_t": ArraySpec("exact", "S"),
    "forecast.hist_y": ArraySpec("exact", "S"),
    "forecast.pred_y": ArraySpec("exact", "Z"),
    "forecast.true_y": ArraySpec("exact", "Z"),
    "forecast.observed": ArraySpec("mask", "S"),
    "forecast.true_observed": ArraySpec("mask", "Z"),
    "forecast.q.*": ArraySpec("exact", "Z"),
    "forecast.windows[].pred_y": ArraySpec("exact", "Z"),
    "forecast.windows[].q.*": ArraySpec("exact", "Z"),
    "forecast.windows[].weights": ArraySpec("unit", "Z W"),
    "forecast.windows[].gradient": ArraySpec("exact", "Z G"),
    **{f"training.{name}": ArraySpec("exact", "n") for name in ("steps", "loss", "val_loss", "lr", "metrics.*")},
    "training.snapshots[].weights": ArraySpec("unit", "L H Q M"),
}

Visit = Callable[[str, ArraySpec, Any], Any]


def transform(node: Any, visit: Visit, path: str = "", pattern: str = "") -> Any:
    """Copy a document: `visit(path, spec, value)` replaces each array, numpy numbers become plain, tuples lists.

    Args:
        node: The document, or the part of it at `path`.
        visit: Is told where the array stands, as "attention[0].weights"; a null is not shown to it.
        path: Where `node` stands.
        pattern: The same with every index left out.
    """
    spec = ARRAYS.get(pattern)
    if spec is not None and node is not None:
        return visit(path, spec, node)
    if isinstance(node, dict):
        dot = "." if path else ""
        any_key = f"{pattern}.*" if f"{pattern}.*" in ARRAYS else ""  # a map whose keys are free
        return {
            key: transform(part, visit, f"{path}{dot}{key}", any_key or f"{pattern}{dot}{key}")
            for key, part in node.items()
        }
    if isinstance(node, list | tuple):
        if node and isinstance(node[0], str):  # the long lists of a schedule
            return list(node)
        return [transform(part, visit, f"{path}[{i}]", f"{pattern}[]") for i, part in enumerate(node)]
    return node.item() if isinstance(node, np.generic) else node


def each_array(document: dict[str, Any]) -> list[tuple[str, ArraySpec, np.ndarray]]:
    """List the arrays of a document in memory, in its order."""
    found: list[tuple[str, ArraySpec, np.ndarray]] = []

    def note(path: str, spec: ArraySpec, value: Any) -> None:
        found.append((path, spec, np.asarray(value)))

    transform(document, note)
    return found
