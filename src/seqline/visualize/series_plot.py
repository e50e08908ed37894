"""A plot of series and their forecasts as SVG, PNG or one HTML page: what was, what is forecast, and how sure that is.

Nothing is drawn here. Each series becomes a small trace of the end of its history and its forecast, which the view `series`
draws, as it draws a recorded forecast; a file holds one drawing below the other, and the page the numbers as a table too.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from seqline.errors import UserError, did_you_mean
from seqline.files import PathLike, write_bytes, write_text
from seqline.visualize.engine import thread_engine
from seqline.visualize.export import Drawing
from seqline.visualize.extras import require
from seqline.visualize.fonts import load_fonts
from seqline.visualize.from_weights import UNKNOWN_META, UNKNOWN_MODEL
from seqline.visualize.html import assets, meta_tags, seqline_version
from seqline.visualize.raster import png, texts
from seqline.visualize.schema import MINOR, SCHEMA
from seqline.visualize.text import text_block
from seqline.visualize.trace import Trace

SUFFIXES = ("png", "svg", "html")
MOST_PANELS = 12
WIDTH, HEIGHT = 960, 400
_FOOT = 32


class Past(NamedTuple):
    """The end of a history. times: [N] as written. values, is_observed: [N], gaps filled. read: points that the model reads."""

    times: Sequence[str]
    values: Sequence[float]
    is_observed: Sequence[bool]
    read: int


class Forecasted(NamedTuple):
    """One panel. series: its id, "" = none. unit: the column. times, mean: [H] of the forecast. quantiles: level to [H]."""

    series: str
    unit: str
    past: Past
    times: Sequence[str]
    mean: Sequence[float]
    quantiles: Mapping[float, Sequence[float]]


class Maker(NamedTuple):
    """Which model forecast: its recipe, the hash of its weights, its seed; frequency: the step of its series."""

    arch: str = "unknown"
    weights_sha256: str | None = None
    seed: int = 0
    frequency: str | None = None


def check_plot(path: PathLike) -> None:
    """Refuse, before any work, a file that no plot can be written to.

    Raises:
        UserError: another suffix than png, svg or html, or a picture without the packages that draw it.
    """
    suffix = Path(path).suffix.lower().lstrip(".")
    if suffix not in SUFFIXES:
        raise UserError(f"cannot draw {suffix!r} files", where=str(path), fix=did_you_mean(suffix, SUFFIXES))
    if suffix != "html":  # a page draws with the browser's own engine
        thread_engine()
    if suffix == "png":
        require("resvg_py", "pictures", "drawing a PNG")


def write_plot(path: PathLike, panels: Sequence[Forecasted], maker: Maker) -> None:
    """Draw panels into a file; its suffix says how.

    Args:
        path: ends in png, svg or html.
        panels: at least one; `MOST_PANELS` are drawn, and a line says how many are not.
        maker: the model.

    Raises:
        UserError: see `check_plot`; a disk that refuses.
    """
    check_plot(path)
    suffix = Path(path).suffix.lower()
    if suffix == ".html":
        write_text(path, page(panels, maker))
        return
    drawn = plot(panels, maker)
    if suffix == ".svg":
        write_text(path, drawn)
    else:
        write_bytes(path, png(drawn, load_fonts(texts(drawn)), scale=2))


def trace_of(panel: Forecasted, maker: Maker) -> Trace:
    """Return a trace that holds one forecast and nothing of how it came about."""
    past = panel.past
    q = {f"{level:g}": values for level, values in panel.quantiles.items()} or None
    forecast = {
        "unit": panel.unit,
        "freq": maker.frequency,
        "series": panel.series or None,
        "times": [*past.times, *panel.times],
        "observed": None if all(past.is_observed) else [int(seen) for seen in past.is_observed],
        "hist_t": list(range(1 - len(past.values), 1)),
        "hist_y": past.values,
        "pred_y": panel.mean,
        "q": q,
        "windows": [{"lookback": past.read, "pred_y": panel.mean, "q": q}],
    }
    about = {"id": "forecast", "seed": maker.seed, "toolkit": f"seqline {seqline_version()}"}
    return Trace({
        "schema": SCHEMA,
        "minor": MINOR,
        "meta": UNKNOWN_META | about,
        "model": UNKNOWN_MODEL | {"arch": maker.arch, "weights_sha256": maker.weights_sha256},
        "task": "forecasting",
        "source": text_block("", []),
        "schedule": [],
        "forecast": forecast,
        "checks": [],
        "tensors": {},
    })  # fmt: skip


def plot(panels: Sequence[Forecasted], maker: Maker) -> str:
    """Return the drawings as one SVG, each a panel of `WIDTH` by `HEIGHT`."""
    shown, rest = panels[:MOST_PANELS], _rest(panels)
    state: dict[str, Any] = {"width": WIDTH, "height": HEIGHT}
    drawn = [Drawing(trace_of(panel, maker), "series", state).svg() for panel in shown]
    if len(drawn) == 1:
        return drawn[0]
    height = HEIGHT * len(shown) + (_FOOT if rest else 0)
    names = html.escape(", ".join(map(_title, shown)))
    foot = f'<text x="{_FOOT}" y="{height - 12}" font-size="13" fill="#16202f">{rest}</text>' if rest else ""
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        "role=\"img\" font-family=\"'DejaVu Sans'\">",
        f'<title>Forecast of {names}</title>\n<rect width="{WIDTH}" height="{height}" fill="#ffffff" data-background="1"/>',
        *(one.replace("<svg ", f'<svg y="{HEIGHT * n}" ', 1) for n, one in enumerate(drawn)),
        f"{foot}</svg>",
    ])  # fmt: skip


def page(panels: Sequence[Forecasted], maker: Maker) -> str:
    """Return one HTML page with the drawings and all numbers; it asks no network for anything."""
    traces = {str(n): trace_of(panel, maker) for n, panel in enumerate(panels[:MOST_PANELS])}
    state = html.escape(f'{{"width":{WIDTH},"height":{HEIGHT}}}')
    figures = [
        f'<seq-figure data-trace="{name}" data-view="series" data-player="none" data-state="{state}"></seq-figure>'
        for name in traces
    ]
    rest = _rest(panels)
    parts = assets(traces)
    return "".join([
        '<!doctype html>\n<html lang="en">\n<head>\n', meta_tags(), "<title>Forecast</title>\n", parts.head,
        "<style>body{padding:1rem 1rem 3rem}main{max-width:64rem;margin:auto}h1,h2{margin:1.5rem 0 .7rem}"
        "seq-figure{margin-bottom:1rem}.numbers{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
        "td,th{padding:.1rem .8rem;text-align:right}</style>\n</head>\n<body>\n<main>\n<h1>Forecast</h1>\n",
        "\n".join(figures), f"\n<p>{rest}</p>" if rest else "", "\n<h2>Numbers</h2>\n", _table(panels),
        "</main>\n", parts.body, "</body>\n</html>\n",
    ])  # fmt: skip


def _table(panels: Sequence[Forecasted]) -> str:
    levels = sorted({level for panel in panels for level in panel.quantiles})
    head = "".join(f"<th>{name}</th>" for name in ("series", "time", "forecast", *(f"q{level:g}" for level in levels)))
    rows = [
        f"<tr><td>{html.escape(_title(panel))}</td><td>{html.escape(panel.times[n])}</td>"
        + "".join(f"<td>{side[n]:.6g}</td>" for side in (panel.mean, *(panel.quantiles[level] for level in levels)))
        + "</tr>\n"
        for panel in panels
        for n in range(len(panel.mean))
    ]
    return f'<div class="numbers" tabindex="0">\n<table>\n<tr>{head}</tr>\n{"".join(rows)}</table>\n</div>\n'


def _title(panel: Forecasted) -> str:
    return f"{panel.series}: {panel.unit}" if panel.series else panel.unit


def _rest(panels: Sequence[Forecasted]) -> str:
    rest = len(panels) - MOST_PANELS
    return f"and {rest:,} more, not drawn" if rest > 0 else ""
