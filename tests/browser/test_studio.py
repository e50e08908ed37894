"""The live page in a browser: type, force a token or a row, compare, export; every request goes to its own server."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ..small_run import ReversingRun
from .checks import violations
from .conftest import READY, Opened

pytest.importorskip("uvicorn", reason="uvicorn is not installed (extra: studio)")

DONE = 'body[data-busy="0"][data-ready="1"]'


@pytest.fixture(scope="module")
def served(reversing_run: ReversingRun, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Any]]:
    """Serve two runs from this process, and return the address and what the routes share."""
    from seqline.studio.address import bind
    from seqline.studio.app import create_app
    from seqline.studio.runs import Runs
    from seqline.studio.serve import Server

    other = tmp_path_factory.mktemp("studio") / "again"
    shutil.copytree(reversing_run.folder, other)
    bound = bind("127.0.0.1", 0)
    server = Server(create_app(Runs([reversing_run.folder, other])))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
    thread.start()
    yield f"http://127.0.0.1:{bound.getsockname()[1]}/", server.studio
    server.stop()
    thread.join(30)
    bound.close()


@pytest.fixture
def open_page(chromium: Any, served: tuple[str, Any]) -> Iterator[Callable[..., Opened]]:
    """Open the live page before its first sentence; at the end it must have been silent and have asked nobody else."""
    from seqline.studio.desk import Shelf

    address, studio = served
    studio.shelf = Shelf()
    opened: list[Opened] = []

    def go(**options: Any) -> Opened:
        context = chromium.new_context(**({"viewport": {"width": 1280, "height": 800}} | options))
        context.set_default_timeout(60_000)
        here = Opened(context.new_page(), context)
        here.view.on("request", lambda request: here.requests.append(request.url))
        here.view.on("console", lambda message: here.messages.append(f"{message.type}: {message.text}"))
        here.view.on("pageerror", lambda error: here.messages.append(str(error)))
        here.view.goto(address)
        here.view.wait_for_selector('body[data-live="1"]')
        here.view.wait_for_selector(READY)
        opened.append(here)
        return here

    yield go
    for here in opened:
        here.context.close()
        assert here.messages == []
        assert [url for url in here.requests if not url.startswith((address, "data:", "blob:"))] == []


def ask(here: Opened, text: str = "a b c") -> None:
    here.view.fill("#live-text", text)
    here.view.press("#live-text", "Enter")
    settled(here)


def settled(here: Opened) -> None:
    here.view.wait_for_function("() => document.body.dataset.busy === '0'")
    here.view.wait_for_selector(DONE)
    here.settled()


def written(here: Opened) -> str:
    return here.js("() => studio.figure.drawn().target.text")


def test_a_sentence_becomes_a_figure_and_the_box_keeps_the_focus(open_page: Callable[..., Opened]) -> None:
    here = open_page()
    ask(here)
    assert written(here) == "c b a"
    assert here.js("() => document.activeElement.id") == "live-text"
    assert here.view.text_content("#page-title").split() == ["a", "b", "c", "→", "c", "b", "a"]
    assert here.view.is_visible('[data-testid="view-timeline"]')
    ask(here, "d e")
    assert written(here) == "e d"
    assert "steps in" in here.view.text_content("#live-status")
    here.view.reload()  # the recording made last, and what was asked, are there again
    here.view.wait_for_selector('body[data-live="1"]')
    here.view.wait_for_selector(READY)
    assert written(here) == "e d"
    assert here.view.input_value("#live-text") == "d e"


def test_a_forced_token_changes_the_sentence_from_there_on(open_page: Callable[..., Opened]) -> None:
    here = open_page()
    ask(here, "a b c d")
    here.js("() => studio.setState({view: 'softmax', t: studio.trace.schedule.length - 3})")
    step = here.js("() => JSON.parse(document.querySelector('[data-force]').dataset.force).step")
    before = written(here).split()
    row = here.view.locator("[data-force]").filter(has_not_text="chosen").filter(has_text="h").first
    row.locator('[data-label="row"]').click()
    settled(here)
    after = written(here).split()
    assert after[: step - 1] == before[: step - 1]
    assert (before[step - 1], after[step - 1]) == ("c", "h")
    assert here.view.text_content("#live-held li span") == f"step {step}: “h”"
    assert here.js("() => studio.view") == "softmax"
    here.view.reload()
    here.view.wait_for_selector('body[data-live="1"]')
    assert here.view.locator("#live-held li").count() == 1
    assert here.view.text_content('#live-source-language option[value=""]') == "not said"
    here.view.click("#live-held button")
    settled(here)
    assert written(here).split() == before
    assert here.view.locator("#live-held li").count() == 0


@pytest.mark.slow
def test_a_candidate_is_forced_by_the_keyboard_too(open_page: Callable[..., Opened]) -> None:
    here = open_page()
    ask(here)
    here.js("() => studio.setState({view: 'softmax', t: studio.trace.schedule.length - 3})")
    here.settled()
    other = here.view.locator(".candidates li:not(.chosen) button").first
    name = other.text_content()
    other.focus()
    here.view.keyboard.press("Enter")
    settled(here)
    assert name in here.view.text_content("#live-held")


@pytest.mark.slow
def test_a_row_of_attention_is_set_and_the_rest_follows(open_page: Callable[..., Opened]) -> None:
    here = open_page()
    ask(here, "a b c d")
    here.js("() => studio.setState({view: 'align', row: 0, col: 1})")
    here.view.click("#live-row-button")
    assert here.view.input_value("#live-row-step") == "0"  # the cell that is pinned
    assert here.view.input_value("#live-row-source") == "1"
    here.view.click("#live-row-apply")
    settled(here)
    assert here.js("() => studio.trace.attention[0].weights[0][0][0]") == [0, 1, 0, 0, 0]
    assert written(here).split()[0] == "b"
    assert "row 1 reads “b”" in here.view.text_content("#live-held")
    here.view.click("#live-row-shares summary")
    fields = here.view.locator("#live-row-weights input")
    for number, value in enumerate(["0", "0", "1", "3", "0"]):
        fields.nth(number).fill(value)
    here.view.click("#live-row-apply")
    settled(here)
    assert here.js("() => studio.trace.attention[0].weights[0][0][0]") == pytest.approx([0, 0, 0.25, 0.75, 0], abs=1e-4)


@pytest.mark.slow
def test_runs_stand_side_by_side(open_page: Callable[..., Opened]) -> None:
    here = open_page()
    ask(here)
    here.view.check('#live-runs input[value="again"]')
    here.view.wait_for_function("() => studio.trace.schema === 'bundle/1'")
    settled(here)
    assert here.js("() => studio.trace.labels") == ["run", "again"]
    here.js("() => studio.setState({view: 'compare'})")
    assert here.view.is_visible('[data-testid="view-compare"]')
    here.js("() => studio.setState({lang: 'zh'})")
    assert here.view.text_content("#live-go") == "看看内部"


@pytest.mark.slow
def test_what_is_seen_is_exported_and_mistakes_are_said(open_page: Callable[..., Opened], tmp_path: Path) -> None:
    here = open_page()
    ask(here, "a b")
    here.view.click("#export-button")
    with here.view.expect_download() as download:
        here.view.click('[data-live-export="trace"]')
    download.value.save_as(tmp_path / "run.json")
    assert (tmp_path / "run.json").read_text().startswith('{"schema":"trace/1"')
    with here.view.expect_download() as download:
        here.view.click('[data-live-export="gif"]')
    download.value.save_as(tmp_path / "x.gif")
    assert (tmp_path / "x.gif").read_bytes()[:3] == b"GIF"
    here.view.keyboard.press("Escape")
    here.view.uncheck('#live-runs input[value="run"]')
    here.view.click("#live-go")
    assert here.view.text_content("#live-error") == "Choose at least one run."


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_panel_is_accessible_and_fits_a_small_screen(open_page: Callable[..., Opened], scheme: str) -> None:
    here = open_page(viewport={"width": 360, "height": 640}, color_scheme=scheme)
    assert here.js("() => document.documentElement.scrollWidth") <= 360
    ask(here)
    here.view.click("#live-row-button")
    assert here.js("() => document.documentElement.scrollWidth") <= 360
    assert violations(here) == []


@pytest.mark.slow
def test_every_word_of_the_panel_is_there_in_both_languages(open_page: Callable[..., Opened]) -> None:
    keys = "(lang) => Object.keys(LIVE_STRINGS[lang]).sort()"
    from seqline.studio.page import _asset

    here = open_page()
    both = here.js(f"() => {{ {_asset('strings.js')}\n return ['en', 'zh'].map({keys}); }}")
    assert both[0] == both[1]
