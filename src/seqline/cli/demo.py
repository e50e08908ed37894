"""`seqline demo`: the tour on the built-in toy language pair."""

from __future__ import annotations

import os
import sys
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seqline.cli.options import Json, print_json, say, write_lines

if TYPE_CHECKING:
    from seqline.translator import Translator


def demo(
    out: Annotated[
        Path | None, typer.Option(help="Folder to make. Default: seqline-demo, or the next free one.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Train four models on a built-in language pair, compare them, look inside one, and try your own sentence."""
    from seqline import tour
    from seqline.files import refuse_taken
    from seqline.tour.page import make_page, studio_command
    from seqline.visualize.timeline import as_table, moments

    folder = out or _free_folder("seqline-demo")
    refuse_taken(folder, fix="name another --out")
    say("Four models learn the same French-English toy pair; a minute or two each, two at a time on two cores.")
    tour.train_all(folder, say)
    say("translating 500 test sentences with each model")
    compared = tour.compare(folder)
    rows, translators = compared.rows, compared.translators
    timeline = moments(translators["luong"].explain(tour.SENTENCES[0], beam_size=1, timing=False))
    sentences = [*tour.SENTENCES, tour.long_sentence(folder)]
    said = {name: translator.translate(sentences) for name, translator in translators.items()}
    say("looking inside the models for the page")
    page = make_page(folder, compared)
    if as_json:
        print_json(
            {
                "folder": str(folder),
                "rows": [row.__dict__ for row in rows],
                "page": str(page),
                "timeline": [moment._asdict() for moment in timeline],
                "translations": {
                    name: [{"source": t.source, "text": t.text, "is_finished": t.outputs[0].is_finished} for t in made]
                    for name, made in said.items()
                },
            }
        )
        return
    lines = ["", "BLEU on held-out sentences (the three RNNs differ in nothing but how they read the source):", ""]
    lines += [*tour.as_table(rows), "", f"How luong translates {tour.SENTENCES[0]!r}, step by step:", ""]
    lines += as_table(timeline)
    for number, sentence in enumerate(sentences):
        lines += ["", sentence, *(f"  {name:<16} {tour.show_translation(made[number])}" for name, made in said.items())]
    lines += ["", f"Everything is in {folder}: data/, and a run each, for example:"]
    lines += [
        f"  seqline translate {folder / 'luong'}",
        f"  seqline evaluate {folder / 'luong'} {folder / 'data'} --by-length",
        f"The whole line as one page, for any browser, without a network: {page}",
        "The same pictures live, with your own sentences:",
        f"  {studio_command(folder)}",
    ]
    write_lines(lines)
    if sys.stdin.isatty() and sys.stdout.isatty():
        _prompt(translators)


def _free_folder(name: str) -> Path:
    names = chain([name], (f"{name}-{n}" for n in count(2)))
    return next(Path(path) for path in names if not os.path.lexists(path))


def _prompt(translators: dict[str, Translator]) -> None:
    from seqline import tour

    write_lines(["", "Your own sentence (lower case, words of the toy language; an empty line ends):"])
    while True:
        try:
            sentence = input("> ")
        except EOFError:
            return
        if not sentence.strip():
            return
        for name, translator in translators.items():
            write_lines([f"  {name:<16} {tour.show_translation(translator.translate([sentence])[0])}"])
