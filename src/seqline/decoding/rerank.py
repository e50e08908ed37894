"""Rerank finished hypotheses by a term beside their score, such as how much of the source they cover.

    score = log_probability / divisor(n) + term

The term changes the order alone: a hypothesis keeps its ids and its log-probability.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from seqline.decoding.hypothesis import Hypothesis
from seqline.errors import UserError

MAX_BETA = 10.0  # far above any use; the paper uses 0.2
_LEAST = 1e-9  # the smallest share of attention that is told from none


def coverage(weights: Tensor, beta: float) -> float:
    """Return the coverage penalty of one output: 0 where every source piece was fully read, else below.

        cp = beta * sum_i log( min( sum_j p_ij, 1 ) ),    p_ij the weight on source piece i when output piece j was produced

    Args:
        weights: [T S], attention of each generated piece on each source piece; no padding.
        beta: strength, 0 to 10; 0 is no penalty.

    Returns:
        cp, a finite number.

    Raises:
        UserError: beta is outside this range or not a number.
        ValueError: weights that are not [T S].

    *Source*: Wu et al. 2016, "Google's Neural Machine Translation System", equation 14.
    *Differs*: a source piece that was never read, which gives -inf there, counts as read 1e-9 times, so that scores compare.
    """
    if not 0 <= beta <= MAX_BETA:  # also refuses NaN
        raise UserError(
            f"expected a number from 0 to {MAX_BETA:g}, got {beta}", where="coverage penalty", fix="for example 0.2"
        )
    if weights.dim() != 2:
        raise ValueError(f"weights must be [T S], got {tuple(weights.shape)}")
    read = weights.to(torch.float64).sum(0).clamp(_LEAST, 1.0)
    return beta * math.fsum(read.log().tolist())


def rerank(hypotheses: Sequence[Hypothesis], terms: Sequence[float]) -> list[Hypothesis]:
    """Add a term to the score of each hypothesis of one sentence and sort by the sum.

    Args:
        hypotheses: of one sentence.
        terms: one each, such as `coverage`.

    Returns:
        The hypotheses with their new scores, falling; of equal ones the one that came first. All else is as it was.

    Raises:
        ValueError: unequal counts, or a term that is NaN.
    """
    if len(terms) != len(hypotheses) or any(math.isnan(term) for term in terms):
        raise ValueError(f"{len(hypotheses)} hypotheses need as many terms, each a number, got {list(terms)}")
    scored = [h._replace(score=h.score + term) for h, term in zip(hypotheses, terms, strict=True)]
    return sorted(scored, key=lambda hypothesis: -hypothesis.score)
