"""The comparison as one HTML page: opens from a disk, asks no network for anything and needs no script."""

from __future__ import annotations

import base64
import html
from collections.abc import Mapping, Sequence
from importlib.resources import files as package_files
from typing import Any

from seqline.comparing.explaining import Picture, Reply, Shown
from seqline.comparing.plots import Axis, Series, key, lines
from seqline.comparing.table import Found, Table, failures, lengths, ordered, runs, seeds, significance, summary
from seqline.judging.page.marks import marked_html
from seqline.judging.page.tables import shown as escaped
from seqline.judging.page.tables import table as html_table
from seqline.machine import said

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def page(found: Found, shown: Shown) -> str:
    """Return one HTML document that shows a comparison.

    Args:
        found: what `results.json` holds.
        shown: one text and what the models made of it.
    """
    names = [row["name"] for row in ordered(found)]
    style = _file("seqline.judging.page", "style.css") + _file("seqline.comparing", "page.css")
    sections = [
        ("Summary", _summary(found)),
        (f"By {found['length']['name']}", _by_length(found, names)),
        ("Learning curves", _curves(found, names)),
        ("Is a difference more than chance?", _significance(found)),
        ("One text, all models", _example(shown)),
        ("How it was made", _made(found)),
    ]
    body = "".join(f"<section><h2>{name}</h2>{content}</section>\n" for name, content in sections if content)
    title = f"Comparison of {', '.join(names)}"
    return "".join([
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n',
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
        '<meta name="color-scheme" content="light dark">\n',
        f"<title>{escaped(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n",
        _head(found, names), f"<main>\n{body}</main>\n",
        f"<footer>Made by seqline {escaped(found['version'])}. <code>results.json</code> beside this page holds all the "
        "numbers.</footer>\n</body>\n</html>\n",
    ])  # fmt: skip


def _file(package: str, name: str) -> str:
    return package_files(package).joinpath(name).read_text(encoding="utf-8")


def _head(found: Found, names: Sequence[str]) -> str:
    threads, test = found["threads"], found["test"]
    parameters = found["parameters_asked"]
    equal = f", {parameters:,} parameters each" if parameters else ""
    lead = (
        f"{len(names)} architectures, {_count(len(found['seeds']), 'seed')} each, {found['budget']['said']} a run{equal}, "
        f"{_count(threads, 'thread')}; judged on {test['examples']:,} test {test['unit']}."
    )
    return f'<header><h1>{" · ".join(map(escaped, names))}</h1><p class="lead">{escaped(lead)}</p></header>\n'


def _count(number: int, name: str) -> str:
    return f"{number:,} {name}{'' if number == 1 else 's'}"


def _table(table: Table) -> str:
    return html_table([escaped(title) for title in table.head], [[escaped(cell) for cell in row] for row in table.rows])


def _summary(found: Found) -> str:
    measures = "; ".join(
        f"{word} is better: {', '.join(labels)}"
        for word, is_higher in (("higher", True), ("lower", False))
        if (labels := [m["label"] for m in found["measures"] if m["is_higher_better"] is is_higher])
    )
    told = (
        f"{seeds(found)}; {measures}. Peak memory is of "
        "the training's own process, the answers' speed of this machine with nothing else running."
    )
    bad = "".join(f"<li>{escaped(line)}</li>" for line in failures(found))
    return (
        _table(summary(found))
        + f'<p class="fine">{escaped(told)}</p>'
        + (f'<ul class="said bad">{bad}</ul>' if bad else "")
    )


def _by_length(found: Found, names: Sequence[str]) -> str:
    rows = [row for row in ordered(found) if row["by_length"]]
    if not rows:
        return ""
    label = found["measures"][0]["label"]
    series = [
        Series(row["name"], names.index(row["name"]),
               [(float(n), sum(b["values"]) / len(b["values"])) for n, b in enumerate(row["by_length"])])
        for row in rows
    ]  # fmt: skip
    buckets = [f"{b['label']}" for b in rows[0]["by_length"]]
    axis = f"{found['length']['name']} in {found['length']['unit']}"
    plot = lines(f"{label} by {axis}", Axis(axis, buckets), Axis(label), series)
    return f'<div class="beside"><div>{plot}{key(names)}</div><div>{_table(lengths(found))}</div></div>'


def _curves(found: Found, names: Sequence[str]) -> str:
    runs = [run for run in found["runs"] if run["curve"]]
    if not runs:
        return ""
    score = runs[0]["curve"][0]["name"]
    plots = []
    for value, label in (("loss", "validation loss, nats a token"), ("score", f"validation {score}")):
        for place, unit in (("seconds", "seconds of training"), ("step", "steps")):
            series = [
                Series(run["name"], names.index(run["architecture"]),
                       [(float(p[place]), float(p[value])) for p in run["curve"] if p[value] is not None])
                for run in runs
            ]  # fmt: skip
            plots.append(f"<div>{lines(f'{label} by {unit}', Axis(unit), Axis(label), series)}</div>")
    told = "A line a run, greedy search where something is searched. Equal marks and colours are equal architectures."
    return f'{key(names)}<div class="plots">{"".join(plots)}</div><p class="fine">{told}</p>'


def _significance(found: Found) -> str:
    tests = significance(found)
    if not tests.rows:
        return ""
    how = found["significance"]
    told = f"{how['how']} {how['trials']:,} trials, seed {how['seed']}."
    return _table(tests) + f'<p class="fine">{escaped(told)}</p>'


def _example(shown: Shown) -> str:
    if not shown.replies:
        return ""
    rows = [_text("text", shown.text, escaped(shown.text))]
    if shown.reference is not None:
        rows.append(_text("reference", shown.reference, escaped(shown.reference)))
    for reply in shown.replies:
        marked = marked_html(reply.text, shown.reference) if shown.reference is not None else escaped(reply.text)
        rows.append(_text(reply.arch, reply.text, marked))
    told = "Marked: what the reference does not have there. " if shown.reference is not None else ""
    both = "" if shown.side_by_side is None else _picture(shown.side_by_side)
    each = "".join(_picture(reply.picture) for reply in shown.replies if reply.picture is not None)
    drawn = f'{both}<div class="pictures">{each}</div>'
    fine = f'<p class="fine">{told}The best run of each architecture; the pictures show a greedy search.</p>'
    return f'<article><dl class="replies">{"".join(rows)}</dl></article>{fine}{drawn}{_missing(shown.replies)}'


def _missing(replies: Sequence[Reply]) -> str:
    reasons: dict[str, list[str]] = {}
    for reply in replies:
        if reply.reason:
            reasons.setdefault(reply.reason, []).append(reply.arch)
    return "".join(f'<p class="fine">{escaped(", ".join(who))}: {escaped(why)}</p>' for why, who in reasons.items())


def _text(name: str, text: str, drawn: str) -> str:
    if not text.strip():
        return f'<dt>{escaped(name)}</dt><dd class="empty">(empty)</dd>'
    return f'<dt>{escaped(name)}</dt><dd dir="auto">{drawn}</dd>'


def _picture(picture: Picture) -> str:
    """Return a drawing for both themes; as an image, so that nothing in it can act on the page."""
    dark, light = (
        f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}" for svg in (picture.dark, picture.light)
    )
    told = html.escape(picture.told, quote=True)
    image = f'<img src="{light}" alt="{told}">'
    return (
        f'<figure><figcaption>{escaped(picture.title)}</figcaption><div class="scroll" tabindex="0"><picture>'
        f'<source media="(prefers-color-scheme: dark)" srcset="{dark}">{image}</picture></div></figure>'
    )


def _made(found: Found) -> str:
    notes = "".join(f"<li>{escaped(note)}</li>" for note in found["notes"])
    settings = "".join(_settings(row) for row in ordered(found))
    commands = "".join(f"<li><code>{escaped(run['command'])}</code></li>" for run in found["runs"])
    versions = ", ".join(f"{name} {value}" for name, value in found["versions"].items())
    signatures = "".join(f"<dt>{escaped(m['label'])}</dt><dd>{escaped(m['signature'])}</dd>" for m in found["measures"])
    return (
        (f'<ul class="said">{notes}</ul>' if notes else "")
        + f'<p><code>{escaped(found["command"])}</code></p><dl class="signatures">{signatures}</dl>'
        + f"<details><summary>Every run</summary>{_table(runs(found))}</details>"
        + f"<details><summary>What was set</summary>{settings}</details>"
        + f'<details><summary>The command of each run</summary><ul class="said">{commands}</ul></details>'
        + f'<p class="fine">{escaped(versions)}; {escaped(said(found["machine"]))}.</p>'
    )


def _settings(row: Mapping[str, Any]) -> str:
    listed = ", ".join(f"{name} = {value}" for name, value in row["settings"].items())
    return f'<p class="fine"><b>{escaped(row["name"])}</b>: <code>{escaped(listed)}</code></p>'
