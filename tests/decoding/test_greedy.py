"""Greedy search: the best token at each step, every row as if it were alone."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from seqline.decoding import AVERAGE, NONE, Hypothesis, Marks, forbid, gnmt, greedy, min_length

from .table_model import EMPTY_WINS, EOS, LOOP, T1, RandomDecoder, TableDecoder, teacher_forced, words

VOCAB = 6
SOURCES = [[1], [2, 3], [4, 5, 6, 1, 9], [7, 8, 9], [3, 3, 3, 2, 1, 4, 5]]
LIMITS = [7, 1, 9, 4, 12]


def run(
    sources: list[list[int]], limits: list[int], *, pads: int = 0, seed: int = 3, **options: Any
) -> list[Hypothesis]:
    decoder = RandomDecoder(VOCAB, seed)
    memory = decoder.encode(sources, pads)
    return greedy(decoder, memory, torch.tensor(limits), marks=Marks(decoder.bos_id, VOCAB - 1), **options)


def test_a_loop_is_cut_at_exactly_the_limit() -> None:
    (found,) = greedy(TableDecoder(LOOP), None, torch.tensor([50]))
    assert found.ids == (4,) * 50
    assert not found.is_finished
    assert found.log_probability == pytest.approx(49 * torch.tensor(0.97, dtype=torch.float64).log().item(), abs=1e-12)
    assert found.score == found.log_probability / 50


def test_the_end_token_counts_and_is_kept() -> None:
    (found,) = greedy(TableDecoder(EMPTY_WINS), None, torch.tensor([6]))
    assert (words(found), found.ids[-1], found.is_finished) == ("a", EOS, True)
    assert found.log_probability == pytest.approx(-1.6094, abs=5e-5)
    assert found.score == found.log_probability / 2


def test_eos_as_the_last_allowed_token_is_finished() -> None:
    (found,) = greedy(TableDecoder(T1), None, torch.tensor([2]))
    assert (words(found), found.is_finished) == ("a", True)
    (found,) = greedy(TableDecoder(T1), None, torch.tensor([1]))
    assert (words(found), found.is_finished) == ("a", False)


def test_of_equal_tokens_the_lowest_id_is_taken() -> None:
    even = {"S": {"c": 0.25, "b": 0.25, "a": 0.25, "E": 0.25}, "a": {"b": 0.5, "c": 0.5}, "b": {"E": 1.0}}
    (found,) = greedy(TableDecoder(even), None, torch.tensor([9]), rules=[min_length(1, EOS)])
    assert words(found) == "a b"


@pytest.mark.parametrize("penalty", [NONE, AVERAGE, gnmt(0.6)])
def test_scores_are_those_of_teacher_forcing(penalty: Any) -> None:
    decoder = RandomDecoder(VOCAB, 3)
    found = run(SOURCES, LIMITS, penalty=penalty, rules=[forbid((1,)), min_length(2, VOCAB - 1)])
    for source, hypothesis in zip(SOURCES, found, strict=True):
        forced = teacher_forced(decoder, decoder.encode([source]), hypothesis.ids, decoder.bos_id)
        assert hypothesis.log_probability == pytest.approx(forced, abs=1e-10)
        assert hypothesis.score == penalty.score(hypothesis.log_probability, len(hypothesis.ids))
        assert 1 not in hypothesis.ids


@pytest.mark.parametrize("seed", range(6))
def test_each_row_is_as_if_alone(seed: int) -> None:
    together = run(SOURCES, LIMITS, seed=seed, pads=5)
    assert [len(h.ids) <= limit for h, limit in zip(together, LIMITS, strict=True)] == [True] * 5
    order = [3, 0, 4, 2, 1]
    mixed = run([SOURCES[i] for i in order], [LIMITS[i] for i in order], seed=seed)
    for i, (source, limit) in enumerate(zip(SOURCES, LIMITS, strict=True)):
        (alone,) = run([source], [limit], seed=seed)
        for other in (together[i], mixed[order.index(i)]):
            assert (other.ids, other.is_finished) == (alone.ids, alone.is_finished)
            assert other.score == pytest.approx(alone.score, abs=1e-10)


def test_rows_end_at_different_steps_in_these_tests() -> None:
    assert len({len(h.ids) for h in run(SOURCES, LIMITS)}) >= 3


def test_finished_rows_leave_the_batch() -> None:
    sizes: list[int] = []

    class Counting(RandomDecoder):
        def __call__(self, ids: Tensor, state: Any, memory: Any, mask: Tensor | None = None) -> tuple[Tensor, Any]:
            sizes.append(len(ids))
            return super().__call__(ids, state, memory, mask)

    decoder = Counting(VOCAB, 3)
    found = greedy(decoder, decoder.encode(SOURCES), torch.tensor(LIMITS), marks=Marks(decoder.bos_id, VOCAB - 1))
    assert sizes == [sum(len(h.ids) > t for h in found) for t in range(max(len(h.ids) for h in found))]


def test_inputs_stay_as_they_are_and_no_graph_is_built() -> None:
    decoder = RandomDecoder(VOCAB, 3)
    decoder.output.requires_grad_()
    memory, limits = decoder.encode(SOURCES), torch.tensor(LIMITS)
    before = [memory.keys.clone(), memory.is_real.clone(), limits.clone()]
    options: dict[str, Any] = {"marks": Marks(decoder.bos_id, VOCAB - 1)}
    first = greedy(decoder, memory, limits, **options)
    assert all(torch.equal(a, b) for a, b in zip(before, [*memory, limits], strict=True))
    assert greedy(decoder, memory, limits, **options) == first


def test_no_sentences_no_hypotheses() -> None:
    assert greedy(TableDecoder(T1), None, torch.zeros(0, dtype=torch.long)) == []


def test_bad_limits_and_dead_ends_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 1, got 0"):
        greedy(TableDecoder(T1), None, torch.tensor([3, 0]))
    with pytest.raises(ValueError, match="no token to sentence 0 of the batch after 0 tokens"):
        greedy(TableDecoder(T1), None, torch.tensor([3]), rules=[forbid(range(7))])
