"""The wishes of a batch of requests, in the ids of one target side: what outputs begin with, hold, and do not hold.

Phrases are met as whole words. Where white space parts words, a word has another form at the very beginning of a text than
behind a space (`cat`, ` cat`), so that a phrase has two.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from seqline.data.tokenizer import EOS, UNK
from seqline.data.words import is_of_word
from seqline.decoding import Must, Rule, forced_prefix, must_not, must_not_spell, only_at
from seqline.errors import UserError
from seqline.evaluation.text_checks import is_unsegmented
from seqline.translating.requests import Request

if TYPE_CHECKING:
    from seqline.translating.target_side import TargetSide


class Wishes:
    """What is asked of the outputs of B requests.

    Args:
        side: the target side that spells them.
        requests: B.

    Raises:
        UserError: a wish that the tokenizer cannot spell, a phrase without a word, any wish of a model that writes from the end.
    """

    def __init__(self, side: TargetSide, requests: Sequence[Request]) -> None:
        self.side, self.requests = side, requests
        if side.is_reversed and any(r.prefix or r.must or r.must_not for r in requests):
            what = "the run writes targets from their end, so that nothing can be asked of its outputs"
            raise UserError(what, where="wishes", fix="use a run that writes left to right")
        self.must = self._must() if any(request.must for request in requests) else None

    def around(self, rules: Sequence[Rule], *, is_eager: bool) -> list[Rule]:
        """Return the rules of a search with those of the wishes; inside a prefix only the prefix counts.

        Args:
            rules: of the search.
            is_eager: one path alone is followed, so that a banned word is not begun in the hope of becoming a longer one.
        """
        found = list(rules)
        words = [[p for p in r.must_not if not p.strip() or not is_unsegmented([p])] for r in self.requests]
        texts = [[p for p in r.must_not if p.strip() and is_unsegmented([p])] for r in self.requests]
        # Behind a prefix a ban is eager: a banned word that the prefix itself has ended is let be.
        is_begun = [bool(request.prefix.strip()) for request in self.requests]
        for eager in (False, True):
            chosen = [
                of_one if (is_eager or begun) == eager else [] for of_one, begun in zip(words, is_begun, strict=True)
            ]
            if any(chosen):
                found.append(must_not(chosen, self.side.spelling, is_eager=eager))
        if any(texts):
            found.append(must_not_spell(texts, self.side.spelling))
        prefixes = [self._prefix(request.prefix) for request in self.requests]
        if not any(prefixes):
            return found
        if self.side.tokenizer.kind in ("unigram", "bpe"):
            is_apart = [request.prefix[-1:].isspace() for request in self.requests]
            ends = [len(ids) if ids and apart else None for ids, apart in zip(prefixes, is_apart, strict=True)]
            found.append(only_at(ends, [EOS, *self.side.spelling.starts]))
        return [forced_prefix(prefixes, found)]

    def refuse_must(self, what: str) -> None:
        """Refuse phrases that must stand in the output where no beam is searched."""
        if self.must is not None:
            raise UserError(f"{what} cannot be made to hold a phrase", where="must", fix="use a beam")

    def _prefix(self, prefix: str) -> list[int]:
        """Return the ids of a prefix; the space that ends it belongs to the next piece, but for a model of characters."""
        text = prefix if self.side.tokenizer.kind == "char" and prefix.strip() else prefix.rstrip()
        return self._spell(text, "prefix") if text else []

    def _spell(self, text: str, wish: str) -> list[int]:
        ids = self.side.tokenizer.encode(text)
        if UNK in ids:
            what = f"the model's vocabulary cannot write {text.strip()!r}"
            raise UserError(what, where=wish, fix="use words of the training data")
        return ids

    def _must(self) -> Must:
        """Return the phrases as ids; where white space parts words, each with the form that it has at the very beginning."""
        texts = [[_words(phrase) for phrase in request.must] for request in self.requests]
        every = {text for of_one in texts for text in of_one}
        parted = set() if self.side.tokenizer.kind == "word" else {text for text in every if not is_unsegmented([text])}
        ids = {text: self._phrase(f" {text}" if text in parted else text) for text in every}
        begins = [i == EOS or ends_word(text) for i, text in enumerate(self.side.spelling.texts)]
        return Must(
            [[ids[text] for text in of_one] for of_one in texts],
            torch.tensor(begins),
            openings={ids[text]: self._phrase(text) for text in parted},
            unparted={ids[text] for text in every - parted},
        )

    def _phrase(self, text: str) -> tuple[int, ...]:
        return tuple(self._spell(text, "must"))


def _words(phrase: str) -> str:
    if not phrase.strip():
        raise UserError(f"expected one word or more, got {phrase!r}", where="must", fix="leave it out")
    return " ".join(phrase.split())


def unmet(request: Request, text: str) -> tuple[str, ...]:
    """Return what an output lacks: a prefix that the length limit cut, phrases that found no room."""
    prefix = () if text.startswith(_as_written(request.prefix, text)) else (request.prefix,)
    return (*prefix, *(phrase for phrase in request.must if not holds(text, phrase)))


def _as_written(prefix: str, text: str) -> str:
    """Return a prefix without the space behind it; single spaces between words where the output has no others."""
    prefix = prefix.rstrip()
    return prefix if text.startswith(prefix) else " ".join(prefix.split())


def holds(text: str, phrase: str) -> bool:
    """Tell whether a text has the words of a phrase in a row, as whole words; in unsegmented text, whether it stands there."""
    places = re.finditer(r"\s+".join(map(re.escape, phrase.split())), text)
    if is_unsegmented([phrase]):
        return any(places)
    return any(_is_edge(text[: m.start()][-1:]) and _is_edge(text[m.end() :][:1]) for m in places)


def _is_edge(beside: str) -> bool:
    return not beside or not is_of_word(beside)


def ends_word(text: bytes) -> bool:
    """Tell whether a piece that writes this ends the word before it: it begins with white space or a sign."""
    first = text.decode("utf-8", errors="ignore")[:1]
    return bool(first) and not is_of_word(first)
