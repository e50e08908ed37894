"""Every view on every kind of recording, the long recording, and each view's own promises in the page (slow)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seqline.visualize.engine import Engine
from seqline.visualize.html import page
from seqline.visualize.link import view_names
from seqline.visualize.synthetic import fixture

from .checks import drawing, faint_texts, labels, small_targets, violations
from .conftest import Opened

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
Shown = Callable[[str], Opened]
Visit = Callable[..., Opened]
NAMES = ("A", "B", "C", "D", "E", "G", "H", "I", "J", "K")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("view", view_names())
def test_every_view_of_every_recording(
    shown: Shown, engine_of: Callable[[Any], Engine], folder: Path, name: str, view: str
) -> None:
    here = shown(name)
    here.show(view)
    assert here.view.locator(f"[data-testid=view-{view}]").is_visible()
    assert drawing(here).get("data-view") == view
    trace = here.js("() => studio.figure.drawn().schema")
    for theme in ("light", "dark"):
        here.js("(theme) => studio.setState({theme})", theme)
        if name != "K" or trace == "bundle/1":
            state = here.js("() => studio.state")
            assert engine_of(fixture(name)).call(view, "scene", state) == here.js("() => studio.svg")
        assert faint_texts(here) == []
    assert labels(here) == []
    here.settled()
    here.view.screenshot(path=folder / f"{view}-{name}-1280.png")
    for frame in {0, here.js("() => Math.floor(studio.figure.n / 2)")}:
        here.js("(k) => studio.figure.go(k)", frame)
        assert here.js("() => studio.figure.frame") == frame
        assert labels(here) == []
    here.assert_silent()


@pytest.mark.parametrize("view", view_names())
def test_every_view_in_chinese_and_with_axe(shown: Shown, view: str) -> None:
    here = shown("K")
    here.show(view)
    here.js("() => studio.setState({lang: 'zh'})")
    assert drawing(here).get("data-view") == view
    here.settled()
    here.view.wait_for_timeout(200)
    assert violations(here) == []
    assert small_targets(here, 24) == []
    here.assert_silent()


@pytest.mark.parametrize("view", view_names())
def test_every_view_on_small_screens(visit: Visit, page_file: Callable[[str], Path], folder: Path, view: str) -> None:
    for width, height in ((360, 640), (390, 844)):
        here = visit(page_file("A"), f"#v={view}", viewport={"width": width, "height": height}, has_touch=True)
        here.settled()
        assert here.js("() => document.documentElement.scrollWidth") <= width
        assert small_targets(here) == []
        here.view.screenshot(path=folder / f"{view}-A-{width}.png", full_page=True)
        here.context.close()


def test_eighty_tokens_stay_readable_and_quick(
    visit: Visit, page_file: Callable[[str], Path], record_property: Callable[[str, object], None]
) -> None:
    here = visit(page_file("E"), "#v=align")
    cells = here.js("() => studio.figure.root.querySelector('[data-grid]').dataset.grid.split(' ').map(Number)")
    scale = here.js("() => studio.figure.root.getBoundingClientRect().width / studio.figure.root.viewBox.baseVal.width")
    assert min(cells[2], cells[3]) * scale >= 4.5
    frames = here.js(
        """async () => { const start = performance.now(); let n = 0;
            while (performance.now() - start < 2000) {
                studio.figure.go(n % 80); n += 1; await new Promise(requestAnimationFrame);
            }
            return n / 2; }"""
    )
    heap = here.js("() => performance.memory.usedJSHeapSize / 1e6")
    timing = here.js("() => performance.getEntriesByType('navigation')[0].domInteractive")
    record_property(
        "summary", f"page of 80 tokens: {frames:.0f} frames/s, heap {heap:.0f} MB, parsed in {timing:.0f} ms"
    )
    grid = here.view.locator(".sf-svg [data-grid]").first.bounding_box()
    here.view.mouse.move(grid["x"] + grid["width"] * 0.5, grid["y"] + 8)
    assert here.view.locator(".sf-tip").is_visible()
    words = [token["text"] for token in fixture("E").document["source"]["tokens"]]  # type: ignore[union-attr]
    assert any(word in here.view.locator(".sf-tip").inner_text() for word in words)
    here.assert_silent()


def test_heads_of_a_large_map_stay_in_sight(visit: Visit, page_file: Callable[[str], Path]) -> None:
    here = visit(page_file("E"), "#v=align", viewport={"width": 700, "height": 800})
    here.view.locator(".sf-box").evaluate("(box) => { box.style.maxHeight = '300px'; }")
    here.js("() => studio.figure.draw()")
    here.view.locator(".sf-box").evaluate("(box) => box.scrollTo(200, 260)")
    here.view.wait_for_function(
        "() => [...document.querySelectorAll('.sf-stuck')].every((s) => s.style.visibility === 'visible')"
    )
    box, head = (here.view.locator(each).first.bounding_box() for each in (".sf-box", ".sf-stuck-col"))
    assert abs(head["y"] - box["y"]) <= 3


def test_the_grid_of_heads_is_walked_by_arrows(shown: Shown) -> None:
    here = shown("E")
    here.show("heads", layer=0, head=0)
    here.view.locator(".sf-box").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
        here.view.keyboard.press(key)
    assert here.js("() => [studio.state.layer, studio.state.head]") == [1, 2]
    here.view.keyboard.press("Enter")
    assert here.js("() => [studio.view, studio.state.layer, studio.state.head]") == ["align", 1, 2]
    here.show("heads")
    here.view.locator('[data-tile="3 4"]').first.click(force=True)
    assert here.js("() => [studio.view, studio.state.layer, studio.state.head]") == ["align", 3, 4]


def test_a_word_is_chosen_in_lines_and_let_go(shown: Shown) -> None:
    here = shown("C")
    here.show("lines")
    here.settled()
    chip = here.view.locator("#panel button.tok").filter(has_text="it").nth(0)
    chip.click()
    here.settled()
    pressed = here.view.locator("#panel button.tok[aria-pressed=true]")
    assert pressed.inner_text() == "it"
    assert here.view.locator(".sf-svg [data-list]").count() > 0
    here.view.keyboard.press("Escape")
    here.settled()
    assert here.js("() => studio.figure.own.col === undefined && studio.figure.own.row === undefined")
    here.view.locator('.sf-svg [data-label="col"]').first.click()
    assert here.js("() => studio.state.col") == 0


@pytest.mark.parametrize("view", ["series", "lag"])
def test_the_history_slider_has_ends(shown: Shown, view: str) -> None:
    here = shown("I")
    here.show(view)
    windows = fixture("I").document["forecast"]["windows"]  # type: ignore[union-attr]
    here.view.locator(".sf-range").focus()
    here.view.keyboard.press("Home")
    here.settled()
    assert here.js("() => studio.figure.root.dataset.lookback") == str(windows[0]["lookback"])
    here.view.keyboard.press("End")
    here.settled()
    assert here.js("() => studio.figure.root.dataset.lookback") == str(windows[-1]["lookback"])


def test_both_maps_of_a_comparison_light_up(shown: Shown) -> None:
    if "compare" not in view_names():
        pytest.skip("no view compares yet")
    here = shown("K")
    here.show("compare")
    cell = here.view.locator(".sf-svg [data-r][data-c]").first
    if cell.count():
        cell.hover()
        twins = here.js(
            """() => { const {r, c} = studio.figure.hovered;
                return studio.figure.root.querySelectorAll(`[data-r="${r}"][data-c="${c}"]`).length; }"""
        )
        assert here.view.locator(".sf-band").count() == twins


@pytest.mark.parametrize(("name", "most"), [("A", 3e6), ("C", 3e6), ("E", 5e6), ("F", 8e6)])
def test_pages_are_small(name: str, most: float) -> None:
    assert len(page(fixture(name)).encode("utf-8")) < most


def test_a_reduced_recording_says_so(visit: Visit, page_file: Callable[[str], Path]) -> None:
    here = visit(page_file("F"), "#v=align")
    here.settled()
    assert "reduced: mean and top 8" in here.view.locator("#panel").inner_text()
    assert here.view.locator('.sf-svg [data-badge="reduced"]').count() >= 1
    here.assert_silent()
