"""The options of `seqline translate`, by the names of its arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Phrases = list[str] | None

Run = Annotated[Path, typer.Argument(help="Folder of a run.")]
File = Annotated[str, typer.Argument(help="Text to translate, a sentence a line; - is standard input.")]
NBest = Annotated[
    int, typer.Option(min=1, help="Outputs a line, best first (drawn ones as they came), separated by tabs.")
]
Scores = Annotated[bool, typer.Option("--scores", help="Put `score TAB` before each output.")]
OutputFormat = Annotated[str, typer.Option("--format", help="text, or jsonl for one JSON object a line.")]
InputFormat = Annotated[
    str,
    typer.Option("--input", help='text, or jsonl: {"text": ..., "prefix": ..., "must": [...], "must_not": [...]}.'),
]
Prefix = Annotated[str, typer.Option(help="Every output begins with this text.")]
Must = Annotated[Phrases, typer.Option(metavar="PHRASE", help="Every output holds this phrase; repeatable.")]
MustNot = Annotated[Phrases, typer.Option(metavar="PHRASE", help="No output holds this phrase; repeatable.")]
Sample = Annotated[bool, typer.Option("--sample", help="Draw outputs at random; --n-best of them.")]
Temperature = Annotated[float | None, typer.Option(help="Of --sample and --mbr: below 1 safer, above 1 bolder.")]
TopK = Annotated[int | None, typer.Option(min=1, help="Draw from the K most probable pieces only.")]
TopP = Annotated[float | None, typer.Option(help="Draw from the most probable pieces with this share only.")]
TypicalP = Annotated[float | None, typer.Option(help="Draw from the most typical pieces with this share only.")]
Seed = Annotated[int | None, typer.Option(help="The same seed draws the same outputs; 0 when not given.")]
Mbr = Annotated[int, typer.Option(min=0, metavar="N", help="Draw N outputs, return the one nearest to all by chrF2.")]
Rerank = Annotated[Path | None, typer.Option(metavar="RUN", help="Rank what the beam found by this run's score too.")]
RerankWeight = Annotated[float | None, typer.Option(help="How often the other score counts; 1 when not given.")]
Markup = Annotated[
    bool, typer.Option("--markup", help="Tags and placeholders ({0}, %s) of a line stand in its output too.")
]
Stream = Annotated[bool, typer.Option("--stream", help="Print pieces as they come; greedy, or with --sample.")]
Alignments = Annotated[
    bool,
    typer.Option("--alignments", help="Put `TAB i-j ...` behind each output: source and output words, from 0."),
]
BatchRows = Annotated[int | None, typer.Option("--batch", min=1, help="The most sentences at once.")]
AsJson = Annotated[bool, typer.Option("--json", help="The same as --format jsonl.")]
