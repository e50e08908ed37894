"""Looking inside: parts `show` what they compute, and whoever opened a `watch` receives it as frames.

Showing changes no output and costs one look at a variable when nobody watches.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from torch import Tensor


class Frame(NamedTuple):
    """One thing a part computed: the part's name and its tensors, detached copies."""

    part: str
    values: dict[str, Tensor]


_frames: ContextVar[list[Frame] | None] = ContextVar("seqline_frames", default=None)


def is_watched() -> bool:
    """Tell whether somebody records; fused paths, which have nothing to show, step aside then."""
    return _frames.get() is not None


def show(part: str, **values: Tensor) -> None:
    """Record what a part computed; does nothing unless inside `watch`."""
    frames = _frames.get()
    if frames is not None:
        frames.append(Frame(part, {name: value.detach().clone() for name, value in values.items()}))


@contextmanager
def watch() -> Iterator[list[Frame]]:
    """Collect the frames of what runs inside the block, in the order it ran; a watch inside it keeps its own frames."""
    frames: list[Frame] = []
    token = _frames.set(frames)
    try:
        yield frames
    finally:
        _frames.reset(token)
