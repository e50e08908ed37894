"""The JavaScript adapter: runs the linked scenes on a trace. The only file that knows an engine."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import threading
from abc import ABC, abstractmethod
from functools import cache
from typing import Any, cast

from seqline.errors import UserError

MEMORY_BYTES = 512 * 10**6
SECONDS_PER_CALL = 10
_START = """
var seqlineTrace = null;
function seqlineSetTrace(json) { seqlineTrace = JSON.parse(json); return true; }
function seqlineCall(json) {
  const [view, name, state, frame] = JSON.parse(json);
  const scenes = seqlineViews[view];
  if (name === "scene") return [scenes.scene(seqlineTrace, state)].join("");
  if (name === "meta") {
    const meta = seqlineLib.joined(scenes.meta, { state: seqlineLib.joined(seqlineLib.COMMON, scenes.meta.state) });
    const alone = meta.bundle === "only" && seqlineTrace && !seqlineTrace.traces;
    const lacks = meta.gap || ((trace) => seqlineLib.firstMissing(trace, meta.needs));
    const gap = alone ? "second trace" : seqlineTrace && lacks(seqlineTrace);
    return JSON.stringify(seqlineLib.joined(meta, { missing: gap }));
  }
  return JSON.stringify(name === "stateAt" ? scenes.stateAt(seqlineTrace, state, frame) : scenes[name](seqlineTrace, state));
}
"""


class SceneError(Exception):
    """A scene failed: a fault of the drawing code, not of what the user gave."""


class Engine(ABC):
    """One JavaScript context: load the code once, set a trace, call scenes. Bound to the thread that made it."""

    name: str

    def load(self, js_text: str) -> None:
        """Run the linked scenes, see `link`."""
        self._run(js_text + _START)

    def set_trace(self, json_text: str) -> None:
        """Hand over the trace (or bundle) that the next calls draw, as JSON with plain nested lists."""
        self._call_function("seqlineSetTrace", json_text)

    def call(self, view: str, fn: str, state: dict[str, Any], frame: int = 0) -> Any:
        """Call one function of a view: `scene` gives the SVG string, the others their plain value.

        Args:
            view: id of a loaded scene.
            fn: scene, table, describe, frames, stateAt or meta (with the defaults of every view in `state`, and in `missing`
                the block that the trace lacks, or None).
            state: plain JSON.
            frame: the frame that `stateAt` is asked for, from 0.

        Raises:
            SceneError: the scene threw, took too long or too much memory.
        """
        answer = self._call_function("seqlineCall", json.dumps([view, fn, state, frame]))
        return answer if fn == "scene" else json.loads(answer)

    @abstractmethod
    def _run(self, js_text: str) -> None: ...

    @abstractmethod
    def _call_function(self, name: str, argument: str) -> Any: ...


class QuickJs(Engine):
    """quickjs-ng: small, no compiler, wheels for most machines."""

    name = "quickjs"

    def __init__(self) -> None:
        import quickjs

        self._error = quickjs.JSException
        self._context = quickjs.Context()
        self._context.set_memory_limit(MEMORY_BYTES)
        self._context.set_max_stack_size(2**20)
        self._context.set_time_limit(SECONDS_PER_CALL)

    def _run(self, js_text: str) -> None:
        try:
            self._context.eval(js_text)
        except self._error as error:
            raise SceneError(str(error)) from error

    def _call_function(self, name: str, argument: str) -> Any:
        self._context.set("seqlineArgument", argument)
        try:
            return self._context.eval(f"{name}(seqlineArgument)")
        except self._error as error:
            raise SceneError(str(error)) from error


class V8(Engine):
    """mini-racer, where quickjs-ng has no wheel."""

    name = "v8"

    def __init__(self) -> None:
        import py_mini_racer

        self._error = py_mini_racer.JSEvalException
        # Left to itself it would join the event loop of a notebook, and then take no time limit.
        self._maker = py_mini_racer.mini_racer(_own_loop())
        self._context = self._maker.__enter__()
        self._context.set_hard_memory_limit(MEMORY_BYTES)
        # A property is set without a parse; a trace of many megabytes as a literal in the code takes V8 seconds.
        self._argument: Any = self._context.eval("var seqlineArgument = { text: '' }; seqlineArgument")

    def _run(self, js_text: str) -> None:
        self._eval(js_text + "\n0")

    def _call_function(self, name: str, argument: str) -> Any:
        self._argument["text"] = argument
        return self._eval(f"{name}(seqlineArgument.text)")

    def _eval(self, js_text: str) -> Any:
        try:
            return cast("Any", self._context.eval(js_text, timeout_sec=SECONDS_PER_CALL))
        except self._error as error:
            raise SceneError(str(error)) from error


@cache
def _own_loop() -> asyncio.AbstractEventLoop:
    """Return the event loop, in a thread of its own, that all V8 contexts of this process wait in."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="seqline-v8", daemon=True).start()
    return loop


_ENGINES: dict[str, tuple[str, type[Engine]]] = {"quickjs": ("quickjs", QuickJs), "v8": ("py_mini_racer", V8)}
_local = threading.local()


def installed_engines() -> tuple[str, ...]:
    """Return the names of the engines that are installed, the default one first."""
    return tuple(name for name, (module, _) in _ENGINES.items() if importlib.util.find_spec(module) is not None)


def new_engine(name: str | None = None) -> Engine:
    """Return a fresh engine without code: `name`, else `SEQLINE_JS`, else the first one installed.

    Raises:
        UserError: none is installed, or the one asked for is not.
    """
    wanted = name or os.environ.get("SEQLINE_JS") or ""
    found = installed_engines()
    if wanted and wanted not in _ENGINES:
        raise UserError(f"expected quickjs or v8, got {wanted!r}", where="SEQLINE_JS", fix="leave it unset for quickjs")
    if not found or (wanted and wanted not in found):
        what = f"the JavaScript engine {wanted} is not installed" if wanted else "drawing needs a JavaScript engine"
        package = "mini-racer" if wanted == "v8" else "seqline[pictures]"
        raise UserError(what, fix=f'pip install "{package}"')
    return _ENGINES[wanted or found[0]][1]()


def thread_engine() -> Engine:
    """Return this thread's engine with all scenes loaded; it is made on the first call."""
    from seqline.visualize.link import link

    key = os.environ.get("SEQLINE_JS") or ""
    engines: dict[str, Engine] = _local.__dict__.setdefault("engines", {})
    if key not in engines:
        engine = new_engine()
        engine.load(link())
        engines[key] = engine
    return engines[key]
