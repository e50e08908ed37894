"""Judging a run on a corpus: translate it, score it, measure its likelihood; the same definitions for every architecture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from seqline.data.text import PairSet, normalize_whitespace, require_pairs
from seqline.evaluation.alignment import Reading
from seqline.evaluation.alignment_metrics import AlignmentScore, GoldLinks, score_alignments
from seqline.evaluation.text_metrics import LengthBucket, Score
from seqline.files import PathLike, write_text
from seqline.judging.comparison import Comparison, Resampling, compare, differing
from seqline.judging.judge import Judged, Lines, Standards, judge
from seqline.judging.page import page
from seqline.judging.systems import Likelihood, RunSystem, Search, System
from seqline.judging.systems import likelihood as likelihood
from seqline.translating.outputs import Translation
from seqline.translator import Translator
from seqline.visualize.html import seqline_version


@dataclass(frozen=True)
class Wanted:
    """More of what a report holds.

    Args:
        metrics: names of METRICS beside BLEU, chrF2 and exact match, or "distinct" for how varied the outputs are.
        training: lines of the training text, target side: adds word F1 by how often a word stands there.
        gold: links of every pair; the references are then aligned and scored against them.
        reading: which layer and head aligns; None: the mean over the heads of the last layer.
        against: another system, which is judged on the same pairs and compared.
        resampling: how the tests of the comparison draw; None: the defaults.
        num_examples: the most sentences listed as worst, as gains and as losses.
    """

    metrics: tuple[str, ...] = ()
    training: Sequence[str] | None = None
    gold: Sequence[GoldLinks] | None = None
    reading: Reading | None = None
    against: System | None = None
    resampling: Resampling | None = None
    num_examples: int = 10


@dataclass(frozen=True)
class Report:
    """What `seqline evaluate` found.

    run, data: what was judged on what. judged: its scores. translations: what it gave. likelihood: of the references.
    comparison: with another system, where there is one.
    """

    run: str
    data: str
    beam_size: int
    judged: Judged
    likelihood: Likelihood
    translations: tuple[Translation, ...]
    alignment: AlignmentScore | None = None
    comparison: Comparison | None = None

    @property
    def num_sentences(self) -> int:
        """Sentences that were judged."""
        return len(self.judged.answers.texts)

    @property
    def scores(self) -> tuple[Score, ...]:
        """BLEU, chrF2 and exact match, and what else was asked for."""
        return self.judged.scores

    @property
    def by_length(self) -> tuple[LengthBucket, ...]:
        """BLEU by source length."""
        return self.judged.by_length

    @property
    def short_and_long(self) -> tuple[LengthBucket, LengthBucket]:
        """BLEU of sources of at most 10 units and of over 25."""
        return self.judged.short_and_long

    @property
    def num_cut(self) -> int:
        """Outputs that stop at the length limit."""
        return self.judged.faults.num_cut

    @property
    def warnings(self) -> tuple[str, ...]:
        """What makes the scores hard to compare, with others and with the system beside it."""
        notes = () if self.comparison is None else self.comparison.notes
        return (*self.judged.warnings, *notes)

    def as_json(self) -> dict[str, Any]:
        """Return everything but the translations as plain values: all that the page shows."""
        return {
            "run": self.run,
            "data": self.data,
            "version": seqline_version(),
            "num_sentences": self.num_sentences,
            "beam_size": self.beam_size,
            **self.judged.as_json(),
            "likelihood": self.likelihood.as_json(),
            "worst": [one._asdict() for one in self.judged.worst],
            **({} if self.alignment is None else {"alignment": self.alignment.as_json()}),
            **({} if self.comparison is None else {"against": self.comparison.as_json()}),
        }

    def save(self, path: PathLike) -> None:
        """Write the report as one HTML page, in place of what stands there; it opens from a disk and needs no network.

        Raises:
            UserError: the file cannot be written.
        """
        write_text(path, page(self.as_json()))


def evaluate(
    translator: Translator,
    pairs: PairSet,
    *,
    beam_size: int | None = None,
    lowercase: bool = False,
    batch_rows: int | None = None,
    on_done: Callable[[int], None] | None = None,
    wanted: Wanted | None = None,
) -> Report:
    """Score a model on pairs of raw text.

    Args:
        translator: the model.
        pairs: sources and references; blank sources are translated to blank lines and count.
        beam_size: 1 is greedy; None: the run's own.
        lowercase: add lowercased scores beside the cased ones, and use case-blind BLEU by length.
        batch_rows: the most sentences searched at once.
        on_done: told how many more sentences are translated.
        wanted: all else.

    Raises:
        UserError: no pair to score, an unknown metric, or gold links for a model that has no attention to its source.
    """
    wanted = wanted or Wanted()
    require_pairs(pairs)
    standards = Standards(wanted.metrics, lowercase, wanted.training, wanted.num_examples)
    alignment = None
    if wanted.gold is not None:
        alignment = score_alignments(translator.align([p[:2] for p in pairs.pairs], wanted.reading), wanted.gold)
    lines = _lines(translator, pairs)
    system, search = RunSystem(translator), Search(beam_size, batch_rows, on_done)
    answers = system.answer(pairs, search)
    judged, likely = judge(answers, lines, standards), system.likelihood(pairs)
    comparison = None
    if wanted.against is not None:
        other = judge(wanted.against.answer(pairs, search), lines, standards)
        notes = differing(system.settings(search), wanted.against.settings(search))
        both = likely, wanted.against.likelihood(pairs)
        comparison = compare(judged, other, lines, both, notes, wanted.resampling, wanted.num_examples)
    return Report(
        run=system.name,
        data=pairs.name,
        beam_size=beam_size or translator.decoding.beam_size,
        judged=judged,
        likelihood=likely,
        translations=answers.translations,
        alignment=alignment,
        comparison=comparison,
    )


def _lines(translator: Translator, pairs: PairSet) -> Lines:
    references = [pair.target for pair in pairs.pairs]
    if translator.data.normalize_whitespace:
        references = [normalize_whitespace(reference) for reference in references]
    return Lines([pair.source for pair in pairs.pairs], references, [pair.line for pair in pairs.pairs])
