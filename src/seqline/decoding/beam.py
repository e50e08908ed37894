"""Beam search over a batch: keep the K most probable prefixes of each sentence until nothing better can come.

Each step calls the decoder once for the live hypotheses of all sentences. The continuations of a sentence, those that
end it included, compete for its K places. One that ends keeps its place for good, so the live beam of its sentence
shrinks; with K = 1 this is greedy search. A sentence is over when no live hypothesis is left, when it reaches its
length limit (the live ones are cut there), or when no live hypothesis can any more enter its `n_best` results.
Ended hypotheses and sentences leave the batch at once.

The places may be divided among groups that are kept from choosing what others chose (`choosing`), and the outputs may be
told to contain phrases (`constraints`). Both bend the choice alone: results are compared by the model's own score.

*Source*: Freitag and Al-Onaizan 2017, "Beam Search Strategies for Neural Machine Translation" (the beam that shrinks).
*Differs*: the search also stops as soon as it is proved that the rest cannot change the result. A group that can no longer
enter the results goes on while a later group of its sentence can: what it chooses has a part in what that one chooses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from seqline.decoding.choosing import Choice, Live, choose
from seqline.decoding.constraints import Must, Standing
from seqline.decoding.hypothesis import AVERAGE, MARKS, Hypothesis, Marks, Penalty
from seqline.decoding.rules import Prefix, Rule, Stuck, allowed_log_probs
from seqline.errors import UserError
from seqline.state import Decoder, select
from seqline.watch import show

_NEVER = float("-inf")


@dataclass(frozen=True)
class Beam:
    """How a beam searches.

    size: K, the places of a sentence. n_best: how many hypotheses to return, at most `size`. penalty: how hypotheses of
    different lengths compare. num_groups: into how many equal groups the places are divided. diversity: what a token
    loses, in nats, for each time that a group before chose it in the same step.
    """

    size: int
    n_best: int = 1
    penalty: Penalty = AVERAGE
    num_groups: int = 1
    diversity: float = 0.0

    def __post_init__(self) -> None:
        if self.size < 1:
            raise UserError(f"must be at least 1, got {self.size}", where="size")
        if not 1 <= self.n_best <= self.size:
            raise UserError(f"must be from 1 to the size of the beam, {self.size}, got {self.n_best}", where="n_best")
        if self.num_groups < 1 or self.size % self.num_groups:
            what = f"must divide the size of the beam, {self.size}, got {self.num_groups}"
            raise UserError(what, where="num_groups", fix=f"one of {_divisors(self.size)}")
        if not (math.isfinite(self.diversity) and self.diversity >= 0):
            raise UserError(f"must be a number from 0 up, got {self.diversity}", where="diversity")
        if self.diversity and self.num_groups == 1:
            raise UserError("needs several groups, got 1", where="diversity", fix="set num_groups")


def _divisors(size: int) -> str:
    return ", ".join(str(number) for number in range(1, size + 1) if size % number == 0)


class _Results:
    """The hypotheses of each sentence that have ended, all different, and what a live one must beat."""

    def __init__(self, max_lengths: Tensor, how: Beam) -> None:
        self.how = how
        self.found: list[dict[tuple[int, ...], Hypothesis]] = [{} for _ in range(len(max_lengths))]
        self.nothing = torch.full(
            (how.num_groups * len(max_lengths),), _NEVER, dtype=torch.float64, device=max_lengths.device
        )
        divisors = [how.penalty.divisor(length) for length in max_lengths.tolist()]
        self.largest_divisor = torch.tensor(divisors, dtype=torch.float64, device=max_lengths.device)  # [B]
        self.to_beat = torch.full_like(self.largest_divisor, _NEVER)  # [B], the score of the n-th best

    def add(self, ended: Live, is_finished: Tensor) -> None:
        """Keep hypotheses that have ended; few do in a step. What two groups found counts once."""
        for row, lane in enumerate(ended.lane.tolist()):
            found = self.found[b := lane % len(self.found)]
            ids, total = tuple(ended.tokens[row, 1:].tolist()), ended.log_probability[row].item()
            score = self.how.penalty.score(total, len(ids))
            found.setdefault(ids, Hypothesis(ids, total, score, bool(is_finished[row])))
            if len(found) >= self.how.n_best:
                self.to_beat[b] = self.best(b)[-1].score

    def can_matter(self, live: Live) -> Tensor:
        """Return for each row whether its lane may still get a better result, or another lane because of its choices.

        A log-probability never rises and is at most 0, so the best future of a hypothesis is to keep its
        log-probability and to reach the largest divisor. An equal score comes too late to enter. Where groups look at
        those before them, a lane matters as long as one behind it does.
        """
        highest = self.nothing.scatter_reduce(0, live.lane, live.log_probability, "amax").view(self.how.num_groups, -1)
        can_improve = highest / self.largest_divisor > self.to_beat
        if self.how.diversity:
            can_improve = can_improve.flip(0).cummax(dim=0).values.flip(0)
        return can_improve.flatten()[live.lane]

    def best(self, b: int) -> list[Hypothesis]:
        """Return the n best of sentence b, falling score; of equal scores the one that ended first."""
        return sorted(self.found[b].values(), key=lambda hypothesis: -hypothesis.score)[: self.how.n_best]


@torch.no_grad()
def beam(
    decoder: Decoder,
    memory: Any,
    max_lengths: Tensor,
    how: Beam,
    *,
    rules: Sequence[Rule] = (),
    must: Must | None = None,
    marks: Marks = MARKS,
) -> list[list[Hypothesis]]:
    """Return the best hypotheses of each of B sentences.

    Args:
        decoder: any decoder, in eval mode.
        memory: what `decoder.prepare` returned for the B sources.
        max_lengths: [B], the most tokens of each sentence, eos included; at least 1. The search runs on its device.
        how: size, groups, penalty and number of results.
        rules: which tokens may come next.
        must: what the outputs must contain; the rules bind here too.
        marks: the ids that begin and end a hypothesis.

    Returns:
        A list for each sentence, in the order of the batch: distinct hypotheses, falling score, 1 to `how.n_best` of them. All
        contain the phrases of `must` for which the length limit has room (`Must.unmet` names the others).

    Raises:
        ValueError: a limit is below 1.
        Stuck: the rules leave a sentence no token.
        FloatingPointError: the logits are not finite.
    """
    _check(max_lengths, must, marks.eos)
    results, live = _Results(max_lengths, how), _start(max_lengths, how, marks.bos)
    sentence = torch.arange(len(max_lengths), device=max_lengths.device).repeat(how.num_groups)  # of each lane
    limits = max_lengths[sentence]  # of each lane
    width = how.size // how.num_groups
    places = torch.full_like(sentence, width)  # of each lane, those not taken by a finished hypothesis
    if how.num_groups > 1:
        memory = select(memory, sentence)
    state = decoder.initial_state(memory, len(places))
    while len(live.lane):
        logits, state = decoder(live.tokens[:, -1:], state, memory)
        tokens = live.tokens[:, 1:]
        prefix = Prefix(sentence[live.lane], tokens, limits[live.lane] - tokens.shape[1])
        log_probs, standing = _allowed(logits, prefix, rules, must, marks.eos)
        choice = choose(live, log_probs, places.view(how.num_groups, -1), width, how.diversity, standing)
        grown, parent = choice.grown, choice.parent
        is_finished = grown.tokens[:, -1] == marks.eos
        has_ended = is_finished | (limits[grown.lane] == grown.tokens.shape[1] - 1)
        if bool(has_ended.any()):
            rows = has_ended.nonzero().flatten()
            results.add(select(grown, rows), is_finished[rows])
            places = places - grown.lane[rows].bincount(minlength=len(places))
        rows = (~has_ended).nonzero().flatten()
        rows = rows[results.can_matter(select(grown, rows))]
        _show(choice, has_ended, rows)
        before, live, parent = live, select(grown, rows), parent[rows]
        state, memory = _follow(state, memory, before, live, parent)
    if not all(results.found):
        raise Stuck(results.found.index({}))
    return [results.best(b) for b in range(len(max_lengths))]


def _check(max_lengths: Tensor, must: Must | None, eos: int) -> None:
    if bool((max_lengths < 1).any()):
        raise ValueError(f"max_lengths must be at least 1, got {int(max_lengths.min())}")
    if must is not None:
        must.check(len(max_lengths), eos)


def _allowed(
    logits: Tensor, prefix: Prefix, rules: Sequence[Rule], must: Must | None, eos: int
) -> tuple[Tensor, Standing | None]:
    """Return the log-probabilities [N V] of what may come next, and where the rows stand with what must come."""
    log_probs = allowed_log_probs(logits, prefix, rules)
    if must is None:
        return log_probs, None
    standing = must.read(prefix)
    return standing.allow(log_probs, eos), standing


def _start(max_lengths: Tensor, how: Beam, bos_id: int) -> Live:
    """Return one empty hypothesis for each lane."""
    lane = torch.arange(how.num_groups * len(max_lengths), device=max_lengths.device)
    nothing = torch.zeros_like(lane, dtype=torch.float64)
    return Live(lane, torch.full_like(lane, bos_id)[:, None], nothing, nothing if how.diversity else None)


def _show(choice: Choice, has_ended: Tensor, rows: Tensor) -> None:
    (lane, tokens, log_probability, _), parent, values, ids = choice
    of_grown = {"lane": lane, "tokens": tokens, "log_probability": log_probability}
    show("beam", values=values, ids=ids, parent=parent, has_ended=has_ended, rows=rows, **of_grown)


def _follow(state: Any, memory: Any, before: Live, live: Live, parent: Tensor) -> tuple[Any, Any]:
    """Bring state and memory to the rows of `live`, whose parents are rows of `before`; copy only what changes."""
    if not torch.equal(before.lane, live.lane):  # rows of one lane share their memory
        memory = select(memory, parent)
    if not torch.equal(parent, torch.arange(len(before.lane), device=parent.device)):
        state = select(state, parent)
    return state, memory
