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


def _metric(
    name: str,
    statistics: Callable[..., Array],
    value: Callable[[ArrayLike], Array],
    score: Callable[..., Score],
    *,
    is_higher_better: bool = False,
    knows_case: bool = True,
) -> Metric:
    """Make a metric of which no option but `lowercase` changes anything, and that only where it `knows_case`."""

    def of(options: MetricOptions) -> dict[str, bool]:
        return {"lowercase": options.lowercase} if knows_case else {}

    return Metric(
        name, is_higher_better, lambda h, r, o: statistics(h, r, **of(o)), value, lambda h, r, o: score(h, r, **of(o))
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
        _metric("chrf", chrf_statistics, chrf_value, chrf, is_higher_better=True),
        _metric("ter", ter_statistics, error_rate_value, ter, knows_case=False),
        _metric("wer", wer_statistics, error_rate_value, wer),
        _metric("per", per_statistics, error_rate_value, per),
        _metric("cer", cer_statistics, error_rate_value, cer),
        *(
            _metric(
                f"rouge{n}",
                partial(rouge_n_statistics, n=n),
                percent_value,
                partial(rouge_n, n=n),
                is_higher_better=True,
                knows_case=False,
            )
            for n in (1, 2)
        ),
        _metric("rougeL", rouge_l_statistics, percent_value, rouge_l, is_higher_better=True, knows_case=False),
        _metric("exact", exact_statistics, percent_value, exact_match, is_higher_better=True),
    )
}
"""Every metric by its name, in the order of a report."""
