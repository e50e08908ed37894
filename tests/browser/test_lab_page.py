"""The page of the lab in a browser: silent, no wider than the screen, readable by name in both themes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from seqline.lab.session import run

from ..lab.small_lab import experiment, small_lab
from .conftest import Opened


@pytest.fixture(scope="module")
def lab_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    known = {name: experiment(name, value) for name, value in (("up", 0.5), ("down", -1.0), ("even", 0.0))}
    known["bad"] = experiment("bad", measure=lambda lab: 1 / 0)
    return run(list(known), small_lab(tmp_path_factory.mktemp("lab") / "out"), known).page


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_fits_and_asks_for_nothing(
    lab_page: Path, visit: Callable[..., Opened], width: int, theme: str
) -> None:
    here = visit(lab_page, wait=False, viewport={"width": width, "height": 800}, color_scheme=theme)
    assert here.js("() => document.documentElement.scrollWidth") <= width
    assert here.js("() => [...document.images].map((image) => image.naturalWidth > 0)") == [True] * 3
    here.assert_silent()


def test_a_verdict_is_told_to_those_who_do_not_see_it(lab_page: Path, visit: Callable[..., Opened]) -> None:
    here = visit(lab_page, wait=False)
    assert here.view.get_by_role("img", name="1 not held").count() == 1
    assert here.view.get_by_role("heading", name="Does it grow?").count() == 4
    here.view.get_by_role("link", name="Does it grow?").nth(1).click()
    assert here.js("() => location.hash") == "#down"
