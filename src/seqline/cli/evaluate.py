"""`seqline evaluate`: how good a run is on a corpus."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seqline.cli.options import (
    AlignHead,
    AlignLayer,
    Beam,
    Device,
    Json,
    Keys,
    Threads,
    prepare_torch,
    print_json,
    refuse_reading,
    say,
    split_keys,
    write_lines,
)
from seqline.errors import UserError

if TYPE_CHECKING:
    from seqline.data.text import PairSet
    from seqline.evaluation.alignment import Reading
    from seqline.evaluation.alignment_metrics import GoldLinks
    from seqline.label_report import LabelReport
    from seqline.language_report import LanguageReport
    from seqline.report import Report
    from seqline.run_folder import Run


def evaluate(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    data: Annotated[
        str,
        typer.Argument(help="TSV, SRC,TGT, JSONL (plain text for lm), or a folder, of which the test set is taken."),
    ],
    by_length: Annotated[bool, typer.Option("--by-length", help="Add BLEU by source length.")] = False,
    lowercase: Annotated[
        bool, typer.Option("--lowercase", help="Add lowercased scores beside the cased ones.")
    ] = False,
    alignments: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Gold links, a line a pair (i-j sure, i?j possible, words from 0): add the alignment error rate.",
        ),
    ] = None,
    align_layer: AlignLayer = None,
    align_head: AlignHead = None,
    beam: Beam = None,
    batch_rows: Annotated[int | None, typer.Option("--batch", min=1, help="The most sentences at once.")] = None,
    keys: Keys = None,
    device: Device = "cpu",
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Score a run: BLEU, chrF2 and perplexity of translations, likelihood of a text, accuracy and F1 of labels."""
    refuse_reading(align_layer, align_head, is_used=alignments is not None)
    prepare_torch(device, threads)

    from seqline.api import read_scored, read_scored_text
    from seqline.evaluation.alignment import Reading
    from seqline.language_report import evaluate as evaluate_text
    from seqline.run_folder import load_run

    loaded = load_run(run, device)
    task = loaded.config.data.task
    if task != "translation":
        _refuse(task, by_length=by_length, lowercase=lowercase, beam=beam, alignments=alignments)
    if task == "language_model":
        _refuse(task, batch=batch_rows, keys=keys)
        found = evaluate_text(loaded, read_scored_text(data))
        lines = _language_lines(found)
    else:
        pairs = read_scored(data, split_keys(keys) if keys else loaded.config.data.keys)
        if task == "translation":
            gold = None if alignments is None else _read_gold(str(alignments), pairs)
            reading = Reading(align_layer, align_head)
            found = _translations(loaded, pairs, beam, batch_rows, lowercase, gold, reading)
            lines = _lines(found, by_length)
        else:
            found = _labels(loaded, pairs, batch_rows)
            lines = _label_lines(found)
    if as_json:
        print_json({"run": str(run), "data": data, **found.as_json()})
    else:
        write_lines(lines)


def _refuse(task: str, **options: object) -> None:
    for name, value in options.items():
        if value not in (None, False):
            what = f"has no meaning for a run of the task {task}"
            raise UserError(what, where=f"--{name.replace('_', '-')}", fix="leave it out")


def _read_gold(file: str, pairs: PairSet) -> list[GoldLinks]:
    from seqline.data.text import read_lines
    from seqline.evaluation.alignment_metrics import check_gold, parse_gold

    gold = parse_gold(read_lines(file), file)
    check_gold(gold, [(pair.source, pair.target) for pair in pairs.pairs], file)
    return gold


def _translations(
    loaded: Run,
    pairs: PairSet,
    beam: int | None,
    batch_rows: int | None,
    lowercase: bool,
    gold: list[GoldLinks] | None,
    reading: Reading,
) -> Report:
    from seqline.cli.progress import counting
    from seqline.report import evaluate as evaluate_run
    from seqline.translator import Translator

    with counting("translating", len(pairs.pairs)) as on_done:
        report = evaluate_run(
            Translator.of(loaded),
            pairs,
            beam_size=beam,
            lowercase=lowercase,
            batch_rows=batch_rows,
            on_done=on_done,
            gold=gold,
            reading=reading,
        )
    for warning in report.warnings:
        say(f"warning: {warning}")
    return report


def _labels(loaded: Run, pairs: PairSet, batch_rows: int | None) -> LabelReport:
    from seqline.cli.progress import counting
    from seqline.label_report import evaluate as evaluate_run

    with counting("labelling", len(pairs.pairs)) as on_done:
        return evaluate_run(loaded, pairs, batch_rows=batch_rows, on_done=on_done)


def _language_lines(report: LanguageReport) -> list[str]:
    lines = [f"{report.num_characters:,} characters, {report.num_tokens:,} pieces"]
    if report.num_unknown:
        lines.append(f"{report.num_unknown:,} pieces are outside the vocabulary (<unk>)")
    for found in report.protocols:
        lines += [
            f"{found.name}:",
            f"  {found.nats_per_token:.4f} nats a piece (perplexity {found.perplexity:.3f}); "
            f"{found.nats_per_character:.4f} nats, {found.bits_per_character:.4f} bits per character",
        ]
    return lines


def _label_lines(report: LabelReport) -> list[str]:
    lines: list[str] = []
    if report.tags is not None:
        tags = report.tags
        lines = [f"{report.num_examples:,} lines, {tags.num_tokens:,} tokens", f"accuracy = {100 * tags.accuracy:.2f}"]
        rows = {"all entities": tags.entities, **tags.by_type} if tags.entities is not None else {}
    else:
        assert report.classes is not None
        lines = [f"{report.num_examples:,} texts", f"accuracy = {100 * report.classes.accuracy:.2f}"]
        lines.append(f"macro F1 = {100 * report.classes.macro_f1:.2f} (mean over the classes of the reference)")
        rows = report.classes.by_class
    if report.num_unknown:
        lines.append(f"{report.num_unknown:,} labels of the reference are not known to the model and count as missed")
    width = max(map(len, [*rows, "label"]))
    if rows:
        lines.append(f"{'label':<{width}}{'precision':>11}{'recall':>9}{'F1':>9}{'there':>9}")
    for name, share in rows.items():
        if share is not None:
            numbers = f"{100 * share.precision:>11.2f}{100 * share.recall:>9.2f}{100 * share.f1:>9.2f}"
            lines.append(f"{name:<{width}}{numbers}{share.num_true:>9,}")
    return lines


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
    if report.alignment is not None:
        links = report.alignment
        lines.append(
            f"alignment error rate = {links.error_rate:.4f} (precision {links.precision:.4f}, recall {links.recall:.4f}; "
            f"{links.num_found:,} links, {links.num_sure:,} sure ones in the gold)"
        )
    return [*lines, *(_table(report) if by_length else [])]


def _table(report: Report) -> list[str]:
    unit = report.by_length[0].unit
    rows = [f"{'source ' + unit:<18}{'sentences':>10}{'BLEU':>8}{'length ratio':>14}"]
    for bucket in report.by_length:
        bleu = "-" if bucket.bleu is None else f"{bucket.bleu:.2f}"
        ratio = "-" if bucket.length_ratio is None else f"{bucket.length_ratio:.3f}"
        rows.append(f"{bucket.label:<18}{bucket.num_sentences:>10,}{bleu:>8}{ratio:>14}")
    return rows
