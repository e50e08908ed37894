"""Who may ask: the page itself. Other sites that a browser visits at the same time may not, and none may ask too much."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Collection

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from seqline.studio.asked import MOST_BYTES

LOCAL = ("127.0.0.1", "localhost", "::1")
HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Content-Security-Policy": "frame-ancestors 'none'",
}


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_wildcard(host: str) -> bool:
    """Tell whether an address stands for all of this machine's addresses."""
    return host in ("", "0.0.0.0", "::")


class Guard:
    """Checks every request before the application sees it, and adds the headers that keep the page to itself.

    A page of another site can send requests to 127.0.0.1, also under a name of its own that it points there. So the name must
    be one of ours, a request must not come from another page, and no answer ever allows another origin to read it.

    Args:
        app: what is guarded.
        host: the address that the server is bound to.
    """

    def __init__(self, app: ASGIApp, host: str = "127.0.0.1") -> None:
        self.app, self.any_address = app, is_wildcard(host)
        names = {*LOCAL, host.lower()}
        self.names: Collection[str] = names | {socket.gethostname().lower()} if self.any_address else names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it on."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        request = Request(scope)
        if problem := self._problem(request):
            status, sentence = problem
            return await JSONResponse({"error": sentence}, status, headers=HEADERS)(scope, receive, send)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name.lower() for name, _ in message["headers"]}
                more = [(k.lower().encode(), v.encode()) for k, v in HEADERS.items() if k.lower().encode() not in given]
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        return await self.app(scope, receive, send_with_headers)

    def _problem(self, request: Request) -> tuple[int, str] | None:
        hosts = request.headers.getlist("host")
        if len(hosts) != 1 or not self._is_ours(hosts[0]):
            return 400, "the Host header names another machine; open the address that `seqline studio` printed"
        origin = request.headers.get("origin")
        if origin is not None and origin not in (f"http://{hosts[0]}", f"https://{hosts[0]}"):
            return 403, "requests of other pages are refused"
        if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return 403, "requests of other pages are refused"
        if request.method == "POST":
            kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind != "application/json":
                return 415, "expected a body of type application/json"
            length = request.headers.get("content-length", "")
            if length.isdecimal() and int(length) > MOST_BYTES:
                return 413, f"the body is larger than {MOST_BYTES // 1024} KB"
        return None

    def _is_ours(self, host: str) -> bool:
        name = host.lower()
        bare = name[1:].partition("]")[0] if name.startswith("[") else name.partition(":")[0]
        if bare in self.names:
            return True
        try:
            address = ipaddress.ip_address(bare)
        except ValueError:
            return False
        return self.any_address or address.is_loopback
