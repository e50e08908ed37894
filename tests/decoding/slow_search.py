"""A beam search of one sentence with plain lists, up to the limit: groups, diversity and phrases, as the papers say it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import zip_longest
from typing import NamedTuple

import torch

from seqline.decoding import Beam, Hypothesis

from .table_model import RandomDecoder

Ids = tuple[int, ...]


class Wanted(NamedTuple):
    """The phrases of a sentence; begins: for each id whether it begins a word."""

    phrases: tuple[Ids, ...] = ()
    begins: tuple[bool, ...] | None = None

    @property
    def num_tokens(self) -> int:
        """All tokens of the phrases."""
        return sum(map(len, self.phrases))

    def met(self, ids: Ids) -> int:
        """Return the most tokens of phrases that stand in `ids`; at its end one may be cut."""
        return most_met(ids, self.phrases, self.begins)

    def holds(self, ids: Ids) -> bool:
        """Return whether every phrase stands in `ids`."""
        return self.met(ids) == self.num_tokens


@cache
def most_met(ids: Ids, phrases: tuple[Ids, ...], begins: tuple[bool, ...] | None) -> int:
    """Try every phrase at every place."""
    if not ids:
        return 0
    found = [most_met(ids[1:], phrases, begins)]
    for i, phrase in enumerate(phrases):
        behind = ids[len(phrase) :]
        if ids[: len(phrase)] == phrase and not (begins and behind and not begins[behind[0]]):
            found.append(len(phrase) + most_met(behind, (*phrases[:i], *phrases[i + 1 :]), begins))
        elif len(ids) < len(phrase) and phrase[: len(ids)] == ids:
            found.append(len(ids))
    return max(found)


NOTHING = Wanted()


class Grown(NamedTuple):
    """A prefix, its log-probability and the value that it is chosen by."""

    ids: Ids
    total: float
    value: float


def slow_search(
    decoder: RandomDecoder, source: Sequence[int], limit: int, how: Beam, wanted: Wanted = NOTHING
) -> list[Hypothesis]:
    """Return all that the search finds, falling score; each prefix is scored by teacher forcing."""
    eos, width = decoder.bos_id - 1, how.size // how.num_groups
    memory = decoder.encode([source])

    @cache
    def log_probs(ids: Ids) -> list[float]:
        logits, _ = decoder(torch.tensor([[decoder.bos_id, *ids]]), decoder.initial_state(memory, 1), memory)
        return logits[0, -1].log_softmax(-1).tolist()

    groups = [[Grown((), 0.0, 0.0)] for _ in range(how.num_groups)]
    places = [width] * how.num_groups
    ended: list[Grown] = []
    for step in range(1, limit + 1):
        chosen: Counter[int] = Counter()
        for g, live in enumerate(groups):
            candidates: list[Grown] = []
            for one in live:
                of_one = [
                    Grown((*one.ids, i), one.total + p, one.value + (p - how.diversity * chosen[i]))
                    for i, p in enumerate(log_probs(one.ids))
                    if wanted.num_tokens - wanted.met((*one.ids, i)) <= (0 if i == eos else limit - step)
                ]
                of_one.sort(key=lambda grown: -grown.value)
                candidates += of_one[:width]
                candidates += [grown for grown in of_one[width:] if wanted.met(grown.ids) > wanted.met(one.ids)]
            kept = share(sorted(candidates, key=lambda grown: -grown.value), places[g], wanted)
            chosen += Counter(grown.ids[-1] for grown in kept)
            ended += [grown for grown in kept if grown.ids[-1] == eos or step == limit]
            groups[g] = [grown for grown in kept if grown.ids[-1] != eos]
            places[g] -= sum(grown.ids[-1] == eos for grown in kept)
    found = {
        one.ids: Hypothesis(one.ids, one.total, how.penalty.score(one.total, len(one.ids)), one.ids[-1] == eos)
        for one in ended
    }
    return sorted(found.values(), key=lambda hypothesis: -hypothesis.score)


def share(candidates: Sequence[Grown], places: int, wanted: Wanted) -> list[Grown]:
    """Return the candidates, best first, that get a place: in turns, each bank its next one, the highest bank first."""
    banks: dict[int, list[Grown]] = {}
    for one in candidates:
        banks.setdefault(wanted.met(one.ids), []).append(one)
    turns = zip_longest(*(banks[bank] for bank in sorted(banks, reverse=True)))
    kept = [one for turn in turns for one in turn if one is not None][:places]
    return [one for one in candidates if one in kept]
