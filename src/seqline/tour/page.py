"""The one page in which `seqline demo` ends: the story, with live figures of the models that were just trained.

It opens from a disk and asks no network for anything; both languages are in it.
"""

from __future__ import annotations

import html
import json
import unicodedata
from importlib.resources import files as package_files
from pathlib import Path

from seqline.data.text import read_pairs
from seqline.files import write_text
from seqline.tour.chapters import CHAPTERS, Chapter, Figure, document_of
from seqline.tour.comparing import Compared
from seqline.tour.measuring import Findings, measure
from seqline.tour.numbers import by_length, length_chart, models_table, sentences, worked_step
from seqline.tour.recordings import ALIGNED, Recordings, record
from seqline.tour.story import both, paragraphs, rich, stories, story_text, word
from seqline.visualize.html import assets, json_for_html, meta_tags, scripts, seqline_version
from seqline.visualize.link import view_names

NAME = "index.html"


def make_page(folder: Path, compared: Compared) -> Path:
    """Record, measure and write the page of a demo folder; return its path."""
    recordings = record(folder, compared.translators)
    findings = measure(folder, compared, recordings)
    path = folder / NAME
    write_text(path, page(folder, compared, recordings, findings))
    return path


def studio_command(folder: Path) -> str:
    """Return the command that opens the demo's runs in the live page."""
    return f"seqline studio {folder / 'luong'} {folder / 'transformer'} {folder / 'encoder-decoder'} {folder / 'contextual'}"


def page(folder: Path, compared: Compared, recordings: Recordings, findings: Findings) -> str:
    """Return the document."""
    pairs = read_pairs(str(folder / "data" / "test.tsv"))
    labels, scores = by_length(pairs, compared)
    widgets = {
        "start": models_table(compared.rows),
        "length": _length_widget(length_chart(labels, scores), len(pairs.pairs)),
        "attention": worked_step(document_of(recordings["first"])),
        "end": _commands(folder),
    }
    data = {"sentences": sentences(pairs, compared), "titles": {s.short: s.page["title"] for s in stories()}}
    wide = "".join(c for c in scripts() if unicodedata.east_asian_width(c) in "WF")
    parts = assets(recordings, text=story_text() + wide)
    body = "".join(
        [
            _asset("tour.html").replace("@chapters@", _contents()).replace("@foot@", _foot()),
            '\n<main id="text">',
            _hero(),
        ]
        + [_chapter(chapter, recordings, findings, widgets.get(chapter.name, "")) for chapter in CHAPTERS]
        + ["</main>\n</div>\n"]
    )
    for name in ("skip", "contents", "theme", "other"):
        body = body.replace(f"@{name}@", word(name))
    return "".join([
        '<!doctype html>\n<html lang="en">\n<head>\n', meta_tags(), f"<title>{html.escape(stories()[0].page['title'])}</title>\n",
        parts.head, f"<style>\n{_asset('tour.css')}</style>\n</head>\n<body>\n", body,
        f'<script type="application/json" id="tour-data">{json_for_html(json.dumps(data, ensure_ascii=False))}</script>\n',
        parts.body, f"<script>\n{_asset('tour.js')}</script>\n</body>\n</html>\n",
    ])  # fmt: skip


def _asset(name: str) -> str:
    return package_files("seqline.tour").joinpath("page_assets", name).read_text(encoding="utf-8")


def _title(chapter: Chapter) -> str:
    return both(lambda story: rich(story.chapters[chapter.name]["title"]))


def _contents() -> str:
    return "".join(f'<li><a href="#{chapter.name}">{_title(chapter)}</a></li>' for chapter in CHAPTERS)


def _hero() -> str:
    return (
        f'<header class="hero">{both(lambda s: rich(s.page["title"]), "h1")}'
        f"{both(lambda s: rich(s.page['lead']), 'p', '')}</header>\n"
    )


def _foot() -> str:
    return both(lambda story: rich(story.page["made"], {"version": seqline_version()}), "p")


def _chapter(chapter: Chapter, recordings: Recordings, findings: Findings, widget: str) -> str:
    """Return one chapter: what was wrong, what the step does, its formula, figures and what was measured."""
    steps = []
    for name in ("was", "now"):
        if all(name in story.chapters[chapter.name] for story in stories()):
            label = "before" if name == "was" else "now"
            texts = both(lambda story, name=name: rich(story.chapters[chapter.name][name]), "p")
            steps.append(f'<div class="step {name}"><h3>{word(label)}</h3>{texts}</div>')
    formula = "".join(f"<div>{line}</div>" for line in chapter.formula)
    values = {"aligned": str(ALIGNED)}
    parts = [
        f'<section id="{chapter.name}" class="chapter"><h2>{_title(chapter)}</h2>',
        f'<div class="steps">{"".join(steps)}</div>' if steps else "",
        f'<div class="math" role="math">{formula}</div>' if formula else "",
        both(lambda story: paragraphs(story.chapters[chapter.name]["text"], values), "div"),
        _figures(chapter, recordings),
        widget,
        _measured(chapter, findings),
        "</section>\n",
    ]
    return "".join(parts)


def _figures(chapter: Chapter, recordings: Recordings) -> str:
    figures = [figure for figure in chapter.figures(recordings) if figure.view in view_names()]
    if not figures:
        return ""
    caption = both(lambda story: rich(story.chapters[chapter.name].get("caption", "")))
    tabs = ""
    if len(figures) > 1:
        buttons = "".join(
            f'<button type="button" data-tab="{n}" aria-pressed="{str(n == 0).lower()}">{word(name)}</button>'
            for n, name in enumerate(("el_elle", "el_il"))
        )
        tabs = f'<div class="tabs">{buttons}</div>'
    shown = "".join(_figure(figure, n > 0) for n, figure in enumerate(figures))
    return f"<figure>{tabs}{shown}<figcaption>{caption}</figcaption></figure>"


def _figure(figure: Figure, is_hidden: bool) -> str:
    state = html.escape(json.dumps(figure.state, ensure_ascii=False), quote=True)
    choices = "".join(
        f'<div class="choice" role="group"><span>{word(key) if key in ("layer", "head") else "τ"}</span>'
        + "".join(_choice(figure, key, value) for value in values)
        + "</div>"
        for key, values in figure.choices.items()
        if len(values) > 1
    )
    return (
        f'<div class="live"{" hidden" if is_hidden else ""}><seq-figure data-trace="{figure.trace}" data-view="{figure.view}" '
        f'data-state="{state}"></seq-figure>{f"<div class=choices>{choices}</div>" if choices else ""}</div>'
    )


def _choice(figure: Figure, key: str, value: str | float | None) -> str:
    texts = {"mean": word("mean"), None: "1"}
    named = texts.get(value) or str(value + 1 if isinstance(value, int) else value)
    is_on = figure.state.get(key) == value
    data = html.escape(json.dumps({key: value}), quote=True)
    return f'<button type="button" data-set="{data}" aria-pressed="{str(is_on).lower()}">{named}</button>'


def _measured(chapter: Chapter, findings: Findings) -> str:
    found = findings.get(chapter.name) or []
    if not found:
        return ""
    lines = both(lambda story: "".join(f"<p>{story.tell(sentence)}</p>" for sentence in found), "div")
    return f'<aside class="measured"><h3>{word("measured")}</h3>{lines}</aside>'


def _length_widget(chart: str, num_sentences: int) -> str:
    values = {"sentences": str(num_sentences)}
    return (
        '<div class="lengths"><label for="length-slider">' + word("length") + "</label>"
        '<input type="range" id="length-slider" min="0" max="0" value="0"><output id="length-now" for="length-slider"></output>'
        f'<div id="length-said" aria-live="polite"></div><p class="fine">{word("pick")}</p></div>'
        f'<figure class="chart-box">{chart}<figcaption>'
        f"{both(lambda story: rich(story.page['buckets'], values))}</figcaption></figure>"
        f'<template id="length-words"><span data-word="source">{word("source")}</span>'
        f'<span data-word="reference">{word("reference")}</span><span data-word="cut">{word("cut")}</span>'
        f'<span data-word="words">{word("words")}</span></template>'
    )


def _commands(folder: Path) -> str:
    lines = (
        ("studio_line", studio_command(folder)),
        ("your_line", f"seqline translate {folder / 'luong'}"),
        ("again_line", "seqline demo"),
    )
    return (
        '<dl class="commands">'
        + "".join(
            f'<dt>{word(name)}</dt><dd><code tabindex="0">{html.escape(line)}</code></dd>' for name, line in lines
        )
        + "</dl>"
    )
