"""`seqline data toy`: the built-in language pairs, written to files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from seqline.cli.options import Json, print_json, write_lines

app = typer.Typer(help="Data that seqline makes itself.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _group() -> None:
    """Data that seqline makes itself."""


@app.command()
def toy(
    out: Annotated[Path, typer.Option(help="Folder to make.")],
    pair: Annotated[str, typer.Option(help="fr-en, en-fr, en-es or zh-en.")] = "fr-en",
    size: Annotated[int, typer.Option(min=20, help="Training pairs.")] = 12_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed; the same one gives the same files.")] = 1,
    as_json: Json = False,
) -> None:
    """Write a toy language pair: train.tsv, valid.tsv, test.tsv, pronouns.tsv, and gold alignments."""
    from seqline.data.toy import make_corpus, write_corpus

    corpus = make_corpus(pair, size, seed)
    write_corpus(corpus, out)
    counts = {name: len(getattr(corpus, name)) for name in ("train", "valid", "test", "pronoun_test")}
    if as_json:
        print_json({"folder": str(out), "pair": pair, "seed": seed, **counts})
    else:
        write_lines([f"{out}: {pair}, " + ", ".join(f"{count:,} {name}" for name, count in counts.items())])
