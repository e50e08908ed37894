"""Defaults that fit the corpus and the time: model size, batch size, number of steps.

Whatever the user set stands; what is None is chosen here, once, and recorded in the run's config.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from typing import NamedTuple

from torch.nn import Module

from seqline.architectures.recipe import Recipe, SizeName
from seqline.config import Config
from seqline.corpus import Prepared
from seqline.errors import UserError
from seqline.sections import validate_section
from seqline.tasks import TASKS
from seqline.training.loss import evaluating
from seqline.training.optimizer import build_optimizer, clip_gradients
from seqline.training.task import TrainingTask
from seqline.training.weights import WeightAverage

SMALL_FROM, BASE_FROM = 20_000, 500_000  # training pairs
BATCH_TOKENS: dict[SizeName, int] = {"tiny": 900, "small": 1600, "base": 4096}
EPOCHS: dict[SizeName, int] = {"tiny": 40, "small": 20, "base": 8}
MOST_EPOCHS = 100  # in a time budget: more passes over a small corpus only wear it out
LEAST_UPDATES = 1000  # fewer, larger steps than these learn less from the same time
LEAST_BATCH_TOKENS = 300
SHARE_FOR_VALIDATION = 0.1  # of a time budget, at most
SHARE_HELD_BACK = 0.04  # of a time budget: checkpoints, and a machine that slows down
MOST_VALIDATIONS, LEAST_VALIDATIONS = 10, 2
MEASURED_SECONDS, MEASURED_STEPS = 4.0, 30


def choose_size(config: Config, num_examples: int) -> SizeName:
    """Return the named size: the user's, or by the number of training pairs or lines."""
    if config.model.size != "auto":
        return config.model.size
    return "tiny" if num_examples < SMALL_FROM else "small" if num_examples < BASE_FROM else "base"


def with_model(config: Config, recipe: Recipe, size: SizeName, where: str = "model") -> Config:
    """Fill in the recipe's settings for a size under those that the user gave.

    Raises:
        UserError: a setting that the recipe does not have, or a value it cannot take.
    """
    task = TASKS[config.data.task]
    task.require(recipe)
    given = {**recipe.sizes[size], **config.model.settings}
    settings = validate_section(task.settings_of(recipe), given, where, ("architecture", "size"))
    changes = {f"model.{key}": value for key, value in settings.model_dump(exclude_none=True).items()}
    return config.replace(**{"model.architecture": recipe.name, "model.size": size, **changes})


def with_batches(config: Config, recipe: Recipe, size: SizeName) -> Config:
    """Fill in batch size and learning rate."""
    training = config.training
    return config.replace(
        **{
            "training.batch_tokens": training.batch_tokens or BATCH_TOKENS[size],
            "training.learning_rate": training.learning_rate or recipe.learning_rate[size],
        }
    )


class Speed(NamedTuple):
    """What training costs on this machine, measured when asked: batch_tokens -> seconds of an update, of a validation."""

    seconds_a_step: Callable[[int], float]
    seconds_a_validation: Callable[[], float]


def with_steps(config: Config, given: Config, size: SizeName, prepared: Prepared, speed: Speed) -> Config:
    """Fix the number of steps, and with it warm-up and the rhythm of validation.

    Args:
        config: with size, batch size and learning rate filled in.
        given: as the user gave it: a batch size chosen for them may still shrink.
        size: of the model.
        prepared: the training set.
        speed: asked only under `training.max_minutes`.

    Raises:
        UserError: a batch budget that no pair fits.
    """
    batch_tokens, training = config.training.batch_tokens or BATCH_TOKENS[size], config.training
    batches = _batches(prepared, batch_tokens)
    most = batches * (training.max_epochs or (MOST_EPOCHS if training.max_minutes else EPOCHS[size]))
    steps, num_validations = training.max_steps or max(most, 0 if training.max_epochs else LEAST_UPDATES), 20
    if training.max_minutes and not training.max_steps:
        num_validations, seconds = _split(training.max_minutes * 60, speed.seconds_a_validation())
        affordable = seconds / speed.seconds_a_step(batch_tokens)
        if affordable < LEAST_UPDATES and given.training.batch_tokens is None:
            least = min(batch_tokens, max(LEAST_BATCH_TOKENS, prepared.longest))  # the clock leaves no example out
            batch_tokens = max(least, int(batch_tokens * affordable / LEAST_UPDATES))
            affordable = seconds / speed.seconds_a_step(batch_tokens)
        steps = max(1, min(steps, int(affordable)))
    rhythm = training.validate_every or max(1, -(-steps // num_validations))
    return config.replace(
        **{
            "training.batch_tokens": batch_tokens,
            "training.max_steps": steps,
            "training.warmup_steps": min(400, steps // 5) if training.warmup_steps is None else training.warmup_steps,
            "training.validate_every": rhythm,
            "training.checkpoint_every": training.checkpoint_every or rhythm,
        }
    )


def _split(seconds: float, seconds_a_validation: float) -> tuple[int, float]:
    """Return how many validations a time budget has room for, and the seconds it leaves for updates.

    Each validation scores the current and the averaged weights. The measured one is the dearest: an untrained model does not
    know when to stop.
    """
    affordable = int(seconds * SHARE_FOR_VALIDATION / (2 * seconds_a_validation))
    count = max(LEAST_VALIDATIONS, min(MOST_VALIDATIONS, affordable))
    return count, max(0.5, 1.0 - SHARE_HELD_BACK - count * 2 * seconds_a_validation / seconds) * seconds


def _batches(prepared: Prepared, batch_tokens: int) -> int:
    if batch_tokens < prepared.shortest:
        raise UserError(
            f"{batch_tokens} tokens hold no example, the shortest has {prepared.shortest}",
            where="training.batch_tokens",
            fix=f"give at least {prepared.shortest}",
        )
    return prepared.num_batches(batch_tokens)


def measure_validation(model: Module, task: TrainingTask) -> float:
    """Return the seconds of one validation of the untrained model."""
    began = time.monotonic()
    with evaluating(model):
        task.validate(model)
    return time.monotonic() - began


def measure_step(model: Module, task: TrainingTask) -> float:
    """Return the seconds of one update, measured on a copy of the model that is thrown away.

    Batches are taken evenly from the first epoch, so that short and long sentences count as they occur.
    """
    twin = copy.deepcopy(model).train()
    optimizer, average = build_optimizer(twin, 1e-5, 0.0), WeightAverage(twin, 0.999)
    plan = task.plan_epoch(0)
    chosen = [plan[i * len(plan) // MEASURED_STEPS] for i in range(MEASURED_STEPS)]
    seconds: list[float] = []
    for rows in (chosen[0], *chosen):
        began = time.monotonic()
        sums = task.compute_loss(twin, task.make_batch(rows))
        (sums.loss / max(1, sums.num_tokens)).backward()
        clip_gradients(twin.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        average.update(len(seconds) + 1)
        seconds.append(time.monotonic() - began)
        if len(seconds) > 3 and sum(seconds) > MEASURED_SECONDS:
            break
    return sum(seconds[1:]) / len(seconds[1:])  # the first one pays for first use
