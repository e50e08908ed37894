"""Which stretch of an output fits a stretch of the source best: by spelling, by alignment, by position.

A unit speaks for the stretch with 1 where it is aligned with something in it, against it with 1 where only with something else.
Placeholders and copied parts of words, which are the same on both sides, speak louder; signs, which stand anywhere, lower.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from seqline.evaluation.alignment_metrics import Link
from seqline.markup.copies import Copy
from seqline.markup.cutting import Atom, Cut

_SAME = 8.0
_SIGN = 0.5


class Span(NamedTuple):
    """Half open."""

    first: int
    last: int


class Fit:
    """Fits stretches of one line.

    Args:
        source: what the model was given.
        output: what it gave.
        links: between words, source first; none: by position.
        copies: parts of words that were copied.
    """

    def __init__(self, source: Cut, output: Cut, links: Sequence[Link], copies: Sequence[Copy]) -> None:
        self.source, self.output = source, output
        self._is_linked = bool(links)
        copied = {copy.start: copy.atom for copy in copies}
        self._same = _matches(source, output)
        self._same |= {n: [copied[atom.start]] for n, atom in enumerate(output.atoms) if atom.start in copied}
        # What has its like is aligned with that; a link to another word is a mistake.
        self._taken = {atom for atoms in self._same.values() for atom in atoms}
        hits = _hits(source, output, links, self._taken) | self._same
        self._aligned: dict[int, list[int]] = {}
        self._weights: list[float] = []
        self._against: list[float] = []  # what a unit says against an element that has no atom aligned with it
        for unit, place in enumerate(output.units):
            for atom in hits[place]:
                self._aligned.setdefault(atom, []).append(unit)
            weight = _SAME if place in self._same else _SIGN if output.atoms[place].is_sign else 1.0
            self._weights.append(weight)
            self._against.append(-weight if hits[place] else 0.0)

    def best(self, source: Span, window: Span) -> Span:
        """Return the units within a window, at least one, that fit atoms of the source best."""
        first, last = _heaviest(self._support(source, window) or self._nearness(source, window))
        return Span(window.first + first, window.first + last)

    def _support(self, source: Span, window: Span) -> list[float] | None:
        """Return how much each unit speaks for being enclosed, by alignment; None where none does."""
        if not self._is_linked:
            return None
        scores = self._against[slice(*window)]
        for atom in range(*source):
            for unit in self._aligned.get(atom, ()):
                if window.first <= unit < window.last:
                    scores[unit - window.first] = self._weights[unit]
        return scores if any(score > 0 for score in scores) else None

    def _nearness(self, source: Span, window: Span) -> list[float]:
        """Return the same by position: 1 where the middle of a unit lies in the stretch, less than -1 where not, by distance."""
        low, high = self.source.edge(source.first), self.source.edge(source.last)
        signs = all(atom.is_sign for atom in self.source.atoms[slice(*source)])
        is_taken = all(atom in self._taken for atom in range(*source))
        scores: list[float] = []
        for unit in range(*window):
            place = self.output.units[unit]
            middle = self.output.middle(place)
            score = 1.0 if low <= middle <= high and not is_taken else -1.0 - abs(middle - (low + high) / 2)
            if place in self._same:
                is_inside = source.first <= self._same[place][0] < source.last
                score = _SAME if is_inside else -_SAME
            elif self.output.atoms[place].is_sign != signs:
                score = -4.0 + min(score, 0.0) if signs else score - 1.0
            scores.append(score)
        return scores


def _matches(source: Cut, output: Cut) -> dict[int, list[int]]:
    """Return atom of the output -> that of the source, for placeholders: of equal ones the first is the first."""
    waiting: dict[str, list[int]] = {}
    for n in reversed([n for n, atom in enumerate(source.atoms) if atom.is_fixed]):
        waiting.setdefault(source.atom_text(n), []).append(n)
    return {
        n: [waiting[output.atom_text(n)].pop()]
        for n, atom in enumerate(output.atoms)
        if atom.is_fixed and waiting.get(output.atom_text(n))
    }


def _hits(source: Cut, output: Cut, links: Sequence[Link], taken: set[int]) -> dict[int, list[int]]:
    """Return for each atom of the output those of the source's that it is aligned with, sign to sign and word to word."""
    atoms: dict[tuple[int, bool], list[int]] = {}
    for n, atom in enumerate(source.atoms):
        if n not in taken:
            atoms.setdefault((atom.word, atom.is_sign), []).append(n)
    words: dict[int, list[int]] = {}
    for i, j in links:
        words.setdefault(j, []).append(i)

    def of(atom: Atom) -> list[int]:
        return [n for word in words.get(atom.word, []) for n in atoms.get((word, atom.is_sign), [])]

    return {n: of(atom) for n, atom in enumerate(output.atoms)}


def _heaviest(scores: Sequence[float]) -> Span:
    """Return the stretch with the largest sum, at least one item; of equal ones the shortest, then the first."""
    best, total = Span(0, 1), scores[0]
    first, running = 0, 0.0
    for n, score in enumerate(scores):
        if running <= 0:
            first, running = n, 0.0
        running += score
        if running > total or (running == total and n + 1 - first < best.last - best.first):
            best, total = Span(first, n + 1), running
    return best
