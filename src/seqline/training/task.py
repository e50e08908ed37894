"""What a run is told, and what it answers: settings, the task as functions, and the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from torch.nn import Module

from seqline.errors import UserError
from seqline.training.carried import Carried
from seqline.training.loss import LossSum
from seqline.training.progress import Best, Progress, Validation

NUM_ROWS_SHOWN = 20


@dataclass(frozen=True)
class TrainerSettings:
    """How long and how fast to train.

    clip_norm, clip_value: 0 = no clipping. average_decay: 0 = no averaged weights. validate_every, checkpoint_every: steps.
    patience: validations without improvement before an early stop, 0 = never. deadline_seconds: of the whole run,
    what it trained before it was resumed included, or None.
    """

    max_steps: int
    learning_rate: float
    warmup_steps: int
    weight_decay: float
    clip_norm: float
    average_decay: float
    validate_every: int
    checkpoint_every: int
    patience: int
    seed: int
    clip_value: float = 0.0
    deadline_seconds: float | None = None

    def __post_init__(self) -> None:
        for name in ("max_steps", "validate_every", "checkpoint_every"):
            if getattr(self, name) < 1:
                raise UserError(f"must be at least 1, got {getattr(self, name)}", where=f"training.{name}")


def name_rows(rows: Sequence[int]) -> str:
    """Name the rows of a batch by their indices; the first 20 of many."""
    more = f" ... ({len(rows)} in all)" if len(rows) > NUM_ROWS_SHOWN else ""
    return f"rows {', '.join(map(str, rows[:NUM_ROWS_SHOWN]))}{more}"


@dataclass(frozen=True)
class TrainingTask:
    """What to train on, as functions.

    plan_epoch: epoch, from 0 -> its batches in order, each as row indices; a pure function.
    make_batch: row indices -> a batch. compute_loss: (model, batch) -> sums over its target tokens.
    validate: model in evaluation mode, without gradients -> what it scores. describe_rows: for error messages.
    carried: the state that compute_loss hands from batch to batch, None where batches stand alone.
    loss_unit: what a loss is counted in, what over what.
    """

    plan_epoch: Callable[[int], Sequence[Sequence[int]]]
    make_batch: Callable[[Sequence[int]], Any]
    compute_loss: Callable[[Module, Any], LossSum]
    validate: Callable[[Module], Validation]
    describe_rows: Callable[[Sequence[int]], str] = name_rows
    carried: Carried | None = None
    loss_unit: str = "nats/token"


@dataclass(frozen=True)
class TrainingResult:
    """How a run ended; the model holds the last weights, `best` the best ones of all validated.

    reason: "finished", "already finished" (nothing was left to train), "early stop", "time limit", or what
    `should_stop` said. trained_steps: of this call. best: None when nothing finite was validated.
    """

    reason: str
    trained_steps: int
    best: Best | None
    progress: Progress
    notes: tuple[str, ...]
