"""Tokens and words of a text as a trace holds them, from the byte ranges that a tokenizer gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, TypeAlias

from seqline.visualize.scripts import Segment, clusters, direction, readable, word_ranges
from seqline.visualize.widths import width_em

Span: TypeAlias = tuple[int, str, int | None, int | None]
"""Id, piece, and the half-open range of its bytes in the text as typed; None, None for a special token."""

_SPECIAL = {"<pad>": "pad", "<unk>": "unk", "<s>": "bos", "</s>": "eos", "<sep>": "sep", "<mask>": "mask"}
UNKNOWN_ID = 1


def special_token(token_id: int, piece: str, special: str | None = None) -> dict[str, Any]:
    """Return the Token of a piece that stands for no text, such as `</s>`; `special` is known by the usual names."""
    return {
        "id": int(token_id),
        "piece": piece,
        "text": readable(piece),
        "word": None,
        "bytes": None,
        "special": special or _SPECIAL.get(piece, "lang"),
        "dir": "neutral",
        "w_em": width_em(readable(piece)),
    }


def tokens_of(
    text: str, spans: Sequence[Span], *, segment: Segment | None = None
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the Tokens and the Words of a text.

    A token never shows half a character: one that holds a part of it shows it whole, with `part` = [k, n]. A word is
    what `word_ranges` finds, joined where one token reaches over several words.

    Args:
        text: As typed.
        spans: A token each, ranges in order and without overlap.
        segment: See `word_ranges`.

    Raises:
        ValueError: ranges out of order, or outside the text.
    """
    _check_spans(text, spans)
    characters = _Characters(text)
    tokens = [_token(characters, span) for span in spans]
    _number_parts(characters, tokens)
    return tokens, _words(characters, tokens, segment)


def text_block(
    text: str, spans: Sequence[Span], *, lang: str | None = None, segment: Segment | None = None
) -> dict[str, Any]:
    """Return the block `source` of a trace, or the beginning of `target`."""
    tokens, words = tokens_of(text, spans, segment=segment)
    way = direction(text)
    return {"text": text, "lang": lang, "dir": "rtl" if way == "rtl" else "ltr", "tokens": tokens, "words": words}


class _Characters:
    """A text cut into user-perceived characters, with the byte at which each begins."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.bytes = text.encode("utf-8")
        self.offsets = [0, *accumulate(len(c.encode("utf-8")) for c in text)]
        ranges = clusters(text)
        self.ranges = [(self.offsets[a], self.offsets[b]) for a, b in ranges]
        self.owner = [0] * len(self.bytes)
        for index, (start, end) in enumerate(self.ranges):
            self.owner[start:end] = [index] * (end - start)

    def cut(self, start: int, end: int) -> str:
        return self.bytes[start:end].decode("utf-8")

    def trimmed(self, start: int, end: int) -> tuple[int, int]:
        """Leave white space at both ends out, unless there is nothing else."""
        try:
            text = self.cut(start, end)
        except UnicodeDecodeError:  # a part of a character
            return start, end
        if not text.strip():
            return start, end
        head, tail = text[: -len(text.lstrip())], text[len(text.rstrip()) :]
        return start + len(head.encode("utf-8")), end - len(tail.encode("utf-8"))

    def whole(self, start: int, end: int) -> str:
        """Return the characters that begin in a range of bytes, or the one that the range is a part of."""
        first, last = self.owner[start], self.owner[end - 1]
        if first != last and self.ranges[first][0] < start:
            first += 1
        return self.cut(self.ranges[first][0], self.ranges[last][1])


def _check_spans(text: str, spans: Sequence[Span]) -> None:
    last, size = 0, len(text.encode("utf-8"))
    for token_id, piece, start, end in spans:
        if start is None or end is None:
            continue
        if not last <= start <= end <= size:
            raise ValueError(f"token {token_id} {piece!a}: range {start}-{end} after {last}, in {size} bytes")
        last = end


def _token(characters: _Characters, span: Span) -> dict[str, Any]:
    token_id, piece, start, end = span
    if start is None or end is None:
        return special_token(token_id, piece)
    if end > start:
        start, end = characters.trimmed(start, end)
        shown = readable(characters.whole(start, end))
    else:
        shown = readable(piece)  # bytes that make no character stand for no text
    return {
        "id": int(token_id),
        "piece": piece,
        "text": shown,
        "word": None,
        "bytes": [start, end],
        "special": "unk" if token_id == UNKNOWN_ID and piece == "<unk>" else None,
        "dir": direction(shown),
        "w_em": width_em(shown),
    }


def _number_parts(characters: _Characters, tokens: list[dict[str, Any]]) -> None:
    """Mark the tokens that lie inside one character with their number in it."""
    groups: dict[int, list[dict[str, Any]]] = {}
    for token in tokens:
        if token["bytes"] is None or not characters.ranges:
            continue
        start, end = token["bytes"]
        if start == end:
            continue
        index = characters.owner[start]
        low, high = characters.ranges[index]
        if low <= start and end <= high and (start, end) != (low, high):
            groups.setdefault(index, []).append(token)
    for index, group in groups.items():
        low = characters.ranges[index][0]
        skipped = int(group[0]["bytes"][0] > low)  # a longer token holds the beginning
        for number, token in enumerate(group, 1 + skipped):
            token["part"] = [number, len(group) + skipped]


def _words(characters: _Characters, tokens: list[dict[str, Any]], segment: Segment | None) -> list[dict[str, Any]]:
    """Give each token its word; words that share a token become one, white space belongs to the word after it."""
    offsets = characters.offsets
    ranges = [(offsets[a], offsets[b]) for a, b in word_ranges(characters.text, segment)]
    groups: list[_Group] = []
    place = 0
    for number, token in enumerate(tokens):
        if token["bytes"] is None:
            continue
        start, end = token["bytes"]
        while place < len(ranges) and ranges[place][1] <= start:
            place += 1
        first = last = min(place, len(ranges) - 1)
        while last + 1 < len(ranges) and ranges[last + 1][0] < end:
            last += 1
        group = groups[-1] if groups else None
        if group is not None and first <= group.last and group.tokens[-1] == number - 1:
            group.tokens.append(number)
            group.last = max(group.last, last)
        else:
            groups.append(_Group([number], first, last))
        token["word"] = len(groups) - 1
    return [_word(characters, tokens, ranges, group) for group in groups]


@dataclass
class _Group:
    """Tokens side by side and the ranges of words that they reach over; -1: there are none."""

    tokens: list[int]
    first: int
    last: int


def _word(
    characters: _Characters, tokens: list[dict[str, Any]], ranges: list[tuple[int, int]], group: _Group
) -> dict[str, Any]:
    if ranges:
        start, end = ranges[group.first][0], ranges[group.last][1]
    else:
        start, end = tokens[group.tokens[0]]["bytes"][0], tokens[group.tokens[-1]]["bytes"][1]
    shown = readable(characters.whole(start, end)) if end > start else tokens[group.tokens[0]]["text"]
    return {
        "text": shown,
        "tok": group.tokens,
        "bytes": [start, end],
        "dir": direction(shown),
        "w_em": width_em(shown),
    }
