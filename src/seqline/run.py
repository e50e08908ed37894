"""Training a run from a config: the one place that knows data, model, training and the run folder together."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.nn import Module

from seqline import files, labelling, language, series_corpus, translation
from seqline.budget import Speed, choose_size, measure_step, measure_validation, with_batches, with_model, with_steps
from seqline.config import Config, TrainingConfig
from seqline.corpus import Corpus, Prepared
from seqline.errors import CUT_SHORT, Stopped, UserError
from seqline.run_folder import (
    CHECKPOINTS,
    MANIFEST,
    METRICS,
    Coder,
    build_model,
    find_recipe,
    finish_run,
    read_manifest,
    read_start,
    start_run,
)
from seqline.tasks import TASKS
from seqline.training import snapshots
from seqline.training.callbacks import MetricsLog
from seqline.training.checkpoint import has_checkpoints
from seqline.training.loss import evaluating
from seqline.training.reports import Callback
from seqline.training.snapshots import Snapshots
from seqline.training.task import TrainerSettings, TrainingResult, TrainingTask
from seqline.training.trainer import train as run_trainer
from seqline.training.weights import weights_of

CHANGEABLE = ("training.max_steps", "training.patience")  # under --resume: how long to go on

Say = Callable[[str], None]

READERS: dict[str, Callable[[Config], Corpus]] = {
    "translation": translation.read,
    "language_model": language.read,
    "tagging": labelling.read,
    "classification": labelling.read,
    "forecasting": series_corpus.read,
}
"""What reads the data of each task."""


@dataclass(frozen=True)
class Trained:
    """What a training gave: the run folder, how it ended, and the facts that its manifest records."""

    folder: Path
    result: TrainingResult
    facts: dict[str, Any]


@dataclass(frozen=True)
class _Session:
    """Everything one training works with; config is fully resolved."""

    config: Config
    tokenizers: Coder
    model: Module
    task: TrainingTask
    fingerprint: str


def train(
    config: Config,
    out: str | os.PathLike[str],
    *,
    resume: bool = False,
    callbacks: Sequence[Callback] = (),
    should_stop: Callable[[], str | None] = lambda: None,
    say: Say = lambda _: None,
) -> Trained:
    """Train a model and leave a run folder.

    Args:
        config: data.train and model.architecture at least; what is None is chosen from corpus and time.
        out: folder to make; under `resume` an existing one, whose own settings stand but for training.max_steps and patience.
        resume: go on from the newest checkpoint.
        callbacks: told of steps and validations, beside the run's own metrics.jsonl.
        should_stop: asked before every step; a reason ends the training there, and what was learned is kept.
        say: takes one line for the user.

    Raises:
        UserError: bad settings or data, an `out` that exists; found before anything is created.
        Stopped: `should_stop` gave a reason before training began; nothing was created.
    """
    folder = Path(out)
    if config.training.threads is not None:
        torch.set_num_threads(config.training.threads)

    def check() -> None:
        if reason := should_stop():
            raise Stopped(reason)

    session = _resumed(config, folder, say) if resume else _started(config, folder, say, check)
    try:
        result = run_trainer(
            session.model,
            session.task,
            _trainer_settings(session.config.training, _deadline(session.config.training, folder)),
            checkpoints=folder / CHECKPOINTS,
            resume_from=folder / CHECKPOINTS if resume else None,
            callbacks=[
                MetricsLog(folder / METRICS),
                Snapshots(folder / snapshots.FOLDER, session.model, session.config.training.snapshots),
                *callbacks,
            ],
            should_stop=should_stop,
        )
    except FloatingPointError as error:
        what = "the weights are no longer finite, found at a validation; the checkpoints are from before"
        raise UserError(what, where="training", fix="lower training.learning_rate") from error
    return Trained(folder, result, _finish(session, folder, result))


def _trainer_settings(training: TrainingConfig, deadline: float | None) -> TrainerSettings:
    return TrainerSettings(
        max_steps=training.max_steps or 1,
        learning_rate=training.learning_rate or 0.0,
        warmup_steps=training.warmup_steps or 0,
        weight_decay=training.weight_decay,
        clip_norm=training.clip_norm,
        clip_value=training.clip_value,
        average_decay=training.average_decay,
        validate_every=training.validate_every or 1,
        checkpoint_every=training.checkpoint_every or 1,
        patience=training.patience,
        seed=training.seed,
        deadline_seconds=deadline,
    )


def _deadline(training: TrainingConfig, folder: Path) -> float | None:
    """Return after how many seconds of training in all the time is over.

    A run that was cut short has what is left of its minutes; one that had come to an end, as many again.
    """
    if training.max_minutes is None:
        return None
    allotted, used = training.max_minutes * 60, 0.0
    if (folder / MANIFEST).exists():
        facts = read_manifest(folder)
        used = facts["training_seconds"]
        if facts["ended"] in CUT_SHORT:
            used -= used % allotted
    return used + allotted


def _started(config: Config, folder: Path, say: Say, check: Callable[[], None]) -> _Session:
    """Resolve everything, then create the run folder; a refusal creates nothing."""
    recipe = find_recipe(config.model.architecture)
    with_model(config, recipe, "tiny" if config.model.size == "auto" else config.model.size)  # refuse before reading
    files.refuse_taken(folder, fix="name another --out, or go on with --resume")
    config = TASKS[config.data.task].fill(config)
    corpus = _read(config, say)
    if config.data.fingerprint not in ("", corpus.fingerprint):
        what = f"the corpus has SHA-256 {corpus.fingerprint[:12]}..., not {config.data.fingerprint[:12]!r}"
        raise UserError(what, where="data.fingerprint", fix="leave it out, or give the corpus it was taken from")
    check()
    size = choose_size(config, corpus.num_examples)
    resolved = with_batches(corpus.fill(with_model(config, recipe, size)), recipe, size)
    tokenizers = corpus.train_tokenizers(resolved)
    check()
    say(tokenizers.line)
    prepared = corpus.prepare(tokenizers, resolved)
    for note in prepared.notes:
        say(note)
    torch.manual_seed(config.training.seed)
    model = build_model(resolved, tokenizers.vocabulary).to(config.training.device)
    prepared.begin(model)

    def trial(batch_tokens: int = 1) -> TrainingTask:
        return prepared.training_task(resolved.replace(**{"training.batch_tokens": batch_tokens}))

    speed = Speed(lambda tokens: measure_step(model, trial(tokens)), lambda: measure_validation(model, trial()))
    resolved = with_steps(resolved, config, size, prepared, speed)
    _try_widest(model, prepared, resolved)
    say(prepared.tally(resolved.training.batch_tokens or 1))
    resolved = resolved.replace(
        **{"data.train": "", "data.valid": "", "data.fingerprint": corpus.fingerprint},
        **{"training.threads": torch.get_num_threads()},
    )
    say(_model_line(resolved, model))
    task = prepared.training_task(resolved)
    check()
    start_run(folder, resolved, tokenizers)
    return _Session(resolved, tokenizers, model, task, corpus.fingerprint)


def _try_widest(model: Module, prepared: Prepared, config: Config) -> None:
    """Let the model read its longest examples once: what no table of positions reaches is refused before a run is made."""
    task = prepared.training_task(config)
    with evaluating(model):
        for row in prepared.widest(config.training.batch_tokens or 1):
            try:
                task.compute_loss(model, task.make_batch([row]))
            except UserError as error:
                what = f"{error.what} ({task.describe_rows([row])})"
                raise UserError(what, where=error.where, fix=error.fix) from error


def _resumed(config: Config, folder: Path, say: Say) -> _Session:
    """Take up a run with its own settings; only how long it goes on may change."""
    resolved, tokenizers = read_start(folder)
    _refuse_changes(config, resolved)
    is_trained = (folder / MANIFEST).exists() and read_manifest(folder)["steps"] > 0
    if is_trained and not has_checkpoints(folder / CHECKPOINTS):
        raise UserError("is finished and its checkpoints are gone", where=str(folder), fix="start a new run elsewhere")
    if config.training.threads is None and resolved.training.threads is not None:
        torch.set_num_threads(resolved.training.threads)  # other threads, other sums: not the same run to the last bit
    asked = dict(_leaves(config.model_dump(exclude_unset=True)))
    resolved = resolved.replace(**{key: asked[key] for key in CHANGEABLE if key in asked})
    where_data_is = {"data.train": config.data.train, "data.valid": config.data.valid}
    corpus = _read(resolved.replace(**where_data_is), say)
    if corpus.fingerprint != resolved.data.fingerprint:
        raise UserError(
            f"is not the corpus this run began with (SHA-256 {corpus.fingerprint[:12]}, "
            f"then {resolved.data.fingerprint[:12]})",
            where=config.data.train,
            fix="give the same data, or start a new run",
        )
    prepared = corpus.prepare(tokenizers, resolved)
    torch.manual_seed(resolved.training.seed)
    model = build_model(resolved, tokenizers.vocabulary).to(resolved.training.device)
    return _Session(resolved, tokenizers, model, prepared.training_task(resolved), corpus.fingerprint)


def _refuse_changes(asked: Config, resolved: Config) -> None:
    """Refuse a resume that asks for other settings than the run has; a default that was not asked for is no wish."""
    free = {*CHANGEABLE, "training.threads", "data.train", "data.valid"}
    own = dict(_leaves(resolved.model_dump()))
    for key, value in _leaves(asked.model_dump(exclude_unset=True)):
        if key not in free and value not in (own.get(key), "auto"):
            raise UserError(
                f"the run has {own.get(key)!r}, not {value!r}",
                where=key,
                fix="resume with the run's own settings (only training.max_steps and patience may change), or start a new run",
            )


def _leaves(table: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _read(config: Config, say: Say) -> Corpus:
    corpus = READERS[config.data.task](config)
    for note in corpus.notes:
        say(note)
    return corpus


def _finish(session: _Session, folder: Path, result: TrainingResult) -> dict[str, Any]:
    best, progress = result.best, result.progress
    task = session.config.data.task
    facts = {
        "task": task,
        "architecture": session.config.model.architecture,
        "num_parameters": num_parameters(session.model),
        "weights": best.label if best else f"last, at step {progress.step}",
        "ended": result.reason,
        "steps": progress.step,
        "target_tokens_seen": progress.tokens_seen,
        "training_seconds": round(progress.seconds, 1),
        "validation": {TASKS[task].loss_name: best.validation.loss, **best.validation.scores} if best else None,
        "data_sha256": session.fingerprint,
        "threads": torch.get_num_threads(),
    }
    weights = best.weights if best else weights_of(session.model)
    finish_run(folder, session.config, session.tokenizers, weights, facts)
    return facts


def num_parameters(model: Module) -> int:
    """Count the numbers a model learns, tied ones once."""
    return sum(parameter.numel() for parameter in model.parameters())


def _model_line(config: Config, model: Module) -> str:
    training = config.training
    return (
        f"{config.model.architecture} ({config.model.size}): {num_parameters(model):,} parameters, "
        f"{training.max_steps:,} steps of at most {training.batch_tokens:,} tokens"
    )
