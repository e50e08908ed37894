"""ROUGE-1, ROUGE-2 and ROUGE-L as F1, the mean over the sentences: how much of a reference a summary says.

A word is a run of letters, digits and their marks, in lower case; nothing is stemmed and no stop word left out, as the
signature says. In text written without word spaces (the references decide) every letter or digit is a unit. A line is taken
as one sequence, so ROUGE-L is the sentence-level one.

*Source*: Lin 2004, "ROUGE: A Package for Automatic Evaluation of Summaries", sections 2 and 3.1, with β = 1.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from seqline.evaluation.text_checks import check_lines, refuse_subword_marks
from seqline.evaluation.text_metrics import Score
from seqline.evaluation.text_statistics import percent_value
from seqline.evaluation.text_units import letters_only, ngrams, num_common, split_units, unit_name

Array = NDArray[np.float64]


def rouge_n(hypotheses: Sequence[str], references: Sequence[str], n: int) -> Score:
    """Score a corpus with ROUGE-N: the F1 of the n-grams of each sentence, clipped counts, averaged.

        F1 = 2 · n-grams in both / (n-grams of the hypothesis + n-grams of the reference)

    Args:
        hypotheses: Raw output, one summary an item.
        references: Raw references, one a hypothesis, in the same order.
        n: Length of the n-grams, from 1.

    Returns:
        ROUGE-N from 0 to 100; a sentence without an n-gram on either side counts as 0.

    Raises:
        UserError: No lines, unequal counts, or hypotheses with subword marks.

    *Source*: Lin 2004, section 2.
    """
    sums = rouge_n_statistics(hypotheses, references, n).sum(axis=0)
    return Score(f"ROUGE-{n}", float(percent_value(sums)), _signature(references))


def rouge_n_statistics(hypotheses: Sequence[str], references: Sequence[str], n: int) -> Array:
    """Return what each sentence adds to ROUGE-N: [N 2], its F1 from 0 to 1, and 1. Args and errors: as in `rouge_n`."""

    def found(ours: list[str], theirs: list[str]) -> tuple[int, int]:
        left, right = list(ngrams(ours, n)), list(ngrams(theirs, n))
        return num_common(left, right), len(left) + len(right)

    return _statistics(hypotheses, references, found)


def rouge_l(hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    """Score a corpus with ROUGE-L: the F1 of the longest common subsequence of words of each sentence, averaged.

        F1 = 2 · LCS / (words of the hypothesis + words of the reference)

    Args:
        hypotheses: Raw output, one summary an item.
        references: Raw references, one a hypothesis, in the same order.

    Returns:
        ROUGE-L from 0 to 100; a sentence without a word on either side counts as 0.

    Raises:
        UserError: No lines, unequal counts, or hypotheses with subword marks.

    *Source*: Lin 2004, section 3.1, equations 2 to 4.
    """
    sums = rouge_l_statistics(hypotheses, references).sum(axis=0)
    return Score("ROUGE-L", float(percent_value(sums)), _signature(references))


def rouge_l_statistics(hypotheses: Sequence[str], references: Sequence[str]) -> Array:
    """Return what each sentence adds to ROUGE-L: [N 2], its F1 from 0 to 1, and 1. Args and errors: as in `rouge_l`."""
    return _statistics(
        hypotheses, references, lambda ours, theirs: (num_in_order(ours, theirs), len(ours) + len(theirs))
    )


def num_in_order(ours: Sequence[Hashable], theirs: Sequence[Hashable]) -> int:
    """Return the length of the longest common subsequence.

    A row of the table of lengths is kept as bits, 0 where it grows; a unit of `ours` takes four operations.

    *Source*: Hyyrö 2004, "Bit-Parallel LCS-length Computation Revisited".
    """
    places: dict[Hashable, int] = {}
    for row, unit in enumerate(theirs):
        places[unit] = places.get(unit, 0) | 1 << row
    everywhere = (1 << len(theirs)) - 1
    flat = everywhere
    for unit in ours:
        matches = flat & places.get(unit, 0)
        flat = ((flat + matches) | (flat - matches)) & everywhere
    return len(theirs) - flat.bit_count()


def _statistics(
    hypotheses: Sequence[str], references: Sequence[str], found: Callable[[list[str], list[str]], tuple[int, int]]
) -> Array:
    """found: (units of the hypothesis, of the reference) -> (how much is in both, how much there is on both sides)."""
    check_lines(hypotheses, references)
    refuse_subword_marks(hypotheses, references)
    lines = ([letters_only(line) for line in side] for side in (hypotheses, references))
    ours, theirs = split_units(*lines, like=references)
    pairs = (found(h, r) for h, r in zip(ours, theirs, strict=True))
    return np.array([(2 * both / total if total else 0.0, 1.0) for both, total in pairs], dtype=np.float64)


def _signature(references: Sequence[str]) -> str:
    return f"nrefs:1|case:lc|unit:{unit_name(references)}|tok:letters+digits|stem:no|average:sentences"
