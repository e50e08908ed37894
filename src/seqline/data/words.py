"""Which white-space word of a text each of its pieces belongs to.

The white space in front of a word belongs to the word, as in the pieces of sentencepiece, and so do the bytes that begin one
of its characters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from seqline.data.tokenizer import UNK, Tokenizer


def word_of_pieces(tokenizer: Tokenizer, ids: Sequence[int], text: str) -> list[int | None]:
    """Return the index in `text.split()` of the word that each piece spells, or begins to spell.

    Args:
        tokenizer: what made or spelled the ids.
        ids: `tokenizer.encode(text)`, or ids of which `text` is the decoded form; special ones spell nothing.
        text: a source as it was encoded, where unknown parts keep their characters, or an output.

    Returns:
        One index an id; None where no word follows any more: white space or a special id at the end.
    """
    words = _word_at(text)
    return [words[begin] for begin, _ in piece_spans(tokenizer, ids, text)]


def piece_spans(tokenizer: Tokenizer, ids: Sequence[int], text: str) -> list[tuple[int, int]]:
    """Return where in `text` each piece stands: the first character and the one behind the last.

    A piece that completes no character (the first bytes of one, a special id) has an empty span. Arguments as in
    `word_of_pieces`.
    """
    if tokenizer.kind == "word":
        ends = _ends_of_words(ids, text)
    elif UNK in ids and tokenizer.decode(ids) != text:
        ends = list(_ends_beside_unknown(tokenizer, ids, text))
    else:
        ends = tokenizer.ends(ids)
    return list(pairwise([0, *(min(end, len(text)) for end in ends)]))


def _word_at(text: str) -> list[int | None]:
    """Return for each place in the text, its end included, the word that stands there or comes next."""
    number, is_inside = -1, False
    found: list[int | None] = []
    for character in text:
        if character.isspace():
            found.append(number + 1)
            is_inside = False
        else:
            number += not is_inside
            found.append(number)
            is_inside = True
    num_words = number + 1
    return [word if word is not None and word < num_words else None for word in [*found, num_words]]


def _ends_of_words(ids: Sequence[int], text: str) -> Iterator[int]:
    """Yield the ends of as many words as there are ids; special ids spell none."""
    words, end = iter(text.split()), 0
    for i in ids:
        word = next(words, "") if i == UNK or i > 3 else ""
        end = text.index(word, end) + len(word)
        yield end


def _ends_beside_unknown(tokenizer: Tokenizer, ids: Sequence[int], text: str) -> Iterator[int]:
    """Yield the ends in a text whose unknown parts are longer or shorter than `<unk>`: one character in `char`, else a run."""
    begin, end = 0, 0
    while begin < len(ids):
        stop = next((n for n in range(begin, len(ids)) if ids[n] == UNK), len(ids))
        known = ids[begin:stop]
        yield from (end + width for width in tokenizer.ends(known))
        end += len(tokenizer.decode(known))
        if stop < len(ids):
            end = end + 1 if tokenizer.kind == "char" else _end_of_run(tokenizer, ids[stop + 1 :], text, end)
            yield end
        begin = stop + 1


def _end_of_run(tokenizer: Tokenizer, ids: Sequence[int], text: str, begin: int) -> int:
    """Return where a run of unknown characters ends: where the known text behind it begins, which holds none of them."""
    stop = next((n for n, i in enumerate(ids) if i == UNK), len(ids))
    behind = tokenizer.decode(ids[:stop])
    found = text.find(behind, begin + 1) if behind else len(text)
    return found if found >= 0 else len(text)
