"""Twins: English sentences that are the same up to "it", which one translates as il and the other as elle (see `data.toy.twins`).

The corpus of the experiment on coreference: short sentences of the toy pair, many twins to learn, and unseen ones.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from seqline.data.toy import ToyCorpus, ToyPair, make_corpus, write_corpus
from seqline.data.toy.grow import Grower
from seqline.data.toy.make import random_twins, render
from seqline.data.toy.profiles import PROFILES
from seqline.lab.gold import GoldSplit
from seqline.lab.laboratory import Lab

PAIR, PRONOUNS = "en-fr", ("il", "elle")
NUM_PAIRS, NUM_TWINS, MOST_WORDS, NUM_CHOSEN = 6_000, 2_500, 14, 60


class Twin(NamedTuple):
    """A sentence. it, noun, other: source words. pronoun: the target word that says "it". nouns_out: those of both nouns."""

    source: str
    target: str
    it: int
    noun: int
    other: int
    pronoun: int
    nouns_out: tuple[int, ...]

    @property
    def articles(self) -> tuple[int, int]:
        """The words before the nouns."""
        return self.noun - 1, self.other - 1


def twins_of(split: GoldSplit) -> list[Twin]:
    """Return twins of a split in which two after each other share their first clause: the other's noun is the other noun."""
    found = []
    for row, (source, target) in enumerate(split.pairs):
        it, noun = split.antecedents[row]
        other = split.antecedents[row ^ 1][1]
        to = {i: [j for k, j in split.links[row].sure if k == i] for i in (it, noun, other)}
        pronoun = next(j for j in to[it] if target.split()[j] in PRONOUNS)
        found.append(Twin(source, target, it, noun, other, pronoun, tuple(sorted(to[noun] + to[other]))))
    return found


def seen_twins(seed: int, count: int, seen: set[str]) -> Iterator[ToyPair]:
    """Yield twins whose nouns and idioms may be learned, two with the same first clause after each other."""
    profile, draws = PROFILES[PAIR], random.Random(seed)
    grower = Grower(profile, draws)
    while count > 0:
        pairs = [render(meaning, profile) for meaning in random_twins(grower, profile, False)]
        is_whole = all(pair.antecedent is not None for pair in pairs)
        if is_whole and not any(pair.source in seen for pair in pairs):
            seen.update(pair.source for pair in pairs)
            count -= len(pairs)
            yield from pairs


def make(folder: Path, _lab: Lab) -> None:
    """Write the corpus: short sentences of the toy pair and many twins to learn, unseen twins in `pronouns`.

    The validation set is of twins that could have been learned and were not; heads are chosen on it.
    """
    base = make_corpus(PAIR, NUM_PAIRS, seed=1)
    short = [pair for pair in base.train if len(pair.source.split()) <= MOST_WORDS]
    seen = {pair.source for part in (base.train, base.valid, base.test, base.pronoun_test) for pair in part}
    twins = list(seen_twins(2, NUM_TWINS + 2 * NUM_CHOSEN, seen))
    valid = twins[: 2 * NUM_CHOSEN]
    write_corpus(ToyCorpus(short + twins[2 * NUM_CHOSEN :], valid, base.test, base.pronoun_test), folder)
