"""The options of `seqline compare`, by the names of its arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[
    str, typer.Argument(help="TSV, SRC,TGT, JSONL (plain text for lm), or a folder with train, valid and test.")
]
Archs = Annotated[str, typer.Option(metavar="A,B,...", help="Architectures; seqline train --list names them all.")]
Out = Annotated[Path, typer.Option(help="Folder to make, or one to go on with.")]
Seeds = Annotated[int, typer.Option(min=1, max=1000, help="Runs an architecture.")]
Budget = Annotated[str, typer.Option(metavar="5m|300s|2000steps|2Mtokens", help="What each run may spend.")]
Parameters = Annotated[
    str | None, typer.Option(metavar="1M", help="Choose the widths so that every model has so many parameters.")
]
Task = Annotated[str, typer.Option(help="translation, language_model (lm), tagging or classification.")]
Valid = Annotated[str, typer.Option(help="Validation data; the folder's own, or held out.")]
Test = Annotated[str, typer.Option(help="Test data; the folder's own, or held out.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="[ARCH:]KEY=VALUE", help="A setting of all runs, or of one architecture's."),
]
Baseline = Annotated[
    str | None, typer.Option(metavar="ARCH", help="What the others are tested against. Default: the best.")
]
Metrics = Annotated[
    str,
    typer.Option(
        metavar="A,B,...", help="Scores of translations: bleu, chrf, exact, ter, wer, ...; the first decides."
    ),
]
Lowercase = Annotated[bool, typer.Option("--lowercase", help="Add lowercased scores beside the cased ones.")]
Sentence = Annotated[
    str | None, typer.Option(metavar="TEXT", help="What all models are shown. Default: one of the test set.")
]
Jobs = Annotated[int, typer.Option(min=1, max=1024, help="Trainings at once.")]
Threads = Annotated[int, typer.Option(min=1, max=1024, help="CPU threads of each.")]
