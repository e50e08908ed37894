"""Marks put between the atoms of an output, and the white space around them.

A mark that touched a word in the source touches one in the output. The white space of the output is kept: outside of the element
that a tag begins or ends, or where the source had it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from seqline.markup.cutting import Cut, is_sign, is_unsegmented_letter
from seqline.markup.elements import Token
from seqline.markup.placing import Node


class Side(NamedTuple):
    """One side of a mark. space: what the source has there; None: the line's edge. is_inner: towards what the element encloses.

    is_loose: the word beside it is another than in the source, or a sign stood there: the output's white space is kept.
    """

    space: str | None
    is_inner: bool = False
    is_loose: bool = False
    is_tag: bool = False


class Piece(NamedTuple):
    """A mark to write. is_divider: it keeps two words apart by itself."""

    text: str
    left: Side
    right: Side
    is_divider: bool = False


@dataclass
class _Writer:
    """Writes atoms and marks in turn; marks wait for the atom behind them."""

    output: Cut
    is_apart: bool
    text: str = ""
    last: int = -1

    def write(self, pieces: Sequence[Piece], atom: int | None) -> None:
        """Write the marks between the last atom and this one, and this one; None: the end of the line."""
        if not pieces:
            self.text += "" if atom is None else self._gap(atom)
        else:
            self._write_marks(pieces, atom)
        if atom is not None:
            self.text += self.output.atom_text(atom)
            self.last = atom

    def _gap(self, atom: int) -> str:
        space = self.output.space_before(atom) if self.last >= 0 else ""
        return " " if "\n" in space or "\r" in space else space

    def _write_marks(self, pieces: Sequence[Piece], atom: int | None) -> None:
        is_edge = self.last < 0 or atom is None
        gap = None if is_edge or atom is None else self._gap(atom)
        first = self._beside_atom(pieces[0].left, self.last, gap) if self.last >= 0 else ""
        final = self._beside_atom(pieces[-1].right, atom, gap) if atom is not None else ""
        between = [_between(a.right, b.left, gap) for a, b in pairwise(pieces)]
        slots = [first, *between, final]
        if gap and not any(slots) and not any(piece.is_divider for piece in pieces):
            slots[_best_slot(pieces)] = gap
        if self.is_apart:
            slots = [slot or " " for slot in slots]
        self.text += slots[0]
        for piece, slot in zip(pieces, slots[1:], strict=True):
            self.text += piece.text + slot

    def _beside_atom(self, side: Side, atom: int, gap: str | None) -> str:
        """Return the white space between an atom and a mark. gap: what the output has there; None: the mark ends the line."""
        if side.is_inner:
            return side.space or ""
        if gap is None:
            return " " if side.space is None else side.space
        is_by_sign = self.output.atoms[atom].is_sign
        if side.is_tag:
            return gap if side.space != "" else ""
        if side.space and not gap:
            is_spaced = not any(is_unsegmented_letter(c) for c in self.output.atom_text(atom))
            return side.space if is_spaced and not is_by_sign else ""
        if side.space is None or (side.is_loose and not is_by_sign):
            return gap
        return side.space


def join(
    nodes: Sequence[Node], tokens: Sequence[Token], dividers: set[int], output: Cut, is_apart: bool = False
) -> str:
    """Return the output with its marks.

    Args:
        nodes: placed; the first is the root.
        tokens: of the source line.
        dividers: tokens that keep two words apart.
        output: in atoms.
        is_apart: put white space around each mark, so that nothing runs together.
    """
    at: list[list[Piece]] = [[] for _ in range(len(output.atoms) + 1)]
    _collect(nodes[0], tokens, dividers, at)
    writer = _Writer(output, is_apart)
    for place, pieces in enumerate(at):
        writer.write(pieces, place if place < len(output.atoms) else None)
    return writer.text


def _collect(root: Node, tokens: Sequence[Token], dividers: set[int], at: list[list[Piece]]) -> None:
    """Put each mark into the list of the atom that it stands in front of, in the order in which they are written."""
    waiting: list[tuple[Node, bool]] = [(root, True)]
    while waiting:
        node, is_start = waiting.pop()
        element = node.element
        token, place = (element.opening, node.atoms.first) if is_start else (element.closing, node.atoms.last)
        if token is not None:
            number = element.first if is_start else element.last - 1
            at[place].append(_piece(node, token, number, tokens, number in dividers, is_start))
        if is_start:
            waiting.append((node, False))
            order = sorted(node.children, key=lambda child: (child.atoms, child.element.first))
            waiting += [(child, True) for child in reversed(order)]


def _piece(node: Node, token: Token, number: int, tokens: Sequence[Token], is_divider: bool, is_opening: bool) -> Piece:
    is_tag = node.atoms.last > node.atoms.first
    before = tokens[number - 1] if number else None
    after = tokens[number + 1] if number + 1 < len(tokens) else None
    by_sign_left = before is not None and before.kind is None and is_sign(before.text[-1])
    by_sign_right = after is not None and after.kind is None and is_sign(after.text[0])
    is_pair = not node.element.is_point
    left = Side(token.left, is_pair and not is_opening, by_sign_left, is_tag)
    right = Side(token.right, is_pair and is_opening, by_sign_right, is_tag)
    return Piece(token.text, left, right, is_divider)


def _between(right: Side, left: Side, gap: str | None) -> str:
    """Return the white space between two marks that stand side by side."""
    if right.is_inner or left.is_inner:
        return (right.space if right.is_inner else left.space) or ""
    wanted = right.space or left.space or ""
    if right.space and left.space and not (right.is_tag and left.is_tag):
        return gap or wanted
    if gap is not None or not wanted:
        return (wanted and gap) or ""
    is_touched = any(side.space == "" and not side.is_loose for side in (right, left))
    return "" if is_touched else wanted


def _best_slot(pieces: Sequence[Piece]) -> int:
    """Return which of the places around the marks takes white space that none of them asks for: outside of a pair of tags."""
    for number, piece in enumerate(pieces):
        if piece.left.is_tag and not piece.left.is_inner:
            return number
        if piece.right.is_tag and not piece.right.is_inner:
            return number + 1
    loose = [number + 1 for number, piece in enumerate(pieces) if piece.right.space != "" or piece.right.is_loose]
    return loose[0] if loose else len(pieces)
