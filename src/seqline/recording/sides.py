"""The blocks that come from frames alone, whatever the task: states, embeddings, positions, contexts, attention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from torch import nn

from seqline.models.encoder import ReversingEncoder
from seqline.models.reading import is_in_mixer
from seqline.parts.embeddings import Embedding
from seqline.parts.values import ValueEmbedding
from seqline.recording.attention import (
    Kind,
    block_of,
    context_of,
    layers_of,
    memories_of,
    qkv_of,
    shared_memories,
)
from seqline.recording.frames import by_path, rows_of, to_array
from seqline.recording.states import block_states, lanes_of, recurrent_states, source_orders, written_states
from seqline.watch import Frame

SOURCE = {"query": "source", "query_in": "source", "key": "source"}
TARGET = {"query": "target.out", "query_in": "target.in", "key": "target.in"}
CROSS = {"query": "target.out", "query_in": "target.in", "key": "source"}
SEQUENCE = {"query": "sequence.out", "query_in": "sequence", "key": "sequence"}


class Reading(NamedTuple):
    """What read the source: its states, at which step each direction read each position ([] = all at once), its layers."""

    states: dict[str, Any]
    orders: list[list[int]]
    num_layers: int


def reading_of(frames: Sequence[Frame], num_source: int, encoder: nn.Module | None = None) -> Reading:
    """Return what the frames of an encoder, or of a language model's prompt, say of `num_source` positions."""
    lanes = lanes_of(frames)
    if lanes:
        orders = list(source_orders(num_source, isinstance(encoder, ReversingEncoder)))[: len(lanes)]
        return Reading(recurrent_states(lanes, orders), orders, len(lanes[0]))
    orders = [list(range(num_source))] if any(frame.part == "ttt" for frame in frames) else []
    states = block_states(frames, num_source)
    if states is not None:
        return Reading({"h": states[:, None]}, orders, len(states))
    outputs = [frame for frame in frames if frame.part == "encoder"]
    return Reading({"h": rows_of(outputs[-1:], "outputs")[None, None]} if outputs else {}, orders, 0)


def written_of(frames: Sequence[Frame], num_steps: int) -> dict[str, Any]:
    """Return the states of a decoder behind each of its last `num_steps` tokens."""
    lanes = lanes_of(frames)
    if lanes:
        return written_states(lanes[0], num_steps)
    states = block_states(frames, num_steps)
    return {} if states is None else {"h": states}


def head_inputs(frames: Sequence[Frame], num_steps: int) -> np.ndarray:
    """Return what the output layer saw at each of the last steps [T Z]."""
    return rows_of([frame for frame in frames if frame.part == "head"], "t")[-num_steps:]


def embedded(frames: Sequence[Frame]) -> np.ndarray:
    """Return the vectors that entered [T D]."""
    return rows_of([frame for frame in frames if frame.part == "embedding"], "x")


def embeddings_of(model: nn.Module, source: np.ndarray, target: np.ndarray | None) -> dict[str, Any]:
    """Return the block `embeddings`."""
    scale = next((float(m.scale) for m in model.modules() if isinstance(m, Embedding | ValueEmbedding)), None)
    return {"source": source, "target": target, "scale": scale}


def positions_of(reading: Sequence[Frame], writing: Sequence[Frame]) -> dict[str, Any] | None:
    """Return the encoding that was added: the source's, longer by the target's where both are one; None: nothing was added."""
    first, second = _table(reading), _table(writing)
    rows = first or second
    if not rows:
        return None
    used = sorted(rows)
    if all(np.allclose(rows[p], second[p]) for p in rows.keys() & second.keys()):
        rows = {**second, **rows}
    count = next(p for p in range(max(rows) + 2) if p not in rows)  # positions from 0 on, without a gap
    return {"table": np.stack([rows[p] for p in range(count)]), "used": np.array([p for p in used if p < count])}


def _table(frames: Sequence[Frame]) -> dict[int, np.ndarray]:
    found: dict[int, np.ndarray] = {}
    for frame in frames:
        if frame.part == "positions":
            places, rows = to_array(frame.values["positions"])[0], to_array(frame.values["added"])[0]
            found.update(zip(places.tolist(), rows, strict=True))
    return found


def is_mixer(frame: Frame) -> bool:
    """Tell whether a frame comes from what mixes the target's own positions."""
    return is_in_mixer(frame.path)


def encoder_self(frames: Sequence[Frame], num_source: int) -> list[Kind]:
    """Return the self-attention of an encoder, [] where there is none."""
    layers = layers_of(frames, num_source)
    return [Kind("encoder_self", layers, memories_of(frames))] if layers else []


def decoder_self(frames: Sequence[Frame], num_keys: int) -> list[Kind]:
    """Return the causal self-attention of a decoder, [] where there is none."""
    own = [frame for frame in frames if is_mixer(frame)]
    layers = layers_of(own, num_keys)
    return [Kind("decoder_self", layers, memories_of(own))] if layers else []


def cross(prepared: Sequence[Frame], frames: Sequence[Frame], num_source: int) -> list[Kind]:
    """Return how the target read the source, [] where it did not by attention."""
    layers = layers_of([frame for frame in frames if not is_mixer(frame)], num_source)
    return [Kind("cross", layers, shared_memories(prepared))] if layers else []


def attention_blocks(kinds: Sequence[Kind], own: dict[str, str], window: str) -> dict[str, Any]:
    """Return `attention` and `qkv`, {} where there is none.

    Args:
        kinds: what was found.
        own: the names of a decoder's self-attention: `TARGET`, or `SEQUENCE` of a language model.
        window: of the model.
    """
    if not kinds:
        return {}
    names = {
        "encoder_self": {**SOURCE, "mask_kind": "none"},
        "decoder_self": {**own, "mask_kind": "causal"},
        "cross": {**CROSS, "mask_kind": "window" if window.startswith("local") else "none"},
    }
    blocks = [block_of(kind, names[kind.kind]) for kind in kinds]
    return {"attention": blocks, "qkv": qkv_of(kinds) or None}


def context_rows(kinds: Sequence[Kind], frames: Sequence[Frame], states: dict[str, Any], num_steps: int) -> Any:
    """Return what was read for each output [T C]: contexts of the top layer, a summary, or the first state alone."""
    layers = next((kind.layers for kind in kinds if kind.kind == "cross"), [])
    if layers:
        return context_of(layers[-1])
    summaries = by_path(frames, "summary")
    if summaries:
        [found] = summaries.values()
        return rows_of(found, "context")[-num_steps:]
    return np.repeat(states["h0"][-1:], num_steps, axis=0) if "h0" in states else None
