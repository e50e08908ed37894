r"""Plain text for language models: one long stream in which a newline is a symbol, or lines that are texts of their own.

In a stream the newline is written as one private-use character before a tokenizer sees it, and turned back afterwards; two
private characters of user text are escaped for it, so that every text comes back.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import NamedTuple

from seqline.data.folders import SET_NAMES
from seqline.data.lines import read_text
from seqline.data.text import Pair, PairSet
from seqline.data.tokenizer import Tokenizer
from seqline.errors import UserError

NEWLINE = "\uee91"
"""What stands for a newline inside a tokenizer."""
_ESCAPE = "\uee90"
_MARKS = {_ESCAPE: _ESCAPE + "\uee92", NEWLINE: _ESCAPE + "\uee93", "\n": NEWLINE}
_PLAIN = {marked: plain for plain, marked in _MARKS.items()}
_TO_MARK = re.compile("|".join(_MARKS))
_TO_PLAIN = re.compile("|".join(sorted(_PLAIN, key=len, reverse=True)))
_FORMS = (".txt", ".txt.gz")
SHARE_HELD_OUT, LEAST_CHARACTERS = 50, 20  # one part in 50; a text below 20 characters teaches nothing


class Text(NamedTuple):
    """A text and the name of its file."""

    name: str
    text: str


class TextData(NamedTuple):
    """The sets of a language model; None: not given."""

    train: Text
    valid: Text | None


def mark_newlines(text: str) -> str:
    """Write each newline as one ordinary character; `restore_newlines` turns every text back."""
    return _TO_MARK.sub(lambda match: _MARKS[match[0]], text)


def restore_newlines(text: str) -> str:
    """Undo `mark_newlines`."""
    return _TO_PLAIN.sub(lambda match: _PLAIN[match[0]], text)


def stream_lines(text: str, kind: str) -> list[str]:
    """Return what a tokenizer of a kind sees of a stream: each line with its end, and the last, which has none."""
    end = (
        f" {NEWLINE}" if kind == "word" else NEWLINE
    )  # words are separated by white space, and the end of a line is one
    *ended, last = mark_newlines(text).split(NEWLINE)
    return [*(line + end for line in ended), last]


def encode_stream(tokenizer: Tokenizer, text: str) -> list[int]:
    """Turn a long text into ids, line by line, so that no piece crosses the end of a line."""
    return [i for line in tokenizer.encode_batch(stream_lines(text, tokenizer.kind)) for i in line]


def decode_stream(tokenizer: Tokenizer, ids: Sequence[int]) -> str:
    """Undo `encode_stream`; `word` keeps words and lines, with one space between words and none at the end of a line."""
    text = restore_newlines(tokenizer.decode(ids))
    return re.sub(" ?\n ?", "\n", text) if tokenizer.kind == "word" else text


def read_plain(spec: str) -> Text:
    """Read one text file, plain or gzip; `-` is standard input.

    Raises:
        UserError: no such file, or not a text; with file and line.
    """
    if not spec:
        raise UserError("no data named", fix="give a text file, or a folder with train.txt and valid.txt")
    return Text("standard input" if spec == "-" else spec, read_text(spec))


def read_plain_data(spec: str, valid: str = "") -> TextData:
    """Read a text file, or a folder with train.txt, valid.txt, test.txt; `valid` names another validation text.

    Raises:
        UserError: no training text in the folder, or a file that does not read.
    """
    if not os.path.isdir(spec):
        return TextData(read_plain(spec), read_plain(valid) if valid else None)
    train = read_plain_set(spec, "train")
    if train is None:
        raise UserError("no training text in this folder", where=spec, fix="name it train.txt, or name the file itself")
    return TextData(train, read_plain(valid) if valid else read_plain_set(spec, "valid"))


def read_plain_set(folder: str, name: str) -> Text | None:
    """Read the text `train`, `valid` or `test` of a folder; None if it has none.

    Raises:
        UserError: two files could be it.
    """
    paths = [os.path.join(folder, base + form) for base in SET_NAMES[name] for form in _FORMS]
    found = [path for path in paths if os.path.lexists(path)]
    if len(found) > 1:
        names = ", ".join(map(os.path.basename, found))
        raise UserError(f"several files could be the {name} text: {names}", where=folder, fix="keep one of them")
    return read_plain(found[0]) if found else None


def hold_out_end(train: Text) -> tuple[Text, Text]:
    """Cut the last fiftieth of a stream off, at the end of a line where there is one near, as its validation text.

    Raises:
        UserError: too short to be cut.
    """
    length = len(train.text)
    if length < SHARE_HELD_OUT * LEAST_CHARACTERS:
        what = f"too short to hold out a validation text: {length:,} characters, needs {SHARE_HELD_OUT * LEAST_CHARACTERS:,}"
        raise UserError(what, where=train.name, fix="give one with --valid (data.valid)")
    cut = length - length // SHARE_HELD_OUT
    line_end = train.text.find("\n", cut, length - LEAST_CHARACTERS) + 1
    cut = line_end or cut
    return Text(train.name, train.text[:cut]), Text(f"{train.name} (its end)", train.text[cut:])


def lines_of(text: Text) -> PairSet:
    """Return each line as the target of a pair without a source."""
    lines = text.text.removesuffix("\n").split("\n") if text.text else []
    return PairSet(text.name, [Pair("", line, number) for number, line in enumerate(lines, 1)])
