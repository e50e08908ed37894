"""`seqline translate`: lines in, as many lines out, in the same order."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seqline.cli.options import (
    AlignHead,
    AlignLayer,
    Beam,
    Device,
    Threads,
    prepare_torch,
    refuse_reading,
    say,
    write_lines,
)
from seqline.errors import UserError
from seqline.evaluation.alignment_metrics import format_links

if TYPE_CHECKING:
    from seqline.translator import Output, Translation


def translate(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    file: Annotated[str, typer.Argument(help="Text to translate, a sentence a line; - is standard input.")] = "-",
    beam: Beam = None,
    n_best: Annotated[int, typer.Option(min=1, help="Outputs a line, best first, separated by tabs.")] = 1,
    scores: Annotated[bool, typer.Option("--scores", help="Put `score TAB` before each output.")] = False,
    output_format: Annotated[str, typer.Option("--format", help="text, or jsonl for one JSON object a line.")] = "text",
    alignments: Annotated[
        bool,
        typer.Option("--alignments", help="Put `TAB i-j ...` behind each output: source and output words, from 0."),
    ] = False,
    align_layer: AlignLayer = None,
    align_head: AlignHead = None,
    batch_rows: Annotated[int | None, typer.Option("--batch", min=1, help="The most sentences at once.")] = None,
    device: Device = "cpu",
    threads: Threads = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format jsonl.")] = False,
) -> None:
    """Translate a file or standard input; an empty line gives an empty line."""
    if output_format not in ("text", "jsonl"):
        raise UserError(f"expected text or jsonl, got {output_format!r}", where="--format")
    refuse_reading(align_layer, align_head, is_used=alignments)
    prepare_torch(device, threads)

    from seqline.cli.progress import counting
    from seqline.data.text import read_lines
    from seqline.evaluation.alignment import Reading
    from seqline.translator import Translator

    translator = Translator.load(run, device=device)
    beam_size = beam or translator.decoding.beam_size
    if n_best > beam_size:
        raise UserError(f"{n_best} outputs need a beam of at least {n_best}, it is {beam_size}", where="--n-best")
    reading = Reading(align_layer, align_head) if alignments else False
    if reading:
        translator.aligner(reading)  # refuse before the text is read
    texts = read_lines(file)
    with counting("translating", len(texts)) as on_done:
        translations = translator.translate(
            texts, beam_size=beam, n_best=n_best, batch_rows=batch_rows, on_done=on_done, alignments=reading
        )
    if as_json or output_format == "jsonl":
        write_lines([_json_line(t) for t in translations])
    else:
        write_lines(["\t".join(_cells(t, scores)) for t in translations])
    cut = sum(not t.outputs[0].is_finished for t in translations)
    if cut:
        say(f"{cut:,} of {len(texts):,} outputs did not end by themselves and were cut at the length limit")


def _cells(translation: Translation, with_scores: bool) -> list[str]:
    cells = []
    for output in translation.outputs:
        cells += [f"{output.score:.4f}", output.text] if with_scores else [output.text]
        if output.alignment is not None:
            cells.append(format_links(output.alignment))
    return cells


def _json_line(translation: Translation) -> str:
    outputs = [_json_output(output) for output in translation.outputs]
    best = {"alignments": outputs[0]["alignments"]} if "alignments" in outputs[0] else {}
    record = {"source": translation.source, "text": translation.text, **best, "outputs": outputs}
    return json.dumps(record, ensure_ascii=False)


def _json_output(output: Output) -> dict[str, Any]:
    values = dataclasses.asdict(output)
    links = values.pop("alignment")
    return values if links is None else {**values, "alignments": links}
