"""What happens, told to every open page as server-sent events: a recording begins, its steps, its end."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

from seqline.visualize.trace import Bundle, Trace

MOST_PAGES = 32
MOST_UNREAD = 4096
SECONDS_BETWEEN_BEATS = 15.0
_END = ""


class Live:
    """Those who listen, each with a line of events of its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pages: dict[asyncio.Queue[str], asyncio.AbstractEventLoop] = {}
        self.is_closed = False

    def tell(self, event: str, data: dict[str, Any]) -> None:
        """Send an event to all; from any thread."""
        self._send(f"event: {event}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n")

    def close(self) -> None:
        """End all streams, so that the server can stop."""
        self.is_closed = True
        self._send(_END)

    def listen(self) -> AsyncIterator[str] | None:
        """Return the events from now on, None where too many listen."""
        with self._lock:
            if len(self._pages) >= MOST_PAGES or self.is_closed:
                return None
        return self._events()

    async def _events(self) -> AsyncIterator[str]:
        # Only once it runs is it among the pages: a page that has gone by then never comes to the end below.
        line: asyncio.Queue[str] = asyncio.Queue()
        with self._lock:
            self._pages[line] = asyncio.get_running_loop()
        try:
            yield "retry: 3000\n\n"
            while not (self.is_closed and line.empty()):  # what was told before the end is still sent
                try:
                    text = await asyncio.wait_for(line.get(), SECONDS_BETWEEN_BEATS)
                except TimeoutError:
                    text = ": still here\n\n"  # writing is how a page that has gone is noticed
                if text == _END:
                    return
                yield text
        finally:
            with self._lock:
                self._pages.pop(line, None)

    def _send(self, text: str) -> None:
        with self._lock:
            pages = list(self._pages.items())
        for line, loop in pages:
            if not loop.is_closed():
                loop.call_soon_threadsafe(_put, line, text)


def _put(line: asyncio.Queue[str], text: str) -> None:
    if line.qsize() < MOST_UNREAD:
        line.put_nowait(text)


def steps_of(trace: Trace | Bundle) -> Iterator[dict[str, Any]]:
    """Yield one event a step of the schedule: its number, how many there are, who runs, and what is written by then."""
    traces = trace.traces if isinstance(trace, Bundle) else [trace]
    labels = trace.labels if isinstance(trace, Bundle) else [None]
    for one, label in zip(traces, labels, strict=True):
        document, written = one.document, []
        schedule = document["schedule"]
        tokens = (document.get("target") or {}).get("tokens", [])
        for step in schedule:
            for event in step["events"]:
                for name in event["writes"]:
                    side, _, index = name.partition(":")
                    if side == "y" and index.isdecimal() and int(index) < len(tokens):
                        written.append(tokens[int(index)]["text"] or tokens[int(index)]["piece"])
            parts = list(dict.fromkeys(event["part"] for event in step["events"]))
            yield {"model": label, "t": step["t"], "of": len(schedule), "parts": parts, "written": written[-1:]}
