"""Two decoders for the tests of a search: one with a fixed table, one with random weights, and brute force."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any, NamedTuple

import torch
from torch import Tensor

from seqline.decoding import Hypothesis, Penalty
from seqline.state import Encoded

BOS, EOS = 2, 3
NAMES = {"S": BOS, "E": EOS, "a": 4, "b": 5, "c": 6}

T1 = {
    "S": {"a": 0.60, "b": 0.40},
    "a": {"E": 0.40, "a": 0.30, "b": 0.15, "c": 0.15},
    "b": {"c": 0.95, "E": 0.05},
    "c": {"E": 0.95, "c": 0.05},
}
T2 = {
    "S": {"a": 0.60, "b": 0.40},
    "a": {"E": 0.85, "a": 0.05, "b": 0.05, "c": 0.05},
    "b": {"c": 0.99, "E": 0.01},
    "c": {"E": 0.99, "c": 0.01},
}
EMPTY_WINS = {
    "S": {"a": 0.40, "E": 0.30, "b": 0.30},
    "a": {"E": 0.50, "a": 0.25, "b": 0.25},
    "b": {"E": 0.50, "a": 0.25, "b": 0.25},
}
LOOP = {"S": {"a": 1.0}, "a": {"a": 0.97, "E": 0.03}}


class TableDecoder:
    """P(next | previous) from a fixed table, whatever the source."""

    def __init__(self, table: dict[str, dict[str, float]]) -> None:
        self.logits = torch.full((7, 7), float("-inf"), dtype=torch.float64)
        self.logits[:, EOS] = 0.0  # rows without an entry
        for previous, following in table.items():
            assert math.isclose(sum(following.values()), 1)
            self.logits[NAMES[previous]] = float("-inf")
            for name, p in following.items():
                self.logits[NAMES[previous], NAMES[name]] = math.log(p)

    def prepare(self, encoded: Encoded | None) -> None:
        return None

    def initial_state(self, memory: None, batch_size: int) -> Tensor:
        return torch.zeros(batch_size, dtype=torch.long)

    def __call__(self, ids: Tensor, state: Tensor, memory: None, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        return self.logits[ids], state + ids.shape[1]


def words(hypothesis: Hypothesis) -> str:
    """Return the words of a table model's hypothesis, without E."""
    names = {token: name for name, token in NAMES.items()}
    return " ".join(names[token] for token in hypothesis.ids if token != EOS)


class Memory(NamedTuple):
    """keys: [B S D]. is_real: [B S]."""

    keys: Tensor
    is_real: Tensor


class RandomDecoder:
    """A gated recurrence that attends to its source and to its own past, with weights drawn from a seed (float64).

    Ids below `vocab_size` are outputs; bos is the id `vocab_size`. The state is a tree with a dict, a tuple and a
    position a row, so that a search that loses, mixes up or changes any part of it gives other numbers.
    """

    def __init__(self, vocab_size: int, seed: int = 1, *, width: int = 6, sharpness: float = 1.5) -> None:
        generator = torch.Generator().manual_seed(seed)

        def draw(*shape: int) -> Tensor:
            return torch.randn(*shape, generator=generator, dtype=torch.float64) * 0.6

        self.bos_id, self.width, self.sharpness = vocab_size, width, sharpness
        self.source_embedding, self.target_embedding = draw(32, width), draw(vocab_size + 1, width)
        self.position_embedding = draw(64, width)
        self.gates, self.query, self.past = draw(3 * width, 4 * width), draw(width, width), draw(width, width)
        self.output, self.bias = draw(3 * width, vocab_size), draw(vocab_size)

    def encode(self, sources: Sequence[Sequence[int]], extra_pads: int = 0) -> Memory:
        """Return the memory of ragged sources; pads hold a valid id."""
        longest = max(map(len, sources)) + extra_pads
        ids = torch.tensor([[*source, *[7] * (longest - len(source))] for source in sources])
        is_real = torch.arange(longest) < torch.tensor([len(source) for source in sources])[:, None]
        return self.prepare(Encoded(self.source_embedding[ids], is_real, None))

    def prepare(self, encoded: Encoded | None) -> Memory:
        assert encoded is not None
        position = torch.arange(encoded.outputs.shape[1]) % 64
        return Memory((encoded.outputs + self.position_embedding[position]).tanh(), encoded.is_real)

    def initial_state(self, memory: Memory, batch_size: int) -> dict[str, Any]:
        assert memory.keys.shape[0] == batch_size
        start = (memory.keys * memory.is_real[..., None]).sum(1).tanh()
        position = torch.zeros(batch_size, dtype=torch.long)
        return {
            "cell": (start, start.flip(1)),
            "past": memory.keys.new_zeros(batch_size, 0, self.width),
            "at": position,
        }

    def __call__(
        self, ids: Tensor, state: dict[str, Any], memory: Memory, mask: Tensor | None = None
    ) -> tuple[Tensor, dict[str, Any]]:
        assert len(ids) == len(memory.keys) == len(state["at"]) == len(state["past"])
        logits = []
        for column in ids.unbind(1):
            column_logits, state = self._step(column, state, memory)
            logits.append(column_logits)
        return torch.stack(logits, 1), state

    def _step(self, ids: Tensor, state: dict[str, Any], memory: Memory) -> tuple[Tensor, dict[str, Any]]:
        hidden, cell = state["cell"]
        x = self.target_embedding[ids] + self.position_embedding[state["at"]]
        scores = torch.einsum("bd,bsd->bs", hidden @ self.query, memory.keys).masked_fill(~memory.is_real, -1e9)
        context = torch.einsum("bs,bsd->bd", scores.softmax(1), memory.keys)
        forget, write, show, new = (torch.cat([x, hidden, context], 1) @ self.gates).chunk(4, 1)
        cell = forget.sigmoid() * cell + write.sigmoid() * new.tanh()
        hidden = show.sigmoid() * cell.tanh()
        past = torch.cat([state["past"], (hidden @ self.past)[:, None]], 1)
        recent = torch.einsum("bt,btd->bd", torch.einsum("bd,btd->bt", x, past).softmax(1), past)
        logits = self.sharpness * (torch.cat([hidden, context, recent], 1) @ self.output + self.bias)
        return logits, {"cell": (hidden, cell), "past": past, "at": state["at"] + 1}


def teacher_forced(decoder: Any, memory: Any, ids: Sequence[int], bos_id: int) -> float:
    """Return the log-probability of `ids` given one source (memory of one row), in one call."""
    state = decoder.initial_state(memory, 1)
    logits, _ = decoder(torch.tensor([[bos_id, *ids[:-1]]]), state, memory)
    return float(logits[0].double().log_softmax(-1)[torch.arange(len(ids)), torch.tensor(ids)].sum())


def all_sequences(num_words: int, eos_id: int, max_length: int) -> Iterable[tuple[int, ...]]:
    """Yield each sequence of the words 0 ... num_words-1 that ends in eos or is cut at the limit."""
    for length in range(max_length):
        for prefix in product(range(num_words), repeat=length):
            yield (*prefix, eos_id)
    yield from product(range(num_words), repeat=max_length)


def brute_force(decoder: RandomDecoder, source: Sequence[int], max_length: int, penalty: Penalty) -> list[Hypothesis]:
    """Score every sequence one by one; the last id of the vocabulary is eos. Falling score."""
    eos_id, memory = decoder.bos_id - 1, decoder.encode([source])
    found = []
    for ids in all_sequences(eos_id, eos_id, max_length):
        total = teacher_forced(decoder, memory, ids, decoder.bos_id)
        found.append(Hypothesis(ids, total, penalty.score(total, len(ids)), ids[-1] == eos_id))
    return sorted(found, key=lambda hypothesis: -hypothesis.score)
