"""Labelled text from pairs: tokens with one tag each, or a text with one label; what does not fit is refused by its line.

The pairs come from `text.read_pairs` and its kin: `tokens TAB tags` and `text TAB label`, or JSON lines with two keys.
"""

from __future__ import annotations

from seqline.data.text import Pair, PairSet, Tally
from seqline.errors import UserError


def split_tokens(text: str) -> list[str]:
    """Split a line of tokens, or of tags, at runs of white space."""
    return text.split()


def check_tagging(pairs: PairSet, tally: Tally) -> PairSet:
    """Keep the lines that hold tokens; a blank line is left out and counted in `tally` as "empty".

    Args:
        pairs: source = tokens, target = their tags, as they were read.
        tally: of these pairs.

    Returns:
        The other pairs, unchanged, in their order; `split_tokens` gives as many tags as tokens.

    Raises:
        UserError: a line with more or fewer tags than tokens; with file and line.
    """
    kept = []
    for pair in pairs.pairs:
        num_tokens, num_tags = len(split_tokens(pair.source)), len(split_tokens(pair.target))
        if num_tokens != num_tags:
            raise UserError(
                f"{_count(num_tokens, 'token')} but {_count(num_tags, 'tag')}",
                where=f"{pairs.name}:{pair.line}",
                fix="give each token one tag: tokens TAB tags, both separated by spaces",
            )
        if num_tokens:
            kept.append(pair)
        else:
            tally.add("empty", pair.line)
    return PairSet(pairs.name, kept)


def check_classes(pairs: PairSet, tally: Tally) -> PairSet:
    """Keep the lines that hold text, their labels without white space around them.

    A line without text is left out and counted in `tally`: as "empty", or as "empty text" where it has a label.

    Args:
        pairs: source = text, target = its label, as they were read.
        tally: of these pairs.

    Returns:
        The other pairs in their order; the text as it came, the label stripped.

    Raises:
        UserError: a text without a label; with file and line.
    """
    kept = []
    for pair in pairs.pairs:
        label = pair.target.strip()
        if not pair.source.strip():
            tally.add("empty text" if label else "empty", pair.line)
        elif not label:
            where = f"{pairs.name}:{pair.line}"
            raise UserError("a text without a label", where=where, fix="write text TAB label, or remove the line")
        else:
            kept.append(Pair(pair.source, label, pair.line))
    return PairSet(pairs.name, kept)


def _count(number: int, name: str) -> str:
    return f"{number:,} {name}" if number == 1 else f"{number:,} {name}s"
