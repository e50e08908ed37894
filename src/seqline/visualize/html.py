"""One HTML file with recordings, scenes, fonts and player inlined: it opens from a disk and asks no network for anything.

The same assets carry the live page (`document` with `live` and `connect`) and long pages of prose with figures in between
(`assets`: put `head` into the head, `body` at the end of the body, and `<seq-figure data-trace="name">` wherever wanted).
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from typing import Any

from seqline.errors import UserError, did_you_mean
from seqline.visualize.link import link, view_names
from seqline.visualize.page_fonts import PageFonts, page_fonts
from seqline.visualize.trace import Bundle, Trace, strings_of

# In this order: each file uses names of the ones before it.
SCRIPTS = (
    "strings",
    "about",
    "decode",
    "figure",
    "controls",
    "pointing",
    "export",
    "panel",
    "search",
    "words",
    "shell",
)
NOTEBOOK_HEIGHT = 720


@dataclass(frozen=True)
class Assets:
    """What a page with figures needs beside its own prose.

    Args:
        head: Style elements: the embedded fonts and the page's looks.
        body: The recordings, the settings of the page and the one script.
        fonts: What became of the fonts.
    """

    head: str
    body: str
    fonts: PageFonts


def page(
    traces: Trace | Bundle | Iterable[Trace],
    *,
    view: str = "timeline",
    state: Mapping[str, Any] | None = None,
    title: str | None = None,
) -> str:
    """Return one HTML document that shows a trace, a bundle or up to six traces, with every view that they allow.

    Args:
        traces: What to show.
        view: The view that is open first.
        state: State of that view: step, layer, head and so on.
        title: The line at the top; the sentence when None.

    Raises:
        UserError: no such view, or more traces than a page holds.
    """
    shown = _one(traces)
    return document({"0": shown}, view=view, state=state, title=title)


def document(
    traces: Mapping[str, Trace | Bundle],
    *,
    view: str = "timeline",
    state: Mapping[str, Any] | None = None,
    title: str | None = None,
    live: str = "",
    connect: str = "'none'",
    force: bool = False,
) -> str:
    """Return the page of one figure, see `page`.

    A script in `live` finds `window.studio`: `ready`, `view`, `state`, `setState(patch)`, `trace`, `svg` and
    `setTrace(json, {css, font, missing})`; the document tells it of `seqline:change` (view, state) and, where `force` is
    on, of `seq-force` (step, id) when somebody clicks another candidate.

    Args:
        traces: By name; the first is shown. Empty: the page waits for `setTrace`.
        view: The view that is open first.
        state: State of that view; `lang` and `theme` hold for the whole page.
        title: The line at the top.
        live: HTML for the strip under the top line, such as a text box; trusted as it is.
        connect: Where the page may send requests (a CSP source).
        force: Candidates of a step are buttons.

    Raises:
        UserError: no such view.
    """
    if view not in view_names():
        raise UserError(f"no view named {view!r}", where="--view", fix=did_you_mean(view, view_names()))
    wanted = dict(state or {})
    lang = "zh" if wanted.pop("lang", "en") == "zh" else "en"
    settings = {
        "view": view,
        "state": wanted,
        "title": title,
        "lang": lang,
        "force": force,
        "trace": next(iter(traces), None),
    }
    parts = assets(traces, settings=settings)
    body = _asset("page.html").replace("@live@", live)
    return "".join([
        f'<!doctype html>\n<html lang="{"zh-Hans" if lang == "zh" else "en"}">\n<head>\n',
        meta_tags(connect),
        f"<title>{html.escape(title or 'seqline')}</title>\n",
        parts.head, "</head>\n", body, parts.body, "</body>\n</html>\n",
    ])  # fmt: skip


def assets(
    traces: Mapping[str, Trace | Bundle], *, settings: Mapping[str, Any] | None = None, text: str = ""
) -> Assets:
    """Return styles, recordings and script for a page whose prose holds `<seq-figure data-trace="name" data-view="align">`.

    Args:
        traces: By the name that a figure's `data-trace` gives.
        settings: What the page's script reads at the start.
        text: More characters that the embedded fonts must hold.
    """
    data = {name: json_for_html(trace.to_json()) for name, trace in traces.items()}
    labels = "".join(map(strings_of, traces.values()))
    fonts = page_fonts(labels + text, scripts(), is_wide=(settings or {}).get("lang") == "zh")
    config = {"version": seqline_version(), "font": fonts.families, "missing": fonts.missing, "fontNote": fonts.note}
    head = f'<style id="seqline-fonts">{fonts.css}</style>\n<style>\n{_asset("page.css")}</style>\n'
    blocks = [
        f'<script type="application/json" data-trace="{html.escape(name)}">{value}</script>\n'
        for name, value in data.items()
    ]
    packed = json_for_html(json.dumps(config | dict(settings or {}), ensure_ascii=False))
    blocks.append(f'<script type="application/json" id="seqline-config">{packed}</script>\n')
    blocks.append(f'<script type="module">\n{scripts()}</script>\n')
    return Assets(head, "".join(blocks), fonts)


def meta_tags(connect: str = "'none'") -> str:
    """Return the head's first lines: character set, small screens, and the policy that forbids every request."""
    policy = (
        "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; "
        f"font-src data:; connect-src {connect}; base-uri 'none'; form-action 'none'"
    )
    return (
        '<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
    )


def notebook(trace: Trace | Bundle) -> str:
    """Return an inline frame with the page of a trace: what a notebook shows for it."""
    content = html.escape(page(trace), quote=True)
    return (
        f'<iframe srcdoc="{content}" title="seqline" sandbox="allow-scripts allow-downloads" loading="lazy" '
        f'style="width:100%;height:{NOTEBOOK_HEIGHT}px;border:0"></iframe>'
    )


def json_for_html(text: str) -> str:
    r"""Return JSON that may stand inside a script element: `<` becomes `\u003c`, also in `</s>`."""
    return text.replace("<", "\\u003c")


@cache
def scripts() -> str:
    """Return the scenes and the page's own code as one text."""
    own = "\n".join(_asset(f"{name}.js") for name in SCRIPTS)
    return f"{link()}\n{own}".replace("</script", "<\\/script")


def _asset(name: str) -> str:
    return files("seqline.visualize").joinpath("page", name).read_text(encoding="utf-8")


def _one(traces: Trace | Bundle | Iterable[Trace]) -> Trace | Bundle:
    if isinstance(traces, Trace | Bundle):
        return traces
    several = list(traces)
    if len(several) == 1:
        return several[0]
    return Bundle(several, _distinct([str(trace.document["model"]["arch"]) for trace in several]))


def _distinct(names: list[str]) -> list[str]:
    return [name if names.count(name) == 1 else f"{name} {i + 1}" for i, name in enumerate(names)]


def seqline_version() -> str:
    """Return the number of the installed version."""
    try:
        return version("seqline")
    except PackageNotFoundError:  # run from a folder without an install
        return "unknown"
