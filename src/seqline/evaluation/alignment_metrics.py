"""How good word alignments are: error rate, precision and recall against gold links, and the lines links are written in.

A line of a gold file belongs to a pair of sentences. It holds, separated by white space, `i-j` for a sure link from source word i
to target word j and `i?j` for one that is only possible; words are separated by white space and counted from 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from seqline.errors import UserError

Link = tuple[int, int]
"""Source word, target word; both from 0."""

_LINK = re.compile(r"([0-9]{1,6})([-?])([0-9]{1,6})")


class GoldLinks(NamedTuple):
    """The gold links of one pair. sure: what must be linked. possible: what may be, the sure ones included."""

    sure: frozenset[Link]
    possible: frozenset[Link]


class AlignmentScore(NamedTuple):
    """Links against gold, as counts added over the corpus.

    num_found: |A|, links found. num_sure: |S|. num_found_sure: |A and S|. num_found_possible: |A and P|.
    """

    num_found: int
    num_sure: int
    num_found_sure: int
    num_found_possible: int

    @property
    def error_rate(self) -> float:
        """1 - (|A and S| + |A and P|) / (|A| + |S|), 0 to 1, lower is better; 0 where nothing is to be linked and nothing is.

        Source: Och and Ney 2003, "A Systematic Comparison of Various Statistical Alignment Models", section 5.1.
        """
        both = self.num_found + self.num_sure
        return 1.0 - (self.num_found_sure + self.num_found_possible) / both if both else 0.0

    @property
    def precision(self) -> float:
        """The share of the links found that are possible, 0 to 1."""
        return self.num_found_possible / self.num_found if self.num_found else 0.0

    @property
    def recall(self) -> float:
        """The share of the sure links that were found, 0 to 1."""
        return self.num_found_sure / self.num_sure if self.num_sure else 0.0

    def as_json(self) -> dict[str, float]:
        """Return the three shares and the counts."""
        return {
            "error_rate": self.error_rate,
            "precision": self.precision,
            "recall": self.recall,
            **self._asdict(),
        }


def score_alignments(found: Sequence[Iterable[Link]], gold: Sequence[GoldLinks]) -> AlignmentScore:
    """Count the links of a corpus against gold.

    Raises:
        ValueError: other counts of sentences.
    """
    if len(found) != len(gold):
        raise ValueError(f"{len(found)} alignments for {len(gold)} gold ones")
    rows = [(frozenset(links), true) for links, true in zip(found, gold, strict=True)]
    return AlignmentScore(
        sum(len(links) for links, _ in rows),
        sum(len(true.sure) for _, true in rows),
        sum(len(links & true.sure) for links, true in rows),
        sum(len(links & true.possible) for links, true in rows),
    )


def parse_gold(lines: Sequence[str], name: str) -> list[GoldLinks]:
    """Read gold links, a pair of sentences a line; an empty line has none.

    Args:
        lines: as they stand in the file.
        name: of the file, for messages.

    Raises:
        UserError: something that is no link; the message says file and line.
    """
    return [_parse_line(line, f"{name}:{number}") for number, line in enumerate(lines, 1)]


def check_gold(gold: Sequence[GoldLinks], pairs: Sequence[tuple[str, str]], name: str) -> None:
    """Refuse gold that belongs to another corpus.

    Args:
        gold: one item a line of `name`.
        pairs: source and target, raw text.
        name: of the gold file.

    Raises:
        UserError: another number of lines than pairs, or a link to a word that its sentence does not have.
    """
    if len(gold) != len(pairs):
        what = f"{len(gold):,} lines of links for {len(pairs):,} pairs of sentences"
        raise UserError(what, where=name, fix="give one line a pair, an empty one where there is no link")
    for number, (links, pair) in enumerate(zip(gold, pairs, strict=True), 1):
        lengths = [len(text.split()) for text in pair]
        for link in sorted(links.possible):
            for index, length, side in zip(link, lengths, ("source", "target"), strict=True):
                if index >= length:
                    what = f"a link to {side} word {index}, but that sentence has {length} words, counted from 0"
                    raise UserError(what, where=f"{name}:{number}", fix="give the links of these very sentences")


def format_links(links: Iterable[Link]) -> str:
    """Write links as one line, `0-0 1-2`."""
    return " ".join(f"{i}-{j}" for i, j in links)


def _parse_line(line: str, where: str) -> GoldLinks:
    sure: set[Link] = set()
    possible: set[Link] = set()
    for part in line.split():
        match = _LINK.fullmatch(part)
        if match is None:
            what = f"expected links such as 0-0 (sure) or 0?1 (possible), got {part[:40]!r}"
            raise UserError(what, where=where, fix="write source word, - or ?, target word, counted from 0")
        link = int(match[1]), int(match[3])
        possible.add(link)
        if match[2] == "-":
            sure.add(link)
    return GoldLinks(frozenset(sure), frozenset(possible))
