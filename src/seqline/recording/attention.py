"""The attention blocks: which query read which key, every layer and head, and the numbers behind the weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from seqline.recording.frames import by_path, to_array
from seqline.visualize.blocks import AXES
from seqline.watch import Frame

ATTENTION = ("attention", "multi-head attention")
MEMORY = "keys and values"
MOST_NUMBERS = 100_000
"""Queries, keys and values are kept head after head until they are that many."""
SCORE_ERROR = 1e-4
Names = dict[str, str]


class Layer(NamedTuple):
    """One layer's attention [H Q M], its mask [Q M], its queries [H Q E] and contexts [H Q C]."""

    scores: np.ndarray
    weights: np.ndarray
    mask: np.ndarray
    query: np.ndarray
    context: np.ndarray
    is_scaled: bool


class Memory(NamedTuple):
    """One layer's keys [K M E] and values [K M C]; several query heads may share one of the K."""

    keys: np.ndarray
    values: np.ndarray


class Kind(NamedTuple):
    """One kind of attention: its layers, lowest first, and their memories (one for all, or one each; [] where unknown)."""

    kind: str
    layers: list[Layer]
    memories: list[Memory]


def layers_of(frames: Sequence[Frame], num_keys: int) -> list[Layer]:
    """Join the frames of each module along the queries; keys that came later than a query are padded and masked."""
    return [_join(found, num_keys) for found in by_path(frames, *ATTENTION).values()]


def memories_of(frames: Sequence[Frame]) -> list[Memory]:
    """Join the keys and values of each module along time."""
    found = by_path(frames, MEMORY).values()
    return [Memory(*(_along(frames, name, 1) for name in ("keys", "values"))) for frames in found]


def shared_memories(frames: Sequence[Frame]) -> list[Memory]:
    """Return what was made ready once a source: a memory a frame, lowest layer first."""
    return [
        Memory(*(_along([frame], name, 1) for name in ("keys", "values"))) for frame in frames if frame.part == MEMORY
    ]


def _heads(array: np.ndarray) -> np.ndarray:
    """Take the batch axis off; a single head has an axis of its own then."""
    return array[0] if array.ndim == 4 else array


def _along(frames: Sequence[Frame], name: str, axis: int) -> np.ndarray:
    return np.concatenate([_heads(to_array(frame.values[name])) for frame in frames], axis=axis)


def _join(frames: Sequence[Frame], num_keys: int) -> Layer:
    scores, weights, masks = [], [], []
    for frame in frames:
        own = _heads(to_array(frame.values["weights"]))
        width = [(0, 0), (0, 0), (0, num_keys - own.shape[-1])]
        weights.append(np.pad(own, width))
        scores.append(np.pad(_heads(to_array(frame.values["scores"])), width))
        mask = _heads(to_array(frame.values["mask"]))[0]
        masks.append(np.pad(np.broadcast_to(mask, own.shape[1:]), width[1:]))
    query, context = (_along(frames, name, 1) for name in ("query", "context"))
    return Layer(
        np.concatenate(scores, axis=-2),
        np.concatenate(weights, axis=-2),
        np.concatenate(masks, axis=-2),
        query,
        context,
        is_scaled=frames[0].part == "multi-head attention",
    )


def block_of(kind: Kind, names: Names) -> dict[str, Any]:
    """Return one entry of `attention`.

    Args:
        kind: its layers.
        names: query, query_in, key and mask_kind, as the trace names them.
    """
    weights = np.stack([layer.weights for layer in kind.layers])
    mask = np.stack([layer.mask for layer in kind.layers]).all(0)
    scores = np.stack([layer.scores for layer in kind.layers])
    off = float(np.abs(weights.sum(-1, dtype=np.float64) - 1).max()) if weights.size else 0.0
    return {
        "name": kind.kind,
        "kind": kind.kind,
        "axes": AXES,
        **names,
        "mask": mask.astype(np.uint8),
        "scores": np.where(np.isfinite(scores), scores, 0.0),
        "weights": weights,
        "row_sum_maxerr": off,
        "reduced": None,
    }


def context_of(layer: Layer) -> np.ndarray:
    """Return the contexts [Q C], those of several heads side by side."""
    return layer.context.swapaxes(0, 1).reshape(layer.context.shape[1], -1)


def qkv_of(kinds: Sequence[Kind]) -> list[dict[str, Any]]:
    """Return queries, keys and values of the heads whose score is their product, as many as are few numbers."""
    found, num_numbers = [], 0
    for kind in kinds:
        if not kind.memories:
            continue
        for number, layer in enumerate(kind.layers):
            memory = kind.memories[min(number, len(kind.memories) - 1)]
            for head in range(len(layer.weights)):
                entry = _entry(layer, memory, head)
                if entry is None:
                    continue
                num_numbers += sum(entry[name].size for name in ("q", "k", "v", "out"))
                if num_numbers > MOST_NUMBERS:
                    return found
                found.append({"kind": kind.kind, "layer": number, "head": head, **entry})
    return found


def _entry(layer: Layer, memory: Memory, head: int) -> dict[str, Any] | None:
    """Return q, k, v of one head, or None where its scores are not q k^T times a number."""
    shared = head * len(memory.keys) // len(layer.weights)
    keys, values, query = memory.keys[shared], memory.values[shared], layer.query[head]
    if keys.shape[-1] != query.shape[-1] or len(keys) != layer.weights.shape[-1]:
        return None
    scale = query.shape[-1] ** -0.5 if layer.is_scaled else 1.0
    seen = layer.mask.astype(bool)
    off = np.abs(query @ keys.T - layer.scores[head])[seen]
    if off.size and off.max() > SCORE_ERROR * max(1.0, float(np.abs(layer.scores[head]).max())):
        return None
    return {"scale": float(scale), "q": query / scale, "k": keys, "v": values, "out": layer.context[head]}
