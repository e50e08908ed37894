"""Rules against repetition compared with brute force over all sequences; what counts as a loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from seqline.decoding import Beam, Marks, Prefix, Rule, beam, greedy
from seqline.decoding.repetition import is_loop, no_loops, no_repeat_ngram
from seqline.errors import UserError

from .table_model import LOOP, RandomDecoder, TableDecoder, all_sequences, brute_force

V = 4
MARKS = Marks(bos=V, eos=V - 1)


def repeats_ngram(ids: Sequence[int], n: int) -> bool:
    grams = [tuple(ids[i : i + n]) for i in range(len(ids) - n + 1)]
    return len(grams) != len(set(grams))


def loops(ids: Sequence[int], times: int) -> bool:
    return any(
        list(ids[start : start + block]) * (times + 1) == list(ids[start : start + block * (times + 1)])
        for block in range(1, len(ids) // (times + 1) + 1)
        for start in range(len(ids) - block * (times + 1) + 1)
    )


Broken = Callable[[list[int], int], bool]
RULES: list[tuple[Callable[[int], Rule], Broken]] = [(no_repeat_ngram, repeats_ngram), (no_loops, loops)]
both = pytest.mark.parametrize(("make", "is_broken"), RULES, ids=["ngram", "loops"])


def prefix_of(rows: Sequence[Sequence[int]]) -> Prefix:
    tokens = torch.tensor(rows, dtype=torch.long).reshape(len(rows), -1)
    return Prefix(torch.arange(len(rows)), tokens, torch.full((len(rows),), 9))


@both
@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_token_is_forbidden_iff_it_breaks_the_rule(
    make: Callable[[int], Rule], is_broken: Broken, number: int
) -> None:
    rule = make(number)
    for length in range(8):
        rows = [row for row in product(range(2), repeat=length) if not is_broken(list(row), number)]
        if not rows:
            continue
        prefix = prefix_of(rows)
        before, values = prefix.tokens.clone(), torch.randn(len(rows), 3)
        after = rule(prefix, values.clone())
        for row, got in zip(rows, after.isneginf().tolist(), strict=True):
            assert got == [is_broken([*row, token], number) for token in range(3)], row
        assert torch.equal(after[after.isfinite()], values[after.isfinite()])
        assert torch.equal(prefix.tokens, before)


def ends_in_ngram(ids: list[int], n: int) -> bool:
    return any(ids[i : i + n] == ids[-n:] for i in range(len(ids) - n))


def ends_in_loop(ids: list[int], times: int) -> bool:
    blocks = range(1, len(ids) // (times + 1) + 1)
    return any(ids[-block * (times + 1) :] == ids[-block:] * (times + 1) for block in blocks)


@pytest.mark.parametrize(("make", "ends"), [(no_repeat_ngram, ends_in_ngram), (no_loops, ends_in_loop)])
@given(st.integers(1, 4), st.lists(st.integers(0, 2), max_size=14))
def test_of_a_prefix_that_breaks_the_rule_only_its_end_counts(
    make: Callable[[int], Rule], ends: Broken, number: int, ids: list[int]
) -> None:
    after = make(number)(prefix_of([ids]), torch.zeros(1, 4))[0].isneginf().tolist()
    assert after == [ends([*ids, token], number) for token in range(4)]


@both
@pytest.mark.parametrize("number", [1, 2])
def test_a_full_beam_finds_all_sequences_that_keep_the_rule(
    make: Callable[[int], Rule], is_broken: Broken, number: int
) -> None:
    decoder, source, penalty = RandomDecoder(V, 3), [2, 3], Beam(1).penalty
    right = [h for h in brute_force(decoder, source, 4, penalty) if not is_broken(list(h.ids), number)]
    how = Beam(256, n_best=256)
    (found,) = beam(decoder, decoder.encode([source]), torch.tensor([4]), how, rules=[make(number)], marks=MARKS)
    assert len(right) < len(list(all_sequences(V - 1, V - 1, 4)))
    assert [h.ids for h in found] == [h.ids for h in right]
    assert [h.log_probability for h in found] == pytest.approx([h.log_probability for h in right], abs=1e-10)


def test_a_table_that_loops_is_stopped() -> None:
    for rule, length in ((no_loops(3), 3), (no_repeat_ngram(2), 2), (no_repeat_ngram(5), 5)):
        (found,) = greedy(TableDecoder(LOOP), None, torch.tensor([50]), rules=[rule])
        assert (found.ids[:-1], found.is_finished) == ((4,) * length, True)


@both
def test_numbers_below_1_are_the_users_mistake(make: Callable[[int], Rule], is_broken: Broken) -> None:
    with pytest.raises(UserError, match=r"^no_(loops|repeat_ngram): must be at least 1, got 0"):
        make(0)


# --- is_loop


def naive_loop(ids: Sequence[int]) -> bool:
    """Return what the docstring of `is_loop` says, without its shortcuts."""
    length = len(ids)
    for block in range(1, length + 1):
        for covered in range(max(12, 3 * block), length + 1):
            tail = ids[length - covered :]
            if all(tail[i] == tail[i + block] for i in range(covered - block)):
                return True
    if length < 24:
        return False
    for n in range(1, length + 1):
        for gram in {tuple(ids[i : i + n]) for i in range(length - n + 1)}:
            standings, at = 0, 0
            while at <= length - n:
                is_there = tuple(ids[at : at + n]) == gram
                standings, at = standings + is_there, at + (n if is_there else 1)
            if standings >= 3 and standings * n >= 2 / 3 * length:
                return True
    return False


@given(
    st.lists(st.integers(0, 9), max_size=12),
    st.lists(st.integers(0, 3), min_size=1, max_size=9),
    st.integers(0, 9),
    st.lists(st.integers(0, 5), max_size=9),
)
def test_loops_are_those_of_the_definition(start: list[int], block: list[int], times: int, end: list[int]) -> None:
    ids = start + block * times + end
    assert is_loop(ids) == naive_loop(ids)


@given(
    st.lists(st.integers(0, 99), max_size=30), st.lists(st.integers(0, 9), min_size=1, max_size=9), st.integers(0, 8)
)
def test_what_ends_in_a_cycle_is_a_loop_even_where_it_is_cut(start: list[int], block: list[int], cut: int) -> None:
    times = max(3, -(-12 // len(block)))
    assert is_loop([*start, *block * times])
    assert is_loop([*start, *block * times, *block[: cut % len(block)]])


@given(st.lists(st.integers(0, 10**6), unique=True, max_size=80))
def test_an_output_without_a_token_twice_is_no_loop(ids: list[int]) -> None:
    assert not is_loop(ids)


def pieces(text: str) -> list[int]:
    words = text.split()
    return [sorted(set(words)).index(word) for word in words]


def test_examples() -> None:
    assert is_loop([4] * 50)
    assert is_loop(pieces("a b " * 6))
    assert is_loop(pieces("this is good and " * 3))
    block = [10, 11, 12, 13, 14, 15]
    assert is_loop([0, 1, 2, *block * 3, 3, 4, 5])  # 18 of 24
    assert not is_loop([0, 1, 2, *block * 2, *block[:5], 3, 4, 5, 6])
    assert is_loop(
        pieces("one two three four " + "and this goes on " * 6 + "to an end")
    )  # it does not end in the cycle
    for text in (
        "",
        "a",
        "very very very good",
        "? ? ? ? ?",
        "no no no no no no no no",
        "ha ha ha ha that is good",
        "row row row your boat gently down the stream merrily merrily merrily merrily life is but a dream",
        "a b " * 5,
        "this is good and " * 2,
        "the cat and the dog and the cow and the pig and the hen and the fox and the owl and the bee and the ant",
    ):
        assert not is_loop(pieces(text)), text
