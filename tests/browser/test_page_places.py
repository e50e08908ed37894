"""The single-file page, offline: links, places where it lives, exports, and recordings that change."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seqline.tables import parse_override
from seqline.visualize.engine import Engine
from seqline.visualize.export import save
from seqline.visualize.html import notebook
from seqline.visualize.synthetic import fixture

from .conftest import READY, Opened

Shown = Callable[[str], Opened]


def test_a_link_brings_the_same_drawing_back(visit: Callable[..., Opened], page_file: Callable[[str], Path]) -> None:
    first = visit(page_file("A"), "#v=align&t=7&scale=sqrt&theme=dark&nonsense=1&palette=cividis")
    svg = first.js("() => studio.svg")
    assert 'data-t="7"' in svg
    assert "nonsense" not in first.js("() => studio.hash()")
    again = visit(page_file("A"), first.js("() => studio.hash()"))
    assert again.js("() => studio.svg") == svg
    first.view.reload()
    first.view.wait_for_selector(READY)
    assert first.js("() => studio.svg") == svg


def test_the_page_works_in_a_deep_folder_and_in_a_notebook(
    visit: Callable[..., Opened], page_file: Callable[[str], Path], folder: Path
) -> None:
    deep = folder / "a folder" / "über 文件" / "run #1.html"
    deep.parent.mkdir(parents=True)
    deep.write_bytes(page_file("A").read_bytes())
    visit(deep).assert_silent()
    outside = folder / "notebook.html"
    outside.write_text(f"<!doctype html><title>cell</title>{notebook(fixture('A'))}", encoding="utf-8")
    here = visit(outside, wait=False)
    frame = here.view.frame_locator("iframe")
    frame.locator(READY).wait_for()
    frame.locator(".sf-first").click()
    frame.locator(".sf-forward").click()
    assert frame.locator(".sf-count").inner_text() == "2 / 9"
    here.view.wait_for_timeout(300)  # the address is written late
    here.assert_silent()


def test_exports_name_the_model_and_hold_the_numbers(
    shown: Shown, engine_of: Callable[[Any], Engine], folder: Path
) -> None:
    image = pytest.importorskip("PIL.Image")
    here = shown("A")
    here.show("align")

    def save(kind: str) -> Path:
        here.js("() => studio.toggleExport(true)")
        with here.view.expect_download() as waiting:
            here.view.locator(f"[data-export={kind}]").click()
        path = folder / waiting.value.suggested_filename
        waiting.value.save_as(path)
        return path

    model: Any = fixture("A").document["model"]  # type: ignore[union-attr]
    svg = save("svg").read_text(encoding="utf-8")
    assert f"Model {model['arch']}, checkpoint {model['weights_sha256'][:12]}, seed 0" in svg
    assert "@font-face" in svg
    with image.open(save("png2")) as picture:
        assert picture.size == (1920, 1080)
        assert model["arch"] in picture.text["Description"]
        assert len(picture.convert("RGB").getcolors(1 << 20)) > 12
    lines = save("csv").read_text(encoding="utf-8").splitlines()
    rows = engine_of(fixture("A")).call("align", "table", here.js("() => studio.state"))["rows"]
    assert len(lines) == 1 + len(rows)
    assert str(rows[1][2]) in lines[2].split(",")
    for kind, part in (
        ("md", "| --- |"),
        ("link", "#v=align"),
        ("gif", "seqline explain run.json --view align --out align.gif"),
    ):
        here.js("() => studio.toggleExport(true)")
        here.view.locator(f"[data-export={kind}]").click()
        here.view.locator("#said code").get_by_text(part).wait_for()
    here.js("() => studio.toggleExport(false)")
    here.assert_silent()


def test_the_command_of_an_animation_is_one_that_the_command_line_takes(shown: Shown, folder: Path) -> None:
    here = shown("A")
    here.show("align", head="mean", layer=0, scale="sqrt", attention="it's; $(rm)", row=1, palette="greys", width=1280)
    here.js("() => studio.setState({ theme: 'dark' })")
    here.js("() => studio.toggleExport(true)")
    here.view.locator("[data-export=gif]").click()
    line = here.view.locator("#said code").inner_text()
    here.show("align")
    words = shlex.split(line)
    assert words[:5] == ["seqline", "explain", "run.json", "--view", "align"]
    assert words[-2:] == ["--out", "align.gif"]
    assert words[5:-2:2] == ["--set"] * len(words[6:-2:2])
    state = dict(map(parse_override, words[6:-2:2]))
    assert state == {
        "head": "mean", "layer": 0, "scale": "sqrt", "attention": "it's; $(rm)", "palette": "greys", "width": 1280,
        "theme": "dark",
    }  # fmt: skip
    save(fixture("A"), folder / "align.svg", words[4], state)
    assert 'width="1280"' in (folder / "align.svg").read_text(encoding="utf-8")
    here.assert_silent()


def test_views_without_their_block_are_grey_and_say_why(shown: Shown) -> None:
    here = shown("A")
    here.show("align")
    absent = here.view.locator("#views [data-view=series]")
    assert absent.get_attribute("aria-disabled") == "true"
    assert "forecast" in absent.inner_text()
    absent.click(force=True)
    assert here.js("() => studio.view") == "align"


def test_a_token_is_found(shown: Shown) -> None:
    here = shown("A")
    here.show("align")
    here.view.locator("#search").fill("piz")
    assert here.js("() => studio.state.row") == 1
    assert here.view.locator("#found").inner_text() == "1 of 1"
    here.view.locator("#search").fill("zzz")
    assert here.view.locator("#found").inner_text() == "not found"
    here.view.locator("#search").fill("")


def test_another_recording_may_take_the_place_of_the_first(
    visit: Callable[..., Opened], page_file: Callable[[str], Path]
) -> None:
    here = visit(page_file("A"))
    here.view.locator("#search").focus()
    assert here.js(
        "async (text) => { await studio.setTrace(text); return studio.trace.model.arch; }", fixture("C").to_json()
    )
    here.view.wait_for_selector(READY)
    assert "pizza left the oven" in here.view.title()
    assert here.js("() => document.activeElement.id") == "search"
    here.assert_silent()
