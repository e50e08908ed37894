"""How long each part of a decoder step takes."""

from __future__ import annotations

import time
from functools import partial
from types import TracebackType
from typing import Any

from torch import nn

from seqline.parts.attention import SourceAttention
from seqline.parts.embeddings import Embedding
from seqline.parts.heads import VocabularyHead


class Clock:
    """Adds up the milliseconds of a model's parts between one `split` and the next; its hooks go when the block ends."""

    def __init__(self, model: nn.Module) -> None:
        self.parts: list[dict[str, float]] = []
        self._running: dict[str, float] = {}
        self._sums: dict[str, float] = {}
        self._start = time.perf_counter()
        self._hooks: list[Any] = []
        for name, module in model.named_modules():
            if part := _part_of(name, module):
                self._hooks.append(module.register_forward_pre_hook(partial(self._begin, part)))
                self._hooks.append(module.register_forward_hook(partial(self._end, part), always_call=True))

    def __enter__(self) -> Clock:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for hook in self._hooks:
            hook.remove()

    def split(self) -> None:
        """End a phase and begin the next."""
        now = time.perf_counter()
        self.parts.append({**self._sums, "total": (now - self._start) * 1000})
        self._sums = {}
        self._start = time.perf_counter()

    def _begin(self, part: str, _module: nn.Module, _inputs: Any) -> None:
        self._running[part] = time.perf_counter()

    def _end(self, part: str, _module: nn.Module, _inputs: Any, _output: Any) -> None:
        began = self._running.pop(part, None)
        if began is not None:
            self._sums[part] = self._sums.get(part, 0.0) + (time.perf_counter() - began) * 1000


def _part_of(name: str, module: nn.Module) -> str:
    """Name what a module's time is counted as; "" where it is part of something else."""
    last = name.rpartition(".")[2]
    if isinstance(module, Embedding):
        return "embed"
    if isinstance(module, VocabularyHead):
        return "softmax"
    if last == "cross_attention" or isinstance(module, SourceAttention):
        return "cross"
    return {"mixer": "self", "feed_forward": "ffn"}.get(last, "")
