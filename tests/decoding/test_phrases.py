"""The automaton of phrases against trying every phrase at every place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqline.decoding.phrases import PhraseAutomaton, fitting

from .slow_search import Wanted

TOKENS = st.integers(0, 3)
PHRASES = st.lists(st.lists(TOKENS, min_size=1, max_size=3).map(tuple), max_size=4).map(tuple)
BEGINS = (True, True, False, True)


@given(PHRASES, st.lists(TOKENS, max_size=10), st.booleans())
def test_it_meets_what_trying_everything_meets(
    phrases: tuple[tuple[int, ...], ...], ids: list[int], by_words: bool
) -> None:
    begins = BEGINS if by_words else None
    if begins:
        phrases = tuple(phrase for phrase in phrases if begins[phrase[0]])
    automaton, wanted = PhraseAutomaton(phrases, begins), Wanted(phrases, begins)
    state = 0
    for t, token in enumerate(ids):
        raising = [i for i in range(4) if wanted.met((*ids[:t], i)) > wanted.met(tuple(ids[:t]))]
        assert list(automaton.advancing(state)) == raising
        state = automaton.step(state, token)
        assert automaton.met(state) == wanted.met(tuple(ids[: t + 1]))
        assert automaton.needed(state) == wanted.num_tokens - automaton.met(state)
    unmet = automaton.unmet(state)
    assert (unmet == ()) == wanted.holds(tuple(ids))
    met = list(phrases)
    for phrase in unmet:
        met.remove(phrase)
    assert Wanted(tuple(met), begins).holds(tuple(ids))


@pytest.mark.parametrize(
    ("phrases", "ids", "unmet"),
    [
        ([(1, 2)], (1, 1, 2), []),
        ([(1, 1, 2)], (1, 1, 1, 2), []),  # a false start
        ([(1, 2), (2, 3)], (1, 2, 3), [(2, 3)]),  # no token serves twice
        ([(1, 2), (2, 3)], (2, 3, 1, 2), []),
        ([(1, 2), (1, 2, 3)], (1, 2, 3, 1, 2), []),  # which one the first 1 2 is shows later
        ([(1,), (1,)], (1, 2), [(1,)]),
        ([(1,), (1,)], (1, 2, 1), []),
        ([(1, 2), (3,)], (1,), [(1, 2), (3,)]),
        ([], (1, 2), []),
    ],
)
def test_what_is_unmet(phrases: list[tuple[int, ...]], ids: tuple[int, ...], unmet: list[tuple[int, ...]]) -> None:
    automaton = PhraseAutomaton(phrases)
    assert list(automaton.unmet(automaton.read(ids))) == unmet


def test_a_word_is_not_met_inside_a_longer_one() -> None:
    chat, eau, est = 0, 2, 1  # `eau` goes on with a word
    automaton = PhraseAutomaton([(chat,)], BEGINS)
    for ids, is_met in [((chat,), True), ((chat, est), True), ((chat, eau), False), ((chat, eau, chat), True)]:
        assert (automaton.unmet(automaton.read(ids)) == ()) == is_met


def test_phrases_that_fit_are_taken_in_their_order() -> None:
    assert fitting([(1, 2), (3, 1, 2), (3,)], 3) == ((1, 2), (3,))
    assert fitting([(1, 2), (3, 1, 2), (3,)], 6) == ((1, 2), (3, 1, 2), (3,))
    assert fitting([(1, 2)], 1) == ()


def test_many_phrases_stay_few_states() -> None:
    automaton = PhraseAutomaton([(i % 3, i % 2, 3) for i in range(12)] + [(i % 4,) for i in range(12)])
    automaton.read([0, 1, 3, 2, 0, 3, 1, 1, 3] * 20)
    assert max(len(readings) for readings in automaton._states) < 100
