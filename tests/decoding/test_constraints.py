"""Phrases that an output must contain: against brute force, against a slow search with banks, and by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seqline.decoding import (
    AVERAGE,
    NONE,
    Beam,
    Hypothesis,
    Marks,
    Must,
    Prefix,
    Rule,
    beam,
    forbid,
    greedy,
    min_length,
    power,
)
from seqline.decoding.constraints import fair_share
from seqline.decoding.phrases import Phrase, fitting
from seqline.errors import UserError
from seqline.state import select

from .slow_search import Wanted, slow_search
from .table_model import RandomDecoder, TableDecoder, brute_force, teacher_forced, words
from .test_beam import assert_same

SOURCES = [[1], [2, 3], [4, 5, 6, 1, 9], [7, 8, 9], [3, 3, 3, 2, 1, 4, 5]]
LIMITS = [7, 2, 9, 4, 6]
SETS: list[tuple[Phrase, ...]] = [
    (),
    ((0, 1),),
    ((1, 2), (0, 1)),  # 0 1 2 is not enough
    ((2,), (2,)),
    ((0, 0, 1),),
    ((0, 1), (0, 1, 2)),
    ((0,), (1,), (2,)),
]
EOS = 3  # the last id of a vocabulary of four
BEGINS = torch.tensor([True, True, False, True])


def search(
    decoder: RandomDecoder,
    sources: Sequence[Sequence[int]],
    limits: Sequence[int],
    how: Beam,
    must: Must,
    *rules: Rule,
) -> list[list[Hypothesis]]:
    marks = Marks(decoder.bos_id, decoder.bos_id - 1)
    return beam(decoder, decoder.encode(sources), torch.tensor(limits), how, rules=rules, must=must, marks=marks)


def wanted(phrases: Sequence[Phrase], limit: int, word_starts: torch.Tensor | None = None) -> Wanted:
    return Wanted(fitting(phrases, limit), None if word_starts is None else tuple(word_starts.tolist()))


# --- brute force


@pytest.mark.parametrize("word_starts", [None, BEGINS], ids=["any", "words"])
@pytest.mark.parametrize("penalty", [NONE, AVERAGE], ids=lambda penalty: penalty.name)
def test_a_full_beam_finds_all_sequences_with_the_phrases(penalty: Any, word_starts: torch.Tensor | None) -> None:
    decoder = RandomDecoder(4, seed=2)
    sets = [s for s in SETS if word_starts is None or all(word_starts[phrase[0]] for phrase in s)]
    sources = [SOURCES[i % 2] for i in range(len(sets))]
    every = [brute_force(decoder, source, 4, penalty) for source in SOURCES[:2]]
    found = search(decoder, sources, [4] * len(sets), Beam(256, 256, penalty), Must(sets, word_starts))
    few = search(decoder, sources, [4] * len(sets), Beam(256, 2, penalty), Must(sets, word_starts))
    for i, phrases in enumerate(sets):
        of_sentence = wanted(phrases, 4, word_starts)
        right = [h for h in every[i % 2] if of_sentence.holds(h.ids)]
        assert 0 < len(right) <= len(every[0])
        assert_same(found[i], right)
        assert_same(few[i], right[:2])


PHRASES = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=3).map(tuple), max_size=3).map(tuple)


@settings(max_examples=12)
@given(st.integers(0, 10**6), st.lists(PHRASES, min_size=1, max_size=3), st.integers(1, 4), st.booleans())
def test_a_full_beam_finds_them_for_any_phrases(
    seed: int, sets: list[tuple[Phrase, ...]], limit: int, by_words: bool
) -> None:
    word_starts = BEGINS if by_words else None
    if by_words:
        sets = [tuple(phrase for phrase in s if BEGINS[phrase[0]]) for s in sets]
    decoder = RandomDecoder(4, seed)
    found = search(decoder, SOURCES[:1] * len(sets), [limit] * len(sets), Beam(256, 256), Must(sets, word_starts))
    every = brute_force(decoder, SOURCES[0], limit, AVERAGE)
    for phrases, hypotheses in zip(sets, found, strict=True):
        of_sentence = wanted(phrases, limit, word_starts)
        assert_same(hypotheses, [h for h in every if of_sentence.holds(h.ids)])


# --- narrow beams


@settings(max_examples=40)
@given(
    st.integers(0, 10**6),
    st.lists(st.tuples(PHRASES, st.integers(1, 6)), min_size=1, max_size=2),
    st.sampled_from([(1, 1), (2, 1), (3, 1), (5, 1), (1, 2), (2, 2), (1, 3)]),
    st.sampled_from([0.0, 0.5, 20.0]),
    st.floats(0.5, 3),
)
def test_a_narrow_beam_is_the_slow_search_and_meets_all_that_fits(
    seed: int,
    given_phrases: list[tuple[tuple[Phrase, ...], int]],
    shape: tuple[int, int],
    diversity: float,
    sharpness: float,
) -> None:
    decoder, size = RandomDecoder(5, seed, sharpness=sharpness), shape[0] * shape[1]
    sets, limits = [phrases for phrases, _ in given_phrases], [limit for _, limit in given_phrases]
    how = Beam(size, size, power(0.5), shape[1], diversity if shape[1] > 1 else 0.0)
    must, sources = Must(sets), SOURCES[: len(sets)]
    for i, hypotheses in enumerate(search(decoder, sources, limits, how, must)):
        of_sentence = wanted(sets[i], limits[i])
        assert_same(hypotheses, slow_search(decoder, sources[i], limits[i], how, of_sentence))
        assert len({h.ids for h in hypotheses}) == len(hypotheses)
        for h in hypotheses:
            assert of_sentence.holds(h.ids)
            assert len(must.unmet(i, h.ids)) <= len(sets[i]) - len(of_sentence.phrases)


@pytest.mark.parametrize("size", [1, 2, 4])
def test_banks_are_those_of_the_slow_search(size: int) -> None:
    decoder, how = RandomDecoder(5, seed=1), Beam(size, size)
    for i, hypotheses in enumerate(search(decoder, SOURCES, [5, 4, 6, 4, 3], how, Must(SETS[1:6]))):
        limit = [5, 4, 6, 4, 3][i]
        assert_same(hypotheses, slow_search(decoder, SOURCES[i], limit, how, wanted(SETS[i + 1], limit)))


@pytest.mark.parametrize("size", [1, 2, 4])
def test_each_sentence_is_as_if_alone(size: int) -> None:
    decoder, how, sets = RandomDecoder(6, seed=3), Beam(size, size), SETS[:5]
    alone = [
        search(decoder, [source], [limit], how, Must([phrases]))[0]
        for source, limit, phrases in zip(SOURCES, LIMITS, sets, strict=True)
    ]
    for order in ([0, 1, 2, 3, 4], [4, 2, 0, 3, 1], [2, 2, 1]):
        found = search(
            decoder, [SOURCES[i] for i in order], [LIMITS[i] for i in order], how, Must([sets[i] for i in order])
        )
        for i, hypotheses in zip(order, found, strict=True):
            assert_same(hypotheses, alone[i])


def test_a_sentence_without_phrases_is_searched_as_ever() -> None:
    decoder, how = RandomDecoder(6, seed=3), Beam(4, 4)
    marks = Marks(6, 5)
    right = beam(decoder, decoder.encode(SOURCES), torch.tensor(LIMITS), how, marks=marks)
    assert search(decoder, SOURCES, LIMITS, how, Must([()] * 5)) == right
    mixed = search(decoder, SOURCES, LIMITS, how, Must([(), ((1, 1),), (), ((2,), (0,)), ()]))
    for i in (0, 2, 4):
        assert_same(mixed[i], right[i])


def test_with_every_option_scores_are_the_models_own_and_inputs_stay() -> None:
    decoder, sets = RandomDecoder(6, seed=5), SETS[1:6]
    memory, limits = decoder.encode(SOURCES), torch.tensor([8] * 5)
    before = [memory.keys.clone(), limits.clone()]
    how = Beam(6, 6, power(0.7), 3, 0.8)
    options: dict[str, Any] = {"rules": [forbid((4,)), min_length(3, 5)], "must": Must(sets), "marks": Marks(6, 5)}
    found = beam(decoder, memory, limits, how, **options)
    assert beam(decoder, memory, limits, how, **options) == found
    assert all(torch.equal(a, b) for a, b in zip(before, [memory.keys, limits], strict=True))
    for i, hypotheses in enumerate(found):
        assert [h.score for h in hypotheses] == sorted((h.score for h in hypotheses), reverse=True)
        for h in hypotheses:
            assert Wanted(sets[i]).holds(h.ids)
            assert 4 not in h.ids
            alone = select(memory, torch.tensor([i]))
            assert h.log_probability == pytest.approx(teacher_forced(decoder, alone, h.ids, 6), abs=1e-10)
            assert h.score == how.penalty.score(h.log_probability, len(h.ids))


def test_greedy_search_obeys_the_rule() -> None:
    decoder, marks = RandomDecoder(6, seed=3), Marks(6, 5)
    must = Must(SETS[1:6])
    found = greedy(decoder, decoder.encode(SOURCES), torch.tensor(LIMITS), rules=[must.rule(5)], marks=marks)
    for i, h in enumerate(found):
        assert wanted(SETS[1:6][i], LIMITS[i]).holds(h.ids)


# --- by hand


def test_a_word_is_not_met_inside_a_longer_one() -> None:
    # a = `chat`, b = `eau` that goes on with a word, c = `est`
    table = {"S": {"a": 0.6, "c": 0.4}, "a": {"b": 0.9, "E": 0.1}, "b": {"E": 1.0}, "c": {"E": 0.5, "a": 0.5}}
    word_starts = torch.tensor([True] * 7)
    word_starts[5] = False
    for starts, is_met in [(None, True), (word_starts, False)]:
        must = Must([((4,),)], starts)
        (found,) = beam(TableDecoder(table), None, torch.tensor([4]), Beam(5, 5, NONE), must=must)
        assert any(words(h) == "a b" for h in found) == is_met
        assert any(words(h) == "a" for h in found)
        assert all(must.unmet(0, h.ids) == () for h in found)
        assert (must.unmet(0, (4, 5, EOS)) == ()) == is_met


def test_what_does_not_fit_is_said_and_the_rest_is_met() -> None:
    decoder = RandomDecoder(5, seed=2)
    phrases = ((0, 1), (2, 0, 1), (2,))
    must = Must([phrases, phrases])
    (short, long) = search(decoder, SOURCES[:2], [3, 7], Beam(3, 3), must)
    assert {must.unmet(0, h.ids) for h in short} == {((2, 0, 1),)}
    assert {must.unmet(1, h.ids) for h in long} == {()}
    assert {h.ids for h in short} <= {(0, 1, 2), (2, 0, 1)}


def test_rules_that_forbid_a_phrase_are_a_dead_end_that_is_named() -> None:
    decoder = RandomDecoder(5, seed=2)
    must = Must([(), ((0, 1),)])
    for how in (Beam(3, 3), Beam(4, 2, num_groups=2, diversity=1.0)):
        with pytest.raises(ValueError, match="no token to sentence 1 of the batch"):
            search(decoder, SOURCES[:2], [5, 5], how, must, forbid((1,)))
    (_, found) = search(decoder, SOURCES[:2], [5, 5], Beam(2), must, forbid((2,)))
    assert Wanted(((0, 1),)).holds(found[0].ids)


def test_places_go_round_the_banks() -> None:
    banks = torch.tensor([[0, 0, 1, 0, 2, 1, -1], [0, 0, 0, 0, 0, 0, 0], [1, 0, -1, -1, -1, -1, -1]])
    for places, right in [
        ([1, 1, 1], [[4], [0], [0]]),
        ([2, 2, 2], [[2, 4], [0, 1], [0, 1]]),
        ([4, 3, 3], [[0, 2, 4, 5], [0, 1, 2], [0, 1]]),
        ([7, 0, 0], [[0, 1, 2, 3, 4, 5], [], []]),
    ]:
        kept = fair_share(banks, torch.tensor(places))
        assert [row.nonzero().flatten().tolist() for row in kept] == right


def test_near_the_limit_only_what_can_still_do_is_allowed() -> None:
    must = Must([((0, 1), (1,))], BEGINS)

    def allowed(tokens: list[int], left: int) -> list[int]:
        prefix = Prefix(torch.tensor([0]), torch.tensor([tokens], dtype=torch.long), torch.tensor([left]))
        log_probs = must.read(prefix).allow(torch.zeros(1, 4), EOS)
        return (log_probs[0] == 0).nonzero().flatten().tolist()

    assert allowed([], 9) == allowed([], 4) == [0, 1, 2]
    assert allowed([], 3) == [0, 1]
    assert allowed([0], 3) == [0, 1]  # 2 would leave all three to do
    assert allowed([0], 2) == [1]
    assert allowed([0, 1], 2) == [0, 1]  # 2 goes on with the word
    assert allowed([0, 1], 1) == [1]
    assert allowed([0, 1, 1], 1) == [0, 1, EOS]
    assert allowed([0, 1, 1], 9) == [0, 1, 2, EOS]


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(UserError, match=r"^must: a phrase needs at least one token"):
        Must([((1, 2), ())])
    with pytest.raises(UserError, match=r"^must: a phrase must begin with a token that begins a word, got \(2, 1\)"):
        Must([((2, 1),)], BEGINS)
    decoder = RandomDecoder(4, seed=2)
    for must, message in [
        (Must([(), ()]), "phrases for 2 sentences, the batch has 1"),
        (Must([((1, EOS),)]), "has the end token 3"),
        (Must([((1, 4),)]), "id 4 of a phrase is outside the vocabulary of 4"),
        (Must([((1, -1),)]), "id -1 of a phrase is outside the vocabulary of 4"),
        (Must([((1,),)], torch.tensor([True, True, False, False])), "must be True at the end token 3"),
        (Must([((1,),)], torch.tensor([True] * 5)), "word_starts of 5 tokens, the vocabulary has 4"),
    ]:
        with pytest.raises(ValueError, match=message):
            search(decoder, SOURCES[:1], [4], Beam(2), must)
