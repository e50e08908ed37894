"""Which white-space word of a text each of its pieces belongs to.

The white space in front of a word belongs to the word, as in the pieces of sentencepiece.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from seqline.data.spans import PieceSpan


def is_of_word(character: str) -> bool:
    """Tell whether a character is part of a word: a letter, a digit, or a mark on one, such as the vowel signs of Hindi."""
    return unicodedata.category(character)[0] in "LMN"


def words_of(spans: Sequence[PieceSpan], text: str) -> list[int | None]:
    """Return the index in `text.split()` of the word that each piece spells, or begins to spell.

    Args:
        spans: where the pieces stand in `text`, as `source_spans` and `output_spans` say.
        text: what the ranges point into.

    Returns:
        One index a piece; None for a special one, and where no word follows any more: white space at the end.
    """
    words = _word_at(text)
    return [None if span.start is None else words[span.start] for span in spans]


def _word_at(text: str) -> list[int | None]:
    """Return for each byte of the text, and its end, the word that stands there or comes next."""
    number, is_inside = -1, False
    found: list[int] = []
    for character in text:
        number += not character.isspace() and not is_inside
        is_inside = not character.isspace()
        found += [number if is_inside else number + 1] * len(character.encode("utf-8"))
    num_words = number + 1
    return [word if word < num_words else None for word in [*found, num_words]]
