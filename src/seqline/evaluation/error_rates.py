"""Error rates: WER over words, PER without their order, CER over characters. Lower is better; 100 and more is possible.

All add the errors of the sentences and divide once by the units of all references. Against references without a unit the
rate is 0 when the output has none either, else 100.

- A word is what white space parts. In text written without word spaces (the references decide) a character takes its place,
  and the signature says `unit:characters`.
- A character is a code point; a run of white space is one space, and none counts at the ends of a line.

*Source*: Levenshtein 1966; Tillmann, Vogel, Ney, Zubiaga and Sawaf 1997, "Accelerated DP Based Search for Statistical
Translation" (PER).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from seqline.evaluation.text_checks import check_lines, refuse_subword_marks
from seqline.evaluation.text_metrics import Score
from seqline.evaluation.text_statistics import error_rate_value
from seqline.evaluation.text_units import num_common, split_units, unit_name

Array = NDArray[np.float64]


def wer(hypotheses: Sequence[str], references: Sequence[str], *, lowercase: bool = False) -> Score:
    """Score a corpus with the word error rate.

        WER = 100 · Σ (insertions + deletions + substitutions) / Σ words of the reference

    Args:
        hypotheses: Raw output, one sentence an item.
        references: Raw references, one a hypothesis, in the same order.
        lowercase: Compare without case; the signature says so.

    Returns:
        WER in percent, with a signature that names the unit.

    Raises:
        UserError: No lines, unequal counts, or hypotheses with subword marks.
    """
    sums = wer_statistics(hypotheses, references, lowercase=lowercase).sum(axis=0)
    return Score("WER", float(error_rate_value(sums)), _signature(lowercase, unit_name(references)))


def wer_statistics(hypotheses: Sequence[str], references: Sequence[str], *, lowercase: bool = False) -> Array:
    """Return what each sentence adds to WER: [N 2], edits and words of the reference. Args and errors: as in `wer`."""
    _check(hypotheses, references)
    ours, theirs = split_units(hypotheses, references, like=references, lowercase=lowercase)
    return np.array([(edit_distance(h, r), len(r)) for h, r in zip(ours, theirs, strict=True)], dtype=np.float64)


def per(hypotheses: Sequence[str], references: Sequence[str], *, lowercase: bool = False) -> Score:
    """Score a corpus with the position-independent error rate: as WER, but the order of the words does not matter.

        PER = 100 · Σ (max(words of the hypothesis, words of the reference) - words in both) / Σ words of the reference

    A word left over on both sides is one substitution; what then is left of one side is inserted or deleted.

    Args:
        hypotheses: Raw output, one sentence an item.
        references: Raw references, one a hypothesis, in the same order.
        lowercase: Compare without case; the signature says so.

    Returns:
        PER in percent, never above WER, with a signature that names the unit.

    Raises:
        UserError: No lines, unequal counts, or hypotheses with subword marks.

    *Source*: Tillmann et al. 1997.
    """
    sums = per_statistics(hypotheses, references, lowercase=lowercase).sum(axis=0)
    return Score("PER", float(error_rate_value(sums)), _signature(lowercase, unit_name(references)))


def per_statistics(hypotheses: Sequence[str], references: Sequence[str], *, lowercase: bool = False) -> Array:
    """Return what each sentence adds to PER: [N 2], errors and words of the reference. Args and errors: as in `per`."""
    _check(hypotheses, references)
    ours, theirs = split_units(hypotheses, references, like=references, lowercase=lowercase)
    pairs = zip(ours, theirs, strict=True)
    return np.array([(max(len(h), len(r)) - num_common(h, r), len(r)) for h, r in pairs], dtype=np.float64)


def cer(hypotheses: Sequence[str], references: Sequence[str], *, lowercase: bool = False) -> Score:
    """Score a corpus with the character error rate: WER over characters, spaces between words among them.

    Args:
        hypotheses: Raw output, one sentence an item.
        references: Raw references, one a hypothesis, in the same order.
        lowercase: Compare without case; the signature says so.

    Returns:
        CER in percent.

    Raises:
        UserError: No lines, unequal counts, or hypotheses with subword marks.
    """
    sums = cer_statistics(hypotheses, references, lowercase=lowercase).sum(axis=0)
    return Score("CER", float(error_rate_value(sums)), _signature(lowercase, "characters+space"))


def cer_statistics(hypotheses: Sequence[str], references: Sequence[str], *, lowercase: bool = False) -> Array:
    """Return what each sentence adds to CER: [N 2], edits and characters of the reference. Args, errors: as in `cer`."""
    _check(hypotheses, references)
    ours, theirs = ([" ".join(line.split()) for line in lines] for lines in (hypotheses, references))
    if lowercase:
        ours, theirs = ([line.lower() for line in lines] for lines in (ours, theirs))
    return np.array([(edit_distance(h, r), len(r)) for h, r in zip(ours, theirs, strict=True)], dtype=np.float64)


def edit_distance(ours: Sequence[Hashable], theirs: Sequence[Hashable]) -> int:
    """Count the fewest insertions, deletions and substitutions that turn one sequence into the other.

    A column of the table of distances is kept as bits: where it goes up by one from a row to the next, and where down. One
    step over a unit of `ours` then takes a handful of operations on whole numbers, whatever the length of `theirs`.

    *Source*: Myers 1999, "A Fast Bit-Vector Algorithm for Approximate String Matching Based on Dynamic Programming", in the
    form of Hyyrö 2003, "A Bit-Vector Algorithm for Computing Levenshtein and Damerau Edit Distances".
    """
    if not theirs:
        return len(ours)
    places: dict[Hashable, int] = {}
    for row, unit in enumerate(theirs):
        places[unit] = places.get(unit, 0) | 1 << row
    everywhere, last = (1 << len(theirs)) - 1, 1 << (len(theirs) - 1)
    up, down, distance = everywhere, 0, len(theirs)
    for unit in ours:
        equal = places.get(unit, 0)
        diagonal = (((equal & up) + up) ^ up) | equal | down
        right_up, right_down = (down | ~(diagonal | up)) & everywhere, up & diagonal
        distance += bool(right_up & last) - bool(right_down & last)
        right_up, right_down = right_up << 1 | 1, right_down << 1
        up, down = (right_down | ~(diagonal | right_up)) & everywhere, right_up & diagonal & everywhere
    return distance


def _check(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    check_lines(hypotheses, references)
    refuse_subword_marks(hypotheses, references)


def _signature(lowercase: bool, unit: str) -> str:
    return f"nrefs:1|case:{'lc' if lowercase else 'mixed'}|unit:{unit}"
