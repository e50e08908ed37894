"""Documents that can only be learned while they are read: people with habits that are drawn anew for each document.

"Zora sings . Adam swims . Zora sings ." - who does what holds in one document alone. Who was met often is met often again, and
ever more rarely somebody new comes: with probability a / (n + a) after n sentences. So there is much to gain from a short
memory, and something to learn up to the end.

*Source*: Hoppe 1984, Polya-like urns and the Ewens sampling formula (the urn that people are drawn from).
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence

_PEOPLE = (
    "Adam Berta Carl Dora Emil Fanny Gustav Hanna Igor Julia Karim Laura Mario Nora Oskar Paula Quirin Rosa Samuel Tina "
    "Udo Vera Walter Xenia Yannis Zora Anton Bella Chris Dina Erik Flora"
)
_HABITS = (
    "sings swims dances paints reads writes sleeps laughs cooks runs climbs rows plays works sews hunts rides skates sails "
    "counts prays draws digs jumps dives bakes weaves films teaches learns travels whistles"
)
PEOPLE, HABITS = tuple(_PEOPLE.split()), tuple(_HABITS.split())
NEWCOMERS = 3.0
"""The a of the urn: how readily somebody new comes."""
WORDS_A_SENTENCE = 3


def document(num_sentences: int, draws: random.Random) -> str:
    """Return a document; each of its people has one habit in it, and no two have the same."""
    new = list(zip(draws.sample(PEOPLE, len(PEOPLE)), draws.sample(HABITS, len(HABITS)), strict=True))
    met: list[tuple[str, str]] = []
    for _ in range(num_sentences):
        is_new = draws.random() * (len(met) + NEWCOMERS) < NEWCOMERS
        met.append(new.pop() if new and (is_new or not met) else draws.choice(met))
    return " ".join(f"{person} {habit} ." for person, habit in met)


def ideal_nats(words: Sequence[str]) -> list[float]:
    """Return the nats of each word of a document for a reader who knows how documents are made and remembers all of this one.

    p(somebody met m times of n) = m / (n + a), p(somebody new) = a / (n + a) / number of people not met; the habit of somebody
    met is sure, that of somebody new any of those nobody has. Once all were met, p = m / n.
    """
    times: Counter[str] = Counter()
    nats = []
    for n, person in enumerate(words[::WORDS_A_SENTENCE]):
        num_new = len(PEOPLE) - len(times)
        total = n + NEWCOMERS if num_new else n
        share = times[person] if times[person] else NEWCOMERS / num_new
        nats += [math.log(total / share), 0.0 if times[person] else math.log(num_new), 0.0]
        times[person] += 1
    return nats
