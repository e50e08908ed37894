"""Texts with a short gap and a long one: "The clouds are in the sky", and "I grew up in Italy ... I speak fluent Italian".

Every text begins with a country, ends with the language that follows from it, and has sentences about things and their places
between them: so what is asked for near stands in all of it, and what is asked for far stands once, at the end. The distance of
two words is the difference of their places among the words of the text.

Some openings of some countries, and some colours of some things, are kept for the test: none of them stands in the training.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import NamedTuple

OPENINGS = ("I grew up in", "I was born in", "I once lived in", "I have friends in", "I went to school in")
ENDING = "I speak fluent"
LANGUAGES = {
    "Italy": "Italian",
    "France": "French",
    "Spain": "Spanish",
    "Germany": "German",
    "Japan": "Japanese",
    "Russia": "Russian",
    "Poland": "Polish",
    "Sweden": "Swedish",
    "Turkey": "Turkish",
    "Greece": "Greek",
}
COLOURS = ("white", "dark", "small", "old", "new")
PLACES = {
    "clouds": "sky",
    "fish": "sea",
    "books": "shelf",
    "roses": "garden",
    "cows": "meadow",
    "cups": "cupboard",
    "cars": "street",
    "coats": "wardrobe",
    "letters": "drawer",
    "boats": "harbour",
}
NEVER_KEPT = ("It rained all day .", "We waited for a while .")
SHORTEST_FILLER, LONGEST_FILLER = 5, 9
AT_ONCE = 5
"""The distance from a country to its language with nothing between "." and "I speak fluent"."""
NEAR = 4
"""The distance from a thing to its place: "clouds are in the sky"."""


class Question(NamedTuple):
    """A text up to a word, and that word."""

    text: str
    answer: str


def is_kept(first: int, second: int) -> bool:
    """Tell whether a pair (of an opening and a country, of a colour and a thing) stands in no text of the training."""
    return (first + second) % 5 == 0


def far(distance: int, draws: random.Random, *, is_test: bool) -> Question:
    """Return a text that asks for a language `distance` words behind the country.

    Raises:
        ValueError: no text has this distance: at least 5, and not 6 to 9.
    """
    opening, country = _pair(OPENINGS, list(LANGUAGES), draws, is_test=is_test)
    filler = _filler(distance - AT_ONCE, draws)
    return Question(f"{opening} {country} . {filler}{ENDING}", LANGUAGES[country])


def near(distance: int, draws: random.Random, *, is_test: bool) -> Question:
    """Return a text that asks for the place of a thing 4 words before, with the filler of `far`; it is 3 words longer."""
    opening, country = _pair(OPENINGS, list(LANGUAGES), draws, is_test=is_test)
    colour, thing = _pair(COLOURS, list(PLACES), draws, is_test=is_test)
    filler = _filler(distance - AT_ONCE, draws)
    return Question(f"{opening} {country} . {filler}The {colour} {thing} are in the", PLACES[thing])


def italy(distance: int) -> Question:
    """Return the text about Italy; the training has none in which "I grew up in Italy"."""
    filler = _filler(distance - AT_ONCE, random.Random(distance))
    return Question(f"{OPENINGS[0]} Italy . {filler}{ENDING}", "Italian")


def clouds(distance: int) -> Question:
    """Return a text with the filler of that about Italy which asks for the place of the clouds."""
    filler = _filler(distance - AT_ONCE, random.Random(distance))
    return Question(f"{OPENINGS[0]} Italy . {filler}The white clouds are in the", "sky")


def distances(longest: int, count: int, draws: random.Random) -> list[int]:
    """Draw distances from 5 to `longest`, short ones more often: the logarithm is drawn evenly."""
    found = [round(math.exp(draws.uniform(math.log(AT_ONCE), math.log(longest)))) for _ in range(count)]
    return [each if each >= AT_ONCE + SHORTEST_FILLER else AT_ONCE for each in found]


def whole(question: Question) -> str:
    """Return the text with its answer."""
    return f"{question.text} {question.answer} ."


def _pair(first: Sequence[str], second: Sequence[str], draws: random.Random, *, is_test: bool) -> tuple[str, str]:
    while True:
        i, j = draws.randrange(len(first)), draws.randrange(len(second))
        if is_kept(i, j) == is_test:
            return first[i], second[j]


def _filler(num_words: int, draws: random.Random) -> str:
    """Return sentences of so many words in all, a space behind each."""
    if 0 < num_words < SHORTEST_FILLER or num_words < 0:
        raise ValueError(f"no sentences of {num_words} words in all")
    said = []
    while num_words:
        sizes = [
            size
            for size in range(SHORTEST_FILLER, LONGEST_FILLER + 1)
            if num_words == size or num_words - size >= SHORTEST_FILLER
        ]
        size = draws.choice(sizes)
        said.append(_sentence(size, draws) + " ")
        num_words -= size
    return "".join(said)


def _sentence(num_words: int, draws: random.Random) -> str:
    """Return a sentence of 5 to 9 words, its full stop counted."""
    if num_words < 7:
        return NEVER_KEPT[num_words - SHORTEST_FILLER]
    colour, thing = _pair(COLOURS, list(PLACES), draws, is_test=False)
    has_colour = num_words == 9 or (num_words == 8 and draws.random() < 0.5)
    has_time = num_words == 9 or (num_words == 8 and not has_colour)
    return f"The {f'{colour} ' if has_colour else ''}{thing} are in the {PLACES[thing]}{' today' if has_time else ''} ."
