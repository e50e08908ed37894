"""Lexical constraints: phrases that the output of a sentence must contain, wherever the model likes them best.

A beam of K places alone would drop a hypothesis that takes up a phrase: it is nearly always less probable than one that does
not. Three things help. The tokens that begin a phrase, or go on with one, are candidates whatever their rank. The places of
a sentence are shared among banks, where

    bank = how many tokens of the required phrases a hypothesis has met

in rounds: each bank gives the best hypothesis it has left, the highest bank first. And no token is allowed, eos included,
after which the length limit is too near for what is missing; so every hypothesis that comes out has all phrases.

*Source*: Post and Vilar 2018, 1804.06609, "Fast Lexically Constrained Decoding with Dynamic Beam Allocation", section 3.
*Differs*: the places go round the banks that have hypotheses, where the paper gives each bank the same number and then moves
what is left over; and the limit is kept in sight.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from seqline.decoding.phrases import Phrase, PhraseAutomaton, fitting
from seqline.decoding.rules import Prefix, Rule
from seqline.errors import UserError

_NEVER = float("-inf")


@dataclass(frozen=True)
class Must:
    """What each sentence of a batch must contain.

    A phrase is met by its ids in a row; two phrases never share a token, one given twice must stand twice. Phrases that
    the length limit cannot hold together are left out: in their order, each that still fits is required.

    phrases: for each sentence its phrases, perhaps none. word_starts: [V], True = a token that begins a word, eos included;
    where given, a phrase counts only in front of such a token or at the very end, so that `chat` is not met in `chateau`.
    openings: the form that a phrase has where the output begins with it (`chat` in place of ` chat`); it counts there too.
    unparted: phrases that `word_starts` does not touch, such as those of a script without word spaces.
    """

    phrases: Sequence[Sequence[Phrase]]
    word_starts: Tensor | None = None
    openings: Mapping[Phrase, Phrase] = field(default_factory=dict)
    unparted: Collection[Phrase] = ()
    _automata: dict[tuple[Phrase, ...], PhraseAutomaton] = field(default_factory=dict, compare=False, repr=False)
    _begins: list[bool] | None = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_begins", None if self.word_starts is None else self.word_starts.tolist())
        for phrase in (phrase for phrases in self.phrases for phrase in phrases):
            if not phrase:
                raise UserError("a phrase needs at least one token, got an empty one", where="must")
            if self._begins is not None and phrase not in self.unparted and not self._begins[phrase[0]]:
                what = f"a phrase must begin with a token that begins a word, got {phrase}"
                raise UserError(what, where="must", fix="give whole words")

    def check(self, num_sentences: int, eos: int) -> None:
        """Refuse a batch that this was not made for.

        Raises:
            ValueError: not as many sentences, or eos is in a phrase or begins no word.
        """
        if len(self.phrases) != num_sentences:
            raise ValueError(f"must has phrases for {len(self.phrases)} sentences, the batch has {num_sentences}")
        if any(eos in phrase for phrases in self.phrases for phrase in phrases):
            raise ValueError(f"a phrase of must has the end token {eos}")
        if self._begins is not None and not self._begins[eos]:
            raise ValueError(f"word_starts must be True at the end token {eos}")

    def read(self, prefix: Prefix) -> Standing:
        """Return where each row stands; a function of the prefix alone."""
        length = prefix.tokens.shape[1]
        rows = []
        for sentence, tokens, left in zip(*(part.tolist() for part in prefix), strict=True):
            automaton = self._automaton(fitting(self.phrases[sentence], length + left))
            rows.append(_Row(automaton, automaton.read(tokens), left))
        return Standing(rows, self.word_starts)

    def rule(self, eos: int) -> Rule:
        """Make the rule that allows no token after which the limit is too near, for searches that have no banks."""
        self.check(len(self.phrases), eos)
        return lambda prefix, log_probs: self.read(prefix).allow(log_probs, eos)

    def unmet(self, sentence: int, ids: Sequence[int]) -> tuple[Phrase, ...]:
        """Return the phrases of a sentence that an output does not contain, as few as can be; () = all are met.

        Args:
            sentence: of the batch.
            ids: an output, with or without eos.
        """
        automaton = self._automaton(tuple(self.phrases[sentence]))
        return automaton.unmet(automaton.read(ids))

    def _automaton(self, phrases: tuple[Phrase, ...]) -> PhraseAutomaton:
        if phrases not in self._automata:
            self._automata[phrases] = PhraseAutomaton(phrases, self._begins, self.openings, self.unparted)
        return self._automata[phrases]


class _Row(NamedTuple):
    automaton: PhraseAutomaton
    state: int
    left: int

    def is_possible(self, token: int) -> bool:
        """Return whether the rest still fits after this token."""
        return self.automaton.needed(self.automaton.step(self.state, token)) < self.left


class Standing:
    """How far the rows of one step are with their phrases; `word_starts` as in `Must`."""

    def __init__(self, rows: Sequence[_Row], word_starts: Tensor | None) -> None:
        self._rows, self._word_starts = rows, word_starts

    def part(self, begin: int, end: int) -> Standing:
        """Return the rows from `begin` up to, without, `end`."""
        return Standing(self._rows[begin:end], self._word_starts)

    def allow(self, log_probs: Tensor, eos: int) -> Tensor:
        """Set to -inf what would leave a phrase out: eos before the end of the last one, and at the limit most others.

        Args:
            log_probs: [N V]; may be written into.
            eos: the end token.

        Raises:
            ValueError: the phrases are of another vocabulary.
        """
        self._check_size(log_probs.shape[1])
        waiting = [i for i, row in enumerate(self._rows) if row.automaton.needed(row.automaton.step(row.state, eos))]
        if waiting:
            log_probs[torch.tensor(waiting, device=log_probs.device), eos] = _NEVER
        for i, row in enumerate(self._rows):
            if row.left <= row.automaton.most_tokens:  # else even losing all that is met would leave room
                log_probs[i].masked_fill_(~self._possible(row, log_probs), _NEVER)
        return log_probs

    def advancing(self, device: torch.device) -> Tensor:
        """Return [N A], for each row the tokens that take it to a higher bank, rising; -1 = no more."""
        found = [row.automaton.advancing(row.state) for row in self._rows]
        width = max(map(len, found), default=0)
        padded = [[*ids, *[-1] * (width - len(ids))] for ids in found]
        return torch.tensor(padded, dtype=torch.long, device=device).view(len(found), width)

    def banks(self, ids: Tensor) -> Tensor:
        """Return the bank [N k] of each row after each of its tokens ids [N k]."""
        banks = [
            [row.automaton.met(row.automaton.step(row.state, token)) for token in tokens]
            for row, tokens in zip(self._rows, ids.tolist(), strict=True)
        ]
        return torch.tensor(banks, dtype=torch.long, device=ids.device).view(ids.shape)

    def _check_size(self, size: int) -> None:
        if self._word_starts is not None and len(self._word_starts) != size:
            raise ValueError(f"word_starts of {len(self._word_starts)} tokens, the vocabulary has {size}")
        outside = {i for row in self._rows for i in row.automaton.extremes if not 0 <= i < size}
        if outside:
            raise ValueError(f"id {min(outside)} of a phrase is outside the vocabulary of {size}")

    def _possible(self, row: _Row, log_probs: Tensor) -> Tensor:
        """Return for each token [V] whether the rest still fits after it."""
        size, device, automaton = log_probs.shape[1], log_probs.device, row.automaton
        begins = torch.ones(size, dtype=torch.bool, device=device)
        if self._word_starts is not None:
            begins = self._word_starts.to(device)
        possible = torch.zeros_like(begins)
        for is_start in (True, False):  # the tokens of no phrase are of two kinds; one of each stands for all
            others = (i for i in range(size) if automaton.begins_word(i) is is_start and i not in automaton.ids)
            one = next(others, None)
            if one is not None and row.is_possible(one):
                possible |= begins == is_start
        named = sorted(automaton.ids)
        possible[named] = torch.tensor([row.is_possible(i) for i in named], device=device)
        return possible


def fair_share(banks: Tensor, places: Tensor) -> Tensor:
    """Give the places of each row of candidates to its banks in rounds.

    Args:
        banks: [L M], the bank of each candidate, best candidate first; -1 = none, never gets a place.
        places: [L], how many to give.

    Returns:
        [L M], True = has a place.
    """
    by_bank, column = banks.sort(dim=1, descending=True, stable=True)
    place = torch.arange(banks.shape[1], device=banks.device).expand_as(banks)
    is_first = F.pad(by_bank[:, 1:] != by_bank[:, :-1], (1, 0), value=True)
    first = place.where(is_first, 0).cummax(dim=1).values
    turn = (place - first).masked_fill(by_bank < 0, banks.shape[1])
    in_turn = column.gather(1, turn.sort(dim=1, stable=True).indices)
    given = place < torch.minimum(places, (banks >= 0).sum(dim=1))[:, None]
    return torch.zeros_like(given).scatter(1, in_turn, given)
