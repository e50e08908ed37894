"""Looking inside: parts `show` what they compute, and whoever opened a `watch` receives it as frames.

Showing changes no output and costs one look at a variable when nobody watches.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, NamedTuple

from torch import Tensor, nn

from seqline.errors import UserError

LIMIT_MB = 256.0


class Frame(NamedTuple):
    """One thing a part computed: the part's name and its tensors, detached copies.

    path: the dotted name of the module that was running; "" where `watch` was not told the model.
    """

    part: str
    values: dict[str, Tensor]
    path: str = ""


class _Recorder:
    """Who receives the frames: which parts are wanted, what is kept of them, and where in the model the run is."""

    def __init__(self, only: Collection[str] | None, keep_graph: bool, limit_mb: float) -> None:
        self.frames: list[Frame] = []
        self.running: list[str] = []
        self.only = None if only is None else frozenset(only)
        self.keep_graph, self.limit_mb, self.num_bytes = keep_graph, limit_mb, 0

    def wants(self, part: str) -> bool:
        """Tell whether a part is recorded; "": whether any is."""
        return self.only is None or (part in self.only if part else bool(self.only))

    def add(self, part: str, values: dict[str, Tensor]) -> None:
        """Keep one frame, or refuse it where all together grow past the limit."""
        self.num_bytes += sum(value.numel() * value.element_size() for value in values.values())
        if self.num_bytes > self.limit_mb * 1e6:
            raise UserError(
                f"what is recorded is larger than {self.limit_mb:g} MB",
                where="watch",
                fix="record a shorter text or fewer parts (only=), or raise limit_mb",
            )
        # Where the graph is kept, the very tensor must be shown: a copy would not be on the way to the loss.
        kept = dict(values) if self.keep_graph else {name: value.detach().clone() for name, value in values.items()}
        self.frames.append(Frame(part, kept, self.running[-1] if self.running else ""))


_recorder: ContextVar[_Recorder | None] = ContextVar("seqline_recorder", default=None)


def is_watched(part: str = "") -> bool:
    """Tell whether somebody records that part ("": any); fused paths, which have nothing to show, step aside then."""
    recorder = _recorder.get()
    return recorder is not None and recorder.wants(part)


def show(part: str, **values: Tensor) -> None:
    """Record what a part computed; does nothing unless inside `watch`."""
    recorder = _recorder.get()
    if recorder is not None and recorder.wants(part):
        recorder.add(part, values)


@contextmanager
def watch(
    model: nn.Module | None = None,
    *,
    only: Collection[str] | None = None,
    keep_graph: bool = False,
    limit_mb: float = LIMIT_MB,
) -> Iterator[list[Frame]]:
    """Collect the frames of what runs inside the block, in the order it ran; a watch inside it keeps its own frames.

    Args:
        model: whose modules are named in the frames' `path`; None: frames without paths.
        only: the parts to record, as they are named in frames; None: all. What is not recorded stays on its fused path.
        keep_graph: keep the tensors themselves instead of detached copies, so that gradients reach them.
        limit_mb: the most that all frames together may hold, in 10^6 bytes.

    Raises:
        UserError: inside the block, as soon as the frames hold more than `limit_mb`.
    """
    recorder = _Recorder(only, keep_graph, limit_mb)
    token = _recorder.set(recorder)
    hooks = [] if model is None else _follow(model, recorder)
    try:
        yield recorder.frames
    finally:
        for remove in hooks:
            remove()
        _recorder.reset(token)


def _follow(model: nn.Module, recorder: _Recorder) -> list[Callable[[], None]]:
    """Let every module note when it begins and ends; return what takes the hooks away again."""

    def begin(name: str, _module: nn.Module, _inputs: Any) -> None:
        if _recorder.get() is recorder:  # another thread may run the same model
            recorder.running.append(name)

    def end(name: str, _module: nn.Module, _inputs: Any, _output: Any) -> None:
        if _recorder.get() is recorder and recorder.running[-1:] == [name]:
            recorder.running.pop()

    removes = []
    for name, module in model.named_modules():
        removes.append(module.register_forward_pre_hook(partial(begin, name)).remove)
        removes.append(module.register_forward_hook(partial(end, name), always_call=True).remove)
    return removes
