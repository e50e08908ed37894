"""Outputs that leave their source: copies of it, hallucinations that can be seen without a model, and `<unk>`.

Every function flags sentences or counts words, so that a report can give a rate and list the lines. The rules are plain ones
and make mistakes both ways: read the lines before you believe the rate. Words are what white space parts; on a side written
without word spaces a character takes the place of a word.

*Source*: Lee, Firat, Agarwal, Fannjiang and Sussillo 2018, "Hallucinations in Neural Machine Translation"; Raunak, Menezes and
Junczys-Dowmunt 2021, "The Curious Case of Hallucinations in Neural Machine Translation" (oscillatory and detached); Guerreiro,
Voita and Martins 2023, "Looking for a Needle in a Haystack" (the rules against human judgement).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from seqline.errors import UserError
from seqline.evaluation.counted import Flags, Ratio
from seqline.evaluation.text_statistics import chrf_statistics, chrf_value
from seqline.evaluation.text_units import ngrams, num_common, split_units, unit_name

UNKNOWN = "<unk>"
"""How decoded text shows a token that stands for no text."""
_MARK = "\ue000"


def copied_outputs(sources: Sequence[str], outputs: Sequence[str]) -> Flags:
    """Flag the outputs that equal their source, the amount of white space left aside; an empty output copies nothing.

    Names, numbers and addresses are rightly copied, so a rate means little without the lines.

    Raises:
        UserError: Unequal numbers of lines.

    *Source*: Ott, Auli, Grangier and Ranzato 2018, "Analyzing Uncertainty in Neural Machine Translation"; they also
    count outputs that copy most of the source: see `copied_words`.
    """
    _check_pairs(sources, outputs)
    pairs = zip(sources, outputs, strict=True)
    return Flags(tuple(bool(output.split()) and source.split() == output.split() for source, output in pairs))


def copied_words(sources: Sequence[str], outputs: Sequence[str]) -> Ratio:
    """Count the words of the outputs that stand in their own source, each as often as it stands there, of all words.

    Where either side is written without word spaces, characters are counted on both.

    Raises:
        UserError: Unequal numbers of lines.

    *Source*: after Ott et al. 2018, counting 1-grams over the corpus.
    """
    _check_pairs(sources, outputs)
    like = outputs if unit_name(outputs) == "characters" else sources
    theirs, ours = split_units(sources, outputs, like=like)
    pairs = zip(theirs, ours, strict=True)
    return Ratio(sum(num_common(output, source) for source, output in pairs), sum(map(len, ours)))


def oscillating_outputs(sources: Sequence[str], outputs: Sequence[str], *, n: int = 4, threshold: int = 2) -> Flags:
    """Flag oscillatory hallucinations: an n-gram stands in the output too often for the source.

        count of the commonest n-gram of the output ≥ count of the commonest n-gram of the source + threshold

    A source too short for an n-gram has a count of 0; what repeats in a source may repeat in its translation.

    Args:
        sources: Raw source, one a line.
        outputs: Raw output of each.
        n: Words of an n-gram. Bigrams catch more, and phrases such as "of the" with it.
        threshold: By how many the output must exceed its source, from 1.

    Raises:
        UserError: Unequal numbers of lines.
        ValueError: n or threshold below 1.

    *Source*: Raunak et al. 2021 (top n-gram count); n = 4 and threshold 2 as in Guerreiro et al. 2023.
    """
    if min(n, threshold) < 1:
        raise ValueError(f"n and threshold are 1 or more; got {n} and {threshold}")
    _check_pairs(sources, outputs)
    (theirs,), (ours,) = split_units(sources, like=sources), split_units(outputs, like=outputs)
    pairs = zip(theirs, ours, strict=True)
    return Flags(tuple(_top_count(output, n) >= _top_count(source, n) + threshold for source, output in pairs))


def detached_outputs(outputs: Sequence[str], references: Sequence[str], *, threshold: float = 10.0) -> Flags:
    """Flag outputs that have next to nothing to do with their reference: sentence chrF2 below the threshold.

    A detached hallucination is such an output, and so is any other total miss, a wrong script or a copied source among them. An
    empty output says nothing, so it is none.

    Args:
        outputs: Raw output, one a line.
        references: Raw reference of each.
        threshold: chrF2 from 0 to 100.

    Raises:
        UserError: No lines, unequal numbers of lines, or outputs with subword marks.

    *Source*: Lee et al. 2018 (hardly any overlap with the reference, by sentence BLEU there); Guerreiro et al. 2023
    (sentence chrF2); chrF2 below 10 as in Sennrich, Vamvas and Mohammadshahi 2024, "Mitigating Hallucinations and
    Off-target Machine Translation with Source-Contrastive and Language-Contrastive Decoding".
    """
    scores = chrf_value(chrf_statistics(outputs, references))
    return Flags(tuple(bool(output.split()) and bool(s < threshold) for output, s in zip(outputs, scores, strict=True)))


def unknown_outputs(outputs: Sequence[str]) -> Flags:
    """Flag the outputs that hold an `<unk>`: a token that stands for no text, which no reader can use."""
    return Flags(tuple(UNKNOWN in output for output in outputs))


def unknown_words(outputs: Sequence[str]) -> Ratio:
    """Count the words of the outputs that hold an `<unk>`, of all words.

    Where outputs are written without word spaces, an `<unk>` counts as one character.
    """
    # One character stands for the mark, so that it is one unit either way; no other may look like it.
    lines = [output.replace(_MARK, "?").replace(UNKNOWN, _MARK) for output in outputs]
    (units,) = split_units(lines, like=lines)
    return Ratio(sum(_MARK in unit for line in units for unit in line), sum(map(len, units)))


def _top_count(units: Sequence[str], n: int) -> int:
    return max(Counter(ngrams(units, n)).values(), default=0)


def _check_pairs(sources: Sequence[str], outputs: Sequence[str]) -> None:
    if len(sources) != len(outputs):
        raise UserError(
            f"{len(sources):,} sources and {len(outputs):,} outputs",
            fix="give one line a sentence to each, in the same order",
        )
