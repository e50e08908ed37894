"""Phrases that an output must contain, as an automaton over its tokens: how far is it, and what still fits?

Required is a set of phrases, some perhaps twice. An output meets them if each can be given a stretch of its tokens, no two
of which overlap. Which stretch is best for which phrase is not known before the end (after `a b`, is the phrase `a b` met
or has `a b c` begun?), so the automaton keeps every reading of the prefix that may still turn out best.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

Phrase = tuple[int, ...]

_NONE = -1
_AT_THE_BEGINNING = (-1,)  # in place of a form: nothing stands in front


class _Reading(NamedTuple):
    """One way to read a prefix.

    missing: how often each of the different phrases is still to come, one in progress included. phrase: the one in
    progress, or -1; form: its tokens as they stand here; position: how many of them stand at the end of the prefix.
    is_closing: a phrase ends there, and counts only if the next token begins a word.
    """

    missing: tuple[int, ...]
    phrase: int = _NONE
    form: Phrase = ()
    position: int = 0
    is_closing: bool = False

    def covers(self, other: _Reading) -> bool:
        """Return whether whatever makes `other` a complete reading makes this one complete too."""
        missing = other.missing
        if self[1:] != other[1:]:
            if self.phrase != _NONE or self.is_closing:
                return False
            missing = _without(missing, other.phrase)
        return all(mine <= its for mine, its in zip(self.missing, missing, strict=True))


class PhraseAutomaton:
    """Reads tokens and knows how many tokens of the required phrases they meet.

    A state is a number, 0 at the start. States are found as they are met and kept; nothing else changes.

    Args:
        phrases: those required, each at least one token.
        word_starts: for each id whether it begins a word; None: a phrase may be followed by anything.
        openings: another form that a phrase has where it is the very beginning of the output.
        unparted: those of the phrases that may be followed by anything all the same.
    """

    def __init__(
        self,
        phrases: Sequence[Phrase],
        word_starts: Sequence[bool] | None = None,
        openings: Mapping[Phrase, Phrase] | None = None,
        unparted: Collection[Phrase] = (),
    ) -> None:
        self.required = Counter(phrases)
        self.phrases, self.word_starts, self.unparted = tuple(self.required), word_starts, unparted
        self.openings = {phrase: form for phrase, form in (openings or {}).items() if phrase in self.required}
        self.num_tokens = sum(map(len, phrases))
        self.most_tokens = sum(max(len(phrase), len(self.openings.get(phrase, ()))) for phrase in phrases)
        forms = [*self.phrases, *self.openings.values()]
        self.ids = frozenset(token for form in forms for token in form)
        self.extremes = (min(self.ids), max(self.ids)) if self.ids else ()
        self._numbers: dict[frozenset[_Reading], int] = {}
        self._states: list[frozenset[_Reading]] = []
        self._next: list[dict[int, int]] = []
        self._needed: list[int] = []
        self._advancing: dict[int, tuple[int, ...]] = {}
        nothing = _Reading(tuple(self.required.values()))
        # A prefix of nothing is not like one that has met nothing: only there may an opening begin.
        self._number(frozenset([nothing._replace(form=_AT_THE_BEGINNING) if self.openings else nothing]))

    def read(self, ids: Iterable[int], state: int = 0) -> int:
        """Return the state after more tokens."""
        for token in ids:
            state = self.step(state, token)
        return state

    def step(self, state: int, token: int) -> int:
        """Return the state after one more token."""
        following = self._next[state].get(token)
        if following is None:
            readings = {after for reading in self._states[state] for after in self._after(reading, token)}
            following = self._next[state][token] = self._number(frozenset(_uncovered(readings)))
        return following

    def met(self, state: int) -> int:
        """Return how many tokens of the phrases are met, those of one in progress included; the most of any reading."""
        return max(0, self.num_tokens - self._needed[state])

    def needed(self, state: int) -> int:
        """Return the fewest tokens that meet the rest."""
        return self._needed[state]

    def advancing(self, state: int) -> tuple[int, ...]:
        """Return the tokens that make fewer needed, rising: those that go on with a phrase, or begin one, in any of its forms."""
        if state not in self._advancing:
            needed = self._needed[state]
            found = {i for i in self.ids if self._needed[self.step(state, i)] < needed}
            found |= {
                r.form[r.position]
                for r in self._states[state]
                if r.phrase != _NONE and r.form in self.openings.values()
            }
            if state == 0:
                found |= {form[0] for form in self.openings.values()}
            self._advancing[state] = tuple(sorted(found))
        return self._advancing[state]

    def unmet(self, state: int) -> tuple[Phrase, ...]:
        """Return the phrases that are missing if nothing follows, as few as can be."""
        fewest = min((reading.missing for reading in self._states[state]), key=lambda missing: (sum(missing), missing))
        return tuple(phrase for phrase, count in zip(self.phrases, fewest, strict=True) for _ in range(count))

    def begins_word(self, token: int) -> bool:
        """Return whether a phrase may end right before this token."""
        return self.word_starts is None or self.word_starts[token]

    def _after(self, reading: _Reading, token: int) -> Iterator[_Reading]:
        if reading.phrase != _NONE:
            if reading.form[reading.position] == token:
                yield self._advanced(reading.missing, reading.phrase, reading.form, reading.position + 1)
            return
        if reading.is_closing and not self.begins_word(token):
            return
        yield _Reading(reading.missing)
        for number, (phrase, count) in enumerate(zip(self.phrases, reading.missing, strict=True)):
            forms = [phrase]
            if reading.form == _AT_THE_BEGINNING and phrase in self.openings:
                forms.append(self.openings[phrase])
            for form in forms:
                if count and form[0] == token:
                    yield self._advanced(reading.missing, number, form, 1)

    def _advanced(self, missing: tuple[int, ...], number: int, form: Phrase, position: int) -> _Reading:
        if position < len(form):
            return _Reading(missing, number, form, position)
        is_closing = self.word_starts is not None and self.phrases[number] not in self.unparted
        return _Reading(_without(missing, number), is_closing=is_closing)

    def _number(self, readings: frozenset[_Reading]) -> int:
        if readings not in self._numbers:
            self._numbers[readings] = len(self._states)
            self._states.append(readings)
            self._next.append({})
            self._needed.append(min(map(self._tokens_needed, readings)))
        return self._numbers[readings]

    def _tokens_needed(self, reading: _Reading) -> int:
        missing = sum(len(phrase) * count for phrase, count in zip(self.phrases, reading.missing, strict=True))
        if reading.phrase == _NONE:
            return missing
        return missing - len(self.phrases[reading.phrase]) + len(reading.form) - reading.position


def fitting(phrases: Sequence[Phrase], room: int) -> tuple[Phrase, ...]:
    """Return the phrases that `room` tokens can hold together: in their order, each that still fits."""
    chosen = []
    for phrase in phrases:
        if len(phrase) <= room:
            chosen.append(phrase)
            room -= len(phrase)
    return tuple(chosen)


def _without(missing: tuple[int, ...], number: int) -> tuple[int, ...]:
    if number == _NONE:
        return missing
    return (*missing[:number], missing[number] - 1, *missing[number + 1 :])


def _uncovered(readings: set[_Reading]) -> list[_Reading]:
    """Leave out readings that another one covers."""
    return [one for one in readings if not any(other != one and other.covers(one) for other in readings)]
