"""The replay: the source and the chosen tokens once more, step by step with batch 1, unwatched and then watched.

The unwatched walk keeps the fused paths and is timed; the watched one gives the frames. That both agree is checked.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import torch
from torch import nn

from seqline.models.encoder_decoder import EncoderDecoder
from seqline.parts.self_attention import KVCache
from seqline.recording.by_hand import NOTHING, ByHand
from seqline.recording.clock import Clock
from seqline.shapes import Tensor
from seqline.state import Decoder, Encoded, tensors_of
from seqline.watch import Frame, watch

MOST_RESTARTS = 64
"""A longer output is not timed without its cache: every step would read all tokens before it again."""


@dataclass(frozen=True)
class Subject:
    """What is replayed, as ids.

    source: what an encoder reads, its end mark included; empty for a language model.
    prefix: what the decoder reads in one call before its first recorded step. fed: what it is fed, one id a step.
    """

    source: Sequence[int]
    prefix: Sequence[int]
    fed: Sequence[int]


@dataclass
class Walk:
    """One walk over a subject: logits [V] of every step, and every tensor that was carried on."""

    encoded: Encoded | None = None
    memory: Any = None
    logits: list[Tensor] = field(default_factory=list)
    states: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class Replay:
    """What the replay saw.

    encoder, prepared, prefix: the frames while the source was read, the memory made ready, the prefix read. steps: those of
    each decoder step. plain, watched: the two walks. times: milliseconds of each unwatched step by part, {} if not wanted.
    """

    encoder: list[Frame]
    prepared: list[Frame]
    prefix: list[Frame]
    steps: list[list[Frame]]
    plain: Walk
    watched: Walk
    times: list[dict[str, float]]

    @property
    def decoding(self) -> list[Frame]:
        """The frames of the prefix and of all steps, in the order of the tokens read."""
        return [*self.prefix, *(frame for step in self.steps for frame in step)]


@torch.no_grad()
def replay(model: nn.Module, subject: Subject, *, timing: bool, limit_mb: float, by_hand: ByHand = NOTHING) -> Replay:
    """Walk over a subject twice: as in use, and watched.

    Raises:
        UserError: the frames hold more than `limit_mb`.
    """
    with Clock(model) as clock, by_hand.applied():
        plain = _walk(model, subject, clock.split)
    marks: list[int] = []
    with watch(model, limit_mb=limit_mb) as frames, by_hand.applied():
        watched = _walk(model, subject, lambda: marks.append(len(frames)))
    cuts = [0, *marks]
    phases = [frames[a:b] for a, b in pairwise(cuts)]
    times = clock.parts[3:] if timing else []
    if timing and len(subject.fed) <= MOST_RESTARTS:
        for step, total in zip(times, _without_cache(model, subject, plain.memory, by_hand), strict=True):
            step["total_without_cache"] = total
    return Replay(phases[0], phases[1], phases[2], phases[3:], plain, watched, times)


def decoder_of(model: nn.Module) -> Decoder:
    """Return what writes: the decoder, or a language model itself."""
    return model.decoder if isinstance(model, EncoderDecoder) else model  # pyright: ignore[reportReturnType]


def device_of(model: nn.Module) -> torch.device:
    """Return where the model computes."""
    return next(model.parameters()).device


def _walk(model: nn.Module, subject: Subject, end_phase: Callable[[], None]) -> Walk:
    """Read the source, make the memory, read the prefix, take the steps; call `end_phase` behind each of them."""
    walk, device, decoder = Walk(), device_of(model), decoder_of(model)

    def one(ids: Sequence[int]) -> Tensor:
        return torch.tensor([list(ids)], dtype=torch.long, device=device)

    if isinstance(model, EncoderDecoder):
        ids = one(subject.source)
        walk.encoded = model.encoder(ids, torch.ones_like(ids, dtype=torch.bool))
    end_phase()
    walk.memory = decoder.prepare(walk.encoded)
    state = decoder.initial_state(walk.memory, 1)
    end_phase()
    if subject.prefix:
        _, state = decoder(one(subject.prefix), state, walk.memory)
    walk.states.append(state)
    end_phase()
    for token in subject.fed:
        logits, state = decoder(one([token]), state, walk.memory)
        walk.logits.append(logits[0, -1])
        walk.states.append(state)
        end_phase()
    return walk


def _without_cache(model: nn.Module, subject: Subject, memory: Any, by_hand: ByHand) -> list[float]:
    """Return the milliseconds of every step when all tokens before it are read again."""
    decoder, device, times = decoder_of(model), device_of(model), []
    read = [*subject.prefix, *subject.fed]
    for end in range(len(subject.prefix) + 1, len(read) + 1):
        ids = torch.tensor([read[:end]], device=device)
        start = time.perf_counter()
        with by_hand.applied():
            decoder(ids, decoder.initial_state(memory, 1), memory)
        times.append((time.perf_counter() - start) * 1000)
    return times


def cache_sizes(states: Sequence[Any]) -> list[dict[str, int | None]]:
    """Say of each step what is carried on: positions held, bytes, positions kept from the step before, positions at most."""
    sizes, before = [], _positions(states[0])
    for state in states[1:]:
        held, window = _positions(state), None if _caches(state) else _window(state)
        num_bytes = sum(t.numel() * t.element_size() for t in tensors_of(state))
        sizes.append({"len": held, "bytes": num_bytes, "reused": min(before, held), "window": window})
        before = held
    return sizes


def _caches(tree: Any) -> list[KVCache]:
    """List the caches of self-attention in a state."""
    if isinstance(tree, KVCache):
        return [tree]
    if isinstance(tree, tuple | list):
        return [cache for part in tree for cache in _caches(part)]
    return []


def _positions(state: Any) -> int:
    caches = _caches(state)
    if not caches:
        return _window(state)
    return max(sum(p.is_real.shape[1] for p in (*cache.blocks, cache.tail)) for cache in caches)


def _window(state: Any) -> int:
    """Return how many inputs a state of fixed size holds: k - 1 of a convolution [B k-1 D], else 1."""
    held = [t.shape[1] for t in tensors_of(state) if t.dim() == 3 and t.is_floating_point()]
    return max(held, default=1)
