"""What every run of a comparison may spend: time, steps, or target tokens seen."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

from seqline.errors import UserError
from seqline.shapes import Tensor
from seqline.training.task import TrainingTask

MOST = 10**12
_PREFIXES = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9}
_SECONDS = {"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600}
_FORM = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)\s*([kKMG]?)\s*(s|sec|m|min|h|steps?|tokens?)")


class Budget(NamedTuple):
    """The same for every run. kind: what is counted. amount: seconds, steps, or target tokens."""

    kind: Literal["time", "steps", "tokens"]
    amount: float

    def __str__(self) -> str:
        """Return it as `parse_budget` reads it."""
        if self.kind != "time":
            return f"{self.amount:.0f}{self.kind}"
        return f"{self.amount / 60:g}m" if self.amount >= 60 else f"{self.amount:g}s"

    @property
    def said(self) -> str:
        """Say it to people."""
        if self.kind == "time":
            return f"{self.amount / 60:g} minutes" if self.amount >= 60 else f"{self.amount:g} seconds"
        return f"{self.amount:,.0f} {'steps' if self.kind == 'steps' else 'target tokens'}"

    def settings(self) -> dict[str, Any]:
        """Return the settings of a training; the steps for a number of tokens depend on the corpus, see `steps_for`."""
        if self.kind == "time":
            return {"training.max_minutes": self.amount / 60}
        return {"training.max_steps": int(self.amount)} if self.kind == "steps" else {}


FIVE_MINUTES = Budget("time", 300.0)

TARGETS: dict[str, Callable[[Any], Tensor]] = {
    "translation": lambda batch: batch.target_is_real,
    "language_model": lambda batch: batch.is_real,
    "tagging": lambda batch: batch.has_label,
    "classification": lambda batch: batch.has_label,
}
"""Where in a batch of each task something is to be predicted: what a target token is."""


def parse_budget(text: str) -> Budget:
    """Read a budget: 300s, 5m, 1h, 2000steps, 2Mtokens.

    Raises:
        UserError: anything else, or nothing at all to spend.
    """
    fix = "write for instance 5m, 300s, 2000steps or 2Mtokens"
    match = _FORM.fullmatch(text.strip())
    if match is None or (match[2] and match[3] in _SECONDS):
        raise UserError(
            f"expected a time, a number of steps or of tokens, got {text[:60]!r}", where="--budget", fix=fix
        )
    number, unit = float(match[1]) * _PREFIXES[match[2]], match[3]
    seconds = _SECONDS.get(unit)
    budget = (
        Budget("time", number * seconds)
        if seconds
        else Budget("steps" if unit.startswith("step") else "tokens", number)
    )
    if not 0 < budget.amount <= MOST or (budget.kind != "time" and budget.amount != int(budget.amount)):
        raise UserError(f"{text[:60]!r} is out of range", where="--budget", fix=fix)
    return budget


def steps_for(tokens: int, task: TrainingTask, task_name: str) -> int:
    """Return the number of steps after which a training has seen the number of target tokens nearest to the one asked for.

    All epochs hold the same tokens, in other batches; so only the last one is counted batch by batch.

    Args:
        tokens: asked for.
        task: batches in the order of the training.
        task_name: says which places of a batch are to be predicted.

    Raises:
        UserError: no batch holds an example.
    """
    mask = TARGETS[task_name]

    def counts(epoch: int) -> Iterator[int]:
        return (int(mask(task.make_batch(rows)).sum()) for rows in task.plan_epoch(epoch))

    whole = sum(counts(0))
    if not whole:
        raise UserError("no example fits into a batch", where="training.batch_tokens", fix="raise it")
    epochs, left = divmod(tokens, whole)
    steps = sum(len(task.plan_epoch(epoch)) for epoch in range(epochs))
    return max(1, steps + _nearest(left, counts(epochs)))


def _nearest(wanted: int, counts: Iterator[int]) -> int:
    """Return how many of the counts add up to the sum nearest to `wanted`."""
    total = number = 0
    for count in counts:
        if total + count >= wanted:
            return number + (total + count - wanted < wanted - total)
        total, number = total + count, number + 1
    return number
