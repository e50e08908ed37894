"""How near every text of a set comes to every other: sentence chrF2 of all pairs at once, for minimum Bayes risk decoding.

For each order n = 1 ... 6, with C_n(x) the character n-grams of x without its white space, counted as often as they stand there:

    P_n(h, r) = |C_n(h) and C_n(r)| / |C_n(h)|         R_n(h, r) = |C_n(h) and C_n(r)| / |C_n(r)|
    chrF2(h, r) = 100 * 5 P R / (4 P + R),             P and R the means over the orders that both texts are long enough for

The k-th time that an n-gram stands in a text is taken as a thing of its own, (n-gram, k). Then the overlap of two multisets is
that of two sets, and the overlaps of all pairs are one product of a matrix of zeros and ones with its transpose.

*Source*: Popović 2015, "chrF: character n-gram F-score for automatic MT evaluation", with beta = 2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

MAX_ORDER = 6
BETA = 2
_BLOCK = 4096  # columns of the matrix of zeros and ones that are held at once


def chrf_matrix(texts: Sequence[str]) -> NDArray[np.float64]:
    """Return the sentence chrF2 of each of N texts as hypothesis (row) against each as reference (column).

    Args:
        texts: N texts; one may stand there more than once.

    Returns:
        [N N], 0 to 100: what sacreBLEU's `CHRF().sentence_score(texts[i], [texts[j]])` gives for row i and column j.
    """
    bare = ["".join(text.split()) for text in texts]
    shape = (len(bare), len(bare))
    precision, recall, num_orders = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for order in range(1, MAX_ORDER + 1):
        size = np.array([max(0, len(text) - order + 1) for text in bare], dtype=np.float64)
        overlap = _overlaps([[text[i : i + order] for i in range(len(text) - order + 1)] for text in bare])
        counts = (size[:, None] > 0) & (size > 0)
        precision += np.divide(overlap, size[:, None], out=np.zeros(shape), where=counts)
        recall += np.divide(overlap, size, out=np.zeros(shape), where=counts)
        num_orders += counts
    precision, recall = (total / np.maximum(num_orders, 1) for total in (precision, recall))
    below = BETA**2 * precision + recall
    return 100 * np.divide((1 + BETA**2) * precision * recall, below, out=np.zeros(shape), where=below > 0)


def _overlaps(grams: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    """Return how many n-grams each text shares with each other [N N], repeated ones counted as often as both have them."""
    columns: dict[tuple[str, int], list[int]] = {}  # the texts that have an n-gram for the k-th time
    for row, found in enumerate(grams):
        for gram, count in Counter(found).items():
            for k in range(count):
                columns.setdefault((gram, k), []).append(row)
    shared = [rows for rows in columns.values() if len(rows) > 1]
    total = np.zeros((len(grams), len(grams)))
    for start in range(0, len(shared), _BLOCK):
        block = shared[start : start + _BLOCK]
        has = np.zeros((len(grams), len(block)), dtype=np.float32)  # sums of ones stay exact far beyond a block
        has[np.concatenate(block), np.repeat(np.arange(len(block)), [len(rows) for rows in block])] = 1
        total += has @ has.T
    np.fill_diagonal(total, [len(found) for found in grams])
    return total
