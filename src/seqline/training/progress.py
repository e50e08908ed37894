"""Where a training run stands: the last validation, the best weights so far, the counters, and all of it together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from torch.nn import Module
from torch.optim import Optimizer

from seqline.training.carried import Carried
from seqline.training.weights import WeightAverage, Weights


class Validation(NamedTuple):
    """What a validation found.

    loss: nats per target token. scores: by name, to be shown (bleu, chrf). score: the one that counts, higher = better.
    """

    loss: float
    scores: dict[str, float]
    score: float


class Best(NamedTuple):
    """The best weights validated so far. kind: "current" or "averaged". step: the step they were validated at."""

    weights: Weights
    kind: str
    step: int
    validation: Validation

    @property
    def label(self) -> str:
        """Say in words which weights these are."""
        return f"{'averaged' if self.kind == 'averaged' else 'best'} at step {self.step}"


@dataclass
class Progress:
    """Where a run stands.

    step: updates done. epoch: from 0. cursor: index of the next batch in its epoch. validated_step: step of the last
    validation. bad_validations: since the best. tokens_seen: target tokens. seconds: of training, all calls together.
    """

    step: int = 0
    epoch: int = 0
    cursor: int = 0
    validated_step: int = 0
    bad_validations: int = 0
    tokens_seen: int = 0
    best_score: float | None = None
    best_step: int | None = None
    seconds: float = 0.0


@dataclass
class TrainingState:
    """All that changes while a model trains, but the state of torch's random generator."""

    model: Module
    optimizer: Optimizer
    average: WeightAverage | None
    best: Best | None
    progress: Progress
    carried: Carried | None = None
