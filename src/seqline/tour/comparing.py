"""The comparison of the tour: every model on the same test set and the same sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from seqline.data.text import read_pairs
from seqline.report import Report, evaluate
from seqline.run_folder import read_manifest
from seqline.tour import training
from seqline.translator import Translation, Translator

SENTENCES = (
    "je suis étudiant",
    "squatch mange de la pizza",
    "la pizza est sortie du four et elle a bon goût",
    "la pizza est sortie du four et il a besoin d' être réparé",
)


@dataclass(frozen=True)
class Row:
    """One line of the comparison; bleu_long: on sources of over 25 words."""

    name: str
    bleu: float
    bleu_long: float
    num_parameters: int
    seconds: float
    tokens_per_second: float


class Compared(NamedTuple):
    """What the comparison found: a row a model, and its translator and report by name."""

    rows: list[Row]
    translators: dict[str, Translator]
    reports: dict[str, Report]


def compare(folder: Path) -> Compared:
    """Score every model on the test set, with the run's own beam."""
    pairs = read_pairs(str(folder / "data" / "test.tsv"))
    rows, translators, reports = [], {}, {}
    for name in training.MODELS:
        translator = translators[name] = Translator.load(folder / name)
        facts = read_manifest(folder / name)
        report = reports[name] = evaluate(translator, pairs)
        _, long = report.short_and_long
        seconds = facts["training_seconds"]
        rows.append(
            Row(
                name,
                report.scores[0].value,
                long.bleu or 0.0,
                facts["num_parameters"],
                seconds,
                facts["target_tokens_seen"] / seconds,
            )
        )
    return Compared(rows, translators, reports)


def as_table(rows: Sequence[Row]) -> list[str]:
    """Return the comparison as lines of text."""
    lines = [f"{'model':<16}{'BLEU':>7}{'over 25 words':>15}{'parameters':>12}{'seconds':>9}{'tokens/s':>10}"]
    for row in rows:
        lines.append(
            f"{row.name:<16}{row.bleu:>7.1f}{row.bleu_long:>15.1f}{row.num_parameters:>12,}"
            f"{row.seconds:>9.0f}{row.tokens_per_second:>10,.0f}"
        )
    return lines


def long_sentence(folder: Path) -> str:
    """Return the first test sentence of 26 to 32 words."""
    sources = [pair.source for pair in read_pairs(str(folder / "data" / "test.tsv")).pairs]
    return next(source for source in sources if 26 <= len(source.split()) <= 32)


def show_translation(translation: Translation) -> str:
    """Return an output and how it ended."""
    output = translation.outputs[0]
    return f"{output.text} {'<eos>' if output.is_finished else f'... (length limit, {output.max_tokens} pieces)'}"
