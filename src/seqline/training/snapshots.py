"""Copies of a model's weights along a training, for pictures of how it learned: the alignment that sharpens, for one.

They lie beside the run's own files, `snapshots/step-N.safetensors`, and nothing but a picture reads them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load as parse_safetensors
from safetensors.torch import save as dump_safetensors
from torch.nn import Module

from seqline import files
from seqline.errors import UserError
from seqline.training.reports import EndReport, StartReport, StepReport, ValidationReport
from seqline.training.weights import Weights, weights_of

FOLDER = "snapshots"


def planned_steps(count: int, max_steps: int) -> list[int]:
    """Return the steps after which a copy is kept: at the shares (i / count)^2 of a training, for it learns most early."""
    return sorted({max(1, round(max_steps * (i / count) ** 2)) for i in range(1, count + 1)})


class Snapshots:
    """Writes a copy of the current weights after each planned step.

    Args:
        folder: of the copies; made when the first is written.
        model: the one in training.
        count: how many; 0: none.
    """

    def __init__(self, folder: Path, model: Module, count: int) -> None:
        self.folder, self.model, self.count = folder, model, count
        self.steps: set[int] = set()

    def on_start(self, report: StartReport) -> None:
        """Plan, now that the length of the training is known."""
        self.steps = set(planned_steps(self.count, report.max_steps)) if self.count else set()

    def on_step(self, report: StepReport) -> None:
        """Keep a copy where one is planned."""
        if report.step in self.steps:
            weights = {name: tensor.cpu().contiguous() for name, tensor in weights_of(self.model).items()}
            files.write_bytes(self.folder / _name(report.step), dump_safetensors(weights))

    def on_validation(self, report: ValidationReport) -> None:
        """Look away: a validation changes no weight."""

    def on_end(self, report: EndReport) -> None:
        """Leave what is there."""


def _name(step: int) -> str:
    return f"step-{step}.safetensors"


def read_snapshots(folder: Path) -> Iterator[tuple[int, Weights]]:
    """Yield the step and the weights of each copy in a run's `snapshots`, first to last; nothing where there are none.

    Raises:
        UserError: a file that is damaged.
    """
    names = (path.stem.removeprefix("step-") for path in folder.glob("step-*.safetensors"))
    for step in sorted(int(name) for name in names if re.fullmatch("[1-9][0-9]*", name)):
        path = folder / _name(step)
        try:
            yield step, parse_safetensors(files.read_bytes(path))
        except SafetensorError as error:
            raise UserError(f"is damaged ({error})", where=str(path), fix="remove it, or train anew") from error
