"""BLEU, chrF2, TER and exact match of raw text: sacreBLEU's numbers, each with its signature, and BLEU by source length.

*Source*: Papineni et al. 2002 (BLEU); Popović 2015 (chrF); Snover et al. 2006 (TER); Post 2018, "A Call for Clarity in
Reporting BLEU Scores".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from seqline.errors import UserError, did_you_mean
from seqline.evaluation.text_checks import check_lines, choose_tokenizer, is_unsegmented, refuse_subword_marks

# The tokenizers of sacreBLEU that need no further package and no download; "auto" looks at the references.
TOKENIZERS = ("auto", "13a", "zh", "char", "intl", "none")


class Score(NamedTuple):
    """A number with all that is needed to make it again. value: 0 to 100; an error rate may exceed 100."""

    name: str
    value: float
    signature: str

    def __str__(self) -> str:
        """Return one line with two digits, as the sacreBLEU command prints it."""
        return f"{self.name}|{self.signature} = {self.value:.2f}"


class LengthBucket(NamedTuple):
    """BLEU on the sentences whose source has `shortest` to `longest` units; longest None = no upper end.

    unit: "words" or "characters". bleu: 0 to 100, or None without a sentence. length_ratio: tokens of the hypotheses
    over tokens of the references, or None where the references hold no token.
    """

    shortest: int
    longest: int | None
    unit: str
    num_sentences: int
    bleu: float | None
    length_ratio: float | None

    @property
    def label(self) -> str:
        """Return the range in words: "1-10", "over 50"."""
        return f"over {self.shortest - 1}" if self.longest is None else f"{self.shortest}-{self.longest}"


def bleu(
    hypotheses: Sequence[str], references: Sequence[str], *, lowercase: bool = False, tokenize: str = "13a"
) -> Score:
    """Score a corpus with BLEU, equal to what the sacreBLEU command prints for the same lines.

    Args:
        hypotheses: Raw output, one sentence an item.
        references: Raw references, one a hypothesis, in the same order.
        lowercase: Compare without case; the signature says so.
        tokenize: One of `TOKENIZERS`. "auto" takes zh for Chinese, char for other text without word spaces, else 13a.

    Returns:
        BLEU from 0 to 100 with sacreBLEU's signature.

    Raises:
        UserError: No lines, unequal counts, hypotheses with subword marks, or an unknown tokenizer.

    *Source*: Papineni et al. 2002; smoothing "exp" as in Post 2018.
    """
    check_lines(hypotheses, references)
    refuse_subword_marks(hypotheses, references)
    metric = bleu_metric(references, lowercase, tokenize)
    score = metric.corpus_score(hypotheses, [references])
    return Score(score.name, score.score, str(metric.get_signature()))


def chrf(hypotheses: Sequence[str], references: Sequence[str], *, lowercase: bool = False) -> Score:
    """Score a corpus with chrF2 (character n-grams up to 6, beta 2), equal to what the sacreBLEU command prints.

    Args:
        hypotheses: Raw output, one sentence an item.
        references: Raw references, one a hypothesis, in the same order.
        lowercase: Compare without case; the signature says so.

    Returns:
        chrF2 from 0 to 100 with sacreBLEU's signature.

    Raises:
        UserError: No lines, unequal counts, or hypotheses with subword marks.

    *Source*: Popović 2015, with beta = 2.
    """
    check_lines(hypotheses, references)
    refuse_subword_marks(hypotheses, references)
    metric = CHRF(lowercase=lowercase)
    score = metric.corpus_score(hypotheses, [references])
    return Score(score.name, score.score, str(metric.get_signature()))


def ter(hypotheses: Sequence[str], references: Sequence[str], *, case_sensitive: bool = False) -> Score:
    """Score a corpus with the translation edit rate, equal to what the sacreBLEU command prints; lower is better.

        TER = 100 · (insertions + deletions + substitutions + shifts) / words of the references

    Words are what white space parts, so in text without word spaces a sentence counts as one word: read chrF2 there.

    Args:
        hypotheses: Raw output, one sentence an item.
        references: Raw references, one a hypothesis, in the same order.
        case_sensitive: Count another case as an error; sacreBLEU's default does not. The signature says so.

    Returns:
        TER from 0, over 100 where there are more edits than words, with sacreBLEU's signature.

    Raises:
        UserError: No lines, unequal counts, or hypotheses with subword marks.

    *Source*: Snover et al. 2006, "A Study of Translation Edit Rate with Targeted Human Annotation".
    """
    check_lines(hypotheses, references)
    refuse_subword_marks(hypotheses, references)
    metric = TER(case_sensitive=case_sensitive)
    score = metric.corpus_score(hypotheses, [references])
    return Score(score.name, score.score, str(metric.get_signature()))


def exact_match(hypotheses: Sequence[str], references: Sequence[str], *, lowercase: bool = False) -> Score:
    """Return the share of hypotheses that equal their reference character by character, in percent.

    Args:
        hypotheses: Raw output, one sentence an item.
        references: Raw references, one a hypothesis, in the same order.
        lowercase: Compare without case; the signature says so.

    Raises:
        UserError: No lines, or unequal counts.
    """
    check_lines(hypotheses, references)
    if lowercase:
        hypotheses, references = [h.lower() for h in hypotheses], [r.lower() for r in references]
    num_equal = sum(h == r for h, r in zip(hypotheses, references, strict=True))
    signature = f"nrefs:1|case:{'lc' if lowercase else 'mixed'}|tok:none"
    return Score("exact match", 100.0 * num_equal / len(hypotheses), signature)


def bleu_by_length(
    sources: Sequence[str],
    hypotheses: Sequence[str],
    references: Sequence[str],
    edges: Sequence[int] = (10, 20, 30, 40, 50),
    *,
    lowercase: bool = False,
    tokenize: str = "13a",
) -> list[LengthBucket]:
    """Score the corpus in buckets of source length: 1-10, 11-20, ... and over the last edge.

    Args:
        sources: Raw sources, one a hypothesis; their lengths come from `source_lengths`. Blank ones count as short.
        hypotheses: Raw output.
        references: Raw references.
        edges: Longest length of each bucket but the last, growing.
        lowercase: As in `bleu`.
        tokenize: As in `bleu`; "auto" looks at all references once.

    Returns:
        One bucket an edge and one above the last edge, empty buckets included.

    Raises:
        UserError: As in `bleu`, or where the number of sources differs.
        ValueError: Edges that do not grow from 1 or more.
    """
    if list(edges) != sorted(set(edges)) or min(edges, default=1) < 1:
        raise ValueError(f"edges grow from 1 or more; got {tuple(edges)}")
    lower = [1, *(edge + 1 for edge in edges)]
    ranges = list(zip(lower, [*edges, None], strict=True))
    return _score_ranges(ranges, sources, hypotheses, references, lowercase, tokenize)


def short_and_long(
    sources: Sequence[str],
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    lowercase: bool = False,
    tokenize: str = "13a",
) -> tuple[LengthBucket, LengthBucket]:
    """Score the sentences with sources of at most 10 units and those of over 25, where a fixed summary loses most.

    Args and errors: as in `bleu_by_length`.
    """
    short, long = _score_ranges([(1, 10), (26, None)], sources, hypotheses, references, lowercase, tokenize)
    return short, long


def source_lengths(sources: Sequence[str]) -> tuple[list[int], str]:
    """Return the length of every raw source and its unit: white-space words, or characters of unsegmented text."""
    if is_unsegmented(sources):
        return [sum(not character.isspace() for character in source) for source in sources], "characters"
    return [len(source.split()) for source in sources], "words"


def _score_ranges(
    ranges: Sequence[tuple[int, int | None]],
    sources: Sequence[str],
    hypotheses: Sequence[str],
    references: Sequence[str],
    lowercase: bool,
    tokenize: str,
) -> list[LengthBucket]:
    check_lines(hypotheses, references)
    if len(sources) != len(hypotheses):
        raise UserError(
            f"{len(sources):,} sources and {len(hypotheses):,} hypotheses",
            fix="give one line a source to each, in the same order",
        )
    refuse_subword_marks(hypotheses, references)
    metric = bleu_metric(references, lowercase, tokenize)
    lengths, unit = source_lengths(sources)
    buckets = []
    for shortest, longest in ranges:
        rows = [i for i, n in enumerate(lengths) if max(n, 1) >= shortest and (longest is None or n <= longest)]
        bleu_score, ratio = None, None
        if rows:
            score = metric.corpus_score([hypotheses[i] for i in rows], [[references[i] for i in rows]])
            bleu_score, ratio = score.score, score.sys_len / score.ref_len if score.ref_len else None
        buckets.append(LengthBucket(shortest, longest, unit, len(rows), bleu_score, ratio))
    return buckets


def bleu_metric(references: Sequence[str], lowercase: bool, tokenize: str) -> BLEU:
    """Return sacreBLEU's BLEU with the tokenizer asked for; "auto" looks at the references.

    Raises:
        UserError: An unknown tokenizer.
    """
    if tokenize not in TOKENIZERS:
        raise UserError(
            f"unknown BLEU tokenizer {tokenize!r}", where="tokenize", fix=did_you_mean(tokenize, TOKENIZERS)
        )
    chosen = choose_tokenizer(references) if tokenize == "auto" else tokenize
    # force only keeps sacreBLEU from logging its own guess about tokenized text: text_warnings says more.
    return BLEU(lowercase=lowercase, tokenize=chosen, force=True)
