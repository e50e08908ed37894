"""The live page's application: the page, the runs, recordings, their fonts, exports and the stream of what happens."""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from seqline.errors import UserError, did_you_mean
from seqline.files import read_bytes
from seqline.studio.asked import FORMATS, MOST_BYTES, ExportAsked, TraceAsked, read
from seqline.studio.desk import Busy, Desk, Kept, Shelf
from seqline.studio.guard import Guard
from seqline.studio.live import Live, steps_of
from seqline.studio.page import fonts_of, live_page
from seqline.studio.runs import Runs
from seqline.visualize.export import save
from seqline.visualize.link import view_names
from seqline.visualize.trace import Bundle, Trace

MEDIA_TYPES = {
    "svg": "image/svg+xml",
    "png": "image/png",
    "gif": "image/gif",
    "mp4": "video/mp4",
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "html": "text/html; charset=utf-8",
    "trace": "application/json",
}
Handler = Callable[[Request], Awaitable[Response]]
Say = Callable[[str], None]


class Studio:
    """The routes and what they share.

    Args:
        runs: what can be asked.
        say: takes a line about what went wrong inside.
    """

    def __init__(self, runs: Runs, say: Say) -> None:
        self.runs, self.say = runs, say
        self.desk, self.shelf, self.live = Desk(), Shelf(), Live()

    async def page(self, request: Request) -> Response:
        """GET /: the page, with the recording made last."""
        return HTMLResponse(await run_in_threadpool(live_page, self.shelf.last()))

    async def models(self, request: Request) -> Response:
        """GET /api/models: the runs."""
        return JSONResponse({"models": self.runs.about()})

    async def trace(self, request: Request) -> Response:
        """POST /api/trace: record a text; the answer is the trace, its id a header."""
        asked = read(TraceAsked, await _body(request))
        self.runs.check(asked)
        kept = await self.desk.run(lambda: self._record(asked))
        return _json_text(kept.text, {"Seqline-Trace": kept.id})

    async def fonts(self, request: Request) -> Response:
        """GET /api/fonts/ID: the characters of a recording as fonts for its page."""
        kept = self._kept(request.path_params["trace_id"])
        return JSONResponse(await run_in_threadpool(fonts_of, kept.trace))

    async def export(self, request: Request) -> Response:
        """POST /api/export: a view of a recording as a file."""
        asked = read(ExportAsked, await _body(request))
        if asked.format not in FORMATS:
            what = f"no format named {asked.format[:40]!r}"
            raise UserError(what, where="format", fix=did_you_mean(asked.format, FORMATS))
        if asked.view not in view_names():  # `save` takes "all" too, which is a folder
            what = f"no view named {asked.view!r}"
            raise UserError(what, where="view", fix=did_you_mean(asked.view, view_names()))
        kept = self._kept(asked.trace_id)
        shown = _member(kept.trace, asked.member)
        if asked.format == "trace":
            name, content = "run.json", (kept.text if shown is kept.trace else shown.to_json()).encode()
        else:
            name = f"{asked.view}.{asked.format}"
            content = await self.desk.run(lambda: _drawn(shown, name, asked))
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(content, media_type=MEDIA_TYPES[asked.format], headers=headers)

    async def events(self, request: Request) -> Response:
        """GET /api/live: server-sent events; one per step of the schedule of each recording."""
        events = self.live.listen()
        if events is None:
            return _refusal(429, "too many pages are open; close one", {"Retry-After": "10"})
        return StreamingResponse(events, media_type="text/event-stream")

    def _record(self, asked: TraceAsked) -> Kept:
        self.live.tell("begin", {"models": asked.models, "text": asked.text})
        try:
            kept = self.shelf.put(self.runs.record(asked), asked.model_dump())
        except BaseException as error:
            self.live.tell("failed", {"error": _sentence(error)})
            raise
        for step in steps_of(kept.trace):
            self.live.tell("step", step)
        self.live.tell("end", {"trace_id": kept.id})
        return kept

    def _kept(self, name: str) -> Kept:
        kept = self.shelf.get(name)
        if kept is None:
            raise HTTPException(404, "no recording of this id is kept any more; record it again")
        return kept


def create_app(runs: Runs, host: str = "127.0.0.1", say: Say = print) -> Starlette:
    """Return the application; its `state.studio` holds what the routes share.

    Args:
        runs: what can be asked.
        host: the address that the server is bound to.
        say: takes a line about what went wrong inside.
    """
    studio = Studio(runs, say)
    routes = [
        Route("/", _safely(studio.page)),
        Route("/api/models", _safely(studio.models)),
        Route("/api/trace", _safely(studio.trace), methods=["POST"]),
        Route("/api/fonts/{trace_id}", _safely(studio.fonts)),
        Route("/api/export", _safely(studio.export), methods=["POST"]),
        Route("/api/live", _safely(studio.events)),
    ]
    app = Starlette(
        routes=routes,
        middleware=[Middleware(Guard, host=host)],
        exception_handlers={HTTPException: _http_error},
    )
    app.state.studio = studio
    return app


def _safely(handler: Handler) -> Handler:
    """Turn what goes wrong into one sentence; a traceback stays on this side."""

    async def safe(request: Request) -> Response:
        try:
            return await handler(request)
        except UserError as error:
            return _refusal(400, str(error))
        except Busy as error:
            return _refusal(429, str(error), {"Retry-After": str(error.seconds)})
        except (HTTPException, ClientDisconnect):
            raise
        except Exception as error:
            request.app.state.studio.say(
                f"studio: {request.url.path}: {type(error).__name__}: {' '.join(str(error).split())[:300]}"
            )
            return _refusal(500, _sentence(error))

    return safe


def _sentence(error: BaseException) -> str:
    return str(error) if isinstance(error, UserError) else f"internal error ({type(error).__name__})"


async def _http_error(request: Request, error: Exception) -> Response:
    refused = cast("HTTPException", error)  # Starlette's type for handlers is wider than what it calls this one with
    known = {"Not Found": "there is nothing at this address", "Method Not Allowed": "this address takes another method"}
    return _refusal(refused.status_code, known.get(refused.detail, refused.detail), dict(refused.headers or {}))


def _refusal(status: int, sentence: str, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"error": sentence}, status, headers=headers)


async def _body(request: Request) -> bytes:
    """Read a body that need not say how long it is, up to the limit."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MOST_BYTES:
            raise HTTPException(413, f"the body is larger than {MOST_BYTES // 1024} KB")
        parts.append(part)
    return b"".join(parts)


def _json_text(text: str, headers: dict[str, str]) -> Response:
    return Response(text, media_type="application/json", headers=headers)


def _member(trace: Trace | Bundle, member: int | None) -> Trace | Bundle:
    if member is None or isinstance(trace, Trace):
        return trace
    if member >= len(trace.traces):
        raise UserError(f"expected a number below {len(trace.traces)}, got {member}", where="member")
    return trace.traces[member]


def _drawn(shown: Trace | Bundle, name: str, asked: ExportAsked) -> bytes:
    """Return the very bytes of the file that `save` writes."""
    state: dict[str, Any] = {key: value for key, value in asked.state.items() if key not in ("font", "frame")}
    with tempfile.TemporaryDirectory(prefix="seqline-") as folder:
        path = Path(folder) / name
        save(shown, path, asked.view, state)
        return read_bytes(path)
