"""The lab as one HTML page: opens from a disk, asks no network for anything and needs no script."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files as package_files
from pathlib import Path
from typing import Any

from seqline import files
from seqline.judging.page.tables import shown as escaped
from seqline.judging.page.tables import table as html_table
from seqline.lab.results import FAILED, Result, count_states, judged
from seqline.lab.written import SEEN, SIGNS, number, scale_said, seeds_said, sizes, totals
from seqline.visualize.html import seqline_version

TITLE = "The claims of the history, measured again"
WIDE = 640.0
"""Drawings of so many units and more get a row of their own."""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
_STYLES = (("seqline.judging.page", "style.css"), ("seqline.comparing", "page.css"), ("seqline.lab", "page.css"))
_SIGNS = {**SIGNS, "failed": "!"}


def page(found: Sequence[Result], scale: Mapping[str, Any], folder: Path) -> str:
    """Return one HTML document on all experiments.

    Args:
        found: what the `result.json` of each holds, in the order of history.
        scale: of the lab.
        folder: of the lab; a folder in it for each experiment has the drawings.
    """
    style = "".join(package_files(package).joinpath(name).read_text(encoding="utf-8") for package, name in _STYLES)
    sections = "".join(_section(result, folder / result["name"]) for result in found)
    return "".join([
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n',
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
        '<meta name="color-scheme" content="light dark">\n',
        f"<title>{TITLE}</title>\n<style>\n{style}</style>\n</head>\n<body>\n",
        f"{_head(found, scale)}<main>\n{_contents(found)}{sections}</main>\n",
        f"<footer>Made by seqline {escaped(seqline_version())}. <code>lab.json</code> beside this page holds all the numbers, "
        "each experiment's folder its own, its drawings and its page in Markdown.</footer>\n</body>\n</html>\n",
    ])  # fmt: skip


def _head(found: Sequence[Result], scale: Mapping[str, Any]) -> str:
    counts = "".join(f"<li><b>{count}</b>{_badge(state)}</li>" for state, count in count_states(found).items())
    lead = (
        f"{totals(found)}. This was {scale_said(scale)}. A verdict is computed from numbers by the rule beside it; where "
        "examples are too few for one, or chance could explain them, it says undecided. One seed speaks for itself alone."
    )
    return f'<header><h1>{TITLE}</h1><p class="lead">{escaped(lead)}</p><ul class="totals">{counts}</ul></header>\n'


def _badge(state: str, *, is_small: bool = False, count: int | None = None) -> str:
    """Return a verdict by sign, word, colour and outline; the small one has its word in the title."""
    kind = state.replace(" ", "-")
    sign = f'<span aria-hidden="true">{_SIGNS[state]}</span>'
    if is_small:
        told = f"{count} {state}"
        return f'<span class="badge small {kind}" role="img" aria-label="{told}" title="{told}">{sign}{count}</span>'
    return f'<span class="badge {kind}">{sign}{state}</span>'


def _contents(found: Sequence[Result]) -> str:
    items = "".join(
        f'<li><a href="#{escaped(result["name"])}">{escaped(result["title"])}</a>{_tally(result)}</li>'
        for result in found
    )
    return f'<section><h2>Experiments</h2><nav aria-label="Experiments"><ol>{items}</ol></nav></section>\n'


def _tally(result: Result) -> str:
    if result["state"] == FAILED:
        return f'<span class="tally">{_badge("failed")}</span>'
    counts = count_states([result])
    badges = "".join(_badge(state, is_small=True, count=count) for state, count in counts.items() if count)
    return f'<span class="tally">{badges}</span>'


def _section(result: Result, folder: Path) -> str:
    name = escaped(result["name"])
    failed = ""
    if result["state"] == FAILED:
        failed = f'<p>{_badge("failed")} <span class="bad">{escaped(result["reason"])}</span></p>'
    claims = "".join(_claim(claim, verdict) for claim, verdict in judged(result))
    drawings = "".join(_drawing(picture, folder) for picture in result["pictures"])
    tables = "".join(_table(table) for table in result["tables"])
    notes = "".join(f"<li>{escaped(note)}</li>" for note in result["notes"])
    head, rows = sizes(result)
    models = f"<details><summary>models</summary>{html_table(list(head), rows)}</details>" if rows else ""
    made = f"{name}: {seeds_said(result)}. All its numbers: {name}/result.json."
    return "".join([
        f'<section id="{name}"><h2><a href="#{name}">{escaped(result["title"])}</a></h2>',
        f'<p class="lead">{escaped(result["question"])}</p>{failed}{claims}',
        f'<div class="drawings">{drawings}</div>' if drawings else "",
        tables,
        f'<ul class="said">{notes}</ul>' if notes else "",
        models,
        f'<p class="fine">{escaped(made)}</p></section>\n',
    ])  # fmt: skip


def _claim(claim: Mapping[str, Any], verdict: Mapping[str, Any] | None) -> str:
    text, source = escaped(claim["text"]), escaped(claim["source"])
    quoted = f"<blockquote>{text}</blockquote><cite>{source}</cite>"
    if verdict is None:
        return f'<div class="claim">{quoted}</div>'
    decisive = ", ".join(f"{name} = {number(value)}" for name, value in verdict["numbers"].items())
    seen = f"<div><dt>but</dt><dd>{SEEN}</dd></div>" if claim["is_seen"] else ""
    return (
        f'<div class="claim">{_badge(verdict["state"])}{quoted}<p class="verdict">{escaped(verdict["said"])}</p>'
        f"<dl><div><dt>rule</dt><dd>{escaped(verdict['rule'])}</dd></div>{seen}"
        f"<div><dt>numbers</dt><dd>{escaped(decisive)}</dd></div></dl></div>"
    )


def _drawing(picture: Mapping[str, str], folder: Path) -> str:
    """Return a drawing as an image, so that nothing in it can act on the page."""
    svg = files.read_bytes(folder / f"{picture['name']}.svg")
    source = f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"
    told = html.escape(picture["caption"], quote=True)
    wide = ' class="wide"' if _width(svg.decode("utf-8", "replace")) >= WIDE else ""
    return (
        f'<figure{wide}><div class="scroll" tabindex="0"><img src="{source}" alt="{told}"></div>'
        f"<figcaption>{escaped(picture['caption'])}</figcaption></figure>"
    )


def _width(svg: str) -> float:
    """Return the width of a drawing in its own units; 0 where it does not say."""
    opening = svg[svg.find("<svg") :].partition(">")[0]
    box = re.search(r'viewBox="[-\d.]+[ ,]+[-\d.]+[ ,]+([\d.]+)', opening)
    return float(box.group(1)) if box else 0.0


def _table(table: Mapping[str, Any]) -> str:
    cells = [[escaped(number(cell)) for cell in row] for row in table["rows"]]
    return (
        f'<h3 class="table">{escaped(table["title"])}</h3>{html_table([escaped(c) for c in table["columns"]], cells)}'
    )
