"""The structure of marked text: lines, their tokens, and the elements that pairs of tags make.

Pairs are sought in the whole text, so that an element may span lines. In a line where it only begins it reaches to the end of the
line; where it only ends it reaches from the line's start. What has no partner is a point, and so is a placeholder.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from seqline.markup.marks import Kind, Mark

_LINE_END = re.compile(r"\r\n|\n|\r")


class Token(NamedTuple):
    """A stretch of a line: text (kind None) or a mark.

    partner: number of the pair in the text, -1 = none. left, right: white space that touches a mark in the source; None: the
    line ends there.
    """

    text: str
    kind: Kind | None = None
    partner: int = -1
    left: str | None = None
    right: str | None = None

    @property
    def is_placeholder(self) -> bool:
        """Whether it stands for a word."""
        return self.kind is Kind.PLACEHOLDER


@dataclass
class Element:
    """A point, or what a pair of tags encloses, within a line.

    first, last: tokens of the line, tags included; half open. opening, closing: its tags in this line. is_point: one mark without
    content, which is `opening`.
    """

    first: int
    last: int
    opening: Token | None = None
    closing: Token | None = None
    is_point: bool = False
    children: list[Element] = field(default_factory=list)

    @property
    def begins_before(self) -> bool:
        """Whether it was opened in an earlier line."""
        return self.opening is None

    @property
    def ends_after(self) -> bool:
        """Whether it is closed in a later line."""
        return self.closing is None and not self.is_point


class Line(NamedTuple):
    """A line without its end. before, after: white space around. tokens: what stands between."""

    source: str
    before: str
    after: str
    tokens: tuple[Token, ...]


def split_lines(text: str, marks: Sequence[Mark]) -> tuple[list[tuple[int, int]], list[str]]:
    """Return where the lines of a text stand, and the n-1 line ends between them; a line end inside a mark ends no line."""
    inside = [(mark.start, mark.end) for mark in marks if "\n" in mark.text or "\r" in mark.text]
    places: list[tuple[int, int]] = []
    ends: list[str] = []
    start = 0
    for match in _LINE_END.finditer(text):
        while inside and inside[0][1] <= match.start():
            inside.pop(0)
        if not (inside and inside[0][0] < match.start()):
            places.append((start, match.start()))
            ends.append(match.group())
            start = match.end()
    return [*places, (start, len(text))], ends


def pair(marks: Sequence[Mark]) -> list[int]:
    """Return for each mark the number of its pair, -1 for those without a partner.

    A closing tag ends the nearest open element of its name; elements opened inside that and still open are points, and so is a
    closing tag without such an element. Every valid nesting is found whole.
    """
    pairs = [-1] * len(marks)
    opened: list[int] = []
    num_open: dict[str, int] = {}
    for number, mark in enumerate(marks):
        if mark.kind is Kind.OPEN:
            opened.append(number)
            num_open[mark.name] = num_open.get(mark.name, 0) + 1
        elif mark.kind is Kind.CLOSE and num_open.get(mark.name, 0):
            while True:
                partner = opened.pop()
                num_open[marks[partner].name] -= 1
                if marks[partner].name == mark.name:
                    break
            pairs[partner] = pairs[number] = partner
    return pairs


def read_lines(text: str, marks: Sequence[Mark]) -> tuple[list[Line], list[str]]:
    """Return the lines of a text with their tokens, and the ends between them."""
    places, ends = split_lines(text, marks)
    pairs = pair(marks)
    lines: list[Line] = []
    number = 0
    for start, end in places:
        last = number
        while last < len(marks) and marks[last].end <= end:
            last += 1
        lines.append(_read_line(text[start:end], start, marks[number:last], pairs[number:last]))
        number = last
    return lines, ends


def elements_of(tokens: Sequence[Token]) -> Element:
    """Return the tree of a line: its root is the whole line, without tags."""
    here = {token.partner for token in tokens if token.kind is Kind.OPEN}
    both = {token.partner for token in tokens if token.kind is Kind.CLOSE and token.partner in here}
    size = len(tokens)
    open_elements = [Element(0, size)]
    # The outermost element that an earlier line opened is closed last.
    for number in range(size - 1, -1, -1):
        token = tokens[number]
        if token.kind is Kind.CLOSE and token.partner >= 0 and token.partner not in both:
            open_elements.append(_add(open_elements[-1], Element(0, size)))
    for number, token in enumerate(tokens):
        if token.kind is None:
            continue
        if token.partner < 0:
            _add(open_elements[-1], Element(number, number + 1, opening=token, is_point=True))
        elif token.kind is Kind.OPEN:
            open_elements.append(_add(open_elements[-1], Element(number, size, opening=token)))
        else:
            element = open_elements.pop()
            element.closing, element.last = token, number + 1
    return open_elements[0]


def _add(parent: Element, element: Element) -> Element:
    parent.children.append(element)
    return element


def _read_line(line: str, offset: int, marks: Sequence[Mark], pairs: Sequence[int]) -> Line:
    if not marks:
        before, after = _outer_space(line)
        return Line(line, before, after, (Token(line.strip()),))
    before, after = _outer_space(line)
    start, end = len(before), len(line) - len(after)
    tokens: list[Token] = []
    position = start
    for mark, partner in zip(marks, pairs, strict=True):
        first, last = mark.start - offset, mark.end - offset
        if first > position:
            tokens.append(Token(line[position:first]))
        left = None if first == start else _space_at_end(line[:first])
        right = None if last == end else _outer_space(line[last:])[0]
        tokens.append(Token(mark.text, mark.kind, partner, left, right))
        position = last
    if position < end:
        tokens.append(Token(line[position:end]))
    return Line(line, before, after, tuple(tokens))


def _outer_space(line: str) -> tuple[str, str]:
    """Return the white space in front and behind; of a blank line all of it stands in front."""
    start = len(line) - len(line.lstrip())
    return line[:start], _space_at_end(line[start:])


def _space_at_end(text: str) -> str:
    return text[len(text.rstrip()) :]
