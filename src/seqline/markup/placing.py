"""Where the elements of a source line stand in its translation: which atoms of the output each of them encloses.

Top down: the root has all units of the output. Each element wants the stretch of its parent's units that holds most of what is
aligned with its own text and least of what is aligned with other text; siblings share the parent's units in the order of what
they want, each with at least one unit for every innermost element in it. Without alignments units are aligned by how far into the
text they stand. Points come last, next to the word that they stood next to, never inside an element that they were not in.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from seqline.markup.cutting import Cut
from seqline.markup.elements import Element
from seqline.markup.fitting import Fit, Span
from seqline.markup.layout import Layout

_NOTHING = Span(0, 0)


@dataclass
class Node:
    """An element on both sides.

    source: its atoms of the source. need: how many units it must have. units, atoms: those of the output that it encloses.
    """

    element: Element
    source: Span
    children: list[Node]
    need: int = 0
    units: Span = _NOTHING
    atoms: Span = _NOTHING

    @property
    def has_text(self) -> bool:
        """Whether it encloses something of what the model was given."""
        return self.source.last > self.source.first


def grow(root: Element, layout: Layout, source: Cut) -> list[Node]:
    """Return the nodes of a line, parents first; what was left in the text is no node."""
    starts = [atom.start for atom in source.atoms]
    at = [bisect_left(starts, place) for place in layout.places]
    fixed = {bisect_left(starts, start) for start, _ in layout.fixed}
    nodes = [Node(root, Span(0, len(starts)), [])]
    for node in nodes:
        for child in node.element.children:
            span = Span(at[child.first], at[child.last])
            if not (child.is_point and span.last > span.first and span.first in fixed):
                node.children.append(Node(child, span, []))
        nodes += node.children
    for node in reversed(nodes):
        node.need = max(int(node.has_text), sum(child.need for child in node.children))
    return nodes


def is_signs_only(node: Node, source: Cut) -> bool:
    """Tell whether an element encloses punctuation and no word."""
    return node.has_text and all(atom.is_sign for atom in source.atoms[slice(*node.source)])


class Placer:
    """Places the nodes of one line.

    Args:
        source: what the model was given.
        output: what it gave.
        fit: what of the one belongs to what of the other.
    """

    def __init__(self, source: Cut, output: Cut, fit: Fit) -> None:
        self.source, self.output, self.fit = source, output, fit

    def place(self, nodes: Sequence[Node]) -> None:
        """Fill in the spans of all nodes; parents come first."""
        root = nodes[0]
        root.units, root.atoms = Span(0, len(self.output.units)), Span(0, len(self.output.atoms))
        if root.need > len(self.output.units):
            for node in nodes:
                node.need = 0
        for node in nodes:
            self._place_elements(node)
            for child in node.children:
                if not child.has_text:
                    child.atoms = Span(*[self._point(child, node)] * 2)

    def _place_elements(self, parent: Node) -> None:
        """Share the parent's units among its children with text."""
        children = [child for child in parent.children if child.has_text]
        wants = [self._wanted(child, parent) for child in children]
        order = sorted(
            range(len(children)),
            key=lambda k: (not children[k].element.begins_before, children[k].element.ends_after, sum(wants[k])),
        )
        room = sum(child.need for child in children)
        done = parent.units.first
        previous = parent.atoms.first
        for place, k in enumerate(order):
            child = children[k]
            room -= child.need
            limit = parent.units.last - room
            first = min(max(wants[k].first, done), limit - child.need)
            last = wants[k].last
            if place + 1 < len(order):
                last = min(last, wants[order[place + 1]].first)
            last = min(max(last, first + child.need), limit)
            child.units = Span(first, max(first, last))
            child.atoms = self._atoms(child, parent, previous)
            done, previous = child.units.last, child.atoms.last

    def _wanted(self, child: Node, parent: Node) -> Span:
        """Return the units that an element would have if it had no siblings."""
        if not parent.units.last > parent.units.first:
            return parent.units
        first, last = self.fit.best(child.source, parent.units)
        if self._holds_all(child, parent):
            return parent.units
        if child.element.begins_before:
            first = parent.units.first
        return Span(first, parent.units.last if child.element.ends_after else last)

    def _holds_all(self, child: Node, parent: Node) -> bool:
        units = self.source.units
        mine, all_ = (tuple(bisect_left(units, place) for place in node.source) for node in (child, parent))
        return mine == all_ and mine[1] > mine[0]

    def _atoms(self, child: Node, parent: Node, previous: int) -> Span:
        """Return the atoms of an element that has its units: signs at its edges are its own where they were in the source."""
        first, last = child.units
        low, high = previous, parent.atoms.last
        if last > first:
            atoms = self.source.atoms[slice(*child.source)]
            start, end = self.output.reach(first, last, atoms[0].is_sign, atoms[-1].is_sign)
        else:
            start = end = self.output.place_of(first)
        start = parent.atoms.first if child.element.begins_before else start
        end = high if child.element.ends_after else end
        start = min(max(start, low), high)
        return Span(start, min(max(end, start), high))

    def _point(self, node: Node, parent: Node) -> int:
        """Return the place among the output's atoms of what encloses no text."""
        element = node.element
        low, high = parent.atoms
        if element.begins_before and not element.is_point:
            return low
        if element.ends_after:
            return high
        placed = [child for child in parent.children if child.has_text]
        low = max([low, *(child.atoms.last for child in placed if child.element.begins_before)])
        high = min([high, *(child.atoms.first for child in placed if child.element.ends_after)])
        place = min(max(self._beside(node, parent, placed), low), high)
        for child in placed:
            first, last = child.atoms
            if first < place < last:
                return first if place - first < last - place else last
        return place

    def _beside(self, node: Node, parent: Node, placed: Sequence[Node]) -> int:
        """Return the place next to the word that a point stood next to: behind the one before it, unless it touches the other."""
        before, after = node.source.first - 1, node.source.last
        has_before, has_after = before >= parent.source.first, after < parent.source.last
        opening, closing = node.element.opening, node.element.closing or node.element.opening
        touches_before = has_before and opening is not None and opening.left == ""
        touches_after = has_after and closing is not None and closing.right == ""
        if not (has_before or has_after):
            return parent.atoms.first
        atoms = self.source.atoms
        if has_before and not (touches_after and not touches_before and not atoms[after].is_sign):
            for child in placed:
                if child.source.first <= before < child.source.last:
                    return child.atoms.last
            ends_word = not (has_after and atoms[after].is_sign and atoms[after].word == atoms[before].word)
            return self._behind(before, parent, touches_before, ends_word)
        for child in placed:
            if child.source.first <= after < child.source.last:
                return child.atoms.first
        return self._in_front(after, parent, touches_after)

    def _behind(self, atom: int, parent: Node, touches: bool, ends_word: bool) -> int:
        """Return the place behind the translation of an atom of the source."""
        is_sign = self.source.atoms[atom].is_sign
        if is_sign and touches and (same := self._same_sign(atom, parent)) is not None:
            return same + 1
        unit = self._host(atom, parent)
        if unit is None or not parent.units.last > parent.units.first:
            return parent.atoms.first
        if unit > atom:
            return self._in_front(atom, parent, touches)
        first, last = self.fit.best(Span(unit, unit + 1), parent.units)
        return self.output.reach(first, last, False, is_sign or (ends_word and not touches))[1]

    def _in_front(self, atom: int, parent: Node, touches: bool) -> int:
        """Return the place in front of the translation of an atom of the source."""
        is_sign = self.source.atoms[atom].is_sign
        unit = self._host(atom, parent)
        if unit is None or not parent.units.last > parent.units.first:
            return parent.atoms.first
        first, last = self.fit.best(Span(unit, unit + 1), parent.units)
        return self.output.reach(first, last, is_sign or not touches, False)[0]

    def _host(self, atom: int, parent: Node) -> int | None:
        """Return the unit of the source, as an atom, that an atom is or stands behind; else the first one of the parent."""
        units = self.source.units
        first, last = (bisect_left(units, place) for place in parent.source)
        found = bisect_right(units, atom, first, last) - 1
        return None if first == last else units[max(found, first)]

    def _same_sign(self, atom: int, parent: Node) -> int | None:
        """Return the nearest sign of the output that is spelled as one of the source."""
        text, middle = self.source.atom_text(atom), self.source.middle(atom)
        same = [n for n in range(*parent.atoms) if self.output.atom_text(n) == text]
        return min(same, key=lambda n: abs(self.output.middle(n) - middle), default=None)
