"""The page of the studio: the same page as in a file, with a live panel under its top line."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from seqline.studio.desk import Kept
from seqline.visualize.html import document, json_for_html, scripts
from seqline.visualize.page_fonts import page_fonts
from seqline.visualize.trace import Bundle, Trace, strings_of

SCRIPTS = ("strings.js", "steps.js", "row.js", "exports.js", "live.js")


def live_page(last: Kept | None) -> str:
    """Return the page with the recording made last, or with none."""
    traces = {} if last is None else {"0": last.trace}
    start = {"trace_id": last and last.id, "asked": last and last.asked}
    panel = "".join([
        f"<style>\n{_asset('live.css')}</style>\n",
        _asset("live.html"),
        f'<script type="application/json" id="live-start">{json_for_html(json.dumps(start, ensure_ascii=False))}</script>\n',
        f'<script type="module">\n{_scripts()}</script>\n',
    ])  # fmt: skip
    return document(traces, live=panel, connect="'self'", force=True)


def fonts_of(trace: Trace | Bundle) -> dict[str, Any]:
    """Return what the page needs to draw a recording that came after it: fonts, their names, and what no font has."""
    fonts = page_fonts(strings_of(trace), scripts())
    return {"css": fonts.css, "font": fonts.families, "missing": fonts.missing}


@cache
def _scripts() -> str:
    return "\n".join(_asset(name) for name in SCRIPTS).replace("</script", "<\\/script")


@cache
def _asset(name: str) -> str:
    return files("seqline.studio").joinpath("page", name).read_text(encoding="utf-8")
