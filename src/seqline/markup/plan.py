"""A text with marks as lines to translate, and the translations with the marks back in.

Each line is translated with its placeholders in it, tags out: a model may have learnt to copy them. Where an output lacks one, or
has one too many, the line is translated again with the placeholders out, and they are put back like tags. What an output has of
its own that looks like a mark is dropped. So for every model each mark of the source stands in the result as often as in the
source; nesting is valid where it is valid in the source; there are as many lines as before, blank ones included. An element that
encloses text does so in the result, as long as the output has a character for each innermost one. A text without marks is
translated as it is, line by line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from seqline.evaluation.alignment_metrics import Link
from seqline.evaluation.text_checks import is_unsegmented
from seqline.markup.copies import Copy, find_copies
from seqline.markup.cutting import Cut, Grain, Words, placeholders_in, without_marks, words_in
from seqline.markup.elements import Element, Line, Token, elements_of, read_lines
from seqline.markup.fitting import Fit
from seqline.markup.joining import join
from seqline.markup.layout import Layout, lay_out
from seqline.markup.marks import find_marks
from seqline.markup.placing import Node, Placer, grow, is_signs_only


@dataclass(frozen=True)
class LinePlan:
    """One line: what the model is to be given, and how its output becomes the line's translation.

    is_plain: nothing else stands in the text, and it has no mark. is_marked: some line of the text has a mark.
    """

    line: Line
    is_plain: bool
    is_marked: bool

    @cached_property
    def needs_model(self) -> bool:
        """Whether there is anything to translate; a line with marks and neither letter nor digit around them is left as it is."""
        text = "".join(token.text for token in self.line.tokens if token.kind is None)
        return any(c.isalnum() for c in text) if self._has_marks else bool(text.strip())

    @cached_property
    def with_placeholders(self) -> str:
        """What to translate first: placeholders in, tags out."""
        return self.line.source if self.is_plain else self._layout(True).text

    @cached_property
    def without_placeholders(self) -> str:
        """What to translate where placeholders were not kept: all marks out."""
        return self.line.source if self.is_plain else self._layout(False).text

    def is_kept(self, output: str) -> bool:
        """Tell whether the translation of `with_placeholders` has each placeholder exactly as often as the source."""
        expected = Counter(token.text for token in self.line.tokens if token.is_placeholder)
        return not expected or _placeholders(without_marks(output, keep_placeholders=True).text) == expected

    def restore(self, output: str, links: Sequence[Link] = (), *, has_placeholders: bool = True) -> str:
        """Return the translated line, its marks back in.

        Args:
            output: the model's translation of `with_placeholders`, or of `without_placeholders`.
            links: source word, output word, as white space parts those two texts; none: by position.
            has_placeholders: which of the two was translated.

        Raises:
            ValueError: an output that shall have the placeholders, but `is_kept` says no.
        """
        if not self.needs_model:
            return self.line.source
        if self.is_plain:
            return output
        has_placeholders = has_placeholders and any(token.is_placeholder for token in self.line.tokens)
        if has_placeholders and not self.is_kept(output):
            raise ValueError("the output lacks a placeholder, or has one too many; translate without_placeholders")
        text = self._marked(output, links, has_placeholders) if self._has_marks else self._unmarked(output)
        return self.line.before + text + self.line.after

    @property
    def _has_marks(self) -> bool:
        return any(token.kind is not None for token in self.line.tokens)

    def _layout(self, with_placeholders: bool) -> Layout:
        return lay_out(self.line.tokens, with_placeholders)

    def _unmarked(self, output: str) -> str:
        text = without_marks(output, keep_placeholders=False).text if self.is_marked else output
        return " ".join(text.split()) if "\n" in text or "\r" in text else text

    def _marked(self, output: str, links: Sequence[Link], has_placeholders: bool) -> str:
        """Put the marks in; where they make others with what stands beside them, the output loses all signs of marks."""
        expected = Counter(token.text for token in self.line.tokens if token.kind is not None)
        layout = self._layout(has_placeholders)
        tree = elements_of(self.line.tokens)
        text = ""
        for is_strict in (False, True):
            words = without_marks(output, keep_placeholders=has_placeholders, strict=is_strict)
            text = put_marks(tree, self.line.tokens, layout, words, links, is_strict)
            if Counter(mark.text for mark in find_marks(text)) == expected:
                break
        return text


@dataclass(frozen=True)
class Plan:
    """A text as lines. ends: the line ends between them."""

    lines: tuple[LinePlan, ...]
    ends: tuple[str, ...]

    def join(self, lines: Sequence[str]) -> str:
        """Return the translated text from its translated lines, one for each line of the plan.

        Raises:
            ValueError: another number of lines.
        """
        if len(lines) != len(self.lines):
            raise ValueError(f"{len(lines)} translated lines for {len(self.lines)} lines")
        return "".join(line + end for line, end in zip(lines, [*self.ends, ""], strict=True))


def plan(text: str) -> Plan:
    """Return how a text is translated with its marks and lines kept."""
    marks = find_marks(text)
    lines, ends = read_lines(text, marks)
    is_plain = len(lines) == 1 and not marks
    return Plan(tuple(LinePlan(line, is_plain, bool(marks)) for line in lines), tuple(ends))


def put_marks(
    tree: Element, tokens: Sequence[Token], layout: Layout, words: Words, links: Sequence[Link], is_apart: bool
) -> str:
    """Return an output with the marks of a line put in.

    Args:
        tree: the line's elements.
        tokens: the line.
        layout: what was translated.
        words: the output, clean of marks of its own.
        links: source word, output word.
        is_apart: put white space around each mark.
    """
    source_words = words_in(layout.text)
    source = Cut(source_words, layout.fixed, layout.places)
    nodes = grow(tree, layout, source)
    if any(is_signs_only(node, source) for node in nodes):
        source = Cut(source_words, layout.fixed, layout.places, Grain.SIGNS)
        nodes = grow(tree, layout, source)
    copies = find_copies(source, words.text)
    output = _cut_output(words, nodes, source.grain, bool(layout.fixed), copies)
    # A text without word spaces is one word, and a link from it says nothing.
    is_one_word = is_unsegmented([layout.text]) or is_unsegmented([words.text])
    Placer(source, output, Fit(source, output, () if is_one_word else links, copies)).place(nodes)
    return join(nodes, tokens, layout.dividers, output, is_apart)


def _cut_output(
    words: Words, nodes: Sequence[Node], grain: Grain, has_placeholders: bool, copies: Sequence[Copy]
) -> Cut:
    """Cut an output as finely as it takes to give each innermost element something."""
    fixed = placeholders_in(words.text) if has_placeholders else []
    breaks = {place for copy in copies for place in (copy.start, copy.end)}
    output = Cut(words, fixed, breaks, grain)
    return output if len(output.units) >= nodes[0].need else Cut(words, fixed, breaks, Grain.CHARACTERS)


def _placeholders(text: str) -> Counter[str]:
    return Counter(text[start:end] for start, end in placeholders_in(text))
