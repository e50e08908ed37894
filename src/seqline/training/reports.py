"""What the training loop reports, and to whom: one record an event, and the protocol of a callback."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from seqline.training.progress import Validation


class StartReport(NamedTuple):
    """A run begins. step and validated_step: where it goes on from, 0 for a new one. notes: for the user to know.

    loss_unit: of every loss that is reported.
    """

    step: int
    validated_step: int
    max_steps: int
    notes: tuple[str, ...]
    loss_unit: str = "nats/token"


class StepReport(NamedTuple):
    """One update was made.

    step, epoch: counted from 1. loss: nats per target token with smoothing; nats_per_token: without. gradient_norm:
    before clipping. num_tokens: target tokens of the batch. step_seconds: of this step. seconds: of the whole run.
    rows: the batch, as indices into the training data.
    """

    step: int
    epoch: int
    loss: float
    nats_per_token: float
    learning_rate: float
    gradient_norm: float
    num_tokens: int
    step_seconds: float
    seconds: float
    rows: tuple[int, ...]


class ValidationReport(NamedTuple):
    """Some weights were validated. kind: "current" or "averaged". is_best: better than all before."""

    step: int
    kind: str
    validation: Validation
    is_best: bool
    seconds: float


class EndReport(NamedTuple):
    """A run ended. reason: why, or the name of the error. best: label of the best weights, if any were validated."""

    step: int
    reason: str
    best: str | None
    seconds: float


class Callback(Protocol):
    """Any object with these four methods."""

    def on_start(self, report: StartReport) -> None:
        """Take notice that a run begins or goes on."""
        ...

    def on_step(self, report: StepReport) -> None:
        """Take notice of an update."""
        ...

    def on_validation(self, report: ValidationReport) -> None:
        """Take notice of a validation."""
        ...

    def on_end(self, report: EndReport) -> None:
        """Take notice that the run ended, well or not; called exactly once after `on_start`."""
        ...
