"""Documents that can only be learned while they are read: people with habits that are drawn anew for each document.

"Zora sings . Adam swims . Zora sings ." - who does what holds in one document alone. A person is met by chance, some often and
some late, so there is something to learn up to the end; an ideal reader knows the habit of everybody met before.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

_PEOPLE = "Adam Berta Carl Dora Emil Fanny Gustav Hanna Igor Julia Karim Laura Mario Nora Oskar Zora"
_HABITS = "sings swims dances paints reads writes sleeps laughs cooks runs climbs rows plays works sews hunts"
PEOPLE, HABITS = tuple(_PEOPLE.split()), tuple(_HABITS.split())
IN_A_DOCUMENT = 10
"""So many of the people are in one document."""
WORDS_A_SENTENCE = 3


def document(num_sentences: int, draws: random.Random) -> str:
    """Return a document; each of its people has one habit in it, and no two have the same."""
    habits = dict(zip(draws.sample(PEOPLE, IN_A_DOCUMENT), draws.sample(HABITS, IN_A_DOCUMENT), strict=True))
    people = list(habits)
    return " ".join(f"{person} {habits[person]} ." for person in draws.choices(people, k=num_sentences))


def ideal_nats(words: Sequence[str]) -> list[float]:
    """Return the nats of each word of a document for a reader who knows how documents are made and remembers all.

    A person met before is as probable as any other of the document's, one not met yet as any of those left; a habit is sure
    where its person was met, else any of those nobody has.
    """
    known: dict[str, str] = {}
    nats = []
    for place in range(0, len(words), WORDS_A_SENTENCE):
        person, habit = words[place : place + 2]
        num_new = len(PEOPLE) - len(known)
        is_known = person in known
        share_of_new = (IN_A_DOCUMENT - len(known)) / IN_A_DOCUMENT
        nats.append(math.log(IN_A_DOCUMENT) if is_known else math.log(num_new / share_of_new))
        nats.append(0.0 if is_known else math.log(len(HABITS) - len(known)))
        nats.append(0.0)
        known[person] = habit
    return nats
