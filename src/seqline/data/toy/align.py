"""Words with the meaning nodes that they say, and the gold alignment that follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

Key = tuple[object, str]


class Word(NamedTuple):
    """One written word and the keys of what it says: (node of the meaning, aspect of it)."""

    text: str
    keys: tuple[Key, ...]


def words(text: str, *keys: Key) -> list[Word]:
    """Return the words of a text, every one with the same keys."""
    return [Word(part, keys) for part in text.split()]


def merged(text: str, first: Word, second: Word) -> Word:
    """Return one word that says what two words say ("de" + "le" = "du")."""
    return Word(text, first.keys + tuple(key for key in second.keys if key not in first.keys))


def text_of(sentence: Sequence[Word]) -> str:
    """Return the sentence with its words separated by spaces."""
    return " ".join(word.text for word in sentence)


def links(source: Sequence[Word], target: Sequence[Word]) -> tuple[tuple[int, int], ...]:
    """Return the pairs (source index, target index) of words that share a key, in order."""
    places: dict[Key, list[int]] = {}
    for j, word in enumerate(target):
        for key in word.keys:
            places.setdefault(key, []).append(j)
    found = {(i, j) for i, word in enumerate(source) for key in word.keys for j in places.get(key, ())}
    return tuple(sorted(found))


def index_of(sentence: Sequence[Word], key: Key) -> int:
    """Return the index of the first word with this key, -1 where no word has it."""
    return next((i for i, word in enumerate(sentence) if key in word.keys), -1)
