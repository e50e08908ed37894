"""`seqline evaluate`: how good a run is on a corpus."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seqline.cli.options import (
    Beam,
    Device,
    Json,
    Keys,
    Threads,
    prepare_torch,
    print_json,
    say,
    split_keys,
    write_lines,
)

if TYPE_CHECKING:
    from seqline.report import Report


def evaluate(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    data: Annotated[str, typer.Argument(help="TSV, SRC,TGT, JSONL, or a folder, of which the test set is taken.")],
    by_length: Annotated[bool, typer.Option("--by-length", help="Add BLEU by source length.")] = False,
    lowercase: Annotated[
        bool, typer.Option("--lowercase", help="Add lowercased scores beside the cased ones.")
    ] = False,
    beam: Beam = None,
    batch_rows: Annotated[int | None, typer.Option("--batch", min=1, help="The most sentences at once.")] = None,
    keys: Keys = None,
    device: Device = "cpu",
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Score a run: BLEU and chrF2 with signatures, exact match, perplexity, BLEU by source length."""
    prepare_torch(device, threads)

    from seqline.api import read_scored
    from seqline.cli.progress import counting
    from seqline.report import evaluate as evaluate_run
    from seqline.translator import Translator

    translator = Translator.load(run, device=device)
    pairs = read_scored(data, split_keys(keys) if keys else translator.data.keys)
    with counting("translating", len(pairs.pairs)) as on_done:
        report = evaluate_run(
            translator, pairs, beam_size=beam, lowercase=lowercase, batch_rows=batch_rows, on_done=on_done
        )
    for warning in report.warnings:
        say(f"warning: {warning}")
    if as_json:
        print_json({"run": str(run), "data": data, **report.as_json()})
    else:
        write_lines(_lines(report, by_length))


def _lines(report: Report, by_length: bool) -> list[str]:
    found = report.likelihood
    search = "greedy" if report.beam_size == 1 else f"beam {report.beam_size}"
    lines = [f"{report.num_sentences:,} sentences, {search}", *map(str, report.scores)]
    lines.append(
        f"perplexity = {found.perplexity:.3f} per target piece with </s> ({found.nats_per_token:.4f} nats, "
        f"{found.num_tokens:,} pieces); {found.nats_per_character:.4f} nats per character"
    )
    if found.num_unknown:
        lines.append(f"{found.num_unknown:,} target pieces are outside the vocabulary (<unk>)")
    if report.num_cut:
        lines.append(f"{report.num_cut:,} outputs did not end by themselves and were cut at the length limit")
    return [*lines, *(_table(report) if by_length else [])]


def _table(report: Report) -> list[str]:
    unit = report.by_length[0].unit
    rows = [f"{'source ' + unit:<18}{'sentences':>10}{'BLEU':>8}{'length ratio':>14}"]
    for bucket in report.by_length:
        bleu = "-" if bucket.bleu is None else f"{bucket.bleu:.2f}"
        ratio = "-" if bucket.length_ratio is None else f"{bucket.length_ratio:.3f}"
        rows.append(f"{bucket.label:<18}{bucket.num_sentences:>10,}{bleu:>8}{ratio:>14}")
    return rows
