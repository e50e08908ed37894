"""`seqline classify`: lines in, as many labels out, in the same order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seqline.cli.options import Device, Threads, prepare_torch, write_lines

if TYPE_CHECKING:
    from seqline.labeller import Classified


def classify(
    run: Annotated[Path, typer.Argument(help="Folder of a run for classification.")],
    file: Annotated[str, typer.Argument(help="Text to classify, one a line; - is standard input.")] = "-",
    scores: Annotated[bool, typer.Option("--scores", help="Put `probability TAB` before each label.")] = False,
    batch_rows: Annotated[int | None, typer.Option("--batch", min=1, help="The most texts at once.")] = None,
    device: Device = "cpu",
    threads: Threads = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object a line: text, label and probability.")
    ] = False,
) -> None:
    """Classify each line of a file or standard input; an empty line gives an empty line."""
    prepare_torch(device, threads)

    from seqline.cli.progress import counting
    from seqline.data.text import read_lines
    from seqline.labeller import Labeller

    labeller = Labeller.load(run, device=device, task="classification")
    texts = read_lines(file)
    with counting("classifying", len(texts)) as on_done:
        found = labeller.classify(texts, batch_rows=batch_rows, on_done=on_done)
    if as_json:
        write_lines([_json_line(text, classified) for text, classified in zip(texts, found, strict=True)])
    elif scores:
        write_lines([f"{c.probability:.4f}\t{c.label}" if c.label else "" for c in found])
    else:
        write_lines([c.label for c in found])


def _json_line(text: str, classified: Classified) -> str:
    row = {"text": text, "label": classified.label, "probability": classified.probability}
    return json.dumps(row, ensure_ascii=False)
