"""Figures among prose: several on one page, each with its own recording, view, state and player."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from seqline.visualize.html import assets, json_for_html, meta_tags, page
from seqline.visualize.synthetic import fixture
from seqline.visualize.trace import Bundle, Trace

from .conftest import Opened


def test_several_figures_live_on_one_page(visit: Callable[..., Opened], folder: Path) -> None:
    parts = assets({"first": fixture("A"), "second": fixture("D")})
    prose = (
        '<main><h1>Prose</h1><seq-figure data-trace="first" data-view="timeline" data-state=\'{"t": 2}\'></seq-figure>'
        '<p>…</p><seq-figure data-trace="second" data-view="align"></seq-figure><div style="height:4000px"></div>'
        '<seq-figure id="far" data-trace="first" data-view="softmax" data-player="none"></seq-figure></main>'
    )
    path = folder / "prose.html"
    path.write_text(
        f"<!doctype html><title>p</title>{meta_tags()}{parts.head}<body>{prose}{parts.body}", encoding="utf-8"
    )
    here = visit(path, wait=False)
    here.view.wait_for_selector("seq-figure[data-drawn] >> nth=1")
    assert here.js("() => [...document.querySelectorAll('seq-figure')].map((f) => f.svg.length > 1000)") == [
        True,
        True,
        False,
    ]
    first, second = (here.view.locator("seq-figure").nth(i) for i in (0, 1))
    first.locator(".sf-forward").click()
    assert first.locator(".sf-count").inner_text() == "3 / 9"
    assert second.locator(".sf-count").inner_text() == "8 / 8"
    second.locator(".sf-box").focus()
    here.view.keyboard.press("ArrowLeft")
    assert second.locator(".sf-count").inner_text() == "7 / 8"
    assert first.locator(".sf-count").inner_text() == "3 / 9"
    here.js("() => document.getElementById('far').scrollIntoView()")  # drawn when it comes near
    here.view.wait_for_function("() => document.getElementById('far').svg.length > 1000")
    assert here.view.locator("#far .sf-player").count() == 0
    here.js("() => { document.documentElement.dataset.theme = 'dark'; }")
    here.view.wait_for_function("() => document.querySelector('seq-figure').state.theme === 'dark'")
    here.view.wait_for_function("() => document.querySelector('seq-figure').svg.includes('#0f1420')")
    here.assert_silent()


def test_a_page_of_several_recordings_lets_one_choose(
    visit: Callable[..., Opened], page_file: Callable[[str], Path]
) -> None:
    bundle = fixture("K")
    assert isinstance(bundle, Bundle)
    here = visit(page_file("K"))
    here.view.locator("#recording").select_option(label="bahdanau")
    assert here.js("() => studio.figure.drawn().model.arch") == "bahdanau"
    here.view.locator("#recording").select_option(label="simple-rnn")
    here.view.locator("#views [data-view=align]").click()  # goes to a recording that has attention
    assert here.js("() => studio.figure.drawn().model.arch") == "bahdanau"
    here.assert_silent()


def test_glyphs_that_no_font_has_are_told(visit: Callable[..., Opened], folder: Path) -> None:
    rare = "\U0001f9ff"
    path = folder / "rare.html"
    path.write_text(page(Trace.from_numpy([[1.0]], [rare], ["a"]), view="align"), encoding="utf-8")
    here = visit(path)
    notice = here.view.locator("#notices").inner_text()
    assert "missing glyphs" in notice
    assert rare in notice
    assert "SEQLINE_FONTS" in notice


def test_a_page_without_font_packages_names_its_fonts(monkeypatch: pytest.MonkeyPatch) -> None:
    from seqline.visualize import page_fonts

    monkeypatch.setattr(page_fonts.importlib.util, "find_spec", lambda name: None)
    fonts = page_fonts.page_fonts("abc")
    assert fonts.css == ""
    assert fonts.families == ["DejaVu Sans"]
    assert "seqline[pictures]" in fonts.note


def test_markup_in_a_recording_stays_text() -> None:
    trace = Trace.from_numpy([[1.0]], ["</script><script>alert(1)</script>"], ["<b>"])
    assert json_for_html('"</s>"') == '"\\u003c/s>"'
    assert "<script>alert" not in page(trace)
