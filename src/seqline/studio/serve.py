"""Serving the live page: one address of this machine, until Ctrl+C."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

import uvicorn
from starlette.applications import Starlette

from seqline.studio.app import Studio, create_app
from seqline.studio.guard import is_loopback, is_wildcard
from seqline.studio.runs import Runs

SECONDS_TO_FINISH = 2
Say = Callable[[str], None]


class Server(uvicorn.Server):
    """Uvicorn, which on a signal first ends the streams that would keep it waiting."""

    def __init__(self, app: Starlette) -> None:
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            lifespan="off",
            ws="none",
            server_header=False,
            timeout_graceful_shutdown=SECONDS_TO_FINISH,
        )
        super().__init__(config)
        self.studio: Studio = app.state.studio

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop at a signal."""
        super().handle_exit(sig, frame)  # first: a second signal is one that comes when it is told to stop already
        self.stop()

    def stop(self) -> None:
        """End the streams, take no more work, and stop as soon as what runs is done."""
        self.studio.live.close()
        self.studio.desk.close()
        self.should_exit = True


def serve(runs: Runs, host: str, bound: socket.socket, say: Say) -> None:
    """Serve the live page until Ctrl+C, which ends it without a complaint.

    Args:
        runs: what the page offers.
        host: address that is listened at.
        bound: its socket, see `seqline.studio.address.bind`; closed at the end.
        say: takes lines for the person who started it.
    """
    shown = "127.0.0.1" if is_wildcard(host) else f"[{host}]" if ":" in host else host
    if not is_loopback(host):
        say(f"warning: {host} can be reached from other machines, and whoever reaches it may use these runs")
    say(f"seqline studio with {len(runs.entries)} runs: http://{shown}:{bound.getsockname()[1]}/  (Ctrl+C stops it)")
    server = Server(create_app(runs, host, say))
    try:
        with suppress(KeyboardInterrupt):  # uvicorn raises the signal again when all is closed
            server.run(sockets=[bound])
        say("stopped")
    finally:
        server.stop()
        bound.close()
