"""The decoder's choices: the best tokens of each step, what else there was, and at which temperature it would change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from seqline.visualize.schema import TEMPERATURES

MOST_SHOWN = 10
Describe = Callable[[int], dict[str, Any]]
"""An id to what names it: id, piece, text, w_em."""


def choice(logits: np.ndarray, chosen: int, temperature: float, describe: Describe) -> dict[str, Any]:
    """Return what a decoder step says about one choice among all tokens.

    Args:
        logits: [V].
        chosen: the token that came out.
        temperature: of the decoding.
        describe: names a token.
    """
    logits = logits.astype(np.float64)
    order = np.argsort(-logits, kind="stable")
    rank = int(np.flatnonzero(order == chosen)[0])
    # One token at least stays outside, so that the sum over the rest is never empty.
    top = list(order[: max(1, min(MOST_SHOWN, len(logits) - 1))])
    if chosen not in top:
        top[-1] = chosen
    rest = np.setdiff1d(order, top)
    log_p = logits / temperature - log_sum(logits / temperature)
    share = np.exp(log_p)
    return {
        "chosen_rank": rank,
        "topk": [
            describe(int(i)) | {"logit": float(logits[i]), "p": float(share[i]), "logp": float(log_p[i])} for i in top
        ],
        "rest_p": float(share[rest].sum()),
        "entropy": float(-(share * log_p).sum()),
        "temps": list(TEMPERATURES),
        "rest_lse": [log_sum(logits[rest] / t) for t in TEMPERATURES],
    }


def log_sum(values: np.ndarray) -> float:
    """Return log of the sum of exponentials."""
    top = float(values.max())
    return top + float(np.log(np.exp(values - top).sum()))


def log_probability(logits: Sequence[np.ndarray], ids: Sequence[int]) -> float:
    """Return the sum of the log-probabilities of the ids, one a row of logits."""
    return sum(float(row[i]) - log_sum(row) for row, i in zip(_wide(logits), ids, strict=True))


def _wide(logits: Sequence[np.ndarray]) -> list[np.ndarray]:
    return [row.astype(np.float64) for row in logits]
