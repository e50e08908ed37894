"""Diverse beam search: groups that avoid each other's tokens, against a slow search with plain lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seqline.decoding import AVERAGE, NONE, Beam, Hypothesis, Marks, Penalty, beam, forbid, gnmt, power
from seqline.errors import UserError

from .slow_search import slow_search
from .table_model import RandomDecoder, TableDecoder, teacher_forced, words
from .test_beam import assert_same

SOURCES = [[1], [2, 3], [4, 5, 6, 1, 9], [7, 8, 9]]
LIMITS = [7, 1, 9, 4]


def search(
    decoder: RandomDecoder, sources: Sequence[Sequence[int]], limits: Sequence[int], how: Beam
) -> list[list[Hypothesis]]:
    marks = Marks(decoder.bos_id, decoder.bos_id - 1)
    return beam(decoder, decoder.encode(sources), torch.tensor(limits), how, marks=marks)


@settings(max_examples=40)
@given(
    st.integers(0, 10**6),
    st.sampled_from([(1, 2), (2, 2), (1, 3), (3, 2), (2, 3), (1, 5)]),
    st.lists(st.integers(1, 5), min_size=1, max_size=3),
    st.sampled_from([NONE, AVERAGE, power(0.5), gnmt(1.0)]),
    st.sampled_from([0.0, 0.01, 0.3, 1.0, 4.0, 50.0]),
    st.floats(0.5, 4),
)
def test_it_equals_a_slow_search_up_to_the_limit(
    seed: int, shape: tuple[int, int], limits: list[int], penalty: Penalty, diversity: float, sharpness: float
) -> None:
    decoder, sources = RandomDecoder(5, seed, sharpness=sharpness), SOURCES[: len(limits)]
    size = shape[0] * shape[1]
    whole = Beam(size, size, penalty, shape[1], diversity)
    right = [slow_search(decoder, source, limit, whole) for source, limit in zip(sources, limits, strict=True)]
    for n_best in {1, shape[0], size}:
        found = search(decoder, sources, limits, Beam(size, n_best, penalty, shape[1], diversity))
        for hypotheses, best in zip(found, right, strict=True):
            assert_same(hypotheses, best[:n_best])


@pytest.mark.parametrize("seed", range(3))
def test_what_diversity_took_stays_taken(seed: int) -> None:
    decoder, how = RandomDecoder(5, seed), Beam(4, 4, num_groups=2, diversity=0.6)
    for source, hypotheses in zip(SOURCES, search(decoder, SOURCES, [5] * 4, how), strict=True):
        assert_same(hypotheses, slow_search(decoder, source, 5, how)[:4])


@pytest.mark.parametrize(("size", "num_groups"), [(6, 1), (6, 2), (6, 3), (4, 4)])
def test_groups_without_diversity_find_what_one_of_them_finds(size: int, num_groups: int) -> None:
    decoder, each = RandomDecoder(6, seed=4), size // num_groups
    found = search(decoder, SOURCES, LIMITS, Beam(size, size, num_groups=num_groups))
    alone = search(decoder, SOURCES, LIMITS, Beam(each, each))
    for hypotheses, right in zip(found, alone, strict=True):
        assert_same(hypotheses, right)


def test_each_sentence_is_as_if_alone() -> None:
    decoder, how = RandomDecoder(6, seed=2), Beam(6, 6, num_groups=3, diversity=0.7)
    alone = [search(decoder, [s], [limit], how)[0] for s, limit in zip(SOURCES, LIMITS, strict=True)]
    for order in ([0, 1, 2, 3], [3, 1, 0, 2], [2, 2, 0]):
        found = search(decoder, [SOURCES[i] for i in order], [LIMITS[i] for i in order], how)
        for i, hypotheses in zip(order, found, strict=True):
            assert_same(hypotheses, alone[i])


def test_scores_are_the_models_own_and_results_differ() -> None:
    decoder = RandomDecoder(6, seed=5)
    for strength in (0.2, 3.0):
        found = search(decoder, SOURCES, [8] * 4, Beam(6, 6, num_groups=3, diversity=strength))
        for source, hypotheses in zip(SOURCES, found, strict=True):
            assert len({h.ids for h in hypotheses}) == len(hypotheses)
            assert [h.score for h in hypotheses] == sorted((h.score for h in hypotheses), reverse=True)
            for h in hypotheses:
                forced = teacher_forced(decoder, decoder.encode([source]), h.ids, decoder.bos_id)
                assert h.log_probability == pytest.approx(forced, abs=1e-10)
                assert h.score == AVERAGE.score(h.log_probability, len(h.ids))


def test_by_hand_groups_choose_after_each_other() -> None:
    table = {"S": {"a": 0.5, "b": 0.3, "c": 0.2}, "a": {"E": 1.0}, "b": {"E": 1.0}, "c": {"E": 1.0}}
    for strength, outputs in [
        (0.0, ["a"]),
        (0.2, ["a"]),  # log .5 - 2 * .2 is above log .3
        (0.5, ["a", "b"]),  # the third takes b
        (0.6, ["a", "b"]),  # the second takes b, the third a
        (2.0, ["a", "b", "c"]),
    ]:
        (found,) = beam(TableDecoder(table), None, torch.tensor([4]), Beam(3, 3, NONE, 3, strength))
        assert [words(h) for h in found] == outputs, strength


def test_a_group_that_cannot_enter_goes_on_for_those_that_look_at_it() -> None:
    table = {
        "S": {"E": 0.500, "b": 0.255, "c": 0.245},
        "b": {"a": 0.26, "b": 0.25, "c": 0.25, "E": 0.24},
        "a": {"c": 1.0},
        "c": {"c": 0.90, "a": 0.06, "E": 0.04},
    }
    # The first group ends at once with log .5 = -.69. After `b a` the second is at log .066 = -2.7, at best -.9 with three
    # tokens. Its c still keeps the third, at `c c`, from another c and so from log .198 / 3 = -.54.
    (found,) = beam(TableDecoder(table), None, torch.tensor([3]), Beam(3, 1, AVERAGE, 3, 5.0))
    assert words(found[0]) == ""


def test_rules_bind_every_group() -> None:
    decoder, marks = RandomDecoder(6, seed=1), Marks(6, 5)
    memory = decoder.encode(SOURCES)
    how = Beam(4, 4, num_groups=2, diversity=9.0)
    found = beam(decoder, memory, torch.tensor([6] * 4), how, rules=[forbid((0, 2))], marks=marks)
    assert all(not {0, 2} & set(h.ids) for hypotheses in found for h in hypotheses)
    with pytest.raises(ValueError, match="no token to sentence 0"):
        beam(decoder, memory, torch.tensor([6] * 4), how, rules=[forbid(range(6))], marks=marks)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"size": 6, "num_groups": 4}, "num_groups: must divide the size of the beam, 6, got 4; one of 1, 2, 3, 6"),
        ({"size": 6, "num_groups": 0}, "num_groups: must divide the size of the beam, 6, got 0"),
        ({"size": 6, "num_groups": 2, "diversity": -1.0}, "diversity: must be a number from 0 up, got -1.0"),
        ({"size": 6, "num_groups": 2, "diversity": float("nan")}, "diversity: must be a number from 0 up, got nan"),
        ({"size": 6, "diversity": 0.5}, "diversity: needs several groups, got 1; set num_groups"),
    ],
)
def test_bad_groups_are_refused(how: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        Beam(**how)
    assert str(caught.value).startswith(message)
