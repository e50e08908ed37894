"""Judging a run on a corpus: translate it, score it, measure its likelihood; the same definitions for every architecture."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch

from seqline.data.batch import collate
from seqline.data.loader import plan_in_order
from seqline.data.text import Pair, PairSet, Tally, drop_blank, normalize_whitespace, require_pairs
from seqline.data.tokenizer import UNK
from seqline.evaluation.alignment import Reading
from seqline.evaluation.alignment_metrics import AlignmentScore, GoldLinks, score_alignments
from seqline.evaluation.text_checks import choose_tokenizer, text_warnings
from seqline.evaluation.text_metrics import (
    LengthBucket,
    Score,
    bleu,
    bleu_by_length,
    chrf,
    exact_match,
    short_and_long,
)
from seqline.prepare import encode_pairs, lengths_of
from seqline.training.loss import smoothed_cross_entropy
from seqline.translator import Translation, Translator

EVERY_LENGTH = 10**9


@dataclass(frozen=True)
class Likelihood:
    """How probable the references are, the true prefix given (teacher forcing), over every pair with both sides.

    nats_per_token: minus log p, per target piece, `</s>` included; `perplexity` is its exponential. Pieces depend on the
    tokenizer; nats_per_character (of the references as they are scored, line ends not counted) do not.
    num_unknown: target words or characters outside the vocabulary, each scored as one `<unk>`.
    """

    nats_per_token: float
    perplexity: float
    nats_per_character: float
    num_tokens: int
    num_characters: int
    num_unknown: int


@dataclass(frozen=True)
class Report:
    """What `seqline evaluate` found."""

    num_sentences: int
    beam_size: int
    scores: tuple[Score, ...]
    likelihood: Likelihood
    by_length: tuple[LengthBucket, ...]
    short_and_long: tuple[LengthBucket, LengthBucket]
    num_cut: int
    warnings: tuple[str, ...]
    translations: tuple[Translation, ...]
    alignment: AlignmentScore | None = None

    def as_json(self) -> dict[str, Any]:
        """Return everything but the translations as plain values."""
        return {
            "num_sentences": self.num_sentences,
            "beam_size": self.beam_size,
            "scores": [score._asdict() for score in self.scores],
            "likelihood": asdict(self.likelihood),
            "by_length": [{"label": bucket.label, **bucket._asdict()} for bucket in self.by_length],
            "short_and_long": [bucket._asdict() for bucket in self.short_and_long],
            "num_cut": self.num_cut,
            "warnings": list(self.warnings),
            **({} if self.alignment is None else {"alignment": self.alignment.as_json()}),
        }


def evaluate(
    translator: Translator,
    pairs: PairSet,
    *,
    beam_size: int | None = None,
    lowercase: bool = False,
    batch_rows: int | None = None,
    on_done: Callable[[int], None] | None = None,
    gold: Sequence[GoldLinks] | None = None,
    reading: Reading | None = None,
) -> Report:
    """Score a model on pairs of raw text.

    Args:
        translator: the model.
        pairs: sources and references; blank sources are translated to blank lines and count.
        beam_size: 1 is greedy; None: the run's own.
        lowercase: add lowercased BLEU and chrF2 beside the cased ones, and use case-blind BLEU by length.
        batch_rows: the most sentences searched at once.
        on_done: told how many more sentences are translated.
        gold: links of every pair; the references are then aligned and scored against them.
        reading: which layer and head aligns; None: the mean over the heads of the last layer.

    Raises:
        UserError: no pair to score, or `gold` for a model that has no attention to its source.
    """
    require_pairs(pairs)
    alignment = (
        None if gold is None else score_alignments(translator.align([p[:2] for p in pairs.pairs], reading), gold)
    )
    sources, references = [p.source for p in pairs.pairs], [p.target for p in pairs.pairs]
    if translator.data.normalize_whitespace:
        references = [normalize_whitespace(reference) for reference in references]
    translations = translator.translate(sources, beam_size=beam_size, batch_rows=batch_rows, on_done=on_done)
    outputs = [t.text for t in translations]
    tokenize = choose_tokenizer(references)
    cases = (False, True) if lowercase else (False,)
    scores = [
        *(bleu(outputs, references, lowercase=case, tokenize=tokenize) for case in cases),
        *(chrf(outputs, references, lowercase=case) for case in cases),
        exact_match(outputs, references),
    ]
    lines = sources, outputs, references
    return Report(
        num_sentences=len(outputs),
        beam_size=beam_size or translator.decoding.beam_size,
        scores=tuple(scores),
        likelihood=likelihood(translator, pairs),
        by_length=tuple(bleu_by_length(*lines, lowercase=lowercase, tokenize=tokenize)),
        short_and_long=short_and_long(*lines, lowercase=lowercase, tokenize=tokenize),
        num_cut=sum(not t.outputs[0].is_finished for t in translations),
        warnings=tuple(text_warnings(outputs, references, tokenize=tokenize)),
        translations=tuple(translations),
        alignment=alignment,
    )


@torch.no_grad()
def likelihood(translator: Translator, pairs: PairSet) -> Likelihood:
    """Measure how probable the references are; sums over all pairs, divided once."""
    if translator.data.normalize_whitespace:
        spaced = [Pair(normalize_whitespace(p.source), normalize_whitespace(p.target), p.line) for p in pairs.pairs]
        pairs = PairSet(pairs.name, spaced)
    kept = drop_blank(pairs, Tally(len(pairs.pairs)))
    require_pairs(kept, pairs.name)
    _, examples = encode_pairs(kept, translator.tokenizers, EVERY_LENGTH, Tally(len(kept.pairs)))
    device = next(translator.model.parameters()).device
    lengths = [max(both) for both in zip(*lengths_of(examples), strict=True)]
    sums: list[float] = []
    for rows in plan_in_order(lengths, translator.decoding.batch_tokens):
        batch = collate(examples, rows).to(device)
        logits = translator.model(batch.source, batch.source_is_real, batch.target_in)
        part = smoothed_cross_entropy(logits, batch.target_out, batch.target_is_real, 0.0)
        sums.append(part.negative_log_likelihood.item())
    total, num_tokens = math.fsum(sums), sum(len(e.target) + 1 for e in examples)
    num_characters = sum(len(p.target) for p in kept.pairs)
    return Likelihood(
        nats_per_token=total / num_tokens,
        perplexity=math.exp(min(700.0, total / num_tokens)),
        nats_per_character=total / num_characters,
        num_tokens=num_tokens,
        num_characters=num_characters,
        num_unknown=sum(e.target.count(UNK) for e in examples),
    )
