"""Parts of words that a model copied, so that a tag inside a word finds its place: `H<sub>2</sub>O`, `note<sup>1</sup>`.

A source word that tags cut into parts is compared with the words of the output: as many of its last parts as end an output word
are the same, else as many of its first ones as begin one. Equal words have all parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from seqline.markup.cutting import Atom, Cut, is_sign, is_unsegmented_letter

_RUN = re.compile(r"\S+")


class Copy(NamedTuple):
    """text[start:end] of the output is a copy of an atom of the source."""

    start: int
    end: int
    atom: int


def find_copies(source: Cut, output: str) -> list[Copy]:
    """Return the parts of cut source words that occur in an output, at most one word of it for each of the source's."""
    cores = [core for core in map(_core_of, _RUN.finditer(output)) if core[1] > core[0]]
    copies: list[Copy] = []
    for atoms in _cut_words(source):
        found = [(copied, n) for n, core in enumerate(cores) if (copied := _shared(source, atoms, output, core))]
        if found:
            # The most parts; of equal ones the first word.
            copied, n = max(found, key=lambda item: (len(item[0]), -item[1]))
            copies += copied
            del cores[n]
    return copies


def _cut_words(source: Cut) -> Iterator[list[int]]:
    """Yield the atoms of each word that has several, signs at its edges not counted."""
    words: dict[int, list[int]] = {}
    for n, atom in enumerate(source.atoms):
        words.setdefault(atom.word, []).append(n)
    for atoms in words.values():
        inner = _without_edges(source, atoms)
        is_whole = all(_is_plain(source, source.atoms[n]) for n in inner)
        if len(inner) > 1 and is_whole:
            yield inner


def _without_edges(source: Cut, atoms: list[int]) -> list[int]:
    while atoms and source.atoms[atoms[0]].is_sign:
        atoms = atoms[1:]
    while atoms and source.atoms[atoms[-1]].is_sign:
        atoms = atoms[:-1]
    return atoms


def _is_plain(source: Cut, atom: Atom) -> bool:
    return not atom.is_fixed and not any(is_unsegmented_letter(c) for c in source.text[atom.start : atom.end])


def _core_of(run: re.Match[str]) -> tuple[int, int]:
    """Return where a word of the output stands without the signs at its edges."""
    text, start, end = run.string, run.start(), run.end()
    while start < end and is_sign(text[start]):
        start += 1
    while end > start and is_sign(text[end - 1]):
        end -= 1
    return start, end


def _shared(source: Cut, atoms: list[int], output: str, core: tuple[int, int]) -> list[Copy]:
    return _at_end(source, atoms, output, core) or _at_start(source, atoms, output, core)


def _at_end(source: Cut, atoms: list[int], output: str, core: tuple[int, int]) -> list[Copy]:
    first, end = core
    copies: list[Copy] = []
    for atom in reversed(atoms):
        start = end - len(source.atom_text(atom))
        if start < first or output[start:end] != source.atom_text(atom):
            break
        copies.append(Copy(start, end, atom))
        end = start
    return copies if copies and (end == first or _is_seam(output, end)) else []


def _at_start(source: Cut, atoms: list[int], output: str, core: tuple[int, int]) -> list[Copy]:
    start, last = core
    copies: list[Copy] = []
    for atom in atoms:
        end = start + len(source.atom_text(atom))
        if end > last or output[start:end] != source.atom_text(atom):
            break
        copies.append(Copy(start, end, atom))
        start = end
    return copies if copies and (start == last or _is_seam(output, start)) else []


def _is_seam(text: str, place: int) -> bool:
    """Tell whether letters, digits and the rest meet here: `e` at the end of a word proves nothing, `1` does."""
    return _class_of(text[place - 1]) != _class_of(text[place])


def _class_of(character: str) -> str:
    return "letter" if character.isalpha() else "digit" if character.isdigit() else "other"
