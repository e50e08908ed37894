"""A model with dropout, tied weights and a little data: what the training tests train."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from seqline.training.loss import LossSum, smoothed_cross_entropy
from seqline.training.progress import Validation
from seqline.training.reports import EndReport, StartReport, StepReport, ValidationReport
from seqline.training.task import TrainerSettings, TrainingTask

NUM_PAIRS, BATCH_SIZE, VOCAB_SIZE = 50, 4, 12
SETTINGS = TrainerSettings(
    max_steps=20,
    learning_rate=0.01,
    warmup_steps=5,
    weight_decay=0.01,
    clip_norm=1.0,
    average_decay=0.9,
    validate_every=5,
    checkpoint_every=5,
    patience=0,
    seed=1,
)


class TinyBatch(NamedTuple):
    target_in: Tensor
    target_out: Tensor
    is_real: Tensor


class TinyModel(nn.Module):
    """A language model: embedding, GRU, dropout, projection tied to the embedding."""

    def __init__(self, dropout: float = 0.3) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCAB_SIZE, 8)
        self.recurrent = nn.GRU(8, 8, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        self.projection = nn.Linear(8, VOCAB_SIZE)
        self.projection.weight = self.embedding.weight
        self.register_buffer("num_seen", torch.zeros((), dtype=torch.int64))

    def forward(self, ids: Tensor) -> Tensor:
        outputs, _ = self.recurrent(self.dropout(self.embedding(ids)))
        return self.projection(self.dropout(outputs))


def make_batch(rows: Sequence[int]) -> TinyBatch:
    lengths = [2 + row % 5 for row in rows]
    ids = torch.zeros(len(rows), max(lengths) + 1, dtype=torch.int64)
    for number, (row, length) in enumerate(zip(rows, lengths, strict=True)):
        ids[number, : length + 1] = torch.tensor([2, *(4 + (row + k) % 8 for k in range(length - 1)), 3])
    is_real = torch.arange(ids.shape[1] - 1) < torch.tensor(lengths).unsqueeze(1)
    return TinyBatch(ids[:, :-1], ids[:, 1:], is_real)


def plan_epoch(epoch: int) -> list[list[int]]:
    order = list(range(NUM_PAIRS))
    random.Random(epoch).shuffle(order)
    return [order[start : start + BATCH_SIZE] for start in range(0, NUM_PAIRS, BATCH_SIZE)]


def compute_loss(model: nn.Module, batch: TinyBatch) -> LossSum:
    return smoothed_cross_entropy(model(batch.target_in), batch.target_out, batch.is_real, 0.1)


def validate(model: nn.Module) -> Validation:
    part = compute_loss(model, make_batch(range(8)))
    loss = part.negative_log_likelihood.item() / part.num_tokens
    torch.rand(3)  # a validation may draw random numbers; training must not notice
    return Validation(loss, {"likelihood": -loss}, -loss)


TASK = TrainingTask(plan_epoch, make_batch, compute_loss, validate)


def new_model(seed: int = 7, dropout: float = 0.3) -> TinyModel:
    torch.manual_seed(seed)
    return TinyModel(dropout)


def settings(**changes: Any) -> TrainerSettings:
    return replace(SETTINGS, **changes)


def metrics(folder: Path) -> list[dict[str, Any]]:
    """Read a metrics log without its times."""
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in line.items() if "second" not in k} for line in lines]


class Recorder:
    """A callback that keeps every report, and can ask for a stop after a step."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.starts: list[StartReport] = []
        self.steps: list[StepReport] = []
        self.validations: list[ValidationReport] = []
        self.ends: list[EndReport] = []
        self.stop_after = stop_after

    def should_stop(self) -> str | None:
        return "interrupted" if self.steps and self.steps[-1].step == self.stop_after else None

    def on_start(self, report: StartReport) -> None:
        self.starts.append(report)

    def on_step(self, report: StepReport) -> None:
        self.steps.append(report)

    def on_validation(self, report: ValidationReport) -> None:
        self.validations.append(report)

    def on_end(self, report: EndReport) -> None:
        self.ends.append(report)
