"""`seqline tag`: lines of tokens in, as many lines of tags out, in the same order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from seqline.cli.options import Device, Threads, prepare_torch, write_lines


def tag(
    run: Annotated[Path, typer.Argument(help="Folder of a run for tagging.")],
    file: Annotated[str, typer.Argument(help="Text to tag, tokens separated by spaces; - is standard input.")] = "-",
    batch_rows: Annotated[int | None, typer.Option("--batch", min=1, help="The most lines at once.")] = None,
    device: Device = "cpu",
    threads: Threads = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a line: tokens and tags.")] = False,
) -> None:
    """Tag every token of a file or standard input; an empty line gives an empty line."""
    prepare_torch(device, threads)

    from seqline.cli.progress import counting
    from seqline.data.labelled import split_tokens
    from seqline.data.text import read_lines
    from seqline.labeller import Labeller

    labeller = Labeller.load(run, device=device, task="tagging")
    lines = read_lines(file)
    with counting("tagging", len(lines)) as on_done:
        tags = labeller.tag(lines, batch_rows=batch_rows, on_done=on_done)
    if as_json:
        rows = ({"tokens": split_tokens(line), "tags": row} for line, row in zip(lines, tags, strict=True))
        write_lines([json.dumps(row, ensure_ascii=False) for row in rows])
    else:
        write_lines([" ".join(row) for row in tags])
