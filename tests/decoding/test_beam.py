"""Beam search against brute force, against a slow search without a stop rule, and against hand-made tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from seqline.decoding import (
    AVERAGE,
    NONE,
    Beam,
    Hypothesis,
    Marks,
    Penalty,
    Rule,
    beam,
    forbid,
    gnmt,
    greedy,
    min_length,
    parse_penalty,
    power,
)
from seqline.errors import UserError
from seqline.state import select

from .table_model import (
    EMPTY_WINS,
    EOS,
    LOOP,
    T1,
    T2,
    RandomDecoder,
    TableDecoder,
    brute_force,
    teacher_forced,
    words,
)

PENALTIES = [NONE, AVERAGE, power(0.5), gnmt(0.6), gnmt(1.0)]
SOURCES = [[1], [2, 3], [4, 5, 6, 1, 9], [7, 8, 9], [3, 3, 3, 2, 1, 4, 5]]
LIMITS = [7, 1, 9, 4, 12]


def search_table(
    table: dict[str, dict[str, float]], limit: int = 6, *, rules: Sequence[Rule] = (), **how: Any
) -> list[Hypothesis]:
    return beam(TableDecoder(table), None, torch.tensor([limit]), Beam(**how), rules=rules)[0]


def marks_of(decoder: RandomDecoder) -> Marks:
    """Return the marks: the last output id is eos."""
    return Marks(decoder.bos_id, decoder.bos_id - 1)


def search(
    decoder: RandomDecoder,
    sources: Sequence[Sequence[int]],
    limits: Sequence[int],
    *,
    pads: int = 0,
    rules: Sequence[Rule] = (),
    **how: Any,
) -> list[list[Hypothesis]]:
    """Search with the last id of the vocabulary as eos."""
    memory = decoder.encode(sources, pads)
    return beam(decoder, memory, torch.tensor(limits), Beam(**how), rules=rules, marks=marks_of(decoder))


def slow_beam(
    decoder: RandomDecoder, source: Sequence[int], limit: int, beam_size: int, penalty: Penalty
) -> list[Hypothesis]:
    """Search one sentence with plain lists up to the limit; each prefix is scored by teacher forcing."""
    eos_id, memory = decoder.bos_id - 1, decoder.encode([source])
    ended: list[tuple[tuple[int, ...], float]] = []
    live: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
    for _ in range(limit):
        candidates = []
        for prefix, total in live:
            logits, _ = decoder(torch.tensor([[decoder.bos_id, *prefix]]), decoder.initial_state(memory, 1), memory)
            log_probs = logits[0, -1].log_softmax(-1).tolist()
            candidates += [((*prefix, i), total + value) for i, value in enumerate(log_probs)]
        best = sorted(candidates, key=lambda candidate: -candidate[1])[: beam_size - len(ended)]
        ended += [candidate for candidate in best if candidate[0][-1] == eos_id]
        live = [candidate for candidate in best if candidate[0][-1] != eos_id]
    found = [Hypothesis(i, t, penalty.score(t, len(i)), i[-1] == eos_id) for i, t in ended + live]
    return sorted(found, key=lambda hypothesis: -hypothesis.score)


def assert_same(got: Sequence[Hypothesis], right: Sequence[Hypothesis]) -> None:
    assert [(h.ids, h.is_finished) for h in got] == [(h.ids, h.is_finished) for h in right]
    assert [h.score for h in got] == pytest.approx([h.score for h in right], abs=1e-10)
    assert [h.log_probability for h in got] == pytest.approx([h.log_probability for h in right], abs=1e-10)


# --- hand-made tables


@pytest.mark.parametrize("beam_size", [2, 5, 50])
def test_it_does_not_stop_too_early(beam_size: int) -> None:
    for table, penalty, output, score in [
        (T1, NONE, "b c", -1.0189),
        (T2, NONE, "a", -0.6733),
        (T2, AVERAGE, "b c", -0.3121),
    ]:
        (found,) = search_table(table, size=beam_size, penalty=penalty)
        assert words(found) == output
        assert found.score == pytest.approx(score, abs=5e-5)


@pytest.mark.parametrize("beam_size", [1, 2, 5, 50])
def test_empty_output_needs_a_minimum_length_of_zero(beam_size: int) -> None:
    (found,) = search_table(EMPTY_WINS, size=beam_size, penalty=NONE, rules=[min_length(1, EOS)])
    assert words(found) == "a"
    assert found.score == pytest.approx(-1.6094, abs=5e-5)
    (found,) = search_table(EMPTY_WINS, size=beam_size, penalty=NONE)
    assert words(found) == ("a" if beam_size == 1 else "")
    assert found.score == pytest.approx(-1.6094 if beam_size == 1 else -1.2040, abs=5e-5)


@pytest.mark.parametrize("n_best", [1, 2, 3, 4, 5])
def test_more_hypotheses_do_not_change_the_best(n_best: int) -> None:
    right = [("b c", -0.3121), ("a", -0.3367), ("a b c", -0.8817), ("a c", -1.1722), ("a a", -1.2230)]
    found = search_table(T2, size=5, n_best=n_best, penalty=AVERAGE)
    assert [words(h) for h in found] == [output for output, _ in right[:n_best]]
    assert [h.score for h in found] == pytest.approx([score for _, score in right[:n_best]], abs=5e-5)


def test_a_live_hypothesis_is_cut_at_the_limit() -> None:
    found = search_table(LOOP, 50, size=3, n_best=3, penalty=NONE)
    assert [(h.ids, h.is_finished) for h in found] == [
        ((4,) * 50, False),
        ((4, EOS), True),
        ((4, 4, EOS), True),
    ]
    assert found[0].score == pytest.approx(49 * math.log(0.97), abs=1e-12)


def test_impossible_continuations_are_no_hypotheses() -> None:
    found = search_table(LOOP, 2, size=50, n_best=50)
    assert [h.ids for h in found] == [(4, 4), (4, EOS)]


def test_ties_go_to_the_better_parent_and_the_lower_id() -> None:
    even = {"S": {"c": 0.25, "b": 0.25, "a": 0.25, "E": 0.25}}
    even |= {name: {"c": 0.25, "b": 0.25, "a": 0.25, "E": 0.25} for name in "abc"}
    found = search_table(even, 2, size=4, n_best=4, penalty=NONE)
    assert [h.ids for h in found] == [(EOS,), (4, EOS), (4, 4), (4, 5)]


def test_max_lengths_are_those_of_the_sentence() -> None:
    found = beam(TableDecoder(LOOP), None, torch.tensor([5, 1, 9]), Beam(1))
    assert [len(hypotheses[0].ids) for hypotheses in found] == [5, 1, 9]


# --- brute force


def test_a_full_beam_finds_every_hypothesis_of_every_source() -> None:
    decoder = RandomDecoder(5, seed=1)
    sources = [[1], [2, 3], [4, 5, 6, 7]]
    found = search(decoder, sources, [3] * 3, size=125, n_best=125, penalty=AVERAGE)
    for source, hypotheses in zip(sources, found, strict=True):
        assert len({h.ids for h in hypotheses}) == len(hypotheses) == 85
        assert sum(h.is_finished for h in hypotheses) == 21
        assert_same(hypotheses, brute_force(decoder, source, 3, AVERAGE))
    assert found[0] != found[1] != found[2]


@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda penalty: penalty.name)
def test_exhaustive_search_equals_brute_force(penalty: Penalty) -> None:
    decoder = RandomDecoder(4, seed=2)
    full = search(decoder, SOURCES, [4] * 5, size=256, n_best=256, penalty=penalty)
    few = search(decoder, SOURCES, [4] * 5, size=256, n_best=3, penalty=penalty)
    narrow = [search(decoder, SOURCES, [4] * 5, size=k, penalty=penalty) for k in (1, 2, 3, 7, 20)]
    for i, source in enumerate(SOURCES):
        right = brute_force(decoder, source, 4, penalty)
        assert_same(full[i], right)
        assert_same(few[i], right[:3])
        assert all(found[i][0].score <= right[0].score + 1e-10 for found in narrow)


@given(
    st.integers(0, 10**6),
    st.integers(1, 7),
    st.lists(st.integers(1, 7), min_size=2, max_size=4),
    st.sampled_from(PENALTIES),
    st.floats(0.5, 4),
)
def test_the_stop_rule_gives_the_result_of_running_to_the_limit(
    seed: int, beam_size: int, limits: list[int], penalty: Penalty, sharpness: float
) -> None:
    decoder = RandomDecoder(5, seed, sharpness=sharpness)
    sources = SOURCES[: len(limits)]
    right = [
        slow_beam(decoder, source, limit, beam_size, penalty) for source, limit in zip(sources, limits, strict=True)
    ]
    for n_best in {1, (beam_size + 1) // 2, beam_size}:
        found = search(decoder, sources, limits, size=beam_size, n_best=n_best, penalty=penalty)
        for hypotheses, best in zip(found, right, strict=True):
            assert_same(hypotheses, best[:n_best])


def test_it_stops_as_soon_as_the_result_is_proved() -> None:
    steps: list[int] = []

    class Counting(TableDecoder):
        def __call__(self, ids: Tensor, state: Any, memory: Any, mask: Tensor | None = None) -> tuple[Tensor, Any]:
            steps.append(len(ids))
            return super().__call__(ids, state, memory, mask)

    sure = {"S": {"a": 0.99, "b": 0.01}, "a": {"E": 0.99, "a": 0.01}, "b": {"b": 1.0}}
    (found,) = beam(Counting(sure), None, torch.tensor([100]), Beam(2))
    # after two steps b b is at log .01 = -4.61, at best -.0461 with 100 tokens; a E has -.01005
    assert (words(found[0]), steps) == ("a", [1, 2])
    steps.clear()
    (found,) = beam(Counting(sure), None, torch.tensor([1000]), Beam(2))
    assert (len(found[0].ids), len(steps)) == (1000, 1000)  # b b ... has -.0046


# --- laws


@pytest.mark.parametrize("beam_size", [1, 2, 4])
@pytest.mark.parametrize("seed", range(4))
def test_each_sentence_is_as_if_alone(seed: int, beam_size: int) -> None:
    decoder = RandomDecoder(6, seed)
    options: dict[str, Any] = {"size": beam_size, "n_best": beam_size}
    alone = [search(decoder, [s], [limit], **options)[0] for s, limit in zip(SOURCES, LIMITS, strict=True)]
    for order, pads in [([0, 1, 2, 3, 4], 5), ([4, 3, 2, 1, 0], 0), ([2, 0, 2, 3], 1)]:
        found = search(decoder, [SOURCES[i] for i in order], [LIMITS[i] for i in order], pads=pads, **options)
        for i, hypotheses in zip(order, found, strict=True):
            assert_same(hypotheses, alone[i])


@pytest.mark.parametrize("seed", range(6))
def test_a_beam_of_one_is_greedy_search(seed: int) -> None:
    decoder = RandomDecoder(6, seed)
    memory, limits = decoder.encode(SOURCES), torch.tensor(LIMITS)
    for rules in [(), (forbid((1,)), min_length(2, 5))]:
        options: dict[str, Any] = {"marks": marks_of(decoder), "rules": rules}
        assert beam(decoder, memory, limits, Beam(1), **options) == [
            [h] for h in greedy(decoder, memory, limits, **options)
        ]


def test_scores_are_those_of_teacher_forcing_without_rules() -> None:
    decoder = RandomDecoder(6, seed=5)
    rules = [forbid((0, 1)), min_length(2, 5)]
    found = search(decoder, SOURCES, LIMITS[:1] * 5, size=4, n_best=4, rules=rules)
    for source, hypotheses in zip(SOURCES, found, strict=True):
        for h in hypotheses:
            forced = teacher_forced(decoder, decoder.encode([source]), h.ids, decoder.bos_id)
            assert h.log_probability == pytest.approx(forced, abs=1e-10)
            assert h.score == AVERAGE.score(h.log_probability, len(h.ids))
            assert h.is_finished == (h.ids[-1] == 5)
            assert not {0, 1} & set(h.ids)
            assert len(h.ids) >= 3


@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda penalty: penalty.name)
def test_finished_hypotheses_stay_as_they_are(penalty: Penalty) -> None:
    short, long = (search_table(T2, limit, size=5, n_best=5, penalty=penalty) for limit in (6, 60))
    assert short == long  # no live one was left
    decoder = RandomDecoder(5, seed=7, sharpness=2.5)
    for source in SOURCES:  # one at a time: other batch mates would change the last bits of the decoder's own sums
        (all_of_them,) = search(decoder, [source], [12], size=5, n_best=5, penalty=penalty)
        assert any(h.is_finished for h in all_of_them)
        for n_best in range(1, 6):
            (fewer,) = search(decoder, [source], [12], size=5, n_best=n_best, penalty=penalty)
            assert fewer == all_of_them[:n_best]
        (longer,) = search(decoder, [source], [14], size=5, n_best=5, penalty=penalty)
        assert {h for h in all_of_them if h.is_finished} <= set(longer)


def test_inputs_stay_as_they_are_and_a_second_run_is_equal() -> None:
    decoder = RandomDecoder(6, seed=3)
    decoder.output.requires_grad_()
    memory, limits = decoder.encode(SOURCES), torch.tensor(LIMITS)
    seen: list[tuple[list[Tensor], list[Tensor]]] = []

    class Recording(RandomDecoder):
        def __call__(self, ids: Tensor, state: Any, memory: Any, mask: Tensor | None = None) -> tuple[Tensor, Any]:
            tensors = [ids, *state["cell"], state["past"], state["at"], *memory]
            seen.append((tensors, [tensor.clone() for tensor in tensors]))
            return super().__call__(ids, state, memory, mask)

    recording = Recording(6, seed=3)
    before = [memory.keys.clone(), memory.is_real.clone(), limits.clone()]
    first = beam(recording, memory, limits, Beam(4, 4), marks=marks_of(decoder))
    assert beam(decoder, memory, limits, Beam(4, 4), marks=marks_of(decoder)) == first
    assert all(torch.equal(a, b) for a, b in zip(before, [*memory, limits], strict=True))
    assert all(torch.equal(a, b) for given_in, then in seen for a, b in zip(given_in, then, strict=True))


def test_memory_follows_its_sentence_and_ended_rows_leave() -> None:
    sizes: list[int] = []

    class Checking(RandomDecoder):
        def __call__(self, ids: Tensor, state: Any, memory: Any, mask: Tensor | None = None) -> tuple[Tensor, Any]:
            sizes.append(len(ids))
            owner = [int((whole.keys == keys).flatten(1).all(1).nonzero()[0]) for keys in memory.keys]
            assert owner == sorted(owner)  # never permuted
            assert all(owner.count(b) <= 3 for b in owner)
            return super().__call__(ids, state, memory, mask)

    decoder = Checking(6, seed=3)
    whole = decoder.encode(SOURCES)
    found = search(decoder, SOURCES, LIMITS, size=3, n_best=3)
    expected = [5] + [0] * 11
    for limit, hypotheses in zip(LIMITS, found, strict=True):
        for t in range(1, limit):
            expected[t] += 3 - sum(h.is_finished and len(h.ids) <= t for h in hypotheses)
    assert sizes == [size for size in expected if size]
    assert len(set(sizes)) >= 5  # beams did shrink and sentences did leave


def test_float32_gives_the_same_ids() -> None:
    decoder = RandomDecoder(6, seed=3)
    right = search(decoder, SOURCES, LIMITS, size=4)
    for name, value in vars(decoder).items():
        if isinstance(value, Tensor):
            setattr(decoder, name, value.float())
    found = search(decoder, SOURCES, LIMITS, size=4)
    assert [h.ids for (h,) in found] == [h.ids for (h,) in right]
    assert [h.score for (h,) in found] == pytest.approx([h.score for (h,) in right], abs=1e-5)


def test_no_sentences_no_hypotheses() -> None:
    decoder = RandomDecoder(6)
    memory = select(decoder.encode([[1]]), torch.zeros(0, dtype=torch.long))
    assert beam(decoder, memory, torch.zeros(0, dtype=torch.long), Beam(3)) == []


def test_bad_numbers_and_dead_ends_are_refused() -> None:
    for field, size, n_best in (("size", 0, 1), ("n_best", 2, 3), ("n_best", 2, 0)):
        with pytest.raises(UserError, match=f"^{field}: must be "):
            Beam(size, n_best)
    with pytest.raises(ValueError, match="at least 1, got 0"):
        search_table(T1, 0, size=2)
    with pytest.raises(ValueError, match="no token to sentence 0"):
        search_table(T1, size=2, rules=[forbid(range(7))])


# --- penalties


@pytest.mark.parametrize(
    ("text", "a", "b"),
    [
        ("none", -4.0, -5.5),
        ("average", -1.0, -0.6875),
        ("power:0.5", -2.0, -1.9445),
        ("gnmt:0.6", -3.1362, -3.4585),
        ("gnmt:1.0", -2.6667, -2.5385),
    ],
)
def test_the_documented_table_of_penalties(text: str, a: float, b: float) -> None:
    penalty = parse_penalty(text)
    assert penalty.name == text
    assert (penalty.score(-4.0, 4), penalty.score(-5.5, 8)) == pytest.approx((a, b), abs=5e-5)
    assert all(0 < penalty.divisor(n) <= penalty.divisor(n + 1) for n in range(1, 500))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gmnt:0.6", "did you mean 'gnmt'"),
        ("avrage", "did you mean 'average'"),
        ("", "known: average, gnmt, none, power"),
        ("average:1", "takes no number"),
        ("power", "expected power:NUMBER"),
        ("power:", "expected power:NUMBER"),
        ("gnmt:x", "expected gnmt:NUMBER"),
        ("gnmt:-1", "a number from 0 to 10"),
        ("gnmt:nan", "a number from 0 to 10"),
        ("power:inf", "a number from 0 to 10"),
    ],
)
def test_a_wrong_penalty_is_named(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        parse_penalty(text, where="decoding.length_penalty")
    assert str(caught.value).startswith("decoding.length_penalty: ")
