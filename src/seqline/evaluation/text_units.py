"""What a metric counts in raw text: words between white space, characters where no spaces are written, n-grams.

Text without word spaces has no words to count without a segmenter, so a character is a unit there. The references decide
for both sides, so that two systems on one test set are counted alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from seqline.data.words import is_of_word
from seqline.evaluation.text_checks import is_unsegmented

Unit = TypeVar("Unit")


def splitter(like: Sequence[str]) -> Callable[[str], list[str]]:
    """Return what splits a line into units, as `like` is written: at white space, or into characters but white space."""
    return _characters if is_unsegmented(like) else str.split


def split_units(*sides: Sequence[str], like: Sequence[str], lowercase: bool = False) -> tuple[list[list[str]], ...]:
    """Split lines at white space, or into characters (white space left out) where `like` is written without spaces.

    Args:
        sides: Lines, as many lists as there are sides.
        like: The lines that decide for all sides: the references, or where there are none the lines themselves.
        lowercase: Lower all letters first.

    Returns:
        For each side the units of every line.
    """
    split = splitter(like)
    return tuple([split(line.lower() if lowercase else line) for line in lines] for lines in sides)


def unit_name(like: Sequence[str]) -> str:
    """Return what `split_units` splits into: "words" or "characters"."""
    return "characters" if is_unsegmented(like) else "words"


def letters_only(line: str) -> str:
    """Return a line in lower case in which all but letters, digits and their marks is a space."""
    return line.lower().translate(_LETTERS)


def ngrams(units: Sequence[Unit], n: int) -> Iterator[tuple[Unit, ...]]:
    """Yield all runs of n units, in their order."""
    return zip(*(units[i:] for i in range(n)), strict=False)


def num_common(ours: Sequence[Unit], theirs: Sequence[Unit]) -> int:
    """Count the units that both sides hold, each as often as the side that has fewer of it: Σ min(count, count)."""
    return (Counter(ours) & Counter(theirs)).total()


def _characters(line: str) -> list[str]:
    return [character for character in line if not character.isspace()]


class _Letters(dict[int, int]):
    """Code point -> itself where it is part of a word, else a space; filled as characters come, for `str.translate`."""

    def __missing__(self, code: int) -> int:
        character = chr(code)
        return self.setdefault(code, code if is_of_word(character) else ord(" "))


_LETTERS = _Letters()
