"""The JavaScript adapter: which engine, what it returns, and what it does with a fault."""

from __future__ import annotations

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from seqline.errors import UserError
from seqline.visualize.engine import SceneError, installed_engines, new_engine
from seqline.visualize.link import link

from .svg import call, engine, trace_json

ENGINES = installed_engines()
_ROPE = """
const seqlineLib = { COMMON: {}, joined: (a, b) => Object.assign({}, a, b), firstMissing: () => null };
const seqlineViews = { loud: {
  meta: { id: "loud", needs: [], state: {} },
  scene: (trace, state) => { let s = ""; for (let i = 0; i < 20000; i++) s += "<g/>"; return s; },
  frames: () => { throw new Error("broken on purpose"); },
  table: () => { for (;;) {} },
  stateAt: (trace, state, k) => ({ k: k, was: state.t, sum: trace.xs.length }),
} };
"""


def test_quickjs_is_the_default() -> None:
    assert ENGINES[0] == "quickjs"
    assert new_engine().name == "quickjs"


def test_the_variable_forces_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQLINE_JS", "v8")
    assert new_engine().name == "v8"
    monkeypatch.setenv("SEQLINE_JS", "spidermonkey")
    with pytest.raises(UserError, match="expected quickjs or v8, got 'spidermonkey'"):
        new_engine()


def test_without_an_engine_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("quickjs", "py_mini_racer"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UserError, match=r'pip install "seqline\[pictures\]"') as caught:
        new_engine()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ENGINES)
def test_long_strings_numbers_and_faults_cross_over(name: str) -> None:
    made = new_engine(name)
    made.load(_ROPE)
    made.set_trace('{"xs": [1, 2, 3], "text": "比萨 \\ud83c\\udf55"}')
    assert made.call("loud", "scene", {}) == "<g/>" * 20000
    assert made.call("loud", "stateAt", {"t": 2}, 5) == {"k": 5, "was": 2, "sum": 3}
    with pytest.raises(SceneError, match="broken on purpose"):
        made.call("loud", "frames", {})


@pytest.mark.parametrize("name", installed_engines())
def test_it_draws_where_an_event_loop_runs(name: str) -> None:
    """As in a notebook, whose cells run inside one."""

    async def cell() -> str:
        made = new_engine(name)
        made.load(link())
        made.set_trace(trace_json("A"))
        return made.call("align", "scene", {})

    def run() -> str:
        return asyncio.run(cell())

    with ThreadPoolExecutor(1) as pool:  # this thread may have a loop already: a browser test leaves one
        assert pool.submit(run).result() == call("A", "align", "scene", {})


def test_four_hundred_thousand_numbers_are_handed_over() -> None:
    made = new_engine()
    made.load(_ROPE)
    made.set_trace('{"xs": [' + ",".join(["0.123456"] * 400_000) + "]}")
    assert made.call("loud", "stateAt", {}, 0)["sum"] == 400_000


@pytest.mark.parametrize("name", ENGINES)
def test_hash_png_and_numbers_of_the_library(name: str) -> None:
    made = new_engine(name)
    # One view that only asks the library.
    made.load(
        link()
        + "seqlineViews.probe = { table: (trace, state) => state.ask.map(([f, ...xs]) => seqlineLib[f](...xs)) };"
    )
    made.set_trace("null")
    asked = [["fnv", [0, 65535, 300]], ["num", -0.0001, 2], ["num", None], ["num", 1.23456789, 9]]
    got = made.call("probe", "table", {"ask": asked})
    assert got == [f"{_fnv([0, 65535, 300]):08x}", "0.00", "–", "1.2346"]


def _fnv(values: list[int]) -> int:
    h = 2166136261
    for value in values:
        for byte in (value & 255, value >> 8):
            h = (h ^ byte) * 16777619 % 2**32
    return h


def test_meta_carries_all_defaults_and_what_is_missing() -> None:
    meta = call("A", "align", "meta")
    assert {"t", "theme", "lang", "palette", "layer", "head", "level", "scale"} <= set(meta["state"])
    assert meta["missing"] is None
    assert call("A", "pe", "meta")["missing"] == "positions"
    assert engine().call("align", "frames", {}) == 5
