"""What must hold for every drawing in a page, whatever it shows; the measuring is in checks.js."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from .conftest import Opened

_CODE = Path(__file__).with_name("checks.js").read_text(encoding="utf-8")


def measure(here: Opened, call: str) -> Any:
    """Evaluate a call of one of the functions of checks.js in the page."""
    return here.js(f"() => {{ {_CODE}\nreturn {call}; }}")


def labels(here: Opened) -> list[str]:
    """Return what overlaps by more than 2 px or is cut off in the present drawing."""
    return measure(here, "checkLabels()")


def faint_texts(here: Opened) -> list[str]:
    """Return the texts of the present drawing whose contrast is below 4.5 : 1."""
    return measure(here, "checkContrast()")


def small_targets(here: Opened, least: int = 44) -> list[str]:
    """Return the controls in sight that a finger cannot hit."""
    return measure(here, f"checkTargets({least})")


def drawing(here: Opened) -> ElementTree.Element:
    """Return the present drawing as XML, after a look for what no figure may hold."""
    svg = here.js("() => studio.svg")
    assert not re.search(r"\bNaN\b|undefined|\ufffd", svg)
    return ElementTree.fromstring(svg)


def violations(here: Opened) -> list[str]:
    """Return what axe finds that is serious or critical."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(here.view).response["violations"]
    return [
        f"{each['id']}: {node['html'][:160]} {node['failureSummary']}"
        for each in found
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]
