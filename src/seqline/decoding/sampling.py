"""Sampling: draw each next token at random from the model's distribution, sharpened or cut as asked.

    q_i = softmax(log p_i / temperature) over the tokens that the rules allow; then, as asked,
    top-k: only the k most probable stay; top-p: of those only the smallest set of the most probable whose share of
    q is at least p; typical: of those, q summing to 1 again, only the smallest set of the tokens with the least
    |-log q_i - H|, H = - sum_i q_i log q_i, whose share of q is at least typical_p;
    the token is the first i with  q_1 + ... + q_i > u (q_1 + ... + q_V),  u uniform in [0, 1)

u is a pure function of (seed, row id, step), so a row draws the same tokens alone and in any batch, at any index. The sum
runs in the order of the ids and in float64. A model may compute a row's logits with other rounding in another batch; that
changes a token only where u, the k-th place or the share p falls within this rounding (1e-16 in float64, 1e-7 in float32).

*Source*: top-k: Fan et al. 2018, 1805.04833; top-p: Holtzman et al. 2020, 1904.09751, section "Nucleus Sampling"; typical:
Meister et al. 2022, 2202.00666, "Locally Typical Sampling".
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from seqline.data.loader import mix
from seqline.decoding.hypothesis import AVERAGE, Hypothesis
from seqline.decoding.rules import Prefix, Rule, Stuck, allowed_log_probs
from seqline.errors import UserError
from seqline.state import Decoder, select

_NEVER = float("-inf")
_NO_ID = -1
_SAMPLING = 0x5A3  # this use of chance; `data.loader` has its own


@dataclass(frozen=True)
class Sampling:
    """How to draw. temperature: below 1 sharper, above 1 flatter; 0, like top_k 1, is greedy. None or 1.0: nothing is cut."""

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float = 1.0
    seed: int = 0
    typical_p: float = 1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.temperature) and self.temperature >= 0):
            raise UserError(f"must be a number from 0 up, got {self.temperature}", where="temperature")
        if self.top_k is not None and self.top_k < 1:
            raise UserError(f"must be at least 1, got {self.top_k}", where="top_k")
        for name, share in (("top_p", self.top_p), ("typical_p", self.typical_p)):
            if not 0 < share <= 1:  # also refuses NaN
                raise UserError(f"must be above 0 and at most 1, got {share}", where=name)
        cuts = {"top_k": self.top_k not in (None, 1), "top_p": self.top_p < 1, "typical_p": self.typical_p < 1}
        for name, is_cut in cuts.items():
            if self.temperature == 0 and is_cut:
                what = "has no meaning at temperature 0, which takes the most probable token"
                raise UserError(what, where=name, fix="leave it out, or set a temperature above 0")

    @property
    def is_greedy(self) -> bool:
        """Whether the most probable token is always taken, chance or not."""
        return self.temperature == 0 or self.top_k == 1


class Drawn(NamedTuple):
    """One step of `stream`: the rows that are not over yet, ascending, and for each the token it drew.

    log_probabilities: of the tokens under the full softmax, before temperature, cuts and rules.
    """

    rows: list[int]
    ids: list[int]
    log_probabilities: list[float]


def sample(
    decoder: Decoder,
    memory: Any,
    prompts: Sequence[Sequence[int]],
    max_lengths: Tensor,
    *,
    sampling: Sampling,
    row_ids: Sequence[int] | None = None,
    eos_id: int | None = 3,
    rules: Sequence[Rule] = (),
) -> list[Hypothesis]:
    """Return one sampled continuation of each of N prompts; for several of one prompt give it several times.

    Args:
        decoder, memory, prompts, max_lengths, sampling, row_ids, eos_id, rules: see `stream`.

    Returns:
        One hypothesis a prompt, in their order; ids, log-probability and score (the average) are of the generated tokens alone.

    Raises:
        ValueError, FloatingPointError: see `stream`.
    """
    ids: list[list[int]] = [[] for _ in prompts]
    log_probabilities: list[list[float]] = [[] for _ in prompts]
    steps = stream(
        decoder, memory, prompts, max_lengths, sampling=sampling, row_ids=row_ids, eos_id=eos_id, rules=rules
    )
    for step in steps:
        for row, token, log_probability in zip(*step, strict=True):
            ids[row].append(token)
            log_probabilities[row].append(log_probability)
    totals = map(math.fsum, log_probabilities)
    return [
        Hypothesis(tuple(row), total, AVERAGE.score(total, len(row)), row[-1] == eos_id)
        for row, total in zip(ids, totals, strict=True)
    ]


@torch.no_grad()
def stream(
    decoder: Decoder,
    memory: Any,
    prompts: Sequence[Sequence[int]],
    max_lengths: Tensor,
    *,
    sampling: Sampling,
    row_ids: Sequence[int] | None = None,
    eos_id: int | None = 3,
    rules: Sequence[Rule] = (),
) -> Iterator[Drawn]:
    """Yield the tokens of N rows as they are drawn, a step at a time.

    Args:
        decoder: any decoder, in eval mode.
        memory: what `decoder.prepare` returned for the N sources; None for a language model.
        prompts: N rows of ids to go on from, bos included where the model was trained with it; each at least one id.
        max_lengths: [N], the most tokens to generate for each row, eos included; at least 1. All runs on its device.
        sampling: how to draw.
        row_ids: names the chance of each row, 0 ... N-1 when not given. Rows with one prompt need different ones.
        eos_id: the token that ends a row; None = only the limit ends it.
        rules: which tokens may come next; they see the generated tokens without the prompt.

    Yields:
        One `Drawn` a step; a row appears in every step until it is over.

    Raises:
        ValueError: an empty prompt, numbers that do not fit, a limit below 1.
        Stuck: the rules leave a row no token.
        FloatingPointError: the logits are not finite.
    """
    _check_rows(prompts, max_lengths, row_ids)
    device = max_lengths.device
    rows = torch.arange(len(prompts), device=device)  # [n] the row of each live one
    chances = np.asarray(range(len(prompts)) if row_ids is None else row_ids, dtype=np.int64)
    state = decoder.initial_state(memory, len(prompts))
    state = _read(decoder, [prompt[:-1] for prompt in prompts], state, memory, device)
    tokens = rows.new_empty(len(prompts), 0)  # [n t]
    token = rows.new_tensor([prompt[-1] for prompt in prompts])
    while len(rows):
        logits, state = decoder(token[:, None], state, memory)
        prefix = Prefix(rows, tokens, max_lengths[rows] - tokens.shape[1])
        log_probs = allowed_log_probs(logits, prefix, rules)
        is_stuck = (log_probs == _NEVER).all(dim=1)
        if bool(is_stuck.any()):
            raise Stuck(int(rows[is_stuck.nonzero()[0, 0]]), tokens.shape[1])
        uniform = _uniform(sampling.seed, tokens.shape[1], chances[rows.cpu().numpy()])
        token = _draw(log_probs, torch.from_numpy(uniform).to(device), sampling)
        tokens = torch.cat([tokens, token[:, None]], dim=1)
        yield Drawn(rows.tolist(), token.tolist(), log_probs.gather(1, token[:, None])[:, 0].tolist())

        is_over = (token == (_NO_ID if eos_id is None else eos_id)) | (max_lengths[rows] == tokens.shape[1])
        if bool(is_over.any()):
            left = (~is_over).nonzero().flatten()
            rows, tokens, token, state, memory = select((rows, tokens, token, state, memory), left)


def _check_rows(prompts: Sequence[Sequence[int]], max_lengths: Tensor, row_ids: Sequence[int] | None) -> None:
    if len(max_lengths) != len(prompts) or (row_ids is not None and len(row_ids) != len(prompts)):
        counts = f"{len(max_lengths)} limits and {len(prompts if row_ids is None else row_ids)} row ids"
        raise ValueError(f"{len(prompts)} prompts need as many limits and row ids, got {counts}")
    if not all(len(prompt) for prompt in prompts):
        raise ValueError("a prompt needs at least one id, for instance bos")
    if bool((max_lengths < 1).any()):
        raise ValueError(f"max_lengths must be at least 1, got {int(max_lengths.min())}")


def _read(decoder: Decoder, prefixes: Sequence[Sequence[int]], state: Any, memory: Any, device: torch.device) -> Any:
    """Return the state after all but the last id of each prompt: one call, right-padded."""
    lengths = [len(prefix) for prefix in prefixes]
    longest = max(lengths, default=0)
    if longest == 0:
        return state
    ids = torch.tensor([[*prefix, *[0] * (longest - len(prefix))] for prefix in prefixes], device=device)
    is_ragged = min(lengths) < longest
    is_real = torch.arange(longest, device=device) < torch.tensor(lengths, device=device)[:, None]
    _, state = decoder(ids, state, memory, is_real if is_ragged else None)
    return state


def _uniform(seed: int, step: int, chances: np.ndarray) -> np.ndarray:
    """Return a float64 in [0, 1) for each row, a multiple of 2^-53."""
    return (mix(seed, step, _SAMPLING, chances) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _draw(log_probs: Tensor, uniform: Tensor, sampling: Sampling) -> Tensor:
    """Return one token [N] for log_probs [N V], -inf = never, and uniform [N]."""
    if sampling.is_greedy:
        return log_probs.argmax(dim=1)  # the first of equal ones, as in greedy search
    total = _weights(log_probs, sampling).cumsum(dim=1)
    # u < 1 keeps u * total[-1] below total[-1] after rounding, and a token of weight 0 never passes it first.
    return torch.searchsorted(total, uniform[:, None] * total[:, -1:], right=True)[:, 0]


def _weights(log_probs: Tensor, sampling: Sampling) -> Tensor:
    """Return what each token is drawn by, [N V] float64, not normalised; of equal tokens the lower id is cut last."""
    wide = log_probs.double()
    # The largest is 0 before the division, so that no temperature, however small, makes all of them -inf.
    weights = ((wide - wide.amax(dim=1, keepdim=True)) / sampling.temperature).softmax(dim=1)
    if sampling.top_k is not None or sampling.top_p < 1:
        ordered, ids = weights.sort(dim=1, descending=True, stable=True)
        ordered[:, sampling.top_k or ordered.shape[1] :] = 0
        weights = torch.zeros_like(weights).scatter_(1, ids, _first_share(ordered, sampling.top_p))
    if sampling.typical_p < 1:
        order = _surprise(weights).sort(dim=1, stable=True).indices
        typical = _first_share(weights.gather(1, order), sampling.typical_p)
        weights = torch.zeros_like(weights).scatter_(1, order, typical)
    return weights


def _first_share(ordered: Tensor, share: float) -> Tensor:
    """Keep the first of the weights [N V] whose sum is at least a share of them all; the rest are 0."""
    if share == 1:
        return ordered
    # A token stays while those before it have not reached the share.
    before = F.pad(ordered.cumsum(dim=1)[:, :-1], (1, 0))
    return ordered.where(before < share * ordered.sum(dim=1, keepdim=True), 0.0)


def _surprise(weights: Tensor) -> Tensor:
    """Return how far the information of each token is from that expected, |-log q_i - H| [N V]; infinite where q is 0.

    The weights need not sum to 1: a factor moves both sides of the difference by its logarithm.
    """
    information = -weights.log()
    entropy = (weights * information).nan_to_num(0.0).sum(dim=1, keepdim=True) / weights.sum(dim=1, keepdim=True)
    return (information - entropy).abs()
