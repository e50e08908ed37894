"""What the laws are checked on, and what a check finds: models with sentences, and how far two sides are apart."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import nn

from seqline.data.batch import Batch, Example, collate
from seqline.models.encoder_decoder import EncoderDecoder
from seqline.shapes import Tensor
from seqline.state import Encoded, tensors_of

NEVER_GENERATED = (0, 1, 2)


class Subject(NamedTuple):
    """A model in evaluation mode and sentence pairs as ids (sources end in eos, targets have neither mark).

    max_length: the most tokens that a search may write, eos included.
    """

    model: EncoderDecoder
    examples: Sequence[Example]
    max_length: int


class LabelSubject(NamedTuple):
    """A tagger or classifier in evaluation mode, (ids [B S], is_real [B S]) to logits, and sources as ids."""

    model: nn.Module
    sources: Sequence[list[int]]


class Finding(NamedTuple):
    """How far a law is from holding.

    difference: the largest absolute one; inf where two things must be the same and are not. where: where it was seen.
    row: which example it was, None = no single one. scale: the largest absolute value that was compared.
    """

    law: str
    difference: float
    where: str
    row: int | None = None
    scale: float = 0.0

    def holds(self, tolerance: float) -> bool:
        """Tell whether the difference is within a tolerance, which grows with the values once they are above 1."""
        return self.difference <= tolerance * max(1.0, self.scale)


class Worst:
    """Compares again and again, and keeps the largest difference."""

    def __init__(self, law: str) -> None:
        self.finding, self._scale = Finding(law, 0.0, ""), 0.0

    def add(self, difference: float, where: str, row: int | None = None) -> None:
        """Take one difference into account."""
        if difference > self.finding.difference:
            self.finding = Finding(self.finding.law, difference, where, row)

    def compare(self, got: Tensor, expected: Tensor, where: str, row: int | None = None) -> None:
        """Take the difference of two tensors into account."""
        self._scale = max(self._scale, largest(expected))
        self.add(math.inf if got.shape != expected.shape else largest(got - expected), where, row)

    def compare_numbers(self, got: float, expected: float, where: str, row: int | None = None) -> None:
        """Take the difference of two numbers into account."""
        both = torch.tensor([got, expected], dtype=torch.float64)
        self.compare(both[0], both[1], where, row)

    def compare_trees(self, got: Any, expected: Any, where: str) -> None:
        """Take the differences of two trees of tensors into account, whatever their dtypes."""
        for x, y in zip(tensors_of(got), tensors_of(expected), strict=True):
            self.compare(x.double(), y.double(), where)

    def result(self) -> Finding:
        """Return the worst finding so far."""
        return self.finding._replace(scale=self._scale)


class NoSource(nn.Module):
    """Stands where the laws expect an encoder; a language model's `prepare` makes None of whatever comes."""

    def forward(self, source: Tensor, is_real: Tensor) -> Encoded | None:
        """Return None."""
        return


class Prepared(NamedTuple):
    """A batch of every example, its memory, and the state of rows that have read nothing."""

    batch: Batch
    memory: Any
    start: Any


def prepared(subject: Subject) -> Prepared:
    """Put all examples into one batch and encode it."""
    batch = collate(subject.examples, range(len(subject.examples)))
    decoder = subject.model.decoder
    memory = decoder.prepare(subject.model.encoder(batch.source, batch.source_is_real))
    return Prepared(batch, memory, decoder.initial_state(memory, len(batch.rows)))


def largest(values: Tensor) -> float:
    """Return the largest absolute value, 0 of none; inf where one is no finite number (max() would pass over a NaN)."""
    found = float(values.abs().max()) if values.numel() else 0.0
    return found if math.isfinite(found) else math.inf


def poisoned(ids: Tensor, is_real: Tensor) -> Tensor:
    """Return ids whose padding holds other ids of the same batch, so that who reads it is seen."""
    real = ids[is_real]
    return torch.where(is_real, ids, real[torch.arange(ids.numel()) % len(real)].view_as(ids))


@contextmanager
def chance(seed: int) -> Iterator[None]:
    """Fix torch's generator for a while; whoever draws from it outside notices nothing."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
