"""The states of either side: h, c, gates and terms of every layer, direction and position, in the order of the tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from seqline.recording.frames import by_path, rows_of
from seqline.watch import Frame

CELLS = ("simple cell", "lstm cell", "gru cell", "linear cell")
GATES = {
    "lstm cell": {"i": "input", "f": "forget", "g": "candidate", "o": "output"},
    "gru cell": {"r": "reset", "z": "update", "n": "candidate"},
}
Lane = list[list[Frame]]
"""One direction: the frames of each layer, lowest first, in the order in which they ran."""


def lanes_of(frames: Sequence[Frame]) -> list[Lane]:
    """Return the forward lane and, where there is one, the backward lane; [] where nothing is recurrent."""
    forward: Lane = []
    backward: Lane = []
    for path, found in by_path(frames, *CELLS).items():
        (backward if "backwards" in path.split(".") else forward).append(found)
    return [lane for lane in (forward, backward) if lane]


def source_orders(length: int, is_reversed: bool) -> tuple[list[int], list[int]]:
    """Return at which step the forward and the backward lane read each source position.

    Args:
        length: source tokens, the end mark included.
        is_reversed: words are read from the last to the first, the end mark after them.
    """
    backward = list(range(length - 1, -1, -1))
    return ([*backward[1:], length - 1] if is_reversed else list(range(length)), backward)


def recurrent_states(lanes: Sequence[Lane], orders: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Return the block of an encoder [L R S D] from its lanes; `orders` says at which step each position was read."""

    def over(name: str) -> np.ndarray:
        stacked = [
            np.stack([rows_of(layer, name)[list(order)] for layer in lane])
            for lane, order in zip(lanes, orders, strict=False)
        ]
        return np.stack(stacked, axis=1)

    def first(name: str) -> np.ndarray:
        return np.stack([np.stack([rows_of(layer[:1], name)[0] for layer in lane]) for lane in lanes], axis=1)

    return _named(lanes[0][0][0], over, first)


def written_states(lane: Lane, num_steps: int) -> dict[str, Any]:
    """Return the block of a decoder [L T D] from its lane: the last `num_steps` of its frames."""

    def over(name: str) -> np.ndarray:
        return np.stack([rows_of(layer[-num_steps:], name) for layer in lane])

    def first(name: str) -> np.ndarray:
        return np.stack([rows_of(layer[-num_steps:][:1], name)[0] for layer in lane])

    return _named(lane[0][0], over, first)


def _named(frame: Frame, over: Any, first: Any) -> dict[str, Any]:
    part, block = frame.part, {"h": over("h"), "h0": first("h_before")}
    if part == "simple cell":
        block["terms"] = {"wx": over("wx"), "uh": over("uh")}
    if part in GATES:
        block["gates"] = {letter: over(name) for letter, name in GATES[part].items()}
    if "c" in frame.values and frame.values["c"] is not frame.values["h"]:
        block["c"], block["c0"] = over("c"), first("c_before")
        if np.array_equal(block["c"], block["h"]):  # a cell whose output is its state
            del block["c"], block["c0"]
    return block


def block_states(frames: Sequence[Frame], num_rows: int) -> np.ndarray | None:
    """Return the outputs of layers without a recurrent cell [L T D], the last `num_rows` positions; None: there are none."""
    layers = [rows_of(found, "h")[-num_rows:] for found in by_path(frames, "block").values()]
    return np.stack(layers) if layers else None
