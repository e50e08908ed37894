"""Where the work is done: one thing at a time, a short line of waiting ones, and the recordings made last."""

from __future__ import annotations

import asyncio
import hashlib
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

from seqline.visualize.trace import Bundle, Trace

MOST_WAITING = 4
MOST_KEPT = 24
Result = TypeVar("Result")


class Busy(Exception):
    """The line is full; `seconds` is about when to come back."""

    def __init__(self, seconds: int) -> None:
        self.seconds = seconds
        super().__init__(f"{MOST_WAITING} requests are waiting already; try again in {seconds} s")


class Desk:
    """One worker thread and its line. All models and the drawing engine live in that thread alone."""

    def __init__(self) -> None:
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="studio")
        self._lock = threading.Lock()
        self._present = 0  # running and waiting
        self._seconds = 1.0  # what a request takes, on average

    async def run(self, work: Callable[[], Result]) -> Result:
        """Wait for the turn and return what the work returns.

        Raises:
            Busy: one is running and `MOST_WAITING` wait.
        """
        with self._lock:
            if self._present > MOST_WAITING:
                raise Busy(max(1, math.ceil(self._seconds * self._present)))
            self._present += 1
        try:
            future = self._worker.submit(self._timed, work)
        except BaseException:
            self._leave()
            raise
        future.add_done_callback(lambda _: self._leave())
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Take no more work; what waits is dropped."""
        self._worker.shutdown(wait=False, cancel_futures=True)

    def _leave(self) -> None:
        with self._lock:
            self._present -= 1

    def _timed(self, work: Callable[[], Result]) -> Result:
        start = time.perf_counter()
        try:
            return work()
        finally:
            self._seconds += 0.3 * (time.perf_counter() - start - self._seconds)


class Kept(NamedTuple):
    """A recording, the text of its file, and what was asked."""

    id: str
    trace: Trace | Bundle
    text: str
    asked: dict[str, Any]


class Shelf:
    """The recordings made last, by id."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Kept] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, trace: Trace | Bundle, asked: dict[str, Any]) -> Kept:
        """Keep a recording and name it by its content; the oldest one goes when there are too many."""
        text = trace.to_json()
        kept = Kept(hashlib.sha256(text.encode()).hexdigest()[:20], trace, text, asked)
        with self._lock:
            self._kept[kept.id] = kept
            self._kept.move_to_end(kept.id)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return kept

    def get(self, name: str) -> Kept | None:
        """Return a recording, None where there is none of that id any more."""
        with self._lock:
            return self._kept.get(name)

    def last(self) -> Kept | None:
        """Return the recording made last."""
        with self._lock:
            return next(reversed(self._kept.values()), None)
