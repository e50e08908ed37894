"""Where each piece of a tokenizer stands in the text as typed, or in the text that it decodes to: ranges of bytes.

The tokenizer's private escapes are mapped back, so that a range always points into what a person wrote or reads. This is
the other half of `tokenizer.py`, and knows its insides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from seqline.data.tokenizer import _ESCAPES, _TO_UNESCAPE, BOS, EOS, PAD, UNK, Tokenizer, _escape, _unescape


class PieceSpan(NamedTuple):
    """One id, its piece, and the half-open range of UTF-8 bytes that it stands for; None: it stands for no text."""

    id: int
    piece: str
    start: int | None
    end: int | None


def source_spans(tokenizer: Tokenizer, text: str) -> list[PieceSpan]:
    """Return the ids of `tokenizer.encode(text)` with their ranges in `text`.

    Ranges are in order, do not overlap and leave out nothing but white space. Where a character takes several ids, each
    has a part of its bytes, and those that are left over an empty range.

    Raises:
        UserError: as `encode`.
    """
    ids = tokenizer.encode(text)
    if tokenizer.kind == "word":
        ranges = list(_word_ranges(text))
    elif tokenizer.kind == "char":
        ranges = list(_character_ranges(tokenizer, text))
    else:
        ranges = _subword_ranges(tokenizer, text, ids)
    return _joined(tokenizer, ids, ranges)


def output_spans(tokenizer: Tokenizer, ids: Sequence[int]) -> tuple[str, list[PieceSpan]]:
    """Return `tokenizer.decode(ids)` and the range of each id in it.

    Pad, bos and eos have no range; bytes that make no character have an empty one.

    Raises:
        ValueError: as `decode`.
    """
    text = tokenizer.decode(ids)
    if tokenizer.kind == "word":
        ranges = _written_words(tokenizer, ids)
    else:
        data = [tokenizer._bytes[i] for i in ids]
        back = _decoding(b"".join(data))
        ends = list(accumulate(map(len, data), initial=0))
        ranges = [(back[a], back[b]) for a, b in pairwise(ends)]
    spans = _joined(tokenizer, ids, ranges)
    return text, [s if s.id not in (PAD, BOS, EOS) else PieceSpan(s.id, s.piece, None, None) for s in spans]


def _joined(tokenizer: Tokenizer, ids: Sequence[int], ranges: Sequence[tuple[int, int]]) -> list[PieceSpan]:
    pieces = tokenizer.pieces(ids)
    return [PieceSpan(i, piece, *range_) for i, piece, range_ in zip(ids, pieces, ranges, strict=True)]


def _word_ranges(text: str) -> Iterator[tuple[int, int]]:
    offsets = _offsets(text)
    for match in re.finditer(r"\S+", text):
        yield offsets[match.start()], offsets[match.end()]


def _character_ranges(tokenizer: Tokenizer, text: str) -> Iterator[tuple[int, int]]:
    """Yield the range of each id; an escaped character has two ids, which share its bytes."""
    for (start, end), character in zip(pairwise(_offsets(text)), text, strict=True):
        if len(tokenizer._ids.get(character, ())) == 2:
            yield start, start + 1
            start += 1
        yield start, end


def _subword_ranges(tokenizer: Tokenizer, text: str, ids: Sequence[int]) -> list[tuple[int, int]]:
    lengths = [len(tokenizer._bytes[i]) for i in ids]
    if UNK in ids:  # it stands for a run of unknown characters, which only the processor can tell
        runs = tokenizer._processor.encode(_escape(text), return_type="offset_mapping", num_threads=1)
        lengths = [
            len(p.encode("utf-8")) if i == UNK else n for i, p, n in zip(ids, runs["pieces"], lengths, strict=True)
        ]
    back = _escaping(text)
    ends = [min(end, len(back) - 1) for end in accumulate(lengths, initial=0)]
    return [(back[a], back[b]) for a, b in pairwise(ends)]


def _offsets(text: str) -> list[int]:
    """Return the byte at which each character begins, and the end."""
    return list(accumulate((len(c.encode("utf-8")) for c in text), initial=0))


def _escaping(text: str) -> list[int]:
    """Return, for each byte of the escaped text and its end, the byte of the text."""
    back = []
    for (start, end), character in zip(pairwise(_offsets(text)), text, strict=True):
        num_bytes = len(_ESCAPES.get(character, character).encode("utf-8"))
        back += _shared(start, end, num_bytes)
    return [*back, len(text.encode("utf-8"))]


def _decoding(data: bytes) -> list[int]:
    """Return, for each byte that was written and the end, the byte of the decoded text."""
    kept: list[int] = []  # the place in `data` of each byte that belongs to a character
    start = 0
    while start < len(data):
        try:
            data[start:].decode("utf-8")
            fault = len(data) - start, len(data) - start
        except UnicodeDecodeError as error:
            fault = error.start, error.end
        kept += range(start, start + fault[0])
        start += fault[1]
    escaped = bytes(data[i] for i in kept).decode("utf-8")
    plain: list[int] = []  # for each byte of `escaped`, the byte of the text
    done = end = 0
    for match in _TO_UNESCAPE.finditer(escaped):
        before = len(escaped[done : match.start()].encode("utf-8"))
        plain += range(end, end + before)
        size = len(_unescape(match[0]).encode("utf-8"))
        plain += _shared(end + before, end + before + size, len(match[0].encode("utf-8")))
        end += before + size
        done = match.end()
    rest = len(escaped[done:].encode("utf-8"))
    plain += range(end, end + rest + 1)
    back, place = [], 0
    for i in range(len(data) + 1):
        while place < len(kept) and kept[place] < i:
            place += 1
        back.append(plain[place])
    return back


def _shared(start: int, end: int, num_bytes: int) -> list[int]:
    """Spread the bytes of one character over as many or more that stand for it."""
    if num_bytes == end - start:
        return list(range(start, end))
    return [min(end, start + k // 2) for k in range(num_bytes)]


def _written_words(tokenizer: Tokenizer, ids: Sequence[int]) -> list[tuple[int, int]]:
    ranges, end, is_first = [], 0, True
    for i, piece in zip(ids, tokenizer.pieces(ids), strict=True):
        if i in (PAD, BOS, EOS):
            ranges.append((end, end))
            continue
        start = end if is_first else end + 1  # one blank between words
        end, is_first = start + len(piece.encode("utf-8")), False
        ranges.append((start, end))
    return ranges
