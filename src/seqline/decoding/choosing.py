"""One step of a beam: which continuations of the live hypotheses get the places of their lane.

A lane is one group of one sentence: lane = group * B + sentence. Continuations of a lane compete for its places by value. With
one group a value is a log-probability. With more, the groups of a sentence choose one after another, and

    value(prefix + token) = value(prefix) + log p(token | prefix) - diversity * n(token)

where n counts how often the groups before chose the token in this step. Only the choice looks at values.

*Source*: Vijayakumar et al. 2016, 1610.02424, "Diverse Beam Search", algorithm 1 with Hamming diversity.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

from seqline.decoding.constraints import Standing, fair_share
from seqline.state import map_tensors, select

_NEVER = float("-inf")


class Live(NamedTuple):
    """Hypotheses, one a row: grouped by lane, in a lane the best value first.

    lane: [N]. tokens: [N 1+t], bos first. log_probability: [N], float64, the model's own. lost: [N], float64, what diversity
    took from the value so far; None = there is none.
    """

    lane: Tensor
    tokens: Tensor
    log_probability: Tensor
    lost: Tensor | None


class Choice(NamedTuple):
    """What a step kept: `grown`, their rows before: `parent` [M]; and out of what: `values` and `ids` [N k] of each row."""

    grown: Live
    parent: Tensor
    values: Tensor
    ids: Tensor


def choose(
    live: Live, log_probs: Tensor, places: Tensor, width: int, diversity: float = 0.0, standing: Standing | None = None
) -> Choice:
    """Give the places of each lane to its best continuations.

    Args:
        live: N rows.
        log_probs: [N V], of the next token.
        places: [G B], how many each lane keeps.
        width: the most of any.
        diversity: what a token loses for each time that a group before chose it in this step.
        standing: how far the rows are with the phrases that they must contain.

    Returns:
        In each lane the best value first; of equal ones the one with the better parent, then with the better token. An
        impossible continuation never takes a place.
    """
    num_groups, num_sentences = places.shape
    num_chosen = log_probs.new_zeros(num_sentences, log_probs.shape[1]) if diversity else None
    wanted = None if standing is None else standing.advancing(log_probs.device)
    choices = []
    for group, (begin, part) in enumerate(_by_group(live, num_groups, num_sentences)):
        end = begin + len(part.lane)
        sentence, of_next = part.lane - group * num_sentences, log_probs[begin:end]
        steered = of_next if num_chosen is None else of_next - diversity * num_chosen[sentence]
        values, ids = _best_tokens(steered, width)
        banks = None
        if standing is not None and wanted is not None:
            values, ids = _with_wanted(values, ids, steered, wanted[begin:end])
            banks = standing.part(begin, end).banks(ids)
        before = part.log_probability if part.lost is None else part.log_probability - part.lost
        totals, column = _places(sentence, before[:, None] + values, places[group], banks)
        parent, token = column // ids.shape[1], ids.take(column)
        log_probability, lost = totals, None
        if num_chosen is not None:
            num_chosen.index_put_((sentence[parent], token), num_chosen.new_ones(()), accumulate=True)
            log_probability = part.log_probability[parent] + of_next[parent, token]
            lost = log_probability - totals
        tokens = torch.cat([part.tokens[parent], token[:, None]], dim=1)
        grown = Live(part.lane[parent], tokens, log_probability, lost)
        choices.append(Choice(grown, parent + begin, values, ids))
    return choices[0] if num_groups == 1 else _joined(choices)


def _by_group(live: Live, num_groups: int, num_sentences: int) -> Iterable[tuple[int, Live]]:
    """Return the rows of each group, and where they begin."""
    if num_groups == 1:
        return [(0, live)]
    inner = torch.arange(1, num_groups, device=live.lane.device) * num_sentences
    bounds = pairwise([0, *torch.searchsorted(live.lane, inner).tolist(), len(live.lane)])
    return [(begin, select(live, torch.arange(begin, end, device=inner.device))) for begin, end in bounds]


def _best_tokens(log_probs: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return values and ids [N k] of the `count` best tokens of each row, of equal values the lowest id first."""
    values, ids = log_probs.topk(min(count + 1, log_probs.shape[1]), dim=1)
    # topk leaves open which of equal values it returns. Rows that have any (hardly ever) are sorted in full.
    is_tied = ((values[:, 1:] == values[:, :-1]) & (values[:, 1:] > _NEVER)).any(dim=1)
    if bool(is_tied.any()):
        ordered = log_probs[is_tied].sort(dim=1, descending=True, stable=True)
        values[is_tied], ids[is_tied] = (part[:, : ids.shape[1]] for part in ordered)
    return values[:, :count], ids[:, :count]


def _with_wanted(values: Tensor, ids: Tensor, log_probs: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
    """Add columns for the tokens `wanted` [N A], -1 = none, that are not yet among `ids`; one twice would be impossible."""
    is_new = (wanted >= 0) & (wanted[:, :, None] != ids[:, None]).all(dim=2)
    more = wanted.clamp(min=0)
    return torch.cat([values, log_probs.gather(1, more).where(is_new, _NEVER)], 1), torch.cat([ids, more], 1)


def _places(sentence: Tensor, totals: Tensor, places: Tensor, banks: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return which continuations of one group get a place, in the order of `choose`.

    Args:
        sentence: [N], of each row.
        totals: [N k], the value of each continuation.
        places: [B], how many each sentence keeps.
        banks: [N k], of each continuation; None = all are in one.

    Returns:
        Their values, and where they stand in `totals.flatten()`.
    """
    num_rows = sentence.bincount(minlength=len(places))
    first_row = num_rows.cumsum(0) - num_rows
    rank = torch.arange(len(sentence), device=totals.device) - first_row[sentence]
    width = totals.shape[1]

    of_rank = totals.new_full((len(places), int(num_rows.max()), width), _NEVER)
    of_rank[sentence, rank] = totals
    ordered, order = of_rank.flatten(1).sort(dim=1, descending=True, stable=True)
    if banks is None:
        is_kept = (torch.arange(ordered.shape[1], device=totals.device) < places[:, None]) & (ordered > _NEVER)
    else:
        bank = banks.new_full(of_rank.shape, -1)
        bank[sentence, rank] = banks
        is_kept = fair_share(bank.flatten(1).gather(1, order).where(ordered > _NEVER, -1), places)
    owner, column = is_kept.nonzero(as_tuple=True)
    return ordered[owner, column], first_row[owner] * width + order[owner, column]


def _joined(choices: list[Choice]) -> Choice:
    """Return the choices of the groups as one."""
    first, *others = choices
    return map_tensors(lambda *same: torch.cat(same), first, *others)
