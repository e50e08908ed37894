r"""From bytes to lines, by one rule for every text that seqline reads.

A line ends at `\n` and nowhere else; one `\r` before it is removed; a byte order mark is dropped at the start of a file
only; the rest is strict UTF-8 without NUL. Gzip is known by its first bytes. Reading is a stream with limits, so that a
giant line or a gzip bomb is refused before it fills the memory.
"""

from __future__ import annotations

import codecs
import gzip
import sys
import zlib
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import chain
from typing import BinaryIO, NoReturn, cast

from seqline.errors import UserError
from seqline.files import open_regular

MAX_LINE_BYTES = 64 * 1024
"""The longest line, its end not counted."""
MAX_FILE_BYTES = 16 * 1024**3
"""The largest file, decompressed."""
MAX_RATIO = 200
"""The largest ratio of decompressed to compressed bytes, counted once a file exceeds `RATIO_FREE_BYTES`."""
RATIO_FREE_BYTES = 16 * 1024**2
"""A small file may be compressed as well as it can: it harms nobody, and tiny examples repeat themselves."""

_CHUNK_BYTES = 1024**2


def read_text(path: str) -> str:
    r"""Read a whole text: its lines with `\n` between them, and at the end where the file has one.

    Raises:
        UserError: as `read_lines`.
    """
    lines, is_ended = _read(path)
    return "\n".join(lines) + ("\n" if is_ended else "")


def read_lines(path: str) -> list[str]:
    r"""Read every line of a text file, plain or gzip; `-` is standard input.

    The number of lines is the number of `\n`, and one more where the last line has none.

    Raises:
        UserError: no regular file, not UTF-8, a NUL, a line or a file over its limit, damaged gzip; with file and line.
    """
    return _read(path)[0]


def _read(path: str) -> tuple[list[str], bool]:
    """Return the lines, and whether the last one has an end."""
    name = "standard input" if path == "-" else path
    with nullcontext(_standard_input()) if path == "-" else open_regular(path) as file:
        chunks = _chunks(_Source(file), name)
        first = next(chunks, b"")
        offset = len(codecs.BOM_UTF8) if first.startswith(codecs.BOM_UTF8) else 0
        lines: list[str] = []
        rest = b""
        for chunk in chain([first[offset:]], chunks):
            body, newline, tail = chunk.rpartition(b"\n")
            if newline:
                block = rest + body
                lines += _decode(block, name, len(lines), offset)
                offset += len(block) + 1
                rest = tail
            else:
                rest += chunk
            if len(rest) > MAX_LINE_BYTES:
                _refuse_long(name, len(lines) + 1)
        if rest:
            lines += _decode(rest, name, len(lines), offset)
    return lines, bool(lines) and not rest


class _Source:
    """Bytes of a stream that may not go back: its first two bytes can be seen, and what is read is counted."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.num_read = 0
        self.head = file.read(2)

    @property
    def is_gzip(self) -> bool:
        return self.head == b"\x1f\x8b"

    def read(self, size: int = -1) -> bytes:
        if self.num_read == 0 and self.head:
            data = self.head + (self.file.read(size - len(self.head)) if size > len(self.head) else b"")
        else:
            data = self.file.read(size)
        self.num_read += len(data)
        return data


def _standard_input() -> BinaryIO:
    if sys.stdin is None:
        raise UserError("there is no standard input", where="-", fix="name a file")
    return sys.stdin.buffer


def _chunks(source: _Source, name: str) -> Iterator[bytes]:
    """Yield decompressed chunks, within the limits of a file."""
    # GzipFile joins several members, checks their sums and refuses what follows them; it only ever calls `read`.
    stream = gzip.GzipFile(fileobj=cast(BinaryIO, source), mode="rb") if source.is_gzip else source
    total = 0
    while True:
        try:
            chunk = stream.read(_CHUNK_BYTES)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise UserError(f"damaged gzip: {error}", where=name, fix="fetch or compress the file again") from error
        except OSError as error:
            raise UserError(f"cannot be read: {error.strerror or error}", where=name) from error
        if not chunk:
            return
        total += len(chunk)
        if total > MAX_FILE_BYTES:
            raise UserError(f"holds more than {MAX_FILE_BYTES:,} bytes", where=name, fix="split the file")
        if source.is_gzip and total > max(RATIO_FREE_BYTES, MAX_RATIO * source.num_read):
            raise UserError(
                f"gzip grows to more than {MAX_RATIO} times its size",
                where=name,
                fix="decompress it first if you trust it",
            )
        yield chunk


def _decode(block: bytes, name: str, num_before: int, offset: int) -> list[str]:
    """Turn whole lines, joined by line ends and without the last one, into text; `num_before` lines came earlier."""
    if len(block) > MAX_LINE_BYTES:
        for index, line in enumerate(block.split(b"\n")):
            if len(line) > MAX_LINE_BYTES:
                _refuse_long(name, num_before + index + 1)
    nul = block.find(b"\0")
    try:
        text = block[: nul if nul >= 0 else None].decode("utf-8")
    except UnicodeDecodeError as error:
        what = f"not UTF-8: byte 0x{block[error.start]:02x} at offset {offset + error.start:,}"
        is_utf_16 = offset == 0 and block.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        fix = "it looks like UTF-16; save it as UTF-8" if is_utf_16 else "save the file as UTF-8"
        raise UserError(what, where=_place(name, num_before, block, error.start), fix=fix) from error
    if nul >= 0:
        what = f"NUL character at offset {offset + nul:,}"
        raise UserError(what, where=_place(name, num_before, block, nul), fix="remove it, if this is a text file")
    lines = text.split("\n")
    return [line.removesuffix("\r") for line in lines] if "\r" in text else lines


def _place(name: str, num_before: int, block: bytes, position: int) -> str:
    line = num_before + block.count(b"\n", 0, position) + 1
    return f"{name}:{line}"


def _refuse_long(name: str, line: int) -> NoReturn:
    raise UserError(
        f"line longer than {MAX_LINE_BYTES:,} bytes", where=f"{name}:{line}", fix="split it or remove the line"
    )
