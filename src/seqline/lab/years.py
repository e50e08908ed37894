"""The year in a sentence: "in 2009 I went to Nepal" and "I went to Nepal in 2009" have the same one, at different places.

A sentence is made of plain words and one year; the network reads it and says which year. Some years are kept from some places
in training, so that a test can ask for a year where it never stood:

    held back: (number of the year + place) is a multiple of 4

*Source*: the example is that of Goodfellow, Bengio & Courville 2016, Deep Learning, section 10.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

from seqline.data.tokenizer import PAD
from seqline.parts.cells import GRUCell
from seqline.parts.embeddings import Embedding
from seqline.parts.recurrent import Recurrent, unroll
from seqline.shapes import Bool, Float, Int, Tensor
from seqline.training.loss import LossSum, evaluating, smoothed_cross_entropy
from seqline.training.progress import Validation
from seqline.training.task import TrainerSettings, TrainingTask
from seqline.training.trainer import train

YEARS = tuple(str(year) for year in range(2002, 2010))
WORDS = ("I", "we", "went", "came", "to", "from", "Nepal", "Peru", "with", "friends", "again", "in")
IDS = {word: number for number, word in enumerate((*YEARS, *WORDS), PAD + 1)}
SHORTEST, LONGEST, LONGER = 4, 12, 24
HELD_EVERY = 4
EMBED_SIZE, BATCH, LEARNING_RATE = 16, 32, 0.005


class Sentence(NamedTuple):
    """Words, and the number of the year among them."""

    words: tuple[str, ...]
    year: int

    @property
    def place(self) -> int:
        """Where the year stands, from 0."""
        return self.words.index(YEARS[self.year])


class Sets(NamedTuple):
    """What is learned, and three tests: alike, a year at a place where it never stood, sentences longer than any learned."""

    train: list[Sentence]
    alike: list[Sentence]
    places: list[Sentence]
    longer: list[Sentence]


def is_held_back(year: int, place: int) -> bool:
    """Tell whether a year never stands at a place in training."""
    return (year + place) % HELD_EVERY == 0


def make_sets(num_train: int, num_test: int, seed: int) -> Sets:
    """Make all four; no sentence stands twice in them.

    Args:
        num_train: sentences to learn from.
        num_test: of each test.
        seed: of the draws.
    """
    draws, seen = random.Random(seed), set[tuple[str, ...]]()

    def some(count: int, lengths: tuple[int, int], *, wants_held_back: bool = False) -> list[Sentence]:
        found: list[Sentence] = []
        while len(found) < count:
            length = draws.randint(*lengths)
            year, place = draws.randrange(len(YEARS)), draws.randrange(min(length, LONGEST))
            words = [draws.choice(WORDS) for _ in range(length)]
            words[place] = YEARS[year]
            if is_held_back(year, place) is wants_held_back and tuple(words) not in seen:
                seen.add(tuple(words))
                found.append(Sentence(tuple(words), year))
        return found

    usual, long = (SHORTEST, LONGEST), (LONGEST + 1, LONGER)
    return Sets(
        some(num_train, usual), some(num_test, usual), some(num_test, usual, wants_held_back=True), some(num_test, long)
    )


class CellAStep(nn.Module):
    """A recurrent layer without sharing: h_t = f_t(x_t, h_{t-1}), a cell of its own for every step.

    Args:
        cells: f_1, f_2, ...; a longer sequence than there are cells cannot be read.
    """

    def __init__(self, cells: Sequence[GRUCell]) -> None:
        super().__init__()
        self.cells = nn.ModuleList(cells)

    def initial_state(self, batch_size: int) -> Float[Tensor, "B D"]:
        """Return zeros."""
        return self.cells[0].initial_state(batch_size)  # pyright: ignore[reportCallIssue]

    def forward(
        self, x: Float[Tensor, "B T I"], state: Any, mask: Bool[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B T D"], Any]:
        """Map inputs to outputs and the state after each row's last real one."""
        if x.shape[1] > len(self.cells):
            raise ValueError(f"{x.shape[1]} steps, and cells for {len(self.cells)}")
        cells = iter(self.cells)

        def step(now: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
            return next(cells)(now, before)

        return unroll(step, x, state, mask)


class YearReader(nn.Module):
    """logits = W h_end + b, where h_end is the layer's state after the sentence's last word."""

    def __init__(self, layer: Recurrent | CellAStep, hidden_size: int) -> None:
        super().__init__()
        self.embedding = Embedding(len(IDS) + 1, EMBED_SIZE, dropout=0.0)
        self.layer, self.head = layer, nn.Linear(hidden_size, len(YEARS))

    def forward(self, ids: Int[Tensor, "B T"], is_real: Bool[Tensor, "B T"]) -> Float[Tensor, "B Y"]:
        """Return a logit for every year."""
        _, end = self.layer(self.embedding(ids), self.layer.initial_state(len(ids)), is_real)
        return self.head(end)


def tied(hidden_size: int) -> YearReader:
    """Return the network with one cell for all steps."""
    return YearReader(Recurrent(GRUCell(EMBED_SIZE, hidden_size)), hidden_size)


def untied(hidden_size: int, num_steps: int) -> YearReader:
    """Return the network with a cell a step."""
    return YearReader(CellAStep([GRUCell(EMBED_SIZE, hidden_size) for _ in range(num_steps)]), hidden_size)


class Batch(NamedTuple):
    """Sentences as ids [B T], what is real in them, and their years [B]."""

    ids: Int[Tensor, "B T"]
    is_real: Bool[Tensor, "B T"]
    years: Int[Tensor, " B"]


def batch_of(sentences: Sequence[Sentence]) -> Batch:
    """Put sentences together."""
    ids = pad_sequence([torch.tensor([IDS[word] for word in each.words]) for each in sentences], batch_first=True)
    return Batch(ids, ids != PAD, torch.tensor([each.year for each in sentences]))


def hits(model: YearReader, sentences: Sequence[Sentence]) -> list[bool]:
    """Tell of each sentence whether the most probable year is the right one."""
    batch = batch_of(sentences)
    with torch.inference_mode(), evaluating(model):
        return (model(batch.ids, batch.is_real).argmax(dim=-1) == batch.years).tolist()


def learn(
    make: Callable[[], YearReader],
    sentences: Sequence[Sentence],
    steps: int,
    seed: int,
    should_stop: Callable[[], str | None],
) -> YearReader:
    """Make a network and train it.

    Args:
        make: draws its weights from torch's generator, which the seed sets.
        sentences: to learn from.
        steps: updates.
        seed: of weights and order.
        should_stop: a reason ends the training.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = make()
    settings = TrainerSettings(
        max_steps=steps, learning_rate=LEARNING_RATE, warmup_steps=0, weight_decay=0.0, clip_norm=1.0, average_decay=0.0,
        validate_every=steps, checkpoint_every=steps, patience=0, seed=seed,
    )  # fmt: skip
    train(model, _task(sentences, seed), settings, should_stop=should_stop)
    return model.eval()


def _task(sentences: Sequence[Sentence], seed: int) -> TrainingTask:
    def plan(epoch: int) -> list[list[int]]:
        rows = list(range(len(sentences)))
        random.Random(f"{seed} {epoch}").shuffle(rows)
        return [rows[start : start + BATCH] for start in range(0, len(rows), BATCH)]

    def loss(model: nn.Module, batch: Batch) -> LossSum:
        logits = model(batch.ids, batch.is_real)[:, None]
        return smoothed_cross_entropy(logits, batch.years[:, None], batch.is_real[:, :1], 0.0)

    def validate(model: nn.Module) -> Validation:
        found = loss(model, batch_of(sentences))
        nats = float(found.negative_log_likelihood) / found.num_tokens
        return Validation(nats, {}, -nats)

    return TrainingTask(plan, lambda rows: batch_of([sentences[row] for row in rows]), loss, validate)
