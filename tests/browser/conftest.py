"""A real browser without a network: pages are opened from files, and every request or message beyond silence fails."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from seqline.visualize.engine import Engine, new_engine
from seqline.visualize.html import page
from seqline.visualize.link import link
from seqline.visualize.synthetic import fixture
from seqline.visualize.trace import Bundle, Trace

READY = 'body[data-ready="1"]'


@dataclass
class Opened:
    """A page in its own browser context, and what it did beside showing itself."""

    view: Any
    context: Any
    requests: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)

    def js(self, code: str, argument: Any = None) -> Any:
        """Evaluate JavaScript in the page."""
        return self.view.evaluate(code, argument)

    def show(self, view: str, **state: Any) -> None:
        """Open a view with nothing but this state; the page's language, theme and table are as at the start."""
        self.js(
            """([view, state]) => { const s = window.studio;
                Object.assign(s.shared, {lang: "en", theme: undefined, m: 0}); s.toggleTable(false); s.toggleExport(false);
                s.figure.stop(); s.figure.own = {}; s.figure.show(view, state); s.words(); }""",
            [view, state],
        )

    def settled(self) -> None:
        """Wait for two frames: the words beside the figure follow one frame after it."""
        self.js("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def assert_silent(self) -> None:
        """Fail on a request other than the document, a console warning or error, or a page error."""
        assert self.requests == [], self.requests
        assert self.messages == [], self.messages


@pytest.fixture(scope="package")
def chromium() -> Iterator[Any]:
    """Start Debian's browser once; without it or playwright the tests are skipped."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (extra: dev)")
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("no chromium on this machine (apt-get install chromium)")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the pages and of the screenshots that are kept."""
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="package")
def page_file(folder: Path) -> Callable[[str], Path]:
    """Write the page of a fixture once."""

    def write(name: str) -> Path:
        path = folder / f"{name}.html"
        if not path.exists():
            path.write_text(page(fixture(name)), encoding="utf-8")
        return path

    return write


@pytest.fixture(scope="package")
def visit(chromium: Any) -> Iterator[Callable[..., Opened]]:
    """Open a file in a context of its own; all contexts close at the end, and each must have been silent."""
    opened: list[Opened] = []

    def go(path: Path, hash: str = "", *, wait: bool = True, **options: Any) -> Opened:
        context = chromium.new_context(offline=True, **({"viewport": {"width": 1280, "height": 800}} | options))
        context.set_default_timeout(30_000)
        here = Opened(context.new_page(), context)
        here.view.on("request", lambda request: _note_request(here, request))
        here.view.on("console", lambda message: _note_message(here, message.type, message.text))
        here.view.on("pageerror", lambda error: here.messages.append(str(error)))
        here.view.goto(path.as_uri() + hash)
        if wait:
            here.view.wait_for_selector(READY)
        opened.append(here)
        return here

    yield go
    for here in opened:
        here.context.close()


@pytest.fixture(scope="package")
def shown(visit: Callable[..., Opened], page_file: Callable[[str], Path]) -> Callable[[str], Opened]:
    """Return the open page of a fixture, one for all tests that leave it as they found it."""
    pages: dict[str, Opened] = {}

    def get(name: str) -> Opened:
        if name not in pages:
            pages[name] = visit(page_file(name))
        return pages[name]

    return get


@pytest.fixture(scope="package")
def engine_of() -> Callable[[Trace | Bundle], Engine]:
    """Return an engine that holds a trace, as the export uses it."""
    engine = new_engine()
    engine.load(link())
    held: list[Trace | Bundle] = []

    def hold(trace: Trace | Bundle) -> Engine:
        if not held or held[0] is not trace:
            engine.set_trace(json.dumps(trace.decoded()))
            held[:] = [trace]
        return engine

    return hold


def _note_request(here: Opened, request: Any) -> None:
    is_inside = request.url.startswith(("data:", "blob:", "about:"))
    if not is_inside and not (request.is_navigation_request() and request.frame.parent_frame is None):
        here.requests.append(request.url)


def _note_message(here: Opened, kind: str, text: str) -> None:
    if kind in ("warning", "error", "assert"):
        here.messages.append(f"{kind}: {text}")
