"""Sampling: the right frequencies, and a row's tokens depend on the seed, the row's id and its own prompt alone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor

from seqline.data.loader import mix
from seqline.decoding import (
    AVERAGE,
    Drawn,
    Hypothesis,
    Marks,
    Sampling,
    forbid,
    greedy,
    min_length,
    sample,
    stream,
    whole_utf8,
)
from seqline.errors import UserError
from seqline.state import Encoded

from .table_model import RandomDecoder, teacher_forced

V, EOS = 7, 6
PROMPTS = [[0, 3], [5], [1, 2, 4, 0, 3, 3], [2, 2, 1], [5], [4, 1]]
LIMITS = [7, 1, 12, 5, 9, 12]
WARM = Sampling(temperature=1.3, seed=11)


class Recurrence:
    """A language model of one recurrent state and a position a row, weights from a seed (float64); obeys its mask."""

    def __init__(self, seed: int = 1, vocab_size: int = V, width: int = 5) -> None:
        generator = torch.Generator().manual_seed(seed)
        self.embedding, self.recurrent, self.output, self.positions = (
            torch.randn(*shape, generator=generator, dtype=torch.float64)
            for shape in ((vocab_size, width), (width, width), (width, vocab_size), (64, width))
        )

    def prepare(self, encoded: Encoded | None = None) -> None:
        return None

    def initial_state(self, memory: None, batch_size: int) -> tuple[Tensor, Tensor]:
        return self.embedding.new_zeros(batch_size, len(self.recurrent)), torch.zeros(batch_size, dtype=torch.long)

    def __call__(
        self, ids: Tensor, state: tuple[Tensor, Tensor], memory: None, mask: Tensor | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        logits = []
        hidden, position = state
        is_real = torch.ones_like(ids, dtype=torch.bool) if mask is None else mask
        for column, real in zip(ids.unbind(1), is_real.unbind(1), strict=True):
            new = (self.embedding[column] + hidden @ self.recurrent + self.positions[position % 64]).tanh()
            hidden = torch.where(real[:, None], new, hidden)
            position = position + real
            logits.append(1.5 * hidden @ self.output)
        return torch.stack(logits, 1), (hidden, position)


class Fixed:
    """Logits that depend on the last id alone."""

    def __init__(self, logits: Tensor) -> None:
        self.logits = logits

    def prepare(self, encoded: Encoded | None = None) -> None:
        return None

    def initial_state(self, memory: None, batch_size: int) -> None:
        return None

    def __call__(self, ids: Tensor, state: None, memory: None, mask: Tensor | None = None) -> tuple[Tensor, None]:
        return self.logits[ids], None


def run(
    rows: Sequence[int] = range(len(PROMPTS)), sampling: Sampling = WARM, seed: int = 1, **options: Any
) -> list[Hypothesis]:
    """Sample some of the prompts, each under its own row id."""
    options = {"eos_id": EOS, "row_ids": [100 + row for row in rows], **options}
    limits = torch.tensor([LIMITS[row] for row in rows])
    return sample(Recurrence(seed), None, [PROMPTS[row] for row in rows], limits, sampling=sampling, **options)


def first_tokens(logits: Tensor, count: int, sampling: Sampling) -> list[int]:
    """Draw one token each for `count` rows of the same logits."""
    decoder = Fixed(logits.expand(len(logits), -1))
    found = sample(decoder, None, [[0]] * count, torch.ones(count, dtype=torch.long), sampling=sampling, eos_id=None)
    return [hypothesis.ids[0] for hypothesis in found]


def chi_square_p(counts: Sequence[int], expected: Sequence[float]) -> float:
    """Return the probability of counts at least as far from the expected ones; cells of weight 0 must be empty."""
    assert all(count == 0 for count, weight in zip(counts, expected, strict=True) if weight == 0)
    cells = [(count, weight) for count, weight in zip(counts, expected, strict=True) if weight > 0]
    statistic = sum((count - weight) ** 2 / weight for count, weight in cells)
    half = torch.tensor([(len(cells) - 1) / 2, statistic / 2], dtype=torch.float64)
    return float(torch.special.gammaincc(half[0], half[1]))


def brute_weights(log_probs: Sequence[float], sampling: Sampling) -> list[float]:
    """Return the distribution by the definition, a token at a time."""
    largest = max(log_probs)
    powers = [math.exp((value - largest) / sampling.temperature) for value in log_probs]
    weights = [power / math.fsum(powers) for power in powers]
    order = sorted(range(len(weights)), key=lambda i: (-weights[i], i))[: sampling.top_k]
    total = math.fsum(weights[i] for i in order)
    kept: list[int] = []
    for i in order:
        if math.fsum(weights[j] for j in kept) / total >= sampling.top_p:
            break
        kept.append(i)
    total = math.fsum(weights[i] for i in kept)
    return brute_typical([weights[i] / total if i in kept else 0.0 for i in range(len(weights))], sampling.typical_p)


def brute_distances(q: Sequence[float]) -> dict[int, float]:
    """Return |-log q - H| of each possible token."""
    entropy = -math.fsum(p * math.log(p) for p in q if p)
    return {i: abs(-math.log(p) - entropy) for i, p in enumerate(q) if p}


def brute_typical(q: Sequence[float], share: float) -> list[float]:
    """Return what is left of a distribution of all sets that reach the share: the smallest of the most typical tokens."""
    distances = brute_distances(q)
    order = sorted(distances, key=lambda i: (distances[i], i))
    size = next((n for n in range(1, len(order)) if math.fsum(q[i] for i in order[:n]) >= share), len(order))
    kept = set(order if share == 1 else order[:size])
    total = math.fsum(q[i] for i in kept)
    return [p / total if i in kept else 0.0 for i, p in enumerate(q)]


SETTINGS = [
    Sampling(),
    Sampling(temperature=0.5),
    Sampling(temperature=2.5),
    Sampling(top_k=3),
    Sampling(top_p=0.7),
    Sampling(temperature=1.5, top_k=4, top_p=0.8),
    Sampling(typical_p=0.6),
    Sampling(temperature=0.8, top_k=5, top_p=0.95, typical_p=0.9),
]


@pytest.mark.parametrize("sampling", SETTINGS, ids=str)
def test_frequencies_are_those_of_the_distribution(sampling: Sampling) -> None:
    logits = torch.tensor([[0.3, -1.0, 2.0, 1.1, float("-inf"), 0.3, -2.5]], dtype=torch.float64)
    counts = Counter(first_tokens(logits, 10_000, sampling))
    expected = [10_000 * w for w in brute_weights(logits[0].log_softmax(-1).tolist(), sampling)]
    assert chi_square_p([counts[i] for i in range(V)], expected) > 1e-6


def test_the_chi_square_notices_a_wrong_temperature() -> None:
    logits = torch.tensor([[0.3, -1.0, 2.0, 1.1, 0.0, 0.3, -2.5]], dtype=torch.float64)
    counts = Counter(first_tokens(logits, 10_000, Sampling(temperature=1.1)))
    expected = (10_000 * logits[0].softmax(-1)).tolist()
    assert chi_square_p([counts[i] for i in range(V)], expected) < 1e-6


def test_whole_sequences_have_their_probability() -> None:
    decoder, count, length = Recurrence(4, vocab_size=3), 10_000, 3
    limits = torch.full((count,), length)
    found = sample(decoder, None, [[1, 0]] * count, limits, sampling=Sampling(seed=5), eos_id=None)
    counts = Counter(hypothesis.ids for hypothesis in found)
    probability = {hypothesis.ids: math.exp(hypothesis.log_probability) for hypothesis in found}
    assert sum(probability.values()) == pytest.approx(1, abs=5e-3)  # hardly any sequence was never drawn
    rest = max(0.0, 1 - sum(probability.values()))
    expected = [count * p for p in probability.values()]
    assert chi_square_p([*(counts[ids] for ids in probability), 0], [*expected, count * max(rest, 1e-12)]) > 1e-6


def test_seeds_rows_and_steps_have_chance_of_their_own() -> None:
    even = Fixed(torch.zeros(2, 2, dtype=torch.float64))
    bits = torch.tensor(
        [
            [
                h.ids
                for h in sample(even, None, [[0]] * 24, torch.full((24,), 24), sampling=Sampling(seed=s), eos_id=None)
            ]
            for s in range(-6, 6)
        ]
    )
    for axis in range(3):
        same = (bits.diff(dim=axis) == 0).sum().item()
        assert chi_square_p([same, bits.diff(dim=axis).numel() - same], [bits.diff(dim=axis).numel() / 2] * 2) > 1e-6
    assert chi_square_p([int(bits.sum()), int((1 - bits).sum())], [bits.numel() / 2] * 2) > 1e-6


def test_a_row_is_the_same_alone_in_any_batch_and_at_any_index() -> None:
    together = run()
    order = [3, 0, 5, 4, 2, 1]
    mixed = run(order)
    for row in range(len(PROMPTS)):
        (alone,) = run([row])
        for other in (together[row], mixed[order.index(row)]):
            assert (other.ids, other.is_finished) == (alone.ids, alone.is_finished)
            assert other.log_probability == pytest.approx(alone.log_probability, abs=1e-10)
    assert run() == together
    assert len({len(h.ids) for h in together}) >= 4  # they end at different steps


def test_other_seeds_and_row_ids_draw_other_tokens() -> None:
    assert [h.ids for h in run(sampling=Sampling(1.3, seed=12))] != [h.ids for h in run()]
    found = run([2] * 20, row_ids=range(20))
    assert len({h.ids for h in found}) > 10
    assert len({h.ids for h in run([2] * 20, row_ids=[4] * 20)}) == 1


def test_row_ids_count_from_zero_unless_given() -> None:
    assert run(row_ids=None) == run(row_ids=range(len(PROMPTS)))


@pytest.mark.parametrize(
    "sampling", [Sampling(temperature=0), Sampling(3.0, top_k=1), Sampling(1e-300), Sampling(5e-324)]
)
def test_the_greedy_limits_are_greedy(sampling: Sampling) -> None:
    rules = [forbid((1,)), min_length(2, EOS)]
    found = run([1, 4], sampling, rules=rules)
    limits = torch.tensor([LIMITS[1], LIMITS[4]])
    expected = greedy(Recurrence(), None, limits, marks=Marks(5, EOS), rules=rules)
    assert [h.ids for h in found] == [h.ids for h in expected]
    assert [h.score for h in found] == pytest.approx([h.score for h in expected], abs=1e-12)
    tied = torch.tensor([[0.0, 1.0, 1.0, 1.0]])
    if sampling.is_greedy:
        assert set(first_tokens(tied, 50, sampling)) == {1}


values = st.floats(-6, 6).map(lambda x: round(x, 1)) | st.just(float("-inf"))
logit_rows = st.lists(values, min_size=2, max_size=8).filter(lambda row: max(row) > float("-inf"))


@given(
    logit_rows,
    st.floats(0.05, 20),
    st.none() | st.integers(1, 9),
    st.floats(0.01, 0.999) | st.just(1.0),
    st.floats(0.01, 0.999) | st.just(1.0),
    st.integers(-(2**70), 2**70),
)
def test_tokens_are_those_of_the_definition(
    logits: list[float], temperature: float, top_k: int | None, top_p: float, typical_p: float, seed: int
) -> None:
    sampling, count = Sampling(temperature, top_k, top_p, seed, typical_p), 50
    row = torch.tensor([logits], dtype=torch.float64)
    log_probs = row[0].log_softmax(-1).tolist()
    # Two tokens on both sides of the entropy may be as typical but for the rounding; equal ones are equal here too.
    before = brute_weights(log_probs, replace(sampling, typical_p=1.0))
    near = sorted(brute_distances(before).items(), key=lambda item: item[1])
    assume(all(b - a > 1e-9 or before[i] == before[j] for (i, a), (j, b) in pairwise(near)) or typical_p == 1)
    weights = brute_weights(log_probs, sampling)
    bits = mix(seed, 0, 0x5A3, np.arange(count, dtype=np.int64))
    expected = []
    for uniform in (int(value) >> 11 for value in bits):
        reached = (i for i in range(len(logits)) if math.fsum(weights[: i + 1]) * 2**53 > uniform)
        expected.append(next(reached, max(i for i, weight in enumerate(weights) if weight)))
    assert first_tokens(row, count, sampling) == expected


@pytest.mark.parametrize(("bits", "token"), [(0, 1), (2**64 - 1, 3)])
def test_the_ends_of_chance_never_draw_an_impossible_token(
    bits: int, token: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seqline.decoding.sampling.mix", lambda *given: np.full(len(given[-1]), bits, dtype=np.uint64))
    logits = torch.tensor([[float("-inf"), 0.1, 0.7, -0.3, float("-inf")]], dtype=torch.float64)
    assert first_tokens(logits, 3, Sampling()) == [token] * 3


def test_top_k_keeps_the_lowest_of_equal_tokens_and_top_p_the_token_that_reaches_it() -> None:
    even = torch.zeros(1, 4, dtype=torch.float64)
    assert set(first_tokens(even, 300, Sampling(top_k=2))) == {0, 1}
    assert set(first_tokens(even, 300, Sampling(top_p=0.5))) == {0, 1}
    assert set(first_tokens(even, 300, Sampling(top_p=0.51))) == {0, 1, 2}
    assert set(first_tokens(even, 300, Sampling(top_p=1e-9))) == {0}
    assert set(first_tokens(even, 300, Sampling(top_k=99))) == {0, 1, 2, 3}
    skewed = torch.tensor([[0.1, 0.6, 0.3]], dtype=torch.float64).log()
    # Of the two that top-k leaves, the first has two thirds.
    assert set(first_tokens(skewed, 300, Sampling(top_k=2, top_p=0.65))) == {1}
    assert set(first_tokens(skewed, 300, Sampling(top_k=2, top_p=0.7))) == {1, 2}


def test_typical_keeps_what_is_as_informative_as_expected() -> None:
    # H = 1.2275; -log q = 0.6931 (0.5344 away), 1.6094 (0.3819), 1.8971 (0.6696), 1.8971 (0.6696): the likeliest is not first.
    q = torch.tensor([[0.5, 0.2, 0.15, 0.15]], dtype=torch.float64).log()
    assert set(first_tokens(q, 300, Sampling(typical_p=0.1))) == {1}
    assert set(first_tokens(q, 300, Sampling(typical_p=0.2))) == {1}
    assert set(first_tokens(q, 300, Sampling(typical_p=0.21))) == {0, 1}
    assert set(first_tokens(q, 300, Sampling(typical_p=0.71))) == {0, 1, 2}  # of equal ones the lower id
    assert set(first_tokens(q, 300, Sampling(typical_p=0.86))) == {0, 1, 2, 3}
    # Behind top-k 2, of 5/7 and 2/7: H = 0.5983; 0.2619 and 0.6545 away.
    assert set(first_tokens(q, 300, Sampling(top_k=2, typical_p=0.3))) == {0}
    even = torch.zeros(1, 4, dtype=torch.float64)
    assert set(first_tokens(even, 300, Sampling(typical_p=0.5))) == {0, 1}
    one = torch.tensor([[0.0, float("-inf"), float("-inf")]], dtype=torch.float64)
    assert set(first_tokens(one, 20, Sampling(typical_p=0.5))) == {0}


def test_log_probabilities_are_those_of_teacher_forcing() -> None:
    sampling = Sampling(0.7, top_k=4, top_p=0.9, seed=2)
    found = run(sampling=sampling, rules=[forbid((1,)), min_length(2, EOS)])
    decoder = Recurrence()
    for prompt, hypothesis in zip(PROMPTS, found, strict=True):
        logits, _ = decoder(torch.tensor([[*prompt, *hypothesis.ids]]), decoder.initial_state(None, 1), None)
        log_probs = logits[0].log_softmax(-1)[len(prompt) - 1 : -1]
        forced = log_probs[torch.arange(len(hypothesis.ids)), list(hypothesis.ids)].sum().item()
        assert hypothesis.log_probability == pytest.approx(forced, abs=1e-10)
        assert hypothesis.score == AVERAGE.score(hypothesis.log_probability, len(hypothesis.ids))
        assert 1 not in hypothesis.ids
        assert hypothesis.is_finished == (hypothesis.ids[-1] == EOS)


def test_sources_stay_with_their_rows() -> None:
    sources, limits = [[1], [2, 3], [4, 5, 6, 1, 9], [7, 8, 9]], [9, 12, 6, 12]
    decoder = RandomDecoder(V, 3)

    def of(rows: list[int]) -> list[Hypothesis]:
        memory = decoder.encode([sources[row] for row in rows], extra_pads=len(rows))
        chosen = torch.tensor([limits[row] for row in rows])
        prompts = [[decoder.bos_id]] * len(rows)
        return sample(decoder, memory, prompts, chosen, sampling=WARM, row_ids=rows, eos_id=EOS)

    together = of([0, 1, 2, 3])
    for row, hypothesis in enumerate(together):
        (alone,) = of([row])
        assert alone.ids == hypothesis.ids
        forced = teacher_forced(decoder, decoder.encode([sources[row]]), hypothesis.ids, decoder.bos_id)
        assert hypothesis.log_probability == pytest.approx(forced, abs=1e-10)
    assert of([3, 1])[0].ids == together[3].ids


def test_without_an_end_token_only_the_limit_ends_a_row() -> None:
    found = run(eos_id=None)
    assert [len(h.ids) for h in found] == LIMITS
    assert not any(h.is_finished for h in found)
    assert any(EOS in h.ids for h in found)


def test_a_stream_gives_the_same_tokens_step_by_step() -> None:
    options: dict[str, Any] = {"sampling": WARM, "eos_id": EOS, "row_ids": [100 + row for row in range(len(PROMPTS))]}
    steps = list(stream(Recurrence(), None, PROMPTS, torch.tensor(LIMITS), **options))
    found = run()
    assert len(steps) == max(len(h.ids) for h in found)
    for t, step in enumerate(steps):
        assert isinstance(step, Drawn)
        assert step.rows == [row for row, h in enumerate(found) if len(h.ids) > t]
        assert step.ids == [found[row].ids[t] for row in step.rows]
    first = next(stream(Recurrence(), None, PROMPTS, torch.tensor(LIMITS), **options))
    assert first == steps[0]  # nobody has to draw the rest


def test_a_longer_limit_changes_no_earlier_token() -> None:
    (short,) = run([2], eos_id=None)
    limit = torch.tensor([40])
    (longer,) = sample(Recurrence(), None, [PROMPTS[2]], limit, sampling=WARM, eos_id=None, row_ids=[102])
    assert longer.ids[: LIMITS[2]] == short.ids


def test_the_prompt_is_read_once_and_finished_rows_leave() -> None:
    shapes: list[tuple[int, ...]] = []

    class Counting(Recurrence):
        def __call__(self, ids: Tensor, state: Any, memory: None, mask: Tensor | None = None) -> tuple[Tensor, Any]:
            shapes.append(tuple(ids.shape))
            return super().__call__(ids, state, memory, mask)

    found = sample(Counting(), None, PROMPTS, torch.tensor(LIMITS), sampling=WARM, eos_id=EOS)
    longest = max(len(h.ids) for h in found)
    assert shapes == [(6, 5), *((sum(len(h.ids) > t for h in found), 1) for t in range(longest))]
    shapes.clear()
    sample(Counting(), None, [[5], [4]], torch.tensor([1, 1]), sampling=WARM, eos_id=EOS)
    assert shapes == [(2, 1)]


def test_inputs_stay_as_they_are_and_no_graph_is_built() -> None:
    decoder = Recurrence()
    decoder.output.requires_grad_()
    prompts, limits, row_ids = [list(prompt) for prompt in PROMPTS], torch.tensor(LIMITS), list(range(6))
    before = limits.clone()
    for drawn in stream(decoder, None, prompts, limits, sampling=WARM, row_ids=row_ids, eos_id=EOS):
        assert torch.is_grad_enabled()  # between the steps the caller's own setting holds
        assert all(isinstance(value, float) for value in drawn.log_probabilities)
    assert (prompts, row_ids) == (PROMPTS, list(range(6)))
    assert torch.equal(limits, before)


def test_nothing_of_torchs_own_chance_is_used() -> None:
    before = torch.get_rng_state()
    first = run()
    torch.manual_seed(9)
    assert run() == first
    torch.set_rng_state(before)
    run()
    assert torch.equal(torch.get_rng_state(), before)


def test_rules_come_before_the_cuts() -> None:
    logits = torch.tensor([[5.0, 1.0, 0.9, -2.0]], dtype=torch.float64).expand(4, -1)
    options: dict[str, Any] = {"eos_id": None, "rules": [forbid((0,))]}
    limits = torch.ones(200, dtype=torch.long)
    found = sample(Fixed(logits), None, [[0]] * 200, limits, sampling=Sampling(top_k=2), **options)
    assert {h.ids[0] for h in found} == {1, 2}
    byte_values = [-1, 0xC3, 0xA9, 0x61]
    rules = [whole_utf8(byte_values)]
    limits = torch.full((50,), 12)
    hot = Sampling(temperature=50, seed=1)
    for h in sample(Fixed(logits), None, [[0]] * 50, limits, sampling=hot, eos_id=0, rules=rules):
        data = bytes(byte_values[i] for i in h.ids if i)
        (data if h.is_finished else data.removesuffix(b"\xc3")).decode()


def test_no_prompts_no_hypotheses() -> None:
    assert sample(Recurrence(), None, [], torch.zeros(0, dtype=torch.long), sampling=WARM) == []


def test_what_does_not_fit_is_refused() -> None:
    decoder, one = Recurrence(), torch.tensor([3])
    for prompts, limits, message in (
        ([[]], one, "at least one id"),
        ([[1]], torch.tensor([0]), "at least 1, got 0"),
        ([[1], [2]], one, "2 prompts need as many limits and row ids, got 1 limits and 2 row ids"),
    ):
        with pytest.raises(ValueError, match=message):
            sample(decoder, None, prompts, limits, sampling=WARM)
    with pytest.raises(ValueError, match="got 1 limits and 2 row ids"):
        sample(decoder, None, [[1]], one, sampling=WARM, row_ids=[1, 2])
    with pytest.raises(ValueError, match="no token to sentence 0 of the batch after 0 tokens"):
        sample(decoder, None, [[1]], one, sampling=WARM, rules=[forbid(range(V))])
    with pytest.raises(FloatingPointError, match="not finite after 0 tokens"):
        sample(Fixed(torch.full((1, 3), float("nan"))), None, [[0]], one, sampling=WARM)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": -0.1}, "temperature: must be a number from 0 up, got -0.1"),
        ({"temperature": float("nan")}, "temperature: must be a number from 0 up, got nan"),
        ({"temperature": float("inf")}, "temperature: must be a number from 0 up, got inf"),
        ({"top_k": 0}, "top_k: must be at least 1, got 0"),
        ({"top_p": 0.0}, "top_p: must be above 0 and at most 1, got 0.0"),
        ({"top_p": 1.01}, "top_p: must be above 0 and at most 1, got 1.01"),
        ({"temperature": 0.0, "top_k": 5}, "top_k: has no meaning at temperature 0"),
        ({"temperature": 0.0, "top_p": 0.9}, "top_p: has no meaning at temperature 0"),
        ({"top_p": float("nan")}, "top_p: must be above 0 and at most 1, got nan"),
        ({"typical_p": 0.0}, "typical_p: must be above 0 and at most 1, got 0.0"),
        ({"typical_p": 1.5}, "typical_p: must be above 0 and at most 1, got 1.5"),
        ({"typical_p": float("nan")}, "typical_p: must be above 0 and at most 1, got nan"),
        ({"temperature": 0.0, "typical_p": 0.9}, "typical_p: has no meaning at temperature 0"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_bad_settings_are_the_users_mistake(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        Sampling(**options)
    assert str(caught.value).startswith(message)
