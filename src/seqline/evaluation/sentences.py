"""Sentences to check a run with: those of a user, of different lengths and not too long, or some made of the vocabulary."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

from seqline.data.tokenizer import EOS, UNK, Tokenizer
from seqline.errors import UserError

Texts = Sequence[str | tuple[str, str]]

WORD_COUNTS = (1, 2, 3, 4, 5, 7, 9, 12)
FEW_LINES = 4
MOST_PIECES = 60
MOST_ENCODED = 1_000
_POOL = 64
_MOST_TRIED = 5_000


class Line(NamedTuple):
    """A text and, for a translation, its target where one is given."""

    source: str
    target: str | None = None


class Reader(Protocol):
    """What knows how a model reads."""

    def encode(self, text: str) -> Sequence[int]:
        """Turn a text into ids."""
        ...

    def encode_target(self, text: str) -> Sequence[int]:
        """Turn a target into ids."""
        ...

    def own_lines(self) -> Sequence[Line]:
        """Make lines of the vocabulary."""
        ...

    def reads(self, line: Line) -> bool:
        """Tell whether the model can read a line."""
        ...


def choose(reader: Reader, texts: Texts | None, most: int) -> tuple[list[Line], tuple[str, ...]]:
    """Return at most `most` lines to check with, at least a few, and notes of what was done to get them.

    Args:
        reader: the model's.
        texts: sentences or pairs; None: made of the vocabulary.
        most: from `FEW_LINES` up.

    Raises:
        UserError: no sentence in `texts`.
    """
    own = [line for line in _cut(reader, reader.own_lines()) if line is not None]
    if texts is None:
        lines = [own[i] for i in spread([len(reader.encode(line.source)) for line in own], most)]
        return lines, (f"{len(lines)} sentences made of the run's own vocabulary (give yours as FILE)",)
    given = [Line(text) if isinstance(text, str) else Line(text[0], text[1] or None) for text in texts]
    full = [line for line in given if line.source.strip()]
    if not full:
        raise UserError("no sentence in it", where="texts", fix="give at least one line with text")
    some = [full[i * len(full) // MOST_ENCODED] for i in range(MOST_ENCODED)] if len(full) > MOST_ENCODED else full
    whole = [some[i] for i in spread([len(reader.encode(line.source)) for line in some], most)]
    lines = [line for line in _cut(reader, whole) if line is not None]
    added = own[: max(0, FEW_LINES - len(lines))]
    num_unknown = sum(reader.encode(line.source).count(UNK) for line in lines)
    notes = (
        (len(given) - len(full), "{} blank lines left out"),
        (len(full) - len(whole), f"{len(whole)} of {len(full):,} sentences, of different lengths"),
        (sum(line not in whole for line in lines), f"{{}} cut to what the laws need, at most {MOST_PIECES} pieces"),
        (len(whole) - len(lines), "{} left out: the model cannot read so much as their beginning"),
        (num_unknown, "{} pieces outside the vocabulary (<unk>), checked as such"),
        (len(added), "{} sentences of the vocabulary added, so that there is something to stand beside"),
    )
    return [*lines, *added], tuple(note.format(f"{count:,}") for count, note in notes if count)


def _cut(reader: Reader, lines: Sequence[Line]) -> Iterator[Line | None]:
    """Yield each line, its beginning where it is too long, None where nothing is left of it."""
    for line in lines:
        most, short = MOST_PIECES, line
        while most:
            source = shortened(line.source, reader.encode, most)
            short = Line(source, line.target and shortened(line.target, reader.encode_target, most))
            if not source.strip() or reader.reads(short):
                break
            most //= 2
        yield short if most and short.source.strip() else None


def own_sentences(tokenizer: Tokenizer, seed: int = 1, counts: Sequence[int] = WORD_COUNTS) -> list[str]:
    """Make sentences of known pieces, the same ones for the same vocabulary and seed.

    Args:
        tokenizer: whose pieces are drawn.
        seed: of the draw.
        counts: the words of each sentence; a word of `char` has one to five characters.
    """
    rng = random.Random(seed)
    pool = _words(tokenizer, rng)
    longest = 5 if tokenizer.kind == "char" else 1

    def word() -> str:
        return "".join(rng.choice(pool) for _ in range(rng.randint(1, longest)))

    space = " " if UNK not in tokenizer.encode(f"{pool[0]} {pool[0]}") else ""
    return [space.join(word() for _ in range(count)) for count in counts]


def _words(tokenizer: Tokenizer, rng: random.Random) -> list[str]:
    """Return texts of single pieces, printable and known."""
    ids = [i for i, value in enumerate(tokenizer.byte_values) if i > EOS and value < 0]
    rng.shuffle(ids)
    found: list[str] = []
    for i in ids[:_MOST_TRIED]:
        text = tokenizer.decode([i]).strip()
        if text and text.isprintable() and UNK not in tokenizer.encode(text):
            found.append(text)
        if len(found) == _POOL:
            break
    return found or ["a"]


def spread(lengths: Sequence[int], most: int) -> list[int]:
    """Choose at most `most` items, of lengths as different as can be, the shortest and the longest among them.

    Returns:
        Their indices, ascending.
    """
    order = sorted(range(len(lengths)), key=lambda i: (lengths[i], i))
    first = [i for place, i in enumerate(order) if place == 0 or lengths[order[place - 1]] != lengths[i]]
    if len(first) >= most:
        last = max(1, most - 1)
        return sorted(first[round(k * (len(first) - 1) / last)] for k in range(most))
    chosen = set(first)
    others = [i for i in order if i not in chosen]
    return sorted([*first, *others[: most - len(first)]])


def shortened(text: str, encode: Callable[[str], Sequence[int]], most: int) -> str:
    """Return the beginning of a text that has at most `most` pieces; empty where its first character has more."""
    while (length := len(encode(text))) > most:
        keep = min(len(text) - 1, max(1, len(text) * most // length))
        text = text[:keep].rstrip()
    return text
