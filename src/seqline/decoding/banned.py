"""Banned phrases: the words of an output never hold them in a row, however the words are cut into pieces.

A word is what white space parts. It counts as a banned word when nothing tells the two apart but characters around it that are no
letter, mark or digit: a ban on `chat` also bans `chat,` and `(chat)`, but not `chats`, `Chat`, `chat-noir` or `l'chat`. Text that
does not part its words by white space is one long word.

A word is judged when it is over: when white space, the end token or the length limit comes behind it. Until then `chat` may still
become `chats`, so nothing more is forbidden than has to be, and no output without the phrase is lost. A search that follows few
hypotheses pays for it: having written `chat`, it must make it another word, however unlikely that is. `is_eager` forbids the
piece that completes the banned word at once. This also loses the words that begin with it in this cut, such as `chat s`, though
not `ch ats`. Where no piece can go on a word, as in a vocabulary of words, there is no other way, and it is always so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor

from seqline.data.words import is_of_word
from seqline.decoding.rules import Prefix, Rule
from seqline.errors import UserError

_Phrase = tuple[str, ...]

_NEVER = float("-inf")


class Spelling:
    """What the ids of a vocabulary write. Made once a vocabulary; it finds the ids that write a given end of a word.

    Args:
        texts: for each id the bytes that it adds to a text, in UTF-8 (a byte piece: a part of a character). White space parts
            words: a subword piece that starts a word begins with a space, each id of a vocabulary of words does, and one of
            characters has an id that is a space. The special tokens add nothing.
        eos_id: the token that ends a text.
    """

    def __init__(self, texts: Sequence[bytes], eos_id: int) -> None:
        self.texts, self.eos_id = list(texts), eos_id
        self.starts: list[int] = []  # white space and then at most one word
        self.odd: list[int] = []  # one byte of several, or nothing: read with what stands before
        self.several: list[int] = []  # may complete a word on their own, having white space behind a character
        self.can_go_on = False  # whether any piece makes a word another one
        self._word: dict[bool, dict[str, list[int]]] = {True: defaultdict(list), False: defaultdict(list)}
        self._tail: dict[str, list[int]] = defaultdict(list)
        for i, data in enumerate(self.texts):
            if i != eos_id:
                self._sort_in(i, data)

    def _sort_in(self, i: int, data: bytes) -> None:
        text = data.decode(errors="ignore")
        body = text.lstrip()
        is_start = body != text
        if not text and len(data) <= 1:
            self.odd.append(i)
            return
        if text.encode() != data or any(character.isspace() for character in body):
            self.several.append(i)
            return
        if is_start:
            self.starts.append(i)
        elif any(map(is_of_word, body)):
            self.can_go_on = True
        self._word[is_start][_strip(body)].append(i)
        if not is_start:
            self._tail[_strip_end(body)].append(i)

    def write(self, ids: Sequence[int]) -> bytes:
        """Return what ids write together."""
        return b"".join([self.texts[i] for i in ids])

    def starting(self, word: str) -> list[int]:
        """Return the ids that begin with white space and then write `word`, perhaps with characters of no word around it."""
        near = self._word[True].get(_strip(word), ())
        return [i for i in near if writes(self.texts[i].decode().lstrip(), word)]

    def finishing(self, begun: str, word: str) -> list[int]:
        """Return the ids with which `begun`, the characters of a word so far, becomes `word`, perhaps with others around it."""
        tails = {_strip_end(word[i:]) for i in range(1, len(word)) if _ends_bare(begun, word[:i])}
        if writes(begun, word):
            tails.add("")
        near = [i for tail in tails for i in self._tail.get(tail, ())]
        if not any(map(is_of_word, begun)):
            near += self._word[False].get(_strip(word), ())
        return [i for i in dict.fromkeys(near) if writes(begun + self.texts[i].decode(), word)]


def must_not(phrases: Sequence[Sequence[str]], spelling: Spelling, *, is_eager: bool = False) -> Rule:
    """Make a rule under which no output holds a banned phrase, however it is cut into pieces and also where it is cut off.

    Upper and lower case differ; the words of a phrase are those that white space parts. A phrase that already stands in a prefix
    made without this rule (a forced one) is let be, one that it only begins is not. Where `chat` ends the prefix, it is still
    open: it must become another word, unless the ban is eager and the prefix has therefore completed it.

    Args:
        phrases: for each sentence of the batch its banned phrases, as text.
        spelling: what the ids write.
        is_eager: forbid a piece that completes a banned word, though a longer word could still follow.

    Raises:
        UserError: a phrase without a word.
    """
    banned = [[_words_of(phrase) for phrase in of_sentence] for of_sentence in phrases]
    is_eager = is_eager or not spelling.can_go_on

    def rule(prefix: Prefix, log_probs: Tensor) -> Tensor:
        rows: list[int] = []
        columns: list[int] = []
        facts = (prefix.sentence.tolist(), prefix.tokens.tolist(), prefix.left.tolist())
        for row, (b, ids, left) in enumerate(zip(*facts, strict=True)):
            if banned[b]:
                data = spelling.write(ids)
                found = _forbidden_last(data, banned[b], spelling) if is_eager or left == 1 else []
                # An eager ban has let no word come to this; one that stands there was forced.
                found += [] if is_eager else _forbidden_next(data, banned[b], spelling, left)
                rows += [row] * len(found)
                columns += found
        if rows:
            log_probs[rows, columns] = _NEVER
        return log_probs

    return rule


def writes(text: str, word: str) -> bool:
    """Return whether a word of a text counts as `word`: nothing but characters of no word around it."""
    at = text.find(word)
    while at >= 0:
        if not any(map(is_of_word, text[:at] + text[at + len(word) :])):
            return True
        at = text.find(word, at + 1)
    return False


def _words_of(phrase: str) -> _Phrase:
    words = tuple(phrase.split())
    if not words:
        raise UserError(f"expected one word or more, got {phrase!r}", where="must_not", fix="leave it out")
    return words


class _Text(NamedTuple):
    """What a prefix writes. words: all of them. begun: the last one where nothing has ended it, else "". over: the others."""

    words: list[str]
    begun: str
    over: list[str]


def _read(data: bytes) -> _Text:
    text = data.decode(errors="ignore")
    words = text.split()
    is_open = bool(text) and not text[-1].isspace()
    return _Text(words, words[-1] if is_open else "", words[:-1] if is_open else words)


def _forbidden_next(data: bytes, phrases: Sequence[_Phrase], spelling: Spelling, left: int) -> list[int]:
    """Return the ids behind `data` that end a word which completes a phrase."""
    text = _read(data)
    completes = bool(text.begun) and any(_end_with(text.words, phrase) for phrase in phrases)
    found = [spelling.eos_id, *spelling.starts] if completes else []
    if completes:
        # Where the limit is near, no character is begun that may turn out to be none of a word, with nothing to come behind it.
        found += [i for i in spelling.odd if _num_missing(spelling.texts[i]) > max(0, left - 2)]
    near = spelling.several + (spelling.odd if completes else [])
    return found + [i for i in near if _adds(_read(data + spelling.texts[i]).over, text, phrases)]


def _forbidden_last(data: bytes, phrases: Sequence[_Phrase], spelling: Spelling) -> list[int]:
    """Return the ids behind `data` that complete a phrase if the word they leave open ends with them."""
    text = _read(data)
    found: list[int] = []
    for phrase in phrases:
        if _end_with(text.words, phrase[:-1]):
            found += spelling.starting(phrase[-1])
        if _end_with(text.over, phrase[:-1]):
            found += spelling.finishing(text.begun, phrase[-1])
    near = spelling.several + (spelling.odd if any(_is_almost(text.begun, phrase[-1]) for phrase in phrases) else [])
    return found + [i for i in near if _adds(_read(data + spelling.texts[i]).words, text, phrases)]


def _adds(words: Sequence[str], before: _Text, phrases: Sequence[_Phrase]) -> bool:
    """Return whether words that went on from a text complete a phrase behind those that were over there."""
    return any(
        _end_with(words[:end], phrase) for end in range(len(before.over) + 1, len(words) + 1) for phrase in phrases
    )


def _end_with(words: Sequence[str], phrase: Sequence[str]) -> bool:
    """Return whether the last words are those of a phrase; of an empty one they always are."""
    return len(words) >= len(phrase) and all(
        writes(word, wanted) for word, wanted in zip(words[len(words) - len(phrase) :], phrase, strict=True)
    )


def _is_almost(begun: str, word: str) -> bool:
    """Return whether `begun` lacks at most the last character of `word`, which is all that a byte can add."""
    return writes(begun, word) or _ends_bare(begun, word[:-1])


def _ends_bare(text: str, end: str) -> bool:
    """Return whether a text ends so, with nothing but characters of no word before."""
    return text.endswith(end) and not any(map(is_of_word, text[: len(text) - len(end)]))


def _num_missing(data: bytes) -> int:
    """Return how many bytes of a character have to come behind the first one; 0 for no first byte."""
    return sum(data >= least for least in (b"\xc2", b"\xe0", b"\xf0"))


def _strip_end(text: str) -> str:
    while text and not is_of_word(text[-1]):
        text = text[:-1]
    return text


def _strip(text: str) -> str:
    """Take the characters of no word away from both ends."""
    return _strip_end(_strip_end(text)[::-1])[::-1]
