"""What must hold in a trace before it may be written: axes agree with the tokens, numbers are finite, rows sum to 1."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from seqline.errors import UserError
from seqline.visualize.arrays import ArraySpec, each_array
from seqline.visualize.pack import UNIT_ERROR

MOST_STEPS = 10_000
_NAME = re.compile(r"([A-Za-z][A-Za-z0-9_.]{0,39}):(init|[0-9]{1,5})", re.ASCII)
"""What a step reads or writes: `x:0`, `h.enc.forward:2`, `y:init`."""
_FLOAT_SUM = 1e-5  # a sum of float32 weights may miss 1 by this much


def check(document: dict[str, Any]) -> None:
    """Refuse a document in memory that is no sound trace.

    Raises:
        UserError: names the block, what was expected and what came.
    """
    counts = token_counts(document)
    bound: dict[str, dict[str, tuple[int, str]]] = {}
    for path, spec, array in each_array(document):
        if array.dtype.kind not in "fiub" or not np.isfinite(array).all():
            raise UserError("holds NaN or infinity, which JSON cannot say", where=path, fix="record finite numbers")
        block = _block(path)
        sizes = bound.setdefault(block, _preset(document, block, counts))
        _check_axes(path, spec, array, sizes)
    for index, block in enumerate(document.get("attention") or []):
        _check_attention(block, f"attention[{index}]")
    _check_names(document)
    _check_steps(document, counts)
    check_text(document)


def check_text(document: Any) -> None:
    """Refuse half a character, which no engine draws and no file holds.

    Raises:
        UserError: names the field.
    """
    waiting: list[tuple[str, Any]] = [("", document)]
    while waiting:
        path, node = waiting.pop()
        if isinstance(node, str):
            if not node.isascii() and any("\ud800" <= character <= "\udfff" for character in node):
                raise UserError(f"{ascii(node)[:60]} holds half a character (a lone surrogate)", where=path)
        elif isinstance(node, dict):
            waiting += [(path, str(key)) for key in node]
            waiting += [(f"{path}.{ascii(key)[1:-1]}".lstrip("."), part) for key, part in node.items()]
        elif isinstance(node, list | tuple):
            waiting += [(f"{path}[{index}]", part) for index, part in enumerate(node)]


def token_counts(document: dict[str, Any]) -> dict[str, int]:
    """Return how many tokens each name of an axis stands for."""
    source = document.get("source") or {}
    target = document.get("target") or {}
    num_source, num_target = len(source.get("tokens", ())), len(target.get("tokens", ()))
    sequence = num_source + max(0, num_target - 1)
    return {
        "source": num_source,
        "target.out": num_target,
        "target.in": num_target,
        "sequence": sequence,
        "sequence.out": max(0, num_source - 1) + num_target,
    }


def _block(path: str) -> str:
    """Name the block whose axes belong together: `attention[2]`, `forecast.windows[1]`, `encoder`."""
    found = re.match(r"\w+(?:\.\w+)?\[\d+\]", path)
    return found[0] if found else path.partition(".")[0]


def _preset(document: dict[str, Any], block: str, counts: dict[str, int]) -> dict[str, tuple[int, str]]:
    sizes = {"S": (counts["source"], "the tokens of source")}
    if document.get("target") is not None:
        sizes["T"] = (counts["target.out"], "the tokens of target")
    name, _, index = block.partition("[")
    if name in ("attention", "qkv"):
        part = document[name][int(index[:-1])]
        if name == "qkv":
            same = [other for other in document.get("attention") or [] if other.get("kind") == part.get("kind")]
            part = same[0] if same else {}
        for letter, key in (("Q", "query"), ("M", "key")):
            if part.get(key) in counts:
                sizes[letter] = (counts[part[key]], f"the tokens of {part[key]}")
    if name == "beam":
        sizes["B"] = (len(document["beam"].get("nodes", ())), "the nodes of the beam")
    if name == "forecast" and not index:
        sizes["S"] = (len(document["forecast"]["hist_y"]), "hist_y")
    return sizes


def _check_axes(path: str, spec: ArraySpec, array: np.ndarray, sizes: dict[str, tuple[int, str]]) -> None:
    letters = spec.axes.split()
    if array.ndim != len(letters):
        raise UserError(f"expected axes [{spec.axes}], got shape {list(array.shape)}", where=path)
    for letter, size in zip(letters, array.shape, strict=True):
        wanted, reason = sizes.setdefault(letter, (size, path))
        if size != wanted:
            what = f"expected {wanted} along {letter} ({reason}), got shape {list(array.shape)} for [{spec.axes}]"
            raise UserError(what, where=path, fix="give one row or column a token")


def _check_attention(block: dict[str, Any], where: str) -> None:
    weights = block.get("weights")
    is_reduced = block.get("reduced") is not None
    if (weights is None) != is_reduced:
        raise UserError("expected either weights or the reduced form", where=where)
    if weights is None:
        missing = [name for name in ("head_mean", "topk_idx", "topk_w", "kept") if block.get(name) is None]
        if missing:
            raise UserError(f"the reduced form lacks {missing[0]}", where=where)
        return _check_reduced(block, where)
    if weights.size and (weights.min() < -_FLOAT_SUM or weights.max() > 1 + _FLOAT_SUM):
        raise UserError("expected weights in [0, 1]", where=f"{where}.weights")
    off = float(np.abs(weights.sum(-1, dtype=np.float64) - 1).max()) if weights.size else 0.0
    bound = float(block.get("row_sum_maxerr") or 0.0) + weights.shape[-1] * UNIT_ERROR + _FLOAT_SUM
    if off > bound:
        what = f"rows must sum to 1 within row_sum_maxerr, one is off by {off:.3g}"
        raise UserError(what, where=f"{where}.weights", fix="give [layer, head, query, key] after the softmax")
    return None


def _check_reduced(block: dict[str, Any], where: str) -> None:
    num_keys = block["head_mean"].shape[-1]
    index = block["topk_idx"]
    if index.size and (index.min() < 0 or index.max() >= num_keys):
        raise UserError(f"expected indexes below {num_keys}", where=f"{where}.topk_idx")
    heads = block["reduced"]["kept_heads"]
    if len(heads) != len(block["kept"]):
        raise UserError(f"expected {len(heads)} kept heads, got {len(block['kept'])}", where=f"{where}.kept")


def _check_names(document: dict[str, Any]) -> None:
    """Refuse a word, a token or a node of the beam that names another one which is not there."""
    for side in ("source", "target"):
        block = document.get(side) or {"tokens": [], "words": []}
        for name, key, other in (("tokens", "word", "words"), ("words", "tok", "tokens")):
            size = len(block[other])
            for index, part in enumerate(block[name]):
                named = [part[key]] if isinstance(part[key], int) else part[key] or []
                if any(each >= size for each in named):
                    raise UserError(f"expected indexes below {size}", where=f"{side}.{name}[{index}].{key}")
    beam = document.get("beam") or {"nodes": [], "best": -1}
    for index, node in enumerate(beam["nodes"]):
        if node["id"] != index or (node["parent"] is not None and node["parent"] >= index):
            raise UserError("expected nodes in order, each behind its parent", where=f"beam.nodes[{index}]")
    if beam["best"] >= len(beam["nodes"]):
        raise UserError(f"expected a node below {len(beam['nodes'])}", where="beam.best")


def _check_steps(document: dict[str, Any], counts: dict[str, int]) -> None:
    steps = (document.get("decoder") or {}).get("steps")
    if steps is not None and len(steps) != counts["target.out"]:
        what = f"expected {counts['target.out']} steps (the tokens of target), got {len(steps)}"
        raise UserError(what, where="decoder.steps")
    schedule = document.get("schedule") or []
    if len(schedule) > MOST_STEPS:
        raise UserError(f"expected at most {MOST_STEPS:,} steps, got {len(schedule):,}", where="schedule")
    written = counts["target.out"]
    if document.get("target") is None:  # labels of what was read, or the values of a forecast
        written = max(counts["source"], len((document.get("forecast") or {}).get("pred_y", ())))
    sizes = {"x": counts["source"], "y": written, "ctx": written}
    for index, step in enumerate(schedule):
        if step.get("t") != index + 1:
            raise UserError(f"expected t = {index + 1}, got {step.get('t')}", where=f"schedule[{index}]")
        for number, event in enumerate(step.get("events") or []):
            for key in ("reads", "writes"):
                _check_event(event.get(key) or [], sizes, f"schedule[{index}].events[{number}].{key}")
    for where, value in _plain_numbers(document, ""):
        if not math.isfinite(value):
            raise UserError("holds NaN or infinity, which JSON cannot say", where=where, fix="record finite numbers")


def _check_event(names: list[str], sizes: dict[str, int], where: str) -> None:
    """Refuse a name that is none, or one of a token that is not there."""
    for name in names:
        found = _NAME.fullmatch(name)
        if found is None:
            raise UserError(f"expected a name and an index such as x:0, got {ascii(name)[:60]}", where=where)
        size = sizes.get(found[1])
        if size is not None and found[2] != "init" and int(found[2]) >= size:
            raise UserError(f"{name} names no token: expected an index below {size}", where=where)


def _plain_numbers(node: Any, path: str) -> Iterator[tuple[str, float]]:
    if isinstance(node, float):
        yield path, node
    elif isinstance(node, dict):
        dot = "." if path else ""
        for key, part in node.items():
            yield from _plain_numbers(part, f"{path}{dot}{key}")
    elif isinstance(node, list) and not (node and isinstance(node[0], str)):  # not the long lists of a schedule
        for index, part in enumerate(node):
            yield from _plain_numbers(part, f"{path}[{index}]")
