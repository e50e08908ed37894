"""`seqline evaluate`: how good a run is on a corpus."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from seqline.cli import evaluate_options as of
from seqline.cli.options import (
    AlignHead,
    AlignLayer,
    Beam,
    Device,
    Ensemble,
    Json,
    Keys,
    SearchSettings,
    Threads,
    as_asked,
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
    from seqline.evaluation.alignment_metrics import GoldLinks
    from seqline.judging.comparison import Resampling
    from seqline.label_report import LabelReport
    from seqline.language_report import LanguageReport
    from seqline.report import Report, Wanted
    from seqline.run_folder import Run
    from seqline.translator import Translator


def evaluate(
    run: of.Run,
    data: of.Data,
    metrics: of.Metrics = None,
    against: of.Against = None,
    resamples: of.Resamples = None,
    seed: of.Seed = None,
    by_length: of.ByLength = False,
    frequencies: of.Frequencies = None,
    lowercase: of.Lowercase = False,
    page: of.Page = None,
    examples: of.Examples = None,
    alignments: of.Alignments = None,
    align_layer: AlignLayer = None,
    align_head: AlignHead = None,
    beam: Beam = None,
    ensemble: Ensemble = None,
    settings: SearchSettings = None,
    batch_rows: of.BatchRows = None,
    keys: Keys = None,
    device: Device = "cpu",
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Score a run: BLEU, chrF2 and perplexity of translations, likelihood of a text, accuracy and F1 of labels."""
    refuse_reading(align_layer, align_head, is_used=alignments is not None)
    _check_options(page, against, [data, against, frequencies, alignments], resamples=resamples, seed=seed)
    prepare_torch(device, threads)

    from seqline.cli import report_lines
    from seqline.evaluation.alignment import Reading
    from seqline.judging.reading import read_scored
    from seqline.run_folder import load_run, require_text
    from seqline.translator import Translator

    loaded = load_run(run, device)
    require_text(loaded)
    task, names = loaded.config.data.task, split_keys(keys) if keys else loaded.config.data.keys
    if task != "translation":
        _refuse(task, metrics=metrics, against=against, frequencies=frequencies, report=page, examples=examples)
        _refuse(task, by_length=by_length, lowercase=lowercase, beam=beam, alignments=alignments)
        _refuse(task, ensemble=ensemble, set=settings)
        if task == "language_model":
            _refuse(task, batch=batch_rows, keys=keys)
        found, lines = _of_other_tasks(loaded, data, names, batch_rows)
    else:
        pairs = read_scored(data, names)
        wanted = replace(
            _wanted(pairs, names, device, metrics, against, frequencies, examples),
            gold=None if alignments is None else _read_gold(str(alignments), pairs),
            reading=Reading(align_layer, align_head),
            resampling=_resampling(resamples, seed),
        )
        translator = as_asked(Translator.of(loaded), ensemble, settings, device)
        found = _translations(translator, pairs, beam, batch_rows, lowercase, wanted)
        lines = report_lines.translation_lines(found, by_length=by_length)
        found = replace(found, run=" + ".join(map(str, [run, *(ensemble or ())])), data=data)
        if page is not None:
            found.save(page)
            lines.append(f"written: {page}")
    if as_json:
        print_json({"run": str(run), "data": data, **found.as_json(), **({"report": str(page)} if page else {})})
    else:
        write_lines(lines)


def _of_other_tasks(
    loaded: Run, data: str, names: tuple[str, str], batch_rows: int | None
) -> tuple[LanguageReport | LabelReport, list[str]]:
    """Score a language model on a text, or labels; the lines to print beside the report."""
    from seqline.cli import report_lines
    from seqline.judging.reading import read_scored, read_scored_text
    from seqline.language_report import evaluate as evaluate_text

    if loaded.config.data.task == "language_model":
        report = evaluate_text(loaded, read_scored_text(data))
        return report, report_lines.language_lines(report)
    labels = _labels(loaded, read_scored(data, names), batch_rows)
    return labels, report_lines.label_lines(labels)


def _check_options(page: Path | None, against: str | None, sources: list[object], **of_tests: int | None) -> None:
    """Refuse before any work what has no meaning or could not be written behind it."""
    for name, value in of_tests.items():
        if value is not None and against is None:
            raise UserError("has no meaning without --against", where=f"--{name}", fix="add --against or leave it out")
    if [str(source) for source in sources].count("-") > 1:
        raise UserError("standard input can be read only once", where="-", fix="name a file for all but one")
    if page is None:
        return
    from seqline.files import refuse_inputs, refuse_taken

    refuse_inputs(page, *(str(source) for source in sources if source is not None))
    if page.suffix.lower() not in (".html", ".htm"):
        raise UserError("expected a name that ends in .html", where=f"--report {page}", fix="--json prints the numbers")
    if not os.path.lexists(page):
        refuse_taken(page)
    elif not page.is_file():
        raise UserError("is no file", where=f"--report {page}", fix="name a file; one that exists is replaced")


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


def _wanted(
    pairs: PairSet,
    names: tuple[str, str],
    device: str,
    metrics: str | None,
    against: str | None,
    frequencies: str | None,
    examples: int | None,
) -> Wanted:
    from seqline.judging.reading import read_system, read_training
    from seqline.report import Wanted

    return Wanted(
        metrics=tuple(name.strip() for name in metrics.split(",")) if metrics else (),
        training=None if frequencies is None else read_training(frequencies, names),
        against=None if against is None else read_system(against, pairs, device),
        num_examples=Wanted.num_examples if examples is None else examples,
    )


def _resampling(resamples: int | None, seed: int | None) -> Resampling:
    from seqline.judging.comparison import Resampling

    default = Resampling()
    return Resampling(resamples or default.resamples, default.seed if seed is None else seed)


def _translations(
    translator: Translator,
    pairs: PairSet,
    beam: int | None,
    batch_rows: int | None,
    lowercase: bool,
    wanted: Wanted,
) -> Report:
    from seqline.cli.progress import counting
    from seqline.report import evaluate as evaluate_run

    num_runs = 1 if wanted.against is None else 1 + wanted.against.num_searches
    with counting("translating", num_runs * len(pairs.pairs)) as on_done:
        report = evaluate_run(
            translator,
            pairs,
            beam_size=beam,
            lowercase=lowercase,
            batch_rows=batch_rows,
            on_done=on_done,
            wanted=wanted,
        )
    for warning in report.warnings:
        say(f"warning: {warning}")
    return report


def _labels(loaded: Run, pairs: PairSet, batch_rows: int | None) -> LabelReport:
    from seqline.cli.progress import counting
    from seqline.label_report import evaluate as evaluate_run

    with counting("labelling", len(pairs.pairs)) as on_done:
        return evaluate_run(loaded, pairs, batch_rows=batch_rows, on_done=on_done)
