"""Plain text cut into atoms, between which a mark may stand: words, the signs at their edges, placeholders.

In scripts without word spaces each letter is an atom of its own.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from enum import Enum
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import NamedTuple

from seqline.evaluation.text_checks import is_unsegmented
from seqline.markup.marks import Kind, find_marks

_RUN = re.compile(r"\S+")
_NUM_PASSES = 20  # a text that still makes new marks after that loses all signs of marks
_SIGNS_OF_MARKS = re.compile(r"[<>{}%$#@]|://|www\.", re.IGNORECASE)


class Grain(Enum):
    """What an element must enclose one of: a word; a word or a sign; a character."""

    WORDS = 0
    SIGNS = 1
    CHARACTERS = 2


class Atom(NamedTuple):
    """text[start:end]. word: which white-space word it belongs to. is_sign: punctuation. is_fixed: a placeholder."""

    start: int
    end: int
    word: int
    is_sign: bool
    is_fixed: bool


class Words(NamedTuple):
    """A text, and for each of its characters the number of the white-space word that stands there."""

    text: str
    at: tuple[int, ...]


class Cut:
    """A text in atoms. Units are the atoms that an element must enclose one of.

    Args:
        words: the text.
        fixed: where its placeholders stand.
        breaks: places where an atom must end.
        grain: what a unit is.
    """

    def __init__(
        self, words: Words, fixed: Sequence[tuple[int, int]], breaks: Collection[int] = (), grain: Grain = Grain.WORDS
    ) -> None:
        self.text, self.grain = words.text, grain
        self.atoms = _atoms(words, fixed, breaks, grain)
        self.units = [n for n, atom in enumerate(self.atoms) if grain is not Grain.WORDS or not atom.is_sign]
        self._firsts, self._lasts = self._hosts()
        sizes = [atom.end - atom.start for atom in self.atoms]
        total = max(1, sum(sizes))
        self._before = [done / total for done in accumulate(sizes, initial=0)]
        self._sizes = [size / total for size in sizes]

    def atom_text(self, atom: int) -> str:
        """Return what an atom spells."""
        return self.text[self.atoms[atom].start : self.atoms[atom].end]

    def space_before(self, atom: int) -> str:
        """Return the white space between an atom and the one before it."""
        return self.text[self.atoms[atom - 1].end : self.atoms[atom].start] if atom else ""

    def middle(self, atom: int) -> float:
        """Return where an atom stands, 0 to 1, by characters."""
        return self._before[atom] + self._sizes[atom] / 2

    def edge(self, atom: int) -> float:
        """Return where an atom begins, 0 to 1, by characters; 1 for the end of the text."""
        return self._before[atom]

    def reach(self, first: int, last: int, with_lead: bool, with_trail: bool) -> tuple[int, int]:
        """Return the atoms of units first to last, half open, with the signs in front of the first and behind the last."""
        start = self._firsts[first] if with_lead else self.units[first]
        return start, self._lasts[last - 1] if with_trail else self.units[last - 1] + 1

    def place_of(self, unit: int) -> int:
        """Return the atom that a unit is; the end where there is no such unit."""
        return self.units[unit] if unit < len(self.units) else len(self.atoms)

    def _hosts(self) -> tuple[list[int], list[int]]:
        """Return for each unit the first and last atom (half open) that belong to it: signs of its own word, or alone."""
        firsts = list(self.units)
        lasts = [n + 1 for n in self.units]
        for k, (unit, follower) in enumerate(pairwise([-1, *self.units, len(self.atoms)])):
            between = range(unit + 1, follower)
            split = next((n for n in between if self._leads(n, unit, follower)), follower)
            if k > 0:
                lasts[k - 1] = split
            if k < len(self.units):
                firsts[k] = split if k > 0 else 0
        return firsts, lasts

    def _leads(self, sign: int, before: int, after: int) -> bool:
        """Tell whether a sign between two units belongs to the one behind it."""
        if after == len(self.atoms):
            return False
        if unicodedata.category(self.text[self.atoms[sign].start]) in ("Ps", "Pi"):
            return True
        word = self.atoms[sign].word
        return self.atoms[after].word == word and (before < 0 or self.atoms[before].word != word)


def words_in(text: str) -> Words:
    """Return a text with its white-space words, counted as `text.split()` does."""
    at: list[int] = []
    number, is_inside = -1, False
    for character in text:
        number += not character.isspace() and not is_inside
        is_inside = not character.isspace()
        at.append(max(0, number))
    return Words(text, tuple(at))


def without_marks(text: str, keep_placeholders: bool, strict: bool = False) -> Words:
    """Return a text without the marks in it, words numbered as they were.

    Args:
        text: what a model gave.
        keep_placeholders: leave these.
        strict: put white space for the signs that marks are made of, too, wherever they are in no placeholder that is left.
    """
    words = words_in(text)
    for _ in range(_NUM_PASSES):
        marks = find_marks(words.text)
        kept = [m for m in marks if keep_placeholders and m.kind is Kind.PLACEHOLDER]
        safe = {n for m in kept for n in range(m.start, m.end)}
        lost = {n for m in marks for n in range(m.start, m.end)} - safe
        if lost:
            left = [n for n in range(len(words.text)) if n not in lost]
            words = Words("".join(words.text[n] for n in left), tuple(words.at[n] for n in left))
        else:
            return _without_signs(words, safe) if strict else words
    return _without_signs(words, set())


def placeholders_in(text: str) -> list[tuple[int, int]]:
    """Return where the placeholders of a text stand."""
    return [(mark.start, mark.end) for mark in find_marks(text) if mark.kind is Kind.PLACEHOLDER]


def _without_signs(words: Words, safe: set[int]) -> Words:
    """Return a text with white space for all that marks are made of, but in the places that are safe."""
    lost = {n for m in _SIGNS_OF_MARKS.finditer(words.text) for n in range(m.start(), m.end())} - safe
    return Words("".join(" " if n in lost else c for n, c in enumerate(words.text)), words.at)


@lru_cache(maxsize=4096)
def is_unsegmented_letter(character: str) -> bool:
    """Tell whether a letter is of a script that is written without spaces between words."""
    return is_unsegmented([character])


def is_sign(character: str) -> bool:
    """Tell whether a character is punctuation."""
    return unicodedata.category(character).startswith("P")


def _atoms(words: Words, fixed: Sequence[tuple[int, int]], breaks: Collection[int], grain: Grain) -> list[Atom]:
    atoms: list[Atom] = []
    position = 0
    ordered = sorted(breaks)
    for start, end in [*fixed, (len(words.text), len(words.text))]:
        inner = ordered[bisect_right(ordered, position) : bisect_left(ordered, start)]
        edges = sorted({position, start, *inner})
        for first, last in pairwise(edges):
            for run in _RUN.finditer(words.text, first, last):
                atoms += _run_atoms(words, run.start(), run.end(), grain)
        if end > start:
            atoms.append(Atom(start, end, words.at[start], False, True))
        position = end
    return atoms


def _run_atoms(words: Words, start: int, end: int, grain: Grain) -> list[Atom]:
    """Cut a stretch without white space: signs in front, what is between, signs behind."""
    text, word = words.text, words.at[start]
    first, last = start, end
    while first < last and is_sign(text[first]):
        first += 1
    while last > first and is_sign(text[last - 1]):
        last -= 1
    edges = {*range(start, first + 1), *range(last, end + 1)}
    edges |= {n for n in range(first, last) if _parts(text, n, grain)}
    return [Atom(a, b, word, all(is_sign(c) for c in text[a:b]), False) for a, b in pairwise(sorted(edges))]


def _parts(text: str, place: int, grain: Grain) -> bool:
    """Tell whether an atom ends in front of a character inside a word."""
    if unicodedata.category(text[place]).startswith("M") or text[place] == "\u200d" or not place:
        return False
    before = text[place - 1]
    if before == "\u200d":
        return False
    return grain is Grain.CHARACTERS or is_unsegmented_letter(text[place]) or _is_unsegmented_before(text, place)


def _is_unsegmented_before(text: str, place: int) -> bool:
    while place > 0 and unicodedata.category(text[place - 1]).startswith("M"):
        place -= 1
    return place > 0 and is_unsegmented_letter(text[place - 1])
