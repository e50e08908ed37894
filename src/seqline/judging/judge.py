"""What the outputs of one system are worth, whoever made them: scores, and where they are low.

No model is needed here, so that a run and a file of someone else's outputs are judged by the same code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from seqline.errors import UserError, did_you_mean
from seqline.evaluation.frequency import FrequencyBucket, words_by_frequency
from seqline.evaluation.metrics import METRICS, Array, Metric, MetricOptions
from seqline.evaluation.text_checks import choose_tokenizer, text_warnings
from seqline.evaluation.text_metrics import LengthBucket, Score, bleu_by_length, short_and_long
from seqline.judging.faults import Diversity, Faults, Lines, diversity_of, faults_of
from seqline.translating.outputs import Translation

ALWAYS = ("bleu", "chrf", "exact")
"""The metrics of every report, first and in this order."""
DISTINCT, ALL = "distinct", "all"
"""How varied the outputs are, which needs no reference; and everything."""


@dataclass(frozen=True)
class Answers:
    """What one system gave for every source.

    Args:
        name: a run folder or a file.
        search: how outputs were found, in words; "" when nobody knows.
        texts: one output a source.
        is_cut: which outputs stop at a length limit; all False when nobody knows.
        is_loop: which outputs go round in circles.
        is_truncated: of which sources a model could read the beginning only.
        translations: all that a run said; () for a file.
    """

    name: str
    search: str
    texts: tuple[str, ...]
    is_cut: tuple[bool, ...]
    is_loop: tuple[bool, ...]
    is_truncated: tuple[bool, ...]
    translations: tuple[Translation, ...] = ()


@dataclass(frozen=True)
class Standards:
    """What outputs are judged by.

    Args:
        metrics: names of METRICS beside the ones of every report, "distinct", or "all".
        lowercase: lowercased scores beside the cased ones, and BLEU by length without case.
        training: lines of the training text, target side; None: no F1 by frequency.
        num_examples: the most sentences listed as worst.
    """

    metrics: tuple[str, ...] = ()
    lowercase: bool = False
    training: Sequence[str] | None = None
    num_examples: int = 10

    def __post_init__(self) -> None:
        """Refuse a metric that is none, before any work."""
        known = [*METRICS, DISTINCT, ALL]
        for name in self.metrics:
            if name not in known:
                raise UserError(f"unknown metric {name!r}", where="metrics", fix=did_you_mean(name.lower(), known))

    @property
    def names(self) -> list[str]:
        """The metrics with a reference, each once, those of every report first."""
        asked = METRICS if ALL in self.metrics else self.metrics
        return list(dict.fromkeys([*ALWAYS, *(name for name in asked if name in METRICS)]))

    @property
    def wants_diversity(self) -> bool:
        """Whether to say how varied the outputs are."""
        return DISTINCT in self.metrics or ALL in self.metrics


class Measured(NamedTuple):
    """One metric of all outputs. statistics: [N S], what each sentence adds, for tests of significance."""

    metric: Metric
    score: Score
    statistics: Array


class Example(NamedTuple):
    """A sentence to look at. chrf: sentence chrF2, 0 to 100."""

    line: int
    source: str
    reference: str
    output: str
    chrf: float


@dataclass(frozen=True, eq=False)
class Judged:
    """One system's outputs with all that was found out about them."""

    answers: Answers
    measured: tuple[Measured, ...]
    by_length: tuple[LengthBucket, ...]
    short_and_long: tuple[LengthBucket, LengthBucket]
    by_frequency: tuple[FrequencyBucket, ...] | None
    faults: Faults
    diversity: Diversity | None
    warnings: tuple[str, ...]
    lines: Lines
    num_examples: int

    @property
    def scores(self) -> tuple[Score, ...]:
        """The score of each metric."""
        return tuple(one.score for one in self.measured)

    @cached_property
    def sentence_chrf(self) -> Array:
        """ChrF2 of every sentence alone, [N], 0 to 100; 100 where output and reference are equal, empty ones too."""
        found = next(one for one in self.measured if one.metric.name == "chrf")
        pairs = zip(self.answers.texts, self.lines.references, strict=True)
        is_equal = np.array([output == reference for output, reference in pairs])
        return np.where(is_equal, 100.0, found.metric.value(found.statistics))

    @property
    def worst(self) -> tuple[Example, ...]:
        """The sentences with the lowest chrF2, lowest first; none that equals its reference."""
        scores = self.sentence_chrf
        rows = [int(row) for row in np.argsort(scores, kind="stable")[: self.num_examples] if scores[row] < 100.0]
        return tuple(Example(*self.lines.at(row), self.answers.texts[row], float(scores[row])) for row in rows)

    def as_json(self) -> dict[str, Any]:
        """Return everything but the outputs as plain values."""
        buckets = self.by_frequency
        return {
            "search": self.answers.search,
            "scores": [score._asdict() for score in self.scores],
            "by_length": [{"label": bucket.label, **bucket._asdict()} for bucket in self.by_length],
            "short_and_long": [bucket._asdict() for bucket in self.short_and_long],
            "num_cut": self.faults.num_cut,
            "faults": self.faults.as_json(self.lines.numbers),
            "findings": self.faults.lines,
            "warnings": list(self.warnings),
            **({} if self.diversity is None else {"diversity": self.diversity.as_json()}),
            **({} if buckets is None else {"by_frequency": [_bucket_json(bucket) for bucket in buckets]}),
        }


def judge(answers: Answers, lines: Lines, standards: Standards) -> Judged:
    """Score the outputs of one system.

    Args:
        answers: one output a line.
        lines: sources and references.
        standards: which metrics, and how.

    Raises:
        UserError: outputs whose subwords were not joined.
    """
    sources, references, _ = lines
    texts, tokenize = answers.texts, choose_tokenizer(references)
    training = standards.training
    return Judged(
        answers=answers,
        measured=_measure(texts, references, standards, tokenize),
        by_length=tuple(bleu_by_length(sources, texts, references, lowercase=standards.lowercase, tokenize=tokenize)),
        short_and_long=short_and_long(sources, texts, references, lowercase=standards.lowercase, tokenize=tokenize),
        by_frequency=None if training is None else tuple(words_by_frequency(texts, references, training)),
        faults=faults_of(lines, texts, answers.is_cut, answers.is_loop, answers.is_truncated),
        diversity=diversity_of(texts) if standards.wants_diversity else None,
        warnings=tuple(text_warnings(texts, references, tokenize=tokenize)),
        lines=lines,
        num_examples=standards.num_examples,
    )


def _measure(
    texts: Sequence[str], references: Sequence[str], standards: Standards, tokenize: str
) -> tuple[Measured, ...]:
    """Measure each metric, cased and then lowercased where that is asked for and makes another score."""
    found: list[Measured] = []
    for name in standards.names:
        for lowercase in (False, True) if standards.lowercase else (False,):
            metric, options = METRICS[name], MetricOptions(lowercase, tokenize)
            score = metric.score(texts, references, options)
            if all((score.name, score.signature) != (one.score.name, one.score.signature) for one in found):
                found.append(Measured(metric, score, metric.statistics(texts, references, options)))
    return tuple(found)


def _bucket_json(bucket: FrequencyBucket) -> dict[str, Any]:
    words = bucket.words
    counts = {"num_right": words.num_right, "num_output": words.num_found, "num_reference": words.num_true}
    f1 = 100 * words.f1 if words.num_found + words.num_true else None
    return {"label": bucket.label, "least": bucket.least, "most": bucket.most, **counts, "f1": f1}
