"""Texts of a trace: what was read and what was produced, every token at its place in the text as typed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from seqline.data.plain import NEWLINE, mark_newlines
from seqline.data.spans import PieceSpan, output_spans, source_spans
from seqline.data.tokenizer import BOS, EOS, PAD, Tokenizer
from seqline.visualize.scripts import readable
from seqline.visualize.text import Span, special_token, text_block
from seqline.visualize.widths import width_em

LINE_END = "\u23ce"
"""How a line end is named among pieces."""
_PRIVATE = mark_newlines(mark_newlines("\n"))[0]  # what begins an escape


def source_block(tokenizer: Tokenizer, ids: Sequence[int], text: str, pieces: Sequence[str] = ()) -> dict[str, Any]:
    """Return the block of a text that was read.

    Args:
        tokenizer: what made the ids.
        ids: of the text; those of special tokens may stand before and behind.
        text: as typed.
        pieces: the texts that the tokenizer read one after another, where they are not just `text`.
    """
    read = list(pieces) or [text]
    places, found, begin = _byte_places("".join(read), text), [], 0
    for part in read:
        for span in source_spans(tokenizer, part):
            found.append(_moved(span, places, begin))
        begin += len(part.encode("utf-8"))
    inside = [span[0] for span in found]
    start = next((n for n in range(len(ids)) if list(ids[n : n + len(inside)]) == inside), 0)
    marks = [(i, named(tokenizer.pieces([i])[0]), None, None) for i in ids]
    return text_block(text, [*marks[:start], *found, *marks[start + len(inside) :]])


def target_block(tokenizer: Tokenizer, ids: Sequence[int], text: str | None = None) -> dict[str, Any]:
    """Return the block of ids that were written; `text` is what a person reads, where it is not just their decoding."""
    decoded, spans = output_spans(tokenizer, ids)
    shown = decoded if text is None else text
    places = _byte_places(decoded, shown)
    return text_block(shown, [_moved(span, places, 0) for span in spans])


def _moved(span: PieceSpan, places: Sequence[int], begin: int) -> Span:
    name = named(span.piece)
    if span.start is None or span.end is None:
        return (span.id, name, None, None)
    return (span.id, name, places[begin + span.start], places[begin + span.end])


def _byte_places(read: str, text: str) -> list[int]:
    """Return for each byte of `read`, and its end, the byte of `text`."""
    if read == text:
        return list(range(len(text.encode("utf-8")) + 1))
    offsets = list(accumulate((len(c.encode("utf-8")) for c in text), initial=0))
    found: list[int] = []
    places = _places(read, text)
    for character, place, behind in zip(read, places, places[1:], strict=False):
        size, start = len(character.encode("utf-8")), offsets[min(place, len(text))]
        is_same = text[place : place + 1] == character and behind > place  # not the first half of an escape
        found += [start + k if is_same else start for k in range(size)]
    return [*found, offsets[-1]]


def _places(read: str, text: str) -> list[int]:
    """Return for each place in `read` its place in `text`, which has other white space and no marks."""
    places, j, i = [], 0, 0
    while i < len(read):
        while j < len(text) and text[j].isspace() and not _are_same(read[i], text[j]) and not read[i].isspace():
            j += 1
        if (read[i] == _PRIVATE and text[j : j + 1] != read[i : i + 1]) or _is_escape(read, i, text, j):
            places += [j] * len(read[i : i + 2])
            i, j = i + 2, j + 1
        elif read[i].isspace() and not _are_same(read[i], text[j : j + 1]):
            places.append(j)
            i += 1
        else:
            places.append(j)
            i, j = i + 1, j + 1
    return [*places, len(text)]


def _is_escape(read: str, i: int, text: str, j: int) -> bool:
    return text[j : j + 1] != "" and read[i : i + 2] == mark_newlines(text[j]) and len(mark_newlines(text[j])) == 2


def _are_same(read: str, typed: str) -> bool:
    return read == typed or (read == NEWLINE and typed == "\n")


def named(piece: str) -> str:
    """Return a piece as it is shown; the private mark of a line end gets its usual sign."""
    return piece.replace(NEWLINE, LINE_END)


def candidate(tokenizer: Tokenizer, token: int) -> dict[str, Any]:
    """Name a token of the vocabulary among the candidates of a step."""
    piece = named(tokenizer.pieces([token])[0])
    return label(token, piece, piece.replace("\u2581", " ").strip() if tokenizer.kind != "word" else piece)


def label(number: int, piece: str, text: str) -> dict[str, Any]:
    """Name a token by its id, piece and text."""
    shown = readable(text) or "\u2423"
    return {"id": number, "piece": piece, "text": shown, "w_em": width_em(shown)}


def token_alone(tokenizer: Tokenizer, token: int) -> dict[str, Any]:
    """Return a Token that stands in no text, such as a node of a beam."""
    named_token = candidate(tokenizer, token)
    piece = named_token["piece"]
    if token in (PAD, BOS, EOS):
        return special_token(token, piece)
    [found] = text_block(named_token["text"], [(token, piece, 0, len(named_token["text"].encode("utf-8")))])["tokens"][
        :1
    ]
    return found | {"word": None, "bytes": None, "w_em": named_token["w_em"], "text": named_token["text"]}


def label_block(names: Sequence[str], ids: Sequence[int]) -> dict[str, Any]:
    """Return the block `target` of labels: a token each, spaces between them."""
    text = ""
    found: list[Span] = []
    for number, name in zip(ids, names, strict=True):
        text += " " if text else ""
        start = len(text.encode("utf-8"))
        text += name
        found.append((number, name, start, len(text.encode("utf-8"))))
    return text_block(text, found) | {"bos": None, "reference": None}
