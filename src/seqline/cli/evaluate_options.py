"""The options of `seqline evaluate`, by the names of its arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Run = Annotated[Path, typer.Argument(help="Folder of a run.")]
Data = Annotated[
    str,
    typer.Argument(help="TSV, SRC,TGT, JSONL (plain text for lm), or a folder, of which the test set is taken."),
]
Metrics = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,...",
        help="More metrics: ter, wer, per, cer, rouge1, rouge2, rougeL, distinct (how varied the outputs are), or all.",
    ),
]
Against = Annotated[
    str | None,
    typer.Option(
        metavar="RUN2|FILE",
        help="Compare with another run, or with a text file of one output a line: differences, intervals, p-values.",
    ),
]
Resamples = Annotated[
    int | None, typer.Option(min=1, max=1_000_000, help="Trials of each test of --against. Default: 10000.")
]
Seed = Annotated[int | None, typer.Option(min=0, help="Seed of the tests of --against. Default: 12345.")]
ByLength = Annotated[bool, typer.Option("--by-length", help="Add BLEU by source length.")]
Frequencies = Annotated[
    str | None,
    typer.Option(
        metavar="TRAINING",
        help="Training text (pairs, or target lines): add word F1 by how often a word stands there.",
    ),
]
Lowercase = Annotated[bool, typer.Option("--lowercase", help="Add lowercased scores beside the cased ones.")]
Page = Annotated[
    Path | None,
    typer.Option("--report", metavar="FILE.html", help="Write a page with all of it, the worst sentences too."),
]
Examples = Annotated[
    int | None,
    typer.Option(min=0, max=1000, help="Sentences a list, in --report and --json. Default: 10."),
]
Alignments = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Gold links, a line a pair (i-j sure, i?j possible, words from 0): add the alignment error rate.",
    ),
]
BatchRows = Annotated[int | None, typer.Option("--batch", min=1, help="The most sentences at once.")]
