"""The single-file page, offline: what holds for every view, on four views of two recordings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seqline.visualize.engine import Engine
from seqline.visualize.html import page
from seqline.visualize.synthetic import fixture
from seqline.visualize.trace import Trace

from .checks import drawing, faint_texts, labels, measure, small_targets, violations
from .conftest import READY, Opened

VIEWS = ("timeline", "align", "softmax", "lstm")
FIXTURES = ("A", "D")
Shown = Callable[[str], Opened]


@pytest.mark.parametrize("name", FIXTURES)
@pytest.mark.parametrize("view", VIEWS)
def test_a_view_is_complete(
    shown: Shown, engine_of: Callable[[Any], Engine], folder: Path, name: str, view: str
) -> None:
    here = shown(name)
    here.show(view)
    assert here.view.locator(f"[data-testid=view-{view}]").is_visible()
    assert here.view.title().count(" – ") >= 2
    assert " – t " in here.view.title()
    assert drawing(here).get("data-view") == view
    engine = engine_of(fixture(name))
    for theme in ("light", "dark"):
        here.js("(theme) => studio.setState({theme})", theme)
        state = here.js("() => studio.state")
        assert state["theme"] == theme
        assert engine.call(view, "scene", state) == here.js("() => studio.svg")  # the same drawing as an export's
        assert faint_texts(here) == []
    assert labels(here) == []
    here.settled()
    here.view.screenshot(path=folder / f"{view}-{name}-1280.png")
    here.assert_silent()


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_prints_in_strong_colours(shown: Shown, view: str) -> None:
    here = shown("A")
    here.show(view)
    here.view.emulate_media(media="print")
    try:
        assert here.js("() => studio.state.theme") == "print"
        assert faint_texts(here) == []
        here.view.emulate_media(media="screen", forced_colors="active")
        assert (
            here.js("() => getComputedStyle(studio.figure.root).forcedColorAdjust") == "none"
        )  # marks keep their colours
    finally:
        here.view.emulate_media(media="screen", forced_colors="none")
    here.assert_silent()


def test_the_page_is_ready_only_when_it_has_drawn(
    visit: Callable[..., Opened], page_file: Callable[[str], Path]
) -> None:
    here = visit(page_file("A"), wait=False)
    here.view.add_init_script("window.early = []")
    here.view.wait_for_selector(READY)
    assert here.js("() => document.fonts.check('12px \"DejaVu Sans\"') && studio.svg.length > 1000")
    assert here.js("async () => (await studio.ready) === studio")
    assert here.js("() => document.querySelector('.sf-svg svg').getBoundingClientRect().height") > 200
    here.assert_silent()


def test_keys_step_play_and_stop(shown: Shown) -> None:
    here = shown("A")
    here.show("timeline", t=6)
    here.view.locator(".sf-box").focus()
    here.view.keyboard.press("ArrowRight")
    assert here.view.locator("[data-testid=view-timeline]").get_attribute("data-t") == "7"
    here.view.wait_for_function("() => location.hash.includes('t=7')")
    written = fixture("A").document["target"]["tokens"][2]["text"]  # type: ignore[union-attr]
    assert written in here.view.locator("#spoken").inner_text()
    here.view.keyboard.press("Home")
    assert here.js("() => studio.figure.frame") == 0
    here.view.keyboard.press("End")
    assert here.js("() => studio.figure.frame") == 8
    here.view.keyboard.press("Space")  # from the end it starts again
    here.view.wait_for_function("() => studio.figure.hasAttribute('data-playing') && studio.figure.frame >= 1")
    here.view.keyboard.press("Space")
    at = here.js("() => studio.figure.frame")
    here.view.wait_for_timeout(1300)
    assert here.js("() => studio.figure.frame") == at
    here.assert_silent()


def test_no_key_acts_while_typing_in_a_field(shown: Shown) -> None:
    here = shown("A")
    here.show("timeline", t=6)
    here.view.locator("#search").focus()
    here.view.keyboard.type("qt ")
    assert here.js("() => [studio.figure.frame, studio.tableOn, studio.figure.hasAttribute('data-playing')]") == [
        5,
        False,
        False,
    ]
    here.view.locator("#search").fill("")


def test_the_keyboard_reaches_everything_with_a_ring(shown: Shown) -> None:
    here = shown("A")
    here.show("align", level="piece")
    here.view.locator(".skip").focus()
    seen: list[str] = []
    for _ in range(60):
        ring = measure(here, "checkFocus()")
        if ring["end"]:
            break
        assert ring["width"] >= 3, ring
        assert ring["style"] == "solid", ring
        seen.append(ring["name"])
        here.view.keyboard.press("Tab")
    assert seen[0] == "skip"
    assert {"table-button", "export-button", "theme-button", "lang-button", "help-button", "sf-box", "sf-range"} <= set(
        seen
    )
    assert seen.count("sf-box") == 1
    assert sum("tok" in name for name in seen) == 1  # all tokens are one stop
    here.view.locator(".tokens button").first.focus()
    here.view.keyboard.press("ArrowRight")
    assert here.js("() => document.activeElement.dataset.token") == "source 1"


def test_skip_link_leads_to_the_figure(shown: Shown) -> None:
    here = shown("A")
    here.show("align")
    here.view.locator(".skip").focus()
    here.view.keyboard.press("Enter")
    assert here.js("() => document.activeElement.className") == "sf-box"
    assert "v=" in here.js("() => location.hash")


@pytest.mark.parametrize(
    ("name", "view", "theme"), [("A", "timeline", "light"), ("D", "align", "dark"), ("A", "lstm", "light")]
)
def test_axe_finds_nothing_serious(shown: Shown, name: str, view: str, theme: str) -> None:
    here = shown(name)
    here.show(view)
    here.js("(theme) => studio.setState({theme})", theme)
    here.settled()
    here.view.wait_for_timeout(200)  # colours fade for a moment
    assert violations(here) == []
    levels = measure(here, "checkHeadings()")
    assert levels[0] == 1
    assert max(levels) == 2
    assert here.js("() => ['main', 'nav', '[aria-live=polite]'].map((s) => document.querySelectorAll(s).length)") == [
        1,
        1,
        1,
    ]


def test_nothing_moves_by_itself_nor_fades_when_motion_is_unwanted(
    visit: Callable[..., Opened], page_file: Callable[[str], Path]
) -> None:
    here = visit(page_file("A"), "#v=timeline&t=3", reduced_motion="reduce")
    assert measure(here, "checkMoving()") == 0
    here.view.wait_for_timeout(1200)
    assert here.js("() => studio.figure.frame") == 2
    here.view.keyboard.press("ArrowRight")
    assert here.js("() => studio.figure.frame") == 3
    here.assert_silent()


@pytest.mark.parametrize("palette", ["viridis", "cividis", "greys"])
def test_ends_of_the_legend_differ_for_every_eye(shown: Shown, palette: str) -> None:
    image = pytest.importorskip("PIL.Image")
    import io

    here = shown("A")
    here.show("align", palette=palette)
    session = here.context.new_cdp_session(here.view)
    try:
        for kind in ("deuteranopia", "protanopia", "tritanopia", "achromatopsia"):
            session.send("Emulation.setEmulatedVisionDeficiency", {"type": kind})
            bar = here.view.locator(".sf-svg [data-legend] rect")
            luminance = []
            for rectangle in (bar.first, bar.nth(63)):
                colour = image.open(io.BytesIO(rectangle.screenshot())).convert("L")
                luminance.append(colour.getpixel((colour.width // 2, colour.height // 2)))
            assert abs(luminance[0] - luminance[1]) >= 60, kind
    finally:
        session.send("Emulation.setEmulatedVisionDeficiency", {"type": "none"})
        session.detach()


def test_the_legend_says_range_and_scale(shown: Shown) -> None:
    here = shown("A")
    here.show("align")
    assert here.view.locator(".sf-svg [data-legend]").first.get_attribute("data-legend") == "0 1 abs"
    here.view.locator("#settings [data-key=scale]").select_option("row")
    assert here.view.locator(".sf-svg [data-legend]").first.get_attribute("data-legend") == "0 1 row"
    assert "scaled per row" in here.js("() => studio.svg")


@pytest.mark.parametrize("view", VIEWS)
def test_the_table_has_the_numbers_of_the_figure(shown: Shown, engine_of: Callable[[Any], Engine], view: str) -> None:
    here = shown("A")
    here.show(view)
    here.view.locator(".sf-box").focus()
    here.view.keyboard.press("t")
    table = engine_of(fixture("A")).call(view, "table", here.js("() => studio.state"))
    heads = here.view.locator("#table-twin thead th").all_inner_texts()
    assert [head.strip() for head in heads] == [str(column).strip() for column in table["columns"]]
    shown_numbers = here.js(
        "() => [...document.querySelectorAll('#table-twin [data-v]')].map((e) => Number(e.dataset.v))"
    )
    numbers = [
        cell for row in table["rows"] for cell in row if isinstance(cell, int | float) and not isinstance(cell, bool)
    ]
    assert shown_numbers == numbers
    here.view.keyboard.press("t")
    assert here.view.locator("#table-twin").is_hidden()


def test_pointing_at_a_cell_tells_both_words_and_the_number(shown: Shown) -> None:
    here = shown("A")
    here.show("align")
    cell = here.view.locator('.sf-svg [data-r="2"][data-c="1"]')
    cell.hover()
    tip = here.view.locator(".sf-tip").inner_text()
    assert "came" in tip
    assert "从" in tip
    assert "0.20" in tip
    here.settled()
    assert "0.20" in here.view.locator(".reading").inner_text()
    cell.click()
    assert here.js("() => [studio.state.row, studio.state.col]") == [2, 1]
    here.view.locator(".sf-box").focus()
    here.view.keyboard.press("Shift+ArrowRight")
    here.view.keyboard.press("Shift+ArrowUp")
    assert here.js("() => [studio.state.row, studio.state.col]") == [1, 2]
    here.view.keyboard.press("Escape")
    assert here.js("() => [studio.state.row, studio.state.col]") == [None, None]


def test_tokens_carry_language_and_direction(shown: Shown) -> None:
    here = shown("D")
    here.show("align")
    here.settled()
    tokens = here.js(
        "() => [...document.querySelectorAll('#panel .tok')].map((e) => [e.lang, e.dir, getComputedStyle(e).unicodeBidi])"
    )
    assert {("ar", "rtl"), ("en", "ltr")} <= {(lang, direction) for lang, direction, _ in tokens}
    assert all(
        lang and direction in ("ltr", "rtl", "auto") and isolate == "isolate" for lang, direction, isolate in tokens
    )
    x = here.js(
        "() => [0, 1].map((i) => document.querySelectorAll('#panel .tokens .tok')[i].getBoundingClientRect().x)"
    )
    assert x[0] > x[1]  # the first Arabic word stands on the right


def test_a_line_of_both_directions_has_one_order_everywhere(visit: Callable[..., Opened], folder: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    pytest.importorskip("resvg_py")
    import io

    import numpy as np

    from seqline.visualize.fonts import load_fonts
    from seqline.visualize.raster import png

    trace = Trace.from_numpy([[0.5, 0.5]], ["שלום, abc"], ["a", "b"])
    path = folder / "mixed.html"
    path.write_text(page(trace, view="align"), encoding="utf-8")
    here = visit(path)
    svg = here.js("() => studio.svg")
    box = measure(here, "checkRowLabel()")
    in_page = image.open(io.BytesIO(here.view.locator(".sf-svg > svg").first.screenshot())).convert("L")
    in_file = image.open(io.BytesIO(png(svg, load_fonts("שלום, abc")))).convert("L")
    inks = [
        255.0 - np.asarray(each.crop([round(v) for v in box])).astype(float).min(axis=0) for each in (in_page, in_file)
    ]
    assert min(ink.max() for ink in inks) > 100
    assert np.corrcoef(inks[0], inks[1])[0, 1] > 0.7 > np.corrcoef(inks[0], inks[1][::-1])[0, 1]


@pytest.mark.parametrize("view", ["timeline", "align"])
def test_a_small_screen_scrolls_no_page_and_has_large_targets(
    visit: Callable[..., Opened], page_file: Callable[[str], Path], folder: Path, view: str
) -> None:
    here = visit(page_file("A"), f"#v={view}", viewport={"width": 360, "height": 640}, has_touch=True)
    here.settled()
    assert here.js("() => document.documentElement.scrollWidth") <= 360
    assert small_targets(here) == []
    here.view.locator("#export-button").click()
    assert small_targets(here) == []
    here.view.locator("#export-button").click()
    here.view.screenshot(path=folder / f"{view}-A-360.png", full_page=True)
    here.view.set_viewport_size({"width": 390, "height": 844})
    here.view.screenshot(path=folder / f"{view}-A-390.png", full_page=True)
    assert here.js("() => document.documentElement.scrollWidth") <= 390
    here.assert_silent()


def test_the_page_speaks_two_languages(shown: Shown) -> None:
    here = shown("A")
    here.show("align")
    strings = here.js("() => studio.strings")
    assert set(strings["en"]) == set(strings["zh"])
    for key, text in strings["en"].items():
        assert text, key
        assert strings["zh"][key], key
    here.view.locator("#lang-button").click()
    here.settled()
    assert here.js("() => document.documentElement.lang") == "zh-Hans"
    words = here.view.locator("body").inner_text().split()
    assert "对齐" in here.view.locator("#views [aria-current]").inner_text()
    assert not set(words) & {key for key in strings["en"] if not key.islower()}
    here.view.wait_for_function("() => location.hash.includes('lang=zh')")
    here.view.locator("#lang-button").click()
    here.assert_silent()
