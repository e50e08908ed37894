"""How a run learned: the block `training`, from what its training wrote down and the copies of its weights on the way."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from seqline import files
from seqline.data.tokenizer import BOS
from seqline.errors import UserError
from seqline.models.encoder_decoder import EncoderDecoder
from seqline.models.language_model import LanguageModel
from seqline.recording import sides
from seqline.recording.attention import ATTENTION, Kind
from seqline.recording.replay import device_of
from seqline.run_folder import METRICS, Run
from seqline.tasks import TASKS
from seqline.training.snapshots import FOLDER, read_snapshots
from seqline.training.weights import load_weights
from seqline.visualize.trace import Trace
from seqline.watch import LIMIT_MB, watch

FEWEST_VALIDATIONS = 5
"""A run with fewer is drawn from its steps alone."""
MOST_POINTS = 100
"""Points of a curve that is drawn from the steps."""


class Validated(NamedTuple):
    """One validation of the current weights: loss and scores, as far as they are numbers."""

    loss: float | None
    scores: Mapping[str, float | None]


class History(NamedTuple):
    """What a training wrote down, by step: loss (without smoothing) and learning rate of each, and the validations."""

    steps: dict[int, tuple[float, float]]
    validations: dict[int, Validated]

    def since(self, before: int, end: int) -> list[tuple[float, float]]:
        """Return loss and learning rate of the steps behind `before`, up to `end`."""
        return [self.steps[step] for step in range(before + 1, end + 1) if step in self.steps]


def read_history(run: Run) -> History:
    """Read a run's `metrics.jsonl`; empty where it is not there, for a run is complete without it.

    Raises:
        UserError: a line that is damaged.
    """
    path, history = run.folder / METRICS, History({}, {})
    if not path.exists():
        return history
    for number, line in enumerate(files.read_bytes(path).splitlines(), 1):
        try:
            event = json.loads(line)
            if event["event"] == "step":
                history.steps[event["step"]] = (float(event["nats_per_token"]), float(event["learning_rate"]))
            elif event["event"] == "validation" and event["weights"] == "current":
                history.validations[event["step"]] = Validated(event["nats_per_token"], event["scores"])
        except (ValueError, KeyError, TypeError) as error:
            raise UserError("is damaged", where=f"{path} line {number}", fix="remove that line") from error
    return history


def curves(history: History, ends: Sequence[int]) -> dict[str, Any]:
    """Return steps, loss and learning rate of a block `training`: loss is the mean over the steps since the point before.

    Args:
        history: of the run.
        ends: the steps at which the points stand; one that no step leads to is left out.
    """
    steps, losses, rates, before = [], [], [], 0
    for end in sorted(ends):
        found = history.since(before, end)
        if found:
            steps.append(end)
            losses.append(float(np.mean([loss for loss, _ in found])))
            rates.append(found[-1][1])
            before = end
    return {"steps": np.array(steps), "loss": np.array(losses), "lr": np.array(rates)}


def training_block(run: Run, document: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the block `training` of a run, None where its training left nothing.

    Points stand at the validations, or, where these are few, at equal distances and without validation loss.

    Args:
        run: whose folder holds `metrics.jsonl` and, if it kept copies of its weights, `snapshots`.
        document: of a trace of the run; the snapshots read its source, and its output is forced on them.

    Raises:
        UserError: a file that is damaged, or a copy that is not of this model.
    """
    history = read_history(run)
    if not history.steps:
        return None
    validated = [step for step in history.validations if history.validations[step].loss is not None]
    if len(validated) >= FEWEST_VALIDATIONS:
        block = curves(history, validated)
        block |= _validated([history.validations[int(step)] for step in block["steps"]])
    else:
        last = max(history.steps)
        every = -(-last // MOST_POINTS)
        block = curves(history, [*range(every, last, every), last])
    snapshots = _snapshots(run, document) if TASKS[run.config.data.task].is_of_text else []
    return {**block, "snapshots": snapshots or None}


def with_training(trace: Trace, run: Run) -> Trace:
    """Return a trace of a run with the block `training`; the same trace where there is none.

    Raises:
        UserError: see `training_block`.
    """
    block = training_block(run, trace.document)
    return trace if block is None else Trace(trace.document | {"training": block})


def _validated(found: Sequence[Validated]) -> dict[str, Any]:
    """Return the losses of validations, and the scores that all of them have."""
    rows = {name: [each.scores.get(name) for each in found] for name in found[0].scores}
    metrics = {name: np.array(row) for name, row in rows.items() if None not in row}
    return {"val_loss": np.array([each.loss for each in found]), "metrics": metrics or None}


def _snapshots(run: Run, document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the attention of each copy of the weights."""
    found: list[dict[str, Any]] = []
    for step, snapshot in each_snapshot(run):
        read = attention_of(snapshot.model, document)
        if read is None:
            return []
        found.append({"step": step, "weights": read})
    return found


def each_snapshot(run: Run) -> Iterator[tuple[int, Run]]:
    """Yield each step with a kept copy of the weights, and the run with these in a model that is not its own.

    Raises:
        UserError: a copy that is damaged, or not of this model.
    """
    snapshot = None
    for step, weights in read_snapshots(run.folder / FOLDER):
        snapshot = snapshot or replace(run, model=copy.deepcopy(run.model))
        load_weights(snapshot.model, weights, str(run.folder / FOLDER / f"step-{step}.safetensors"))
        yield step, snapshot


@torch.no_grad()
def attention_of(model: nn.Module, document: Mapping[str, Any]) -> np.ndarray | None:
    """Return how a model reads the source of a trace [L H Q M], its output forced; None: it has no attention.

    A language model has a row for each token of the output, a tagger for each token that it labels.
    """
    source, output = ([token["id"] for token in document[side]["tokens"]] for side in ("source", "target"))
    with watch(model, only=(*ATTENTION, "keys and values"), limit_mb=LIMIT_MB) as frames:
        _run(model, source, output)
    inside = [frame for frame in frames if frame.path.partition(".")[0] == "encoder"]
    others = [frame for frame in frames if frame.path.partition(".")[0] != "encoder"]
    num_read = len(source) + len(output) - 1
    kinds: list[Kind] = sides.cross([], others, len(source))
    if isinstance(model, LanguageModel):
        kinds = sides.decoder_self(frames, num_read)
    kinds = kinds or sides.encoder_self(inside, len(source))
    if not kinds:
        return None
    weights = np.stack([layer.weights for layer in kinds[0].layers])
    return weights[:, :, -len(output) :] if isinstance(model, LanguageModel) else weights


def _run(model: nn.Module, source: list[int], output: list[int]) -> None:
    ids = torch.tensor([source], device=device_of(model))
    is_real = torch.ones_like(ids, dtype=torch.bool)
    if isinstance(model, EncoderDecoder):
        model(ids, is_real, torch.tensor([[BOS, *output[:-1]]], device=ids.device))
    elif isinstance(model, LanguageModel):
        model(torch.tensor([[*source, *output[:-1]]], device=ids.device), model.initial_state(None, 1))
    else:
        model(ids, is_real)
