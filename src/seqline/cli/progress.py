"""A progress bar for work on a known number of items: on a terminal only, and only once it takes over two seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

SECONDS_BEFORE_SHOWN = 2.0


@contextmanager
def counting(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Yield a function that is told how many more items are done."""
    bar = Progress(
        TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        console=Console(file=sys.stderr), transient=True,
    )  # fmt: skip
    task = bar.add_task(what, total=total)
    began, is_shown = time.monotonic(), False

    def advance(count: int) -> None:
        nonlocal is_shown
        bar.advance(task, count)
        if not is_shown and sys.stderr.isatty() and time.monotonic() - began > SECONDS_BEFORE_SHOWN:
            bar.start()
            is_shown = True

    try:
        yield advance
    finally:
        if is_shown:
            bar.stop()
