"""Laws of a tokenizer on given texts: what goes in comes back, and no text spells a mark of the model's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from torch import nn

from seqline.data.tokenizer import BOS, EOS, PAD, SPECIAL_PIECES, UNK
from seqline.evaluation.subject import Finding

UNKNOWN = SPECIAL_PIECES[UNK]


class TextSubject(NamedTuple):
    """How texts become ids and ids texts on one side of a run, its vocabulary, and texts.

    as_read: what a text is before it is encoded, white space normalized where the run says so. joined: the form in which a
    text comes back, a space between words for `word`.
    """

    encode: Callable[[str], list[int]]
    decode: Callable[[Sequence[int]], str]
    joined: Callable[[str], str]
    vocab_size: int
    texts: Sequence[str]


def round_trip_law(subject: TextSubject) -> Finding:
    """decode(encode(x)) = x, but for what the vocabulary does not know; the difference counts the texts that do not come back."""
    lost = [row for row, text in enumerate(subject.texts) if not comes_back(subject, text)]
    where = f"comes back as {subject.decode(subject.encode(subject.texts[lost[0]]))!r}" if lost else ""
    return Finding("round trip", float(len(lost)), where, lost[0] if lost else None)


def comes_back(subject: TextSubject, text: str) -> bool:
    """Tell whether a text is what decoding gives, an unknown piece standing for one or more characters of it."""
    ids = subject.encode(text)
    found, wanted = subject.decode(ids), subject.joined(text)
    if UNK not in ids:
        return found == wanted
    first, *others = found.split(UNKNOWN)
    if not wanted.startswith(first):
        return False
    place = len(first)
    for part in others[:-1]:
        place = wanted.find(part, place + 1)
        if place < 0:
            return False
        place += len(part)
    last = others[-1] if others else ""
    return len(wanted) - len(last) > place and wanted.endswith(last)


def special_law(subject: TextSubject) -> Finding:
    """No text has the id of padding, beginning or end, also one that spells them, and every id is inside the vocabulary."""
    for row, text in enumerate(subject.texts):
        for spelled in (text, f"{text} {' '.join(SPECIAL_PIECES)}", "".join(SPECIAL_PIECES)):
            ids = subject.encode(spelled)
            bad = sorted({i for i in ids if i in (PAD, BOS, EOS) or not 0 <= i < subject.vocab_size})
            if bad:
                return Finding("special", float("inf"), f"{spelled!r} has the ids {bad}", row)
    return Finding("special", 0.0, "")


def sizes_law(model: nn.Module, sizes: Sequence[int], num_logits: int) -> Finding:
    """Every table has a row for each id of a vocabulary, and there is a logit for each id of the last one.

    Args:
        model: holds the tables.
        sizes: ids of each vocabulary, that of the outputs last.
        num_logits: what the model gives.
    """
    for name, module in model.named_modules():
        if isinstance(module, nn.Embedding) and module.num_embeddings not in sizes:
            where = (
                f"{name} has {module.num_embeddings:,} rows, the vocabulary {' or '.join(f'{s:,}' for s in sizes)} ids"
            )
            return Finding("sizes", float("inf"), where)
    if num_logits != sizes[-1]:
        return Finding("sizes", float("inf"), f"{num_logits:,} logits for {sizes[-1]:,} ids")
    return Finding("sizes", 0.0, "")
