"""What a task's data must be able to do for a training: train tokenizers on itself, and become batches with a loss."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from torch.nn import Module

from seqline.config import Config
from seqline.run_folder import Coder
from seqline.training.task import TrainingTask


class Prepared(ABC):
    """A training set as ids or numbers.

    shortest, longest: pieces of an example, the end mark included: no batch budget may be below the first, and one of the
    second leaves nothing out (of a stream: has windows enough to learn from). notes: what a user should know.
    """

    notes: tuple[str, ...]
    shortest: int
    longest: int

    @abstractmethod
    def num_batches(self, batch_tokens: int) -> int:
        """Count the batches of an epoch."""

    @abstractmethod
    def widest(self, batch_tokens: int) -> list[int]:
        """Return the rows that need the most positions, of those that the batch budget leaves in."""

    @abstractmethod
    def tally(self, batch_tokens: int) -> str:
        """Say what is trained on and what a batch budget leaves out."""

    def begin(self, model: Module) -> None:  # noqa: B027
        """Set what a model begins with where the data says more than chance; nothing unless a task has such a thing."""

    @abstractmethod
    def training_task(self, config: Config) -> TrainingTask:
        """Return batches, loss and validation as functions; in `config` everything is filled in."""


class Corpus(ABC):
    """A training and a validation set as text.

    fingerprint: SHA-256 of both. notes: what a user should know. num_examples: pairs or lines of the training set.
    """

    fingerprint: str
    notes: tuple[str, ...]
    num_examples: int

    def fill(self, config: Config) -> Config:
        """Choose what the config leaves open about how the data is read, so that the run records it."""
        return config

    @abstractmethod
    def train_tokenizers(self, config: Config) -> Coder:
        """Train what turns the data into what a model reads: tokenizers, or the scales of series.

        Raises:
            UserError: a vocabulary too small for the text.
        """

    @abstractmethod
    def prepare(self, tokenizers: Any, config: Config) -> Prepared:
        """Turn both sets into ids.

        Raises:
            UserError: nothing usable is left.
        """
