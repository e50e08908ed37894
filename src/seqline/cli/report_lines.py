"""Reports as lines for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from seqline.judging.comparison import Comparison, Contrast
from seqline.judging.judge import Judged
from seqline.judging.page.tables import digits_of, label
from seqline.label_report import LabelReport
from seqline.language_report import LanguageReport
from seqline.report import Report


def translation_lines(report: Report, *, by_length: bool = False) -> list[str]:
    """Return what `seqline evaluate` prints: scores, likelihood, what stands out, and the tables that were asked for."""
    judged, comparison = report.judged, report.comparison
    lines = [f"{report.num_sentences:,} sentences, {judged.answers.search}", *map(str, report.scores)]
    lines += [_perplexity(report), *_unknown(report), *judged.faults.lines, *_diversity(judged)]
    if report.alignment is not None:
        links = report.alignment
        lines.append(
            f"alignment error rate = {links.error_rate:.4f} (precision {links.precision:.4f}, recall {links.recall:.4f}; "
            f"{links.num_found:,} links, {links.num_sure:,} sure ones in the gold)"
        )
    if comparison is not None:
        lines += _against(comparison)
    both = [judged] if comparison is None else [judged, comparison.other]
    lines += _length_table(both) if by_length else []
    return [*lines, *(_frequency_table(both) if judged.by_frequency is not None else [])]


def _perplexity(report: Report) -> str:
    found = report.likelihood
    return (
        f"perplexity = {found.perplexity:.3f} per target piece with </s> ({found.nats_per_token:.4f} nats, "
        f"{found.num_tokens:,} pieces); {found.nats_per_character:.4f} nats per character"
    )


def _unknown(report: Report) -> list[str]:
    found = report.likelihood
    lines = [f"{found.num_unknown:,} target pieces are outside the vocabulary (<unk>)"] if found.num_unknown else []
    if found.num_left_out:
        lines.append(f"{found.num_left_out:,} pairs are longer than the model has positions for and have no likelihood")
    return lines


def _diversity(judged: Judged) -> list[str]:
    return [] if judged.diversity is None else judged.diversity.lines


def _against(found: Comparison) -> list[str]:
    """Return the comparison: what it is with, a row a metric, and the verdicts in words."""
    other = found.other.answers
    name = f"{other.name}, {other.search}" if other.search else other.name
    lines = ["", f"compared with {name} ({found.how.resamples:,} resamples, seed {found.how.seed})"]
    lines += [f"the other: {finding}" for finding in [*found.other.faults.lines, *_diversity(found.other)]]
    if found.likelihood is not None:
        lines.append(f"the other: perplexity = {found.likelihood.perplexity:.3f} per target piece with </s>")
    names = [test.name for test in found.tests]
    head = ["metric", "this", "other", "difference", "95 % interval", "p bootstrap", "p randomization"]
    rows = [[label(test.name, test.signature, names), *_numbers(test)] for test in found.tests]
    verdicts = ["verdict", *(test.verdict for test in found.tests)]
    return [*lines, *(f"{row}  {told}" for row, told in zip(aligned([head, *rows]), verdicts, strict=True))]


def _numbers(test: Contrast) -> list[str]:
    digits = digits_of(test.name)
    values = [f"{value:.{digits}f}" for value in (test.value, test.other)]
    difference, low, high = (f"{value:+.{digits}f}" for value in (test.difference, *test.interval))
    return [*values, difference, f"{low} to {high}", f"{test.p_bootstrap:.4f}", f"{test.p_randomization:.4f}"]


def _length_table(both: Sequence[Judged]) -> list[str]:
    """Return BLEU and length ratio by source length, of one system or of two beside each other."""
    rows = [[f"source {both[0].by_length[0].unit}", "sentences", *_heads(both, "BLEU"), *_heads(both, "length ratio")]]
    for buckets in zip(*(judged.by_length for judged in both), strict=True):
        scores = [_number(bucket.bleu, 2) for bucket in buckets]
        ratios = [_number(bucket.length_ratio, 3) for bucket in buckets]
        rows.append([buckets[0].label, f"{buckets[0].num_sentences:,}", *scores, *ratios])
    return aligned(rows)


def _frequency_table(both: Sequence[Judged]) -> list[str]:
    """Return word F1 by how often the training text has the word."""
    rows = [["seen in training", "in references", *_heads(both, "in outputs"), *_heads(both, "word F1")]]
    for buckets in zip(*(judged.by_frequency or () for judged in both), strict=True):
        shares = [bucket.words for bucket in buckets]
        found = [f"{share.num_found:,}" for share in shares]
        scores = [_number(100 * share.f1 if share.num_found + share.num_true else None, 2) for share in shares]
        rows.append([buckets[0].label, f"{shares[0].num_true:,}", *found, *scores])
    return aligned(rows)


def _heads(both: Sequence[Judged], name: str) -> list[str]:
    return [name, f"{name}, other"][: len(both)]


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows of equal numbers of cells as lines: the first column from the left, the others from the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            f"{cell:<{width}}" if n == 0 else f"{cell:>{width}}"
            for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]


def language_lines(report: LanguageReport) -> list[str]:
    """Return how probable a text is, by each protocol."""
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


def label_lines(report: LabelReport) -> list[str]:
    """Return accuracy, F1 and a row a label."""
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
