"""Minimum Bayes risk: of many candidates, the one that is expected to be nearest to what the model believes.

Candidates y_1 ... y_N drawn from the model stand for its distribution, so that the expected utility of an output h is

    E[u(h)] = 1/N  sum_j u(h, y_j)

and the best is the candidate with the largest one. A candidate that was drawn several times counts as often, as evidence for the
others and for itself. Hypotheses of a beam may be given too; each counts once, though they are not equally probable.

*Source*: Kumar and Byrne 2004, "Minimum Bayes-Risk Decoding for Statistical Machine Translation"; Eikema and Aziz 2022,
"Sampling-Based Approximations to Minimum Bayes Risk Decoding for Neural Machine Translation" (N samples, themselves included).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

Utility = Callable[[Sequence[str]], ArrayLike]
"""Of n texts the [n n] utility of each as output (row) where each (column) is right; higher is better."""


class Candidate(NamedTuple):
    """A distinct candidate. first: where it first stands among the candidates. num_times: how often it does."""

    text: str
    expected_utility: float
    first: int
    num_times: int


def mbr(candidates: Sequence[str], utility: Utility) -> list[Candidate]:
    """Order candidates by their expected utility.

    Args:
        candidates: N outputs for one source, repeated ones as often as they were drawn.
        utility: how good one output is where another is right; it is asked once, for the distinct candidates.

    Returns:
        The distinct candidates, the largest expected utility first; of equal ones the more frequent, then the one given first.

    Raises:
        ValueError: no candidates, or a utility that is not [n n] finite numbers.
    """
    if not candidates:
        raise ValueError("minimum Bayes risk needs at least one candidate")
    first, counts = _distinct(candidates)
    texts = list(first)
    pairs = np.asarray(utility(texts), dtype=np.float64)
    if pairs.shape != (len(texts), len(texts)) or not np.isfinite(pairs).all():
        raise ValueError(f"the utility of {len(texts)} texts must be a square of finite numbers, got {pairs.shape}")
    found = []
    for text, row in zip(texts, pairs, strict=True):
        total = math.fsum(value * counts[other] for value, other in zip(row.tolist(), texts, strict=True))
        found.append(Candidate(text, total / len(candidates), first[text], counts[text]))
    return sorted(found, key=lambda choice: (-choice.expected_utility, -choice.num_times, choice.first))


def _distinct(candidates: Sequence[str]) -> tuple[dict[str, int], dict[str, int]]:
    """Return for each distinct text where it first stands, in this order, and how often it does."""
    first: dict[str, int] = {}
    counts: dict[str, int] = {}
    for place, text in enumerate(candidates):
        first.setdefault(text, place)
        counts[text] = counts.get(text, 0) + 1
    return first, counts
