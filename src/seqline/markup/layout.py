"""The plain text of a marked line: what the model is given, and where each token of the line lies in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from seqline.evaluation.text_checks import is_unsegmented
from seqline.markup.elements import Token
from seqline.markup.marks import Kind

_ENDS_CLAUSE = frozenset(",.;:!?)]}”»。，、！？；：）")


@dataclass
class Layout:
    """A plain text, built token by token.

    Where a mark that was taken out stood between two words without white space, a space is put unless the mark only opens or only
    closes something: `A<br>B` and `<td>A</td><td>B</td>` are read as `A B`, `un<b>til</b>` as `until`.

    text: what it is so far. places: where each token begins, by characters, and the end. fixed: where the placeholders stand that
    were left in. dividers: marks that such a space was put for.
    """

    is_spaced: bool
    text: str = ""
    places: list[int] = field(default_factory=list)
    fixed: list[tuple[int, int]] = field(default_factory=list)
    dividers: set[int] = field(default_factory=set)
    _space: str = ""
    _marks: list[int] = field(default_factory=list)
    _divides: bool = False
    _closes: bool = False
    _is_gone: bool = False
    _touches_next: bool = False

    def add_text(self, text: str) -> None:
        """Add text, its white space as it is."""
        start = len(text) - len(text.lstrip())
        self._space = self._space or text[:start]
        core = text.strip()
        if core:
            self._add_core(core)
            self._space = text[start + len(core) :]

    def add_fixed(self, text: str) -> None:
        """Add a placeholder that the model shall copy."""
        self._add_core(text)
        self.fixed.append((len(self.text) - len(text), len(self.text)))

    def pass_mark(self, number: int, token: Token) -> None:
        """Leave a mark out."""
        self._marks.append(number)
        is_comment = token.text.startswith("<!--")
        self._divides |= token.kind in (Kind.POINT, Kind.PLACEHOLDER) and not is_comment
        self._divides |= token.kind is Kind.OPEN and self._closes
        self._closes |= token.kind is Kind.CLOSE
        self._is_gone |= token.is_placeholder
        self._touches_next = token.right == ""

    def _add_core(self, core: str) -> None:
        space = self._space if self.text else ""
        # `Dear {0}, press` without its placeholder: the comma moves to the word.
        ends_clause = self._is_gone and self._touches_next and core[0] in _ENDS_CLAUSE
        if ends_clause:
            space = ""
        elif self.text and not space and self._divides and self.is_spaced:
            space = " "
            self.dividers.update(self._marks)
        self.text += space + core
        self._space, self._marks = "", []
        self._divides = self._closes = self._is_gone = False


def lay_out(tokens: Sequence[Token], with_placeholders: bool) -> Layout:
    """Return the plain text of a line's tokens, tags out, and placeholders too where they shall not stay in."""
    layout = Layout(is_spaced=not is_unsegmented(["".join(t.text for t in tokens if t.kind is None)]))
    for number, token in enumerate(tokens):
        layout.places.append(len(layout.text))
        if token.kind is None:
            layout.add_text(token.text)
        elif token.is_placeholder and with_placeholders:
            layout.add_fixed(token.text)
        else:
            layout.pass_mark(number, token)
    layout.places.append(len(layout.text))
    return layout
