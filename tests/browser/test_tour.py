"""The page in which the demo ends, from models that hardly trained: silent, offline, in both languages, at every width."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from seqline import tour
from seqline.tour.chapters import CHAPTERS
from seqline.tour.page import make_page
from seqline.tour.story import stories

from .checks import violations
from .conftest import Opened

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
NAMES = [chapter.name for chapter in CHAPTERS]
DRAWN = (
    "name => [...document.querySelectorAll(`#${name} .live:not([hidden]) seq-figure`)].every((f) => f.svg && f.trace)"
)


@pytest.fixture(scope="module")
def tour_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train for three steps, compare, and make the page."""
    folder = tmp_path_factory.mktemp("tour") / "demo"
    tour.train_all(folder, lambda _: None, steps=3, num_pairs=300)
    return make_page(folder, tour.compare(folder))


@pytest.fixture(scope="module")
def opened(tour_page: Path, visit: Callable[..., Opened]) -> Opened:
    here = visit(tour_page)
    for name in NAMES:  # figures draw when they come near
        here.js("name => document.getElementById(name).scrollIntoView({behavior: 'instant'})", name)
        here.view.wait_for_function(DRAWN, arg=name)
    return here


def test_every_figure_draws_and_the_page_is_silent(opened: Opened, tour_page: Path) -> None:
    drawn = opened.js("() => [...document.querySelectorAll('.live:not([hidden]) seq-figure')].map((f) => f.svg)")
    assert len(drawn) >= 13
    for svg in drawn:
        assert "data-missing" not in svg
        assert "NaN" not in svg
        assert "undefined" not in svg
    opened.assert_silent()
    assert tour_page.stat().st_size < 6_000_000


def test_the_language_changes_everywhere(opened: Opened) -> None:
    english, chinese = stories()
    assert opened.view.title() == english.page["title"]
    assert opened.view.locator("h1:visible").inner_text() == english.page["title"]
    opened.view.locator("#tour-lang").click()
    opened.view.wait_for_function("() => document.querySelector('seq-figure').svg.includes('时间线')")
    assert opened.view.title() == chinese.page["title"]
    assert opened.view.locator("h1:visible").inner_text() == chinese.page["title"]
    assert opened.js("() => document.documentElement.lang") == "zh-Hans"
    assert chinese.page["words"] in opened.view.locator("#length-now").inner_text()
    opened.view.locator("#tour-lang").click()
    opened.view.wait_for_function("() => document.querySelector('seq-figure').svg.includes('Timeline')")
    opened.assert_silent()


def test_the_slider_shows_longer_sentences(opened: Opened) -> None:
    slider = opened.view.locator("#length-slider")
    slider.focus()
    opened.view.keyboard.press("Home")
    short = opened.view.locator("#length-said .given").first.inner_text()
    opened.view.keyboard.press("End")
    long = opened.view.locator("#length-said .given").first.inner_text()
    assert len(long.split()) > len(short.split())
    assert opened.view.locator("#length-now").inner_text() == f"{len(long.split())} words"
    assert opened.view.locator("#length-said code").all_inner_texts() == list(tour.MODELS)


def test_buttons_choose_the_twin_the_layer_and_the_head(opened: Opened) -> None:
    twins = opened.view.locator("#twins")
    twins.locator("[data-tab='1']").click()
    opened.view.wait_for_function(DRAWN, arg="twins")
    shown = twins.locator(".live:visible")
    assert shown.count() == 1
    before = opened.js("() => document.querySelectorAll('#twins seq-figure')[1].svg")
    shown.locator(".choice").last.locator("button").last.click()
    assert opened.js("() => document.querySelectorAll('#twins seq-figure')[1].svg") != before
    assert shown.locator("[aria-pressed=true]").count() == shown.locator(".choice").count()
    opened.assert_silent()


def test_nothing_is_wrong_for_a_screen_reader(opened: Opened) -> None:
    assert violations(opened) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_small_screen_shows_no_sideways_scroll(tour_page: Path, visit: Callable[..., Opened], theme: str) -> None:
    here = visit(tour_page, viewport={"width": 390, "height": 800}, color_scheme=theme, locale="zh-CN")
    assert here.js("() => document.documentElement.scrollWidth") <= 390
    assert here.js("() => document.documentElement.lang") == "zh-Hans"
    here.assert_silent()
