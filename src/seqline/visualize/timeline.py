"""The timeline of one recording as text: which part ran at t1, t2, ..., what it read and what it wrote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from seqline.visualize.trace import Trace

SHOWN_WEIGHTS = 4


class Moment(NamedTuple):
    """One row: t from 1; the part that ran; what it read and wrote, in words; attention weights a source piece, or ()."""

    t: int
    part: str
    reads: str
    writes: str
    weights: tuple[float, ...]


def moments(trace: Trace) -> list[Moment]:
    """Say who ran when, a row for each step of the schedule.

    Args:
        trace: of an encoder-decoder; the last layer's attention to the source, the mean of its heads, is shown where there
            is one.
    """
    document = trace.document
    pieces = [token["piece"] for token in document["source"]["tokens"]]
    weights = _weights(document)
    found: list[Moment] = []
    num_read = len(document["schedule"]) - len(document["decoder"]["steps"])
    for step in document["schedule"][:num_read]:
        found.append(_reading(document, step, pieces, is_last=step["t"] == num_read))
    for n, step in enumerate(document["decoder"]["steps"]):
        seen = [] if weights is None else weights[n].tolist()
        token = document["target"]["tokens"][n]["id"]
        p = next(candidate["p"] for candidate in step["topk"] if candidate["id"] == token)
        reads = f"{step['in']}{_mixture(seen, pieces)}"
        found.append(Moment(num_read + n + 1, "decoder", reads, f"{step['out']}  (p = {p:.2f})", tuple(seen)))
    return found


def _reading(document: dict[str, Any], step: dict[str, Any], pieces: Sequence[str], *, is_last: bool) -> Moment:
    """Return one step of the encoder: a position of a recurrent one, a layer of any other."""
    events = [event for event in step["events"] if event["part"] == "encoder"]
    first = events[0]
    end = ": the memory is complete" if is_last else ""
    if first["pos"] is None:
        return Moment(step["t"], "encoder", " ".join(pieces), f"layer {first['layer'] + 1} of all words{end}", ())
    lane: list[int] = [
        event["pos"] for event in events if (event["layer"], event["dir"]) == (first["layer"], first["dir"])
    ]
    reads = ", then ".join(pieces[place] for place in lane)
    names = ", ".join(f"h_{place + 1}" for place in lane)
    states = (document.get("encoder") or {}).get("h")
    size = "" if states is None else f"  (|h| = {np.linalg.norm(states[-1][:, lane[0]]):.2f})"
    return Moment(step["t"], "encoder", reads, f"{names}{end}{size}", ())


def _weights(document: dict[str, Any]) -> np.ndarray | None:
    """Return [T S] of the attention to the source."""
    blocks = [block for block in document.get("attention") or () if block["kind"] == "cross"]
    if not blocks or blocks[-1].get("weights") is None:
        return None
    return np.asarray(blocks[-1]["weights"])[-1].mean(axis=0)


def _mixture(weights: list[float], pieces: Sequence[str]) -> str:
    if not weights:
        return ""
    top = sorted(range(len(weights)), key=lambda s: -weights[s])[:SHOWN_WEIGHTS]
    shown = [f"{weights[s]:.2f} {pieces[s]}" for s in sorted(top) if weights[s] >= 0.005]
    return f";  C = {' + '.join(shown)}"


def as_table(rows: Sequence[Moment]) -> list[str]:
    """Return the timeline as lines of text with aligned columns."""
    cells = [("", "part", "reads", "writes"), *((f"t{m.t}", m.part, m.reads, m.writes) for m in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(4)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
