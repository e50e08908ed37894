"""`seqline data toy` and `series`: the built-in language pairs and time series, written to files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

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


@app.command()
def series(
    out: Annotated[Path, typer.Option(help="CSV file to write.")],
    kind: Annotated[Literal["hourly", "daily"], typer.Option(help="The step.")] = "daily",
    num_series: Annotated[int, typer.Option("--series", min=1, max=10_000, help="How many series.")] = 4,
    length: Annotated[
        int, typer.Option(min=0, max=1_000_000, help="Points of each; 0: 3 years of days, or 60 days of hours.")
    ] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Seed; the same one gives the same file.")] = 1,
    as_json: Json = False,
) -> None:
    """Write generated series with seasons, a trend and weather-like noise: unique_id,ds,y."""
    from seqline.data.toy_series import make_series, series_csv
    from seqline.files import write_text

    made = make_series(kind, num_series=num_series, length=length, seed=seed)
    write_text(out, series_csv(made))
    points = len(made[0].values)
    if as_json:
        print_json({"file": str(out), "kind": kind, "seed": seed, "series": len(made), "points": points})
    else:
        write_lines([f"{out}: {kind}, {len(made):,} series of {points:,} points"])
