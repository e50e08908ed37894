"""An ensemble of one is that model, of two the log of the mean probability; its state obeys the laws of any state."""

from __future__ import annotations

import copy
import math
from typing import Any, cast

import pytest
import torch
from torch import Tensor

from seqline.decoding import AVERAGE, Beam, Marks, Sampling, beam, greedy, sample
from seqline.decoding.ensemble import Ensemble
from seqline.errors import UserError
from seqline.state import Encoded, expand, select, tensors_of

from .table_model import BOS, EOS, RandomDecoder, TableDecoder, all_sequences

V = 5
SOURCES = [[1], [2, 3], [4, 5, 6, 1, 9], [7, 8, 9]]
LIMITS = torch.tensor([7, 1, 9, 4])
MARKS = Marks(bos=V, eos=V - 1)
TOLERANCE = 1e-10


def member(seed: int, width: int = 6) -> RandomDecoder:
    return RandomDecoder(V, seed, width=width)


def pair() -> Ensemble:
    """Two members whose memories and states have other shapes."""
    return Ensemble([member(1), member(2, width=4)])


def members_of(ensemble: Ensemble) -> tuple[RandomDecoder, ...]:
    return cast("tuple[RandomDecoder, ...]", ensemble.decoders)


def memories(ensemble: Ensemble) -> Any:
    return tuple(decoder.encode(SOURCES) for decoder in members_of(ensemble))


def test_one_member_gives_its_own_logits_bit_for_bit() -> None:
    decoder = member(1)
    alone, ensemble = decoder.encode(SOURCES), Ensemble([decoder])
    ids = torch.tensor([[V, 0, 2], [V, 1, 3], [V, 2, 2], [V, 3, 0]])
    logits, state = ensemble(ids, ensemble.initial_state((alone,), 4), (alone,))
    right, right_state = decoder(ids, decoder.initial_state(alone, 4), alone)
    assert torch.equal(logits, right)
    for mine, its in zip(tensors_of(state), tensors_of(right_state), strict=True):
        assert torch.equal(mine, its)


def test_every_search_on_an_ensemble_of_one_is_that_of_the_model() -> None:
    decoder = member(3)
    memory, ensemble = decoder.encode(SOURCES), Ensemble([decoder])
    how, prompts, sampling = Beam(4, n_best=3), [[V]] * 4, Sampling(1.2, seed=5)
    assert greedy(ensemble, (memory,), LIMITS, marks=MARKS) == greedy(decoder, memory, LIMITS, marks=MARKS)
    assert beam(ensemble, (memory,), LIMITS, how, marks=MARKS) == beam(decoder, memory, LIMITS, how, marks=MARKS)
    options: dict[str, Any] = {"sampling": sampling, "eos_id": V - 1}
    assert sample(ensemble, (memory,), prompts, LIMITS, **options) == sample(
        decoder, memory, prompts, LIMITS, **options
    )


def test_two_members_by_hand() -> None:
    first = TableDecoder({"S": {"a": 0.5, "b": 0.3, "c": 0.2}, "a": {"E": 1.0}})
    second = TableDecoder({"S": {"a": 0.1, "b": 0.8, "E": 0.1}, "a": {"b": 1.0}})
    ensemble = Ensemble([first, second])
    state = ensemble.initial_state(None, 1)
    logits, state = ensemble(torch.tensor([[BOS]]), state, None)
    # (0.5 + 0.1)/2, (0.3 + 0.8)/2, (0.2 + 0)/2 and (0 + 0.1)/2
    right = {4: 0.3, 5: 0.55, 6: 0.1, EOS: 0.05}
    assert logits[0, 0].exp().tolist() == pytest.approx([right.get(i, 0.0) for i in range(7)], abs=1e-12)
    assert logits[0, 0, 0] == -math.inf  # where no member finds it possible
    logits, _ = ensemble(torch.tensor([[4]]), state, None)
    assert logits[0, 0].exp().tolist() == pytest.approx([0, 0, 0, 0.5, 0, 0.5, 0], abs=1e-12)
    (found,) = greedy(ensemble, None, torch.tensor([5]))
    assert found.ids == (5, EOS)  # each alone: a, and b
    assert found.log_probability == pytest.approx(math.log(0.55) + math.log(1.0), abs=1e-12)


def test_a_full_beam_finds_what_the_mean_finds_best() -> None:
    ensemble, sources = pair(), SOURCES[1:3]
    memory = tuple(decoder.encode(sources) for decoder in members_of(ensemble))
    found = beam(ensemble, memory, torch.full((2,), 3), Beam(125, n_best=125), marks=MARKS)
    for source, hypotheses in zip(sources, found, strict=True):
        right = {ids: mean_log_probability(ensemble, source, ids) for ids in all_sequences(V - 1, V - 1, 3)}
        assert {h.ids: h.log_probability for h in hypotheses} == pytest.approx(right, abs=TOLERANCE)
        assert hypotheses[0].score == pytest.approx(max(AVERAGE.score(v, len(i)) for i, v in right.items()))


def mean_log_probability(ensemble: Ensemble, source: list[int], ids: tuple[int, ...]) -> float:
    """Return the sum over t of log mean_m p_m(y_t), each member reading the sequence by itself."""
    members = []
    for decoder in members_of(ensemble):
        memory = decoder.encode([source])
        logits, _ = decoder(torch.tensor([[V, *ids[:-1]]]), decoder.initial_state(memory, 1), memory)
        members.append(logits[0].softmax(-1)[torch.arange(len(ids)), list(ids)].tolist())
    return sum(math.log(math.fsum(step) / len(step)) for step in zip(*members, strict=True))


def test_three_equal_members_are_one() -> None:
    decoder = member(4)
    memory = decoder.encode(SOURCES)
    (many, one) = (greedy(Ensemble([decoder] * n), (memory,) * n, LIMITS, marks=MARKS) for n in (3, 1))
    assert [h.ids for h in many] == [h.ids for h in one]
    assert [h.log_probability for h in many] == pytest.approx([h.log_probability for h in one], abs=TOLERANCE)


@pytest.mark.parametrize("rows", [[2, 0, 3, 1], [1, 1, 3], [0], [0, 1, 2, 3]])
def test_select_keeps_drops_and_repeats_rows_of_every_member(rows: list[int]) -> None:
    ensemble = pair()
    memory = memories(ensemble)
    ids = torch.tensor([[V, 0], [V, 1], [V, 2], [V, 3]])
    _, state = ensemble(ids, ensemble.initial_state(memory, 4), memory)
    chosen, then = torch.tensor(rows), torch.tensor([[3], [2], [1], [0]])
    right, _ = ensemble(then, state, memory)
    got, _ = ensemble(then[chosen], select(state, chosen), select(memory, chosen))
    torch.testing.assert_close(got, right[chosen], atol=TOLERANCE, rtol=0)
    twice, _ = ensemble(then.repeat_interleave(2, 0), expand(state, 2), expand(memory, 2))
    torch.testing.assert_close(twice[1::2], right, atol=TOLERANCE, rtol=0)


def test_steps_give_what_one_call_gives_and_change_nothing_they_are_given() -> None:
    ensemble = pair()
    memory = memories(ensemble)
    ids = torch.tensor([[V, 0, 1, 2], [V, 3, 3, 0], [V, 1, 0, 1], [V, 2, 2, 2]])
    state = ensemble.initial_state(memory, 4)
    before = copy.deepcopy((state, memory))
    whole, _ = ensemble(ids, state, memory)
    again, _ = ensemble(ids, state, memory)
    assert torch.equal(whole, again)
    steps = []
    for column in ids.unbind(1):
        logits, state = ensemble(column[:, None], state, memory)
        steps.append(logits)
    torch.testing.assert_close(torch.cat(steps, 1), whole, atol=TOLERANCE, rtol=0)
    beam(ensemble, memory, LIMITS, Beam(3), marks=MARKS)
    fresh = (ensemble.initial_state(memory, 4), memory)
    for now, then in zip(tensors_of(fresh), tensors_of(before), strict=True):
        assert torch.equal(now, then)


def test_each_member_prepares_its_own_source() -> None:
    ensemble = pair()
    encoded = [
        Encoded(torch.randn(2, 3, width, dtype=torch.float64), torch.ones(2, 3).bool(), None) for width in (6, 4)
    ]
    memory = ensemble.prepare(encoded)
    assert [m.keys.shape for m in memory] == [(2, 3, 6), (2, 3, 4)]
    assert Ensemble([TableDecoder({})] * 2).prepare(None) == (None, None)
    with pytest.raises(ValueError, match="an ensemble of 2 needs as many encoded sources"):
        ensemble.prepare(encoded[:1])


class Masked(TableDecoder):
    """Notes the mask that it is given."""

    seen: Tensor | None = None

    def __call__(self, ids: Tensor, state: Tensor, memory: None, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        self.seen = mask
        return super().__call__(ids, state, memory, mask)


def test_the_mask_reaches_every_member() -> None:
    members, mask = [Masked({}), Masked({})], torch.tensor([[True, False]])
    ensemble = Ensemble(members)
    ensemble(torch.tensor([[BOS, 4]]), ensemble.initial_state(None, 1), None, mask)
    assert all(decoder.seen is mask for decoder in members)


def test_low_precision_is_raised_to_float32() -> None:
    decoder = TableDecoder({"S": {"a": 0.6, "b": 0.4}})
    decoder.logits = decoder.logits.bfloat16()
    ensemble = Ensemble([decoder, decoder])
    logits, _ = ensemble(torch.tensor([[BOS]]), ensemble.initial_state(None, 1), None)
    assert logits.dtype == torch.float32
    assert logits[0, 0].exp().sum().item() == pytest.approx(1, abs=1e-6)


def test_broken_logits_of_one_member_are_refused() -> None:
    broken = TableDecoder({})
    broken.logits = torch.full((7, 7), math.nan, dtype=torch.float64)
    with pytest.raises(FloatingPointError, match="not finite"):
        greedy(Ensemble([TableDecoder({}), broken]), None, torch.tensor([3]))


def test_other_vocabularies_and_no_members_are_refused() -> None:
    members = [RandomDecoder(5, 1), RandomDecoder(6, 1)]
    memory = tuple(decoder.encode([[1]]) for decoder in members)
    with pytest.raises(
        UserError, match=r"^ensemble: the models must share one target vocabulary, got sizes 5, 6; name"
    ):
        greedy(Ensemble(members), memory, torch.tensor([3]))
    with pytest.raises(UserError, match=r"^ensemble: expected at least one model, got none"):
        Ensemble([])
