"""The toy pairs with what only they have: gold links between words, and the noun that a pronoun stands for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from seqline.data.lines import read_lines
from seqline.data.text import read_pairs
from seqline.evaluation.alignment import Reading, attention_size
from seqline.evaluation.alignment_metrics import (
    AlignmentScore,
    GoldLinks,
    Link,
    check_gold,
    parse_gold,
    score_alignments,
)
from seqline.translator import Translator


class GoldSplit(NamedTuple):
    """A split of a toy corpus: pairs of raw text, their links, and of some rows (pronoun, its noun) as source words."""

    pairs: list[tuple[str, str]]
    links: list[GoldLinks]
    antecedents: dict[int, Link]

    def first(self, count: int) -> GoldSplit:
        """Return the first so many pairs."""
        kept = {row: link for row, link in self.antecedents.items() if row < count}
        return GoldSplit(self.pairs[:count], self.links[:count], kept)


def read_gold(data: Path, name: str) -> GoldSplit:
    """Read a split as `data.toy.write_corpus` wrote it.

    Raises:
        UserError: a file that is missing or belongs to another one.
    """
    pairs = [(pair.source, pair.target) for pair in read_pairs(str(data / f"{name}.tsv")).pairs]
    file = str(data / "alignments" / f"{name}.pharaoh")
    links = parse_gold(read_lines(file), file)
    check_gold(links, pairs, file)
    rows = [line.split("\t") for line in read_lines(str(data / "alignments" / f"{name}.antecedents")) if line]
    return GoldSplit(pairs, links, {int(line) - 1: (int(pronoun), int(noun)) for line, pronoun, noun in rows})


def one_link_a_word(gold: Sequence[GoldLinks]) -> list[list[Link]]:
    """Return the best choice of one link a target word, which is all that a largest weight can give."""
    return [list({j: (i, j) for i, j in sorted(links.sure)}.values()) for links in gold]


def moved(found: Sequence[Sequence[Link]], by: int) -> list[list[Link]]:
    """Return links with every target word moved by so many places."""
    return [[(i, j + by) for i, j in links] for links in found]


def best_head(translator: Translator, split: GoldSplit) -> tuple[Reading, AlignmentScore]:
    """Return the head with the lowest error rate on a split, and its score there."""
    num_layers, num_heads = attention_size(translator.model)
    readings = [Reading(layer, head) for layer in range(num_layers) for head in range(num_heads)]
    scores = {reading: score_alignments(translator.align(split.pairs, reading), split.links) for reading in readings}
    best = min(readings, key=lambda reading: scores[reading].error_rate)
    return best, scores[best]
