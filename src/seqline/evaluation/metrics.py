"""All corpus scores of text by name: what each sentence adds, what the sums make, and the score with its signature.

    value(statistics(hypotheses, references, options).sum(axis=0)) == score(hypotheses, references, options).value

So one significance test serves them all: see significance.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seqline.evaluation.error_rates import cer, cer_statistics, per, per_statistics, wer, wer_statistics
from seqline.evaluation.rouge import rouge_l, rouge_l_statistics, rouge_n, rouge_n_statistics
from seqline.evaluation.text_metrics import Score, bleu, chrf, exact_match, ter
from seqline.evaluation.text_statistics import (
    bleu_statistics,
    bleu_value,
    chrf_statistics,
    chrf_value,
    error_rate_value,
    exact_statistics,
    percent_value,
    ter_statistics,
)

Array = NDArray[np.float64]


class MetricOptions(NamedTuple):
    """How text is compared.

    lowercase: without case. ter and rouge look at none either way, ter as the sacreBLEU command has it.
    tokenize: BLEU's tokenizer, one of `TOKENIZERS`; the other metrics have none.
    """

    lowercase: bool = False
    tokenize: str = "13a"


class Metric(NamedTuple):
    """A corpus score that is made of sums.

    statistics: (hypotheses, references, options) -> [N S], what each sentence adds.
    value: sums [... S] -> [...], the score of each; with [S] a number.
    score: (hypotheses, references, options) -> the corpus score with its signature.
    """

    name: str
    is_higher_better: bool
    statistics: Callable[[Sequence[str], Sequence[str], MetricOptions], Array]
    value: Callable[[ArrayLike], Array]
    score: Callable[[Sequence[str], Sequence[str], MetricOptions], Score]


def _plain(
    name: str,
    is_higher_better: bool,
    statistics: Callable[..., Array],
    value: Callable[[ArrayLike], Array],
    score: Callable[..., Score],
) -> Metric:
    """A metric that no option changes."""
    return Metric(
        name,
        is_higher_better,
        lambda h, r, _: statistics(h, r),
        value,
        lambda h, r, _: score(h, r),
    )


def _cased(
    name: str,
    is_higher_better: bool,
    statistics: Callable[..., Array],
    value: Callable[[ArrayLike], Array],
    score: Callable[..., Score],
) -> Metric:
    """A metric that may look away from case."""
    return Metric(
        name,
        is_higher_better,
        lambda h, r, o: statistics(h, r, lowercase=o.lowercase),
        value,
        lambda h, r, o: score(h, r, lowercase=o.lowercase),
    )


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(
            "bleu",
            True,
            lambda h, r, o: bleu_statistics(h, r, lowercase=o.lowercase, tokenize=o.tokenize),
            bleu_value,
            lambda h, r, o: bleu(h, r, lowercase=o.lowercase, tokenize=o.tokenize),
        ),
        _cased("chrf", True, chrf_statistics, chrf_value, chrf),
        _plain("ter", False, ter_statistics, error_rate_value, ter),
        _cased("wer", False, wer_statistics, error_rate_value, wer),
        _cased("per", False, per_statistics, error_rate_value, per),
        _cased("cer", False, cer_statistics, error_rate_value, cer),
        _plain("rouge1", True, partial(rouge_n_statistics, n=1), percent_value, partial(rouge_n, n=1)),
        _plain("rouge2", True, partial(rouge_n_statistics, n=2), percent_value, partial(rouge_n, n=2)),
        _plain("rougeL", True, rouge_l_statistics, percent_value, rouge_l),
        _cased("exact", True, exact_statistics, percent_value, exact_match),
    )
}
"""Every metric by its name, in the order of a report."""
