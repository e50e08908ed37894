"""Text to ids and back: one sentencepiece model for unigram, bpe, char and word, with no rewriting of the text.

White space is kept as it came, nothing is normalized, and text that spells a special token is ordinary text. Four
characters have a private meaning inside sentencepiece or here (U+2581 is its space, U+2585 its unknown character,
U+001F its cut, U+EE81 our escape); in user text each becomes two private-use characters before sentencepiece sees it,
and decoding turns them back. Unigram and bpe with byte fallback give back every text without NUL exactly. `char` gives
back every known character. `word` keeps words only: decoding joins them by one space, whatever white space stood
between them.
"""

from __future__ import annotations

import io
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import sentencepiece

from seqline.errors import UserError, did_you_mean

PAD, UNK, BOS, EOS = 0, 1, 2, 3
SPECIAL_PIECES = ("<pad>", "<unk>", "<s>", "</s>")
NUM_BYTES = 256
KINDS = ("unigram", "bpe", "char", "word")
MAX_TRAINING_LINES = 500_000

_SPACE, _UNKNOWN, _CUT = "\u2581", "\u2585", "\x1f"
_ESCAPE = "\uee81"
_ESCAPES = {
    plain: _ESCAPE + mark
    for plain, mark in ((_ESCAPE, "\uee82"), (_SPACE, "\uee83"), (_UNKNOWN, "\uee84"), (_CUT, "\uee85"))
}
_UNESCAPES = {escaped[1]: plain for plain, escaped in _ESCAPES.items()}
_TO_ESCAPE = re.compile("[" + "".join(_ESCAPES) + "]")
_TO_UNESCAPE = re.compile(_ESCAPE + "([" + "".join(_UNESCAPES) + "]?)")
# The trainer cuts these strings out of its text; a cut after "<" keeps their characters and spells none of them.
_SPELLS_BYTE = re.compile("(?<=<)(?=0x[0-9A-F]{2}>)")
_TOO_SMALL = re.compile(r"smaller than required_chars\. \d+ vs (\d+)")
# Characters. The trainer drops sentences over 4192 bytes, its bpe aborts over 65535 characters, and a model with a
# piece over 7999 bytes does not load.
_CHUNK = 1000


class Tokenizer:
    """A trained sentencepiece model, read from its bytes. Ids: pad 0, unk 1, bos 2, eos 3; the rest is text."""

    def __init__(self, model: bytes, *, where: str = "tokenizer") -> None:
        """Load a model.

        Args:
            model: the bytes that `train_tokenizer` made.
            where: the file they came from, for error messages.

        Raises:
            UserError: the bytes are no sentencepiece model, or not one that `train_tokenizer` made.
        """
        self.model = model
        self._processor, pieces, self.kind = _load(model, where)
        self.vocab_size = len(pieces)
        is_byte = [bool(self._processor.is_byte(i)) for i in range(self.vocab_size)]
        self.byte_values = [int(p[1:-1], 16) if b else -1 for p, b in zip(pieces, is_byte, strict=True)]
        if self.kind == "word":
            pieces = [p.removeprefix(_SPACE) for p in pieces]
        self._pieces = [*SPECIAL_PIECES, *map(_unescape, pieces[4:])]
        self._ids = _symbols(self.kind, pieces)
        texts = [b"", b"<unk>", b"", b"", *(p.replace(_SPACE, " ").encode() for p in pieces[4:])]
        self._bytes = [bytes([v]) if v >= 0 else text for text, v in zip(texts, self.byte_values, strict=True)]

    def encode(self, text: str) -> list[int]:
        """Turn one text into ids, without bos and eos; they do not depend on any other text.

        Args:
            text: any valid Unicode.

        Returns:
            Ids, never those of pad, bos and eos. `word` and `char` write id 1 for a word or character they do not know.

        Raises:
            UserError: the text holds half of a surrogate pair, which is no character.
        """
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Turn many texts into ids, each as `encode` does, in one call."""
        if self.kind in ("word", "char"):
            symbols = (text.split() if self.kind == "word" else text for text in texts)
            return [[i for symbol in row for i in self._ids.get(symbol, (UNK,))] for row in symbols]
        try:
            # One thread: measured, more threads are slower for unigram, and a server has its own.
            return self._processor.encode([_escape(text) for text in texts], out_type=int, num_threads=1)
        except (RuntimeError, TypeError) as error:
            if all(map(_is_unicode, texts)):
                raise
            raise _not_unicode(texts) from error

    def decode(self, ids: Sequence[int]) -> str:
        """Turn ids into text. Pad, bos and eos are skipped; unk is written `<unk>`.

        Byte pieces are joined as UTF-8. Bytes that make no character (an incomplete or wrong sequence) are dropped.

        Args:
            ids: ids in [0, vocab_size).

        Returns:
            The text; for ids from `encode` with byte fallback, the very text that went in.

        Raises:
            ValueError: an id lies outside [0, vocab_size).
        """
        if ids and not 0 <= min(ids) <= max(ids) < self.vocab_size:
            raise ValueError(f"ids must lie in [0, {self.vocab_size}); got {min(ids)} to {max(ids)}")
        if self.kind == "word":
            return " ".join(self._pieces[i] for i in ids if i not in (PAD, BOS, EOS))
        return _unescape(b"".join([self._bytes[i] for i in ids]).decode("utf-8", errors="ignore"))

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Name each id for display: `▁` stands for a space (not in `word`), `<0x41>` for a byte, `</s>` for eos."""
        return [self._pieces[i] for i in ids]

    @property
    def spelled(self) -> list[bytes]:
        """What each id adds to a text, in UTF-8; a word of `word` with the space that parts it from the one before."""
        is_word = self.kind == "word"
        return [b" " + text if is_word and text else text for text in self._bytes]

    def num_unknown(self, text: str) -> int:
        """Count the unknown ids of a text: words for `word`, characters for `char`, runs of them for the others."""
        return self.encode(text).count(UNK)


def train_tokenizer(
    lines: Sequence[str], kind: str, vocab_size: int | None, *, byte_fallback: bool = True
) -> Tokenizer:
    """Train a tokenizer. The same lines give the same bytes, in any process.

    Of more than 500,000 lines (or pieces of 1,000 characters of longer lines), evenly spaced ones are used.

    Args:
        lines: the text, a sentence each.
        kind: unigram, bpe, char or word.
        vocab_size: ids in all, special ones and bytes included, an upper limit (a small corpus fills fewer);
            None = `default_vocab_size`.
        byte_fallback: unigram and bpe: 256 pieces spell unseen characters as bytes. char and word have none.

    Returns:
        The tokenizer; its `model` holds the bytes to keep.

    Raises:
        UserError: unknown kind, no text at all, or a vocabulary too small for the characters of the text.
    """
    _check_kind(kind)
    chunks = _evenly(list(_word_lines(lines) if kind == "word" else _chunks(_evenly(lines))))
    if not any(chunk.strip(f"\0{_CUT}") for chunk in chunks):
        what = f"no text to train on ({len(lines)} lines, all empty)"
        raise UserError(what, where="tokenizer", fix="give at least one line with text")
    if vocab_size is None:
        vocab_size = default_vocab_size(lines, kind, byte_fallback=byte_fallback)
    is_subword = kind in ("unigram", "bpe")
    num_reserved = _num_reserved(kind, byte_fallback)
    if not is_subword and vocab_size <= num_reserved:
        raise _too_small(vocab_size, num_reserved + 1)
    settings: dict[str, Any] = {
        "model_type": kind,
        "vocab_size": max(vocab_size, num_reserved + 1),  # below that the trainer's own message names no number
        "add_dummy_prefix": kind == "word",  # so that a first word is the same piece as a later one
        "byte_fallback": is_subword and byte_fallback,
        "character_coverage": _coverage(chunks, vocab_size - num_reserved) if is_subword and byte_fallback else 1.0,
    }
    names = zip(("pad", "unk", "bos", "eos"), _special_names(kind), strict=True)
    settings |= {f"{name}_piece": piece for name, piece in names}
    try:
        return Tokenizer(_fit(chunks, settings))
    except UnicodeEncodeError as error:
        raise _not_unicode(lines) from error
    except RuntimeError as error:
        match = _TOO_SMALL.search(str(error))
        if match is None:
            raise
        raise _too_small(vocab_size, int(match[1])) from error


def default_vocab_size(lines: Sequence[str], kind: str, *, byte_fallback: bool = True) -> int:
    """Choose a vocabulary size that suits the amount of text. Our own rule of thumb.

    unigram and bpe: 10 sqrt(words) within 400 ... 16,000, but always 1.25 times the characters needed; plus 256 with
    byte fallback. Words are separated by white space; a line without (Chinese, Japanese) counts characters / 4.
    word: all words, or those seen twice where the text has over 20,000 words; at most 50,000. char: all characters,
    at most 8,000. Four special ids come on top.

    Args:
        lines: the text, a sentence each.
        kind: unigram, bpe, char or word.
        byte_fallback: as in `train_tokenizer`.

    Returns:
        Ids in all, special ones and bytes included.
    """
    _check_kind(kind)
    num_reserved = _num_reserved(kind, byte_fallback)
    if kind == "word":
        words = Counter(word for line in lines for word in _words(line))
        at_least = 2 if words.total() > 20_000 else 1
        return num_reserved + max(1, min(50_000, sum(count >= at_least for count in words.values())))
    sample = _evenly(lines)
    alphabet = _alphabet(_evenly(list(_chunks(sample))))
    if kind == "char":
        return num_reserved + max(1, min(8_000, len(alphabet)))
    num_words = sum(map(_num_words, sample)) * len(lines) / max(1, len(sample))
    wanted = round(10 * math.sqrt(num_words))
    needed = _num_covering(alphabet, 0.9995) if byte_fallback else len(alphabet)
    return num_reserved + max(400, min(16_000, wanted), needed + needed // 4)


def _load(model: bytes, where: str) -> tuple[Any, list[str], str]:
    """Return the processor, the piece of each id, and the kind."""
    fix = "the file is damaged or was not made by seqline; train again or restore it"
    processor = sentencepiece.SentencePieceProcessor()
    try:
        if not model:
            raise ValueError("it is empty")
        processor.LoadFromSerializedProto(model)
        pieces = [processor.id_to_piece(i) for i in range(processor.vocab_size())]
    except (RuntimeError, ValueError) as error:  # UnicodeDecodeError is a ValueError
        raise UserError("these bytes are no sentencepiece model", where=where, fix=fix) from error
    kind = next((kind for kind in KINDS if pieces[:4] == _special_names(kind)), None)
    ids = (processor.pad_id(), processor.unk_id(), processor.bos_id(), processor.eos_id())
    if kind is None or ids != (PAD, UNK, BOS, EOS):
        raise UserError(f"not a seqline tokenizer: it begins {pieces[:4]}, ids {ids}", where=where, fix=fix)
    return processor, pieces, kind


def _symbols(kind: str, pieces: list[str]) -> dict[str, tuple[int, ...]]:
    """Map each word or character to its ids (two for a character that is escaped in `char`); {} for subwords.

    sentencepiece itself would write one unknown id for a whole run of unknown words or characters.
    """
    if kind not in ("word", "char"):
        return {}
    ids = {piece: i for i, piece in enumerate(pieces) if i > EOS}
    if kind == "word":
        return {_unescape(piece): (i,) for piece, i in ids.items()}
    symbols: dict[str, tuple[int, ...]] = {piece.replace(_SPACE, " "): (i,) for piece, i in ids.items()}
    for plain, escaped in _ESCAPES.items():
        symbols.pop(plain, None)
        if ids.keys() >= set(escaped):
            symbols[plain] = tuple(ids[character] for character in escaped)
    return symbols


def _special_names(kind: str) -> list[str]:
    """Name the special pieces inside the model: no escaped text spells them, and they tell the kind when it is loaded."""
    return [f"{_ESCAPE}{kind}:{name}" for name in ("pad", "unk", "bos", "eos")]


def _fit(chunks: Sequence[str], settings: dict[str, Any]) -> bytes:
    """Run sentencepiece's trainer in memory, on one thread and without a word."""
    model = io.BytesIO()
    fixed: dict[str, Any] = {
        "remove_extra_whitespaces": False,
        "normalization_rule_name": "identity",
        "hard_vocab_limit": False,
        "max_sentence_length": max(4192, *(len(chunk.encode()) for chunk in chunks)),
        "num_threads": 1,
        "minloglevel": 3,
        "pad_id": PAD,
        "unk_id": UNK,
        "bos_id": BOS,
        "eos_id": EOS,
    }
    train = sentencepiece.SentencePieceTrainer.train
    try:
        train(sentence_iterator=iter(chunks), model_writer=model, **(fixed | settings))
    except RuntimeError as error:
        if "no pieces are loaded" not in str(error):
            raise
        # A single repetitive line ("aaaaaaaa") prunes every piece; each character as a line of its own prevents it.
        alphabet = sorted(set("".join(chunks)) - {"\n", "\r", _CUT})
        model = io.BytesIO()
        train(sentence_iterator=iter([*chunks, *alphabet]), model_writer=model, **(fixed | settings))
    return model.getvalue()


def _chunks(lines: Sequence[str]) -> Iterator[str]:
    """Escape lines and cut them for the trainer, which wants short ones that spell no special token."""
    for line in lines:
        for part in _SPELLS_BYTE.split(_escape(line)):
            for start in range(0, len(part), _CHUNK):
                chunk = part[start : start + _CHUNK]
                # The trainer strips line ends, but not before its own mark of a cut, which is no part of the alphabet.
                yield chunk + _CUT if chunk.endswith(("\r", "\n")) else chunk


def _word_lines(lines: Sequence[str]) -> Iterator[str]:
    return (" ".join(words) for line in lines if (words := _words(line)))


def _words(line: str) -> list[str]:
    """Split a line into escaped words; those over 1,000 characters are left out, and so unknown."""
    return [word for word in map(_escape, line.split()) if len(word) <= _CHUNK]


def _evenly(lines: Sequence[str]) -> Sequence[str]:
    """Keep at most MAX_TRAINING_LINES, evenly spaced."""
    number = min(len(lines), MAX_TRAINING_LINES)
    return lines if number == len(lines) else [lines[i * len(lines) // number] for i in range(number)]


def _alphabet(chunks: Sequence[str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for start in range(0, len(chunks), 1000):  # one call a chunk would be many times slower
        counts.update("".join(chunks[start : start + 1000]))
    for character in ("\0", _CUT):
        counts.pop(character, None)
    return counts


def _num_covering(alphabet: Counter[str], share: float) -> int:
    """Count how many of the most frequent characters make up `share` of a text."""
    left = share * alphabet.total()
    for number, (_, count) in enumerate(alphabet.most_common()):
        if left <= 0:
            return number
        left -= count
    return len(alphabet)


def _coverage(chunks: Sequence[str], num_pieces: int) -> float:
    """Keep every character where they fill at most half of the vocabulary; else spell the rarest as bytes."""
    return 1.0 if 2 * len(_alphabet(chunks)) <= num_pieces else 0.9995


def _num_words(line: str) -> float:
    """Count words; a line of words over 12 characters is an unsegmented script, of about 4 characters a word."""
    words = line.split()
    num_characters = sum(map(len, words))
    return len(words) if num_characters <= 12 * len(words) else num_characters / 4


def _num_reserved(kind: str, byte_fallback: bool) -> int:
    return len(SPECIAL_PIECES) + (NUM_BYTES if byte_fallback and kind in ("unigram", "bpe") else 0)


def _too_small(vocab_size: int, least: int) -> UserError:
    what = f"a vocabulary of {vocab_size} is too small for this text, at least {least} are needed"
    return UserError(what, where="tokenizer.vocab_size", fix=f"set it to {least} or more")


def _not_unicode(texts: Sequence[str]) -> UserError:
    bad = next(i for i, text in enumerate(texts) if not _is_unicode(text))
    what = f"text {bad + 1} of {len(texts)} holds half of a surrogate pair, which is not valid Unicode"
    return UserError(what, where="tokenizer", fix="read the text as UTF-8")


def _check_kind(kind: str) -> None:
    if kind not in KINDS:
        raise UserError(f"unknown kind {kind!r}", where="tokenizer.kind", fix=did_you_mean(kind, KINDS))


def _escape(text: str) -> str:
    return _TO_ESCAPE.sub(lambda match: _ESCAPES[match[0]], text)


def _unescape(text: str) -> str:
    """Undo `_escape`; an escape with no mark after it, which only a model can write, is dropped."""
    return _TO_UNESCAPE.sub(lambda match: _UNESCAPES[match[1]] if match[1] else "", text)


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)
