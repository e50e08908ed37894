"""BLEU, chrF2, TER and exact match from sums: what each sentence adds to a corpus score, and the score that the sums make.

A corpus score is no mean of sentence scores. A test that draws sentences anew therefore adds these statistics and divides
once. The statistics are sacreBLEU's own; the scores repeat its arithmetic in the same order over many sums at once, so that
the sums of a corpus give the very number that sacreBLEU prints.

*Source*: Papineni et al. 2002 (BLEU); Popović 2015 (chrF); Snover et al. 2006 (TER); Post 2018 (sacreBLEU).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sacrebleu.metrics.base import Metric as SacrebleuMetric
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from seqline.evaluation.text_checks import check_lines, refuse_subword_marks
from seqline.evaluation.text_metrics import bleu_metric

Array = NDArray[np.float64]

_ORDER = 4  # of BLEU's n-grams
_CHRF_ORDER, _BETA = 6, 2
# What sacreBLEU takes for log 0: its e-th power is 0 however the other orders do.
_LOG_OF_ZERO = -9999999999.0
# numpy's own logarithms differ from these in the last digit on some machines.
_log = np.frompyfunc(lambda x: math.log(x) if x else _LOG_OF_ZERO, 1, 1)
_exp = np.frompyfunc(math.exp, 1, 1)


def bleu_statistics(
    hypotheses: Sequence[str], references: Sequence[str], *, lowercase: bool = False, tokenize: str = "13a"
) -> Array:
    """Return what each sentence adds to BLEU.

    Args:
        hypotheses: Raw output, one sentence an item.
        references: Raw references, one a hypothesis.
        lowercase: As in `bleu`.
        tokenize: As in `bleu`; "auto" looks at all references once.

    Returns:
        [N 10]: tokens of the hypothesis and of the reference, n-grams found (1 to 4), n-grams there are (1 to 4).

    Raises:
        UserError: As in `bleu`.
    """
    check_lines(hypotheses, references)
    refuse_subword_marks(hypotheses, references)
    return _statistics(bleu_metric(references, lowercase, tokenize), hypotheses, references)


def bleu_value(sums: ArrayLike) -> Array:
    """Make BLEU of summed statistics.

        BLEU = 100 · BP · exp(¼ Σₙ log pₙ),  BP = exp(min(0, 1 - references/hypotheses))

    An order without a match counts as half a match, the next one as a quarter, and so on; no match at all gives 0.

    Args:
        sums: [... 10], sums over sentences of `bleu_statistics`.

    Returns:
        [...], BLEU from 0 to 100.

    *Source*: Papineni et al. 2002, section 2.3; smoothing "exp" as in Post 2018.
    """
    counts = np.asarray(sums, dtype=np.float64)
    length, reference_length = counts[..., 0], counts[..., 1]
    found, there = counts[..., 2 : 2 + _ORDER], counts[..., 2 + _ORDER :]
    halvings = np.cumsum((found == 0) & (there > 0), axis=-1)
    smoothed = 100.0 / (2.0**halvings * np.maximum(there, 1))
    precisions = np.where(found > 0, 100.0 * found / np.maximum(there, 1), np.where(there > 0, smoothed, 0.0))
    logs = np.asarray(_log(precisions), np.float64)
    mean = (logs[..., 0] + logs[..., 1] + logs[..., 2] + logs[..., 3]) / _ORDER
    is_short = (length < reference_length) & (length > 0)
    exponent = np.where(is_short, 1.0 - reference_length / np.where(is_short, length, 1.0), 0.0)
    score = np.asarray(_exp(exponent), np.float64) * np.asarray(_exp(mean), np.float64)
    return np.where(found.any(axis=-1), score, 0.0)[()]


def chrf_statistics(hypotheses: Sequence[str], references: Sequence[str], *, lowercase: bool = False) -> Array:
    """Return what each sentence adds to chrF2.

    Args:
        hypotheses: Raw output, one sentence an item.
        references: Raw references, one a hypothesis.
        lowercase: As in `chrf`.

    Returns:
        [N 18]: for each order 1 to 6 the character n-grams of the hypothesis, of the reference, and those in both.

    Raises:
        UserError: As in `chrf`.
    """
    check_lines(hypotheses, references)
    refuse_subword_marks(hypotheses, references)
    return _statistics(CHRF(lowercase=lowercase), hypotheses, references)


def chrf_value(sums: ArrayLike) -> Array:
    """Make chrF2 of summed statistics.

        chrF = 100 · (1 + β²) P R / (β² P + R),  β = 2, P and R means over the orders that both sides have

    Args:
        sums: [... 18], sums over sentences of `chrf_statistics`.

    Returns:
        [...], chrF2 from 0 to 100.

    *Source*: Popović 2015, equation 1.
    """
    counts = np.asarray(sums, dtype=np.float64)
    precision, recall = np.zeros(counts.shape[:-1]), np.zeros(counts.shape[:-1])
    num_orders = np.zeros(counts.shape[:-1])
    for order in range(_CHRF_ORDER):
        ours, theirs, both = (counts[..., 3 * order + i] for i in range(3))
        counted = (ours > 0) & (theirs > 0)
        precision = precision + np.where(counted, both / np.maximum(ours, 1), 0.0)
        recall = recall + np.where(counted, both / np.maximum(theirs, 1), 0.0)
        num_orders = num_orders + counted
    precision, recall = precision / np.maximum(num_orders, 1), recall / np.maximum(num_orders, 1)
    factor = _BETA**2
    nothing = precision + recall == 0
    return (100 * ((1 + factor) * precision * recall / np.where(nothing, 1.0, factor * precision + recall)))[()]


def ter_statistics(hypotheses: Sequence[str], references: Sequence[str], *, case_sensitive: bool = False) -> Array:
    """Return what each sentence adds to TER.

    Args:
        hypotheses: Raw output, one sentence an item.
        references: Raw references, one a hypothesis.
        case_sensitive: As in `ter`.

    Returns:
        [N 2]: edits, and words of the reference.

    Raises:
        UserError: As in `ter`.
    """
    check_lines(hypotheses, references)
    refuse_subword_marks(hypotheses, references)
    return _statistics(TER(case_sensitive=case_sensitive), hypotheses, references)


def error_rate_value(sums: ArrayLike) -> Array:
    """Make an error rate of summed statistics: 100 · errors / units of the references.

    Against empty references the rate is 0 for no error, else 100, as sacreBLEU has it for TER.

    Args:
        sums: [... 2], sums over sentences of errors and of units of the references.

    Returns:
        [...], percent, from 0; over 100 where there are more errors than units.
    """
    counts = np.asarray(sums, dtype=np.float64)
    errors, units = counts[..., 0], counts[..., 1]
    rate = np.where(units > 0, errors / np.where(units > 0, units, 1.0), np.where(errors > 0, 1.0, 0.0))
    return (100 * rate)[()]


def exact_statistics(hypotheses: Sequence[str], references: Sequence[str], *, lowercase: bool = False) -> Array:
    """Return what each sentence adds to exact match.

    Args:
        hypotheses: Raw output, one sentence an item.
        references: Raw references, one a hypothesis.
        lowercase: As in `exact_match`.

    Returns:
        [N 2]: 1 where hypothesis and reference are equal, else 0; and 1.

    Raises:
        UserError: No lines, or unequal counts.
    """
    check_lines(hypotheses, references)
    if lowercase:
        hypotheses, references = [h.lower() for h in hypotheses], [r.lower() for r in references]
    return np.array([(h == r, 1) for h, r in zip(hypotheses, references, strict=True)], dtype=np.float64)


def percent_value(sums: ArrayLike) -> Array:
    """Make a mean in percent of summed statistics: 100 · sum of the numbers / how many; 0 where there is none.

    Args:
        sums: [... 2], sums over sentences of a number from 0 to 1, and of how many there are.

    Returns:
        [...], percent.
    """
    counts = np.asarray(sums, dtype=np.float64)
    return (100.0 * counts[..., 0] / np.where(counts[..., 1] > 0, counts[..., 1], 1.0))[()]


def _statistics(metric: SacrebleuMetric, hypotheses: Sequence[str], references: Sequence[str]) -> Array:
    # sacreBLEU offers its statistics by no public name; tests/evaluation/test_text_statistics.py watches this one.
    return np.asarray(metric._extract_corpus_statistics(hypotheses, [references]), dtype=np.float64)
