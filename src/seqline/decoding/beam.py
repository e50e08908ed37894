"""Beam search over a batch: keep the K most probable prefixes of each sentence until nothing better can come.

Each step calls the decoder once for the live hypotheses of all sentences. The continuations of a sentence, those that
end it included, compete for its K places. One that ends keeps its place for good, so the live beam of its sentence
shrinks; with K = 1 this is greedy search. A sentence is over when no live hypothesis is left, when it reaches its
length limit (the live ones are cut there), or when no live hypothesis can any more enter its `n_best` results.
Ended hypotheses and sentences leave the batch at once.

*Source*: Freitag and Al-Onaizan 2017, "Beam Search Strategies for Neural Machine Translation" (the beam that shrinks).
*Differs*: the search also stops as soon as it is proved that the rest cannot change the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from seqline.decoding.hypothesis import AVERAGE, Hypothesis, Penalty
from seqline.decoding.rules import Rule, allowed_log_probs
from seqline.state import Decoder, select
from seqline.watch import show

_NEVER = float("-inf")


class _Live(NamedTuple):
    """The live hypotheses, one a row: grouped by sentence, in a sentence the most probable first.

    sentence: [N]. tokens: [N 1+t], bos first. log_probability: [N], float64.
    """

    sentence: Tensor
    tokens: Tensor
    log_probability: Tensor


class _Results:
    """The hypotheses that have ended, and what a live one must beat."""

    def __init__(self, max_lengths: Tensor, n_best: int, penalty: Penalty) -> None:
        self.n_best, self.penalty = n_best, penalty
        self.found: list[list[Hypothesis]] = [[] for _ in range(len(max_lengths))]
        divisors = [penalty.divisor(length) for length in max_lengths.tolist()]
        self.largest_divisor = torch.tensor(divisors, dtype=torch.float64, device=max_lengths.device)  # [B]
        self.to_beat = torch.full_like(self.largest_divisor, _NEVER)  # [B], the score of the n-th best

    def add(self, ended: _Live, is_finished: Tensor) -> None:
        """Keep hypotheses that have ended; few do in a step."""
        for row, b in enumerate(ended.sentence.tolist()):
            ids, total = tuple(ended.tokens[row, 1:].tolist()), ended.log_probability[row].item()
            score = self.penalty.score(total, len(ids))
            self.found[b].append(Hypothesis(ids, total, score, bool(is_finished[row])))
            if len(self.found[b]) >= self.n_best:
                self.to_beat[b] = self.best(b)[-1].score

    def can_improve(self, live: _Live) -> Tensor:
        """Return for each row whether its sentence may still get a better result from any of its rows.

        A log-probability never rises and is at most 0, so the best future of a hypothesis is to keep its
        log-probability and to reach the largest divisor. An equal score comes too late to enter.
        """
        highest = torch.full_like(self.to_beat, _NEVER)
        highest = highest.scatter_reduce(0, live.sentence, live.log_probability, "amax")
        return (highest / self.largest_divisor > self.to_beat)[live.sentence]

    def best(self, b: int) -> list[Hypothesis]:
        """Return the n best of sentence b, falling score; of equal scores the one that ended first."""
        return sorted(self.found[b], key=lambda hypothesis: -hypothesis.score)[: self.n_best]


@torch.no_grad()
def beam(
    decoder: Decoder,
    memory: Any,
    max_lengths: Tensor,
    *,
    beam_size: int,
    n_best: int = 1,
    penalty: Penalty = AVERAGE,
    bos_id: int = 2,
    eos_id: int = 3,
    rules: Sequence[Rule] = (),
) -> list[list[Hypothesis]]:
    """Return the best hypotheses of each of B sentences.

    Args:
        decoder: any decoder, in eval mode.
        memory: what `decoder.prepare` returned for the B sources.
        max_lengths: [B], the most tokens of each sentence, eos included; at least 1. The search runs on its device.
        beam_size: K, the places of a sentence.
        n_best: how many hypotheses to return, at most `beam_size`.
        penalty: how hypotheses of different lengths compare.
        bos_id: first decoder input.
        eos_id: the token that ends a hypothesis.
        rules: which tokens may come next.

    Returns:
        A list for each sentence, in the order of the batch: distinct hypotheses, falling score, 1 to `n_best` of them.

    Raises:
        ValueError: a number out of range, or the rules leave a sentence no token.
        FloatingPointError: the logits are not finite.
    """
    if not 1 <= n_best <= beam_size:
        raise ValueError(f"need 1 <= n_best <= beam_size, got n_best {n_best} and beam_size {beam_size}")
    if bool((max_lengths < 1).any()):
        raise ValueError(f"max_lengths must be at least 1, got {int(max_lengths.min())}")
    results = _Results(max_lengths, n_best, penalty)
    live = _start(max_lengths, bos_id)
    places = torch.full_like(live.sentence, beam_size)  # [B], those not taken by a finished hypothesis
    state = decoder.initial_state(memory, len(places))
    while len(live.sentence):
        logits, state = decoder(live.tokens[:, -1:], state, memory)
        log_probs = allowed_log_probs(logits, live.tokens[:, 1:], rules)
        values, ids = _best_tokens(log_probs, beam_size)
        grown, parent = _grow(live, values, ids, places)
        is_finished = grown.tokens[:, -1] == eos_id
        has_ended = is_finished | (max_lengths[grown.sentence] == grown.tokens.shape[1] - 1)
        if bool(has_ended.any()):
            rows = has_ended.nonzero().flatten()
            results.add(select(grown, rows), is_finished[rows])
            places = places - grown.sentence[rows].bincount(minlength=len(places))
        rows = (~has_ended).nonzero().flatten()
        rows = rows[results.can_improve(select(grown, rows))]
        show("beam", values=values, ids=ids, parent=parent, has_ended=has_ended, rows=rows, **grown._asdict())
        before, live, parent = live, select(grown, rows), parent[rows]
        state, memory = _follow(state, memory, before, live, parent)
    if not all(results.found):
        raise ValueError(f"the rules leave no token to sentence {results.found.index([])} of the batch")
    return [results.best(b) for b in range(len(places))]


def _start(max_lengths: Tensor, bos_id: int) -> _Live:
    """Return one empty hypothesis for each sentence."""
    sentence = torch.arange(len(max_lengths), device=max_lengths.device)
    tokens = torch.full_like(sentence, bos_id)[:, None]
    return _Live(sentence, tokens, torch.zeros_like(sentence, dtype=torch.float64))


def _best_tokens(log_probs: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return values and ids [N k] of the `count` best tokens of each row, of equal values the lowest id first."""
    values, ids = log_probs.topk(min(count + 1, log_probs.shape[1]), dim=1)
    # topk leaves open which of equal values it returns. Rows that have any (hardly ever) are sorted in full.
    is_tied = ((values[:, 1:] == values[:, :-1]) & (values[:, 1:] > _NEVER)).any(dim=1)
    if bool(is_tied.any()):
        ordered = log_probs[is_tied].sort(dim=1, descending=True, stable=True)
        values[is_tied], ids[is_tied] = (part[:, : ids.shape[1]] for part in ordered)
    return values[:, :count], ids[:, :count]


def _grow(live: _Live, values: Tensor, ids: Tensor, places: Tensor) -> tuple[_Live, Tensor]:
    """Give the places of each sentence to its best continuations.

    Args:
        live: N rows.
        values: [N k], log-probability of each continuation.
        ids: [N k], its token.
        places: [B], how many each sentence keeps.

    Returns:
        The continuations and their parents (rows of `live`), grouped by sentence, most probable first; of equal ones
        the one with the better parent, then with the better token. An impossible continuation never takes a place.
    """
    num_rows = live.sentence.bincount(minlength=len(places))
    first_row = num_rows.cumsum(0) - num_rows
    rank = torch.arange(len(live.sentence), device=ids.device) - first_row[live.sentence]
    width = ids.shape[1]

    totals = live.log_probability.new_full((len(places), int(num_rows.max()), width), _NEVER)
    totals[live.sentence, rank] = live.log_probability[:, None] + values
    totals, order = totals.flatten(1).sort(dim=1, descending=True, stable=True)
    place = torch.arange(totals.shape[1], device=ids.device)
    sentence, column = ((place < places[:, None]) & (totals > _NEVER)).nonzero(as_tuple=True)

    picked = order[sentence, column]
    parent = first_row[sentence] + picked // width
    token = ids[parent, picked % width]
    tokens = torch.cat([live.tokens[parent], token[:, None]], dim=1)
    return _Live(sentence, tokens, totals[sentence, column]), parent


def _follow(state: Any, memory: Any, before: _Live, live: _Live, parent: Tensor) -> tuple[Any, Any]:
    """Bring state and memory to the rows of `live`, whose parents are rows of `before`; copy only what changes."""
    if not torch.equal(before.sentence, live.sentence):  # rows of one sentence share their memory
        memory = select(memory, parent)
    if not torch.equal(parent, torch.arange(len(before.sentence), device=parent.device)):
        state = select(state, parent)
    return state, memory
