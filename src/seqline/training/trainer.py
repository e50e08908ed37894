"""The training loop: one batch, one gradient, one update; validation, checkpoints and an exact resume.

The order of the data is a pure function of the epoch and the position is (epoch, index of the next batch), so a resumed
run sees the same batches, and with torch's random state in the checkpoint it is bit for bit the run that never stopped.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path

import torch
from torch.nn import Module

from seqline.errors import UserError
from seqline.training.checkpoint import NonFiniteStateError, has_checkpoints, load_newest, restore, save_checkpoint
from seqline.training.loss import evaluating
from seqline.training.non_finite import NonFiniteError, first_non_finite
from seqline.training.optimizer import Schedule, build_optimizer, clip_gradients
from seqline.training.progress import Best, Progress, TrainingState, Validation
from seqline.training.reports import Callback, EndReport, StartReport, StepReport, ValidationReport
from seqline.training.task import TrainerSettings, TrainingResult, TrainingTask
from seqline.training.weights import WeightAverage, weights_of

FINISHED, ALREADY_FINISHED, EARLY_STOP, TIME_LIMIT = "finished", "already finished", "early stop", "time limit"


def train(
    model: Module,
    task: TrainingTask,
    settings: TrainerSettings,
    *,
    checkpoints: Path | None = None,
    resume_from: Path | None = None,
    callbacks: Sequence[Callback] = (),
    should_stop: Callable[[], str | None] = lambda: None,
) -> TrainingResult:
    """Train a model.

    Args:
        model: already on its device; it is trained in place.
        task: data, loss and validation.
        settings: see `TrainerSettings`. The seed sets torch's generator for this call; the caller's comes back.
        checkpoints: folder for `step-N/`, or None to write none.
        resume_from: folder whose newest sound checkpoint to go on from; with no checkpoint in it the run starts anew.
        callbacks: told of every step and validation.
        should_stop: asked before every step; a reason ends the run there, with a checkpoint.

    Raises:
        NonFiniteError: a loss or gradient is NaN or infinite, and the update is not made; or an update overflowed,
            which is noticed when a checkpoint is due or in the next step, whichever is first.
        UserError: fewer steps are asked for than are done; the checkpoint is damaged or of another model; a new run
            would mix with the checkpoints of an older one; the memory is exhausted; the disk refuses.
    """
    with torch.random.fork_rng(devices=_cuda_devices(model)):
        torch.manual_seed(settings.seed)
        trainer = _Trainer(model, task, settings, checkpoints, callbacks, should_stop)
        is_same_run = checkpoints and resume_from and checkpoints.resolve() == resume_from.resolve()
        if checkpoints and not is_same_run and has_checkpoints(checkpoints):
            fix = "resume that run, or name another folder"
            raise UserError("holds checkpoints of an earlier run", where=str(checkpoints), fix=fix)
        return trainer.run(trainer.resume(resume_from) if resume_from else ())


class _Trainer:
    """The state of one call of `train`."""

    def __init__(
        self,
        model: Module,
        task: TrainingTask,
        settings: TrainerSettings,
        checkpoints: Path | None,
        callbacks: Sequence[Callback],
        should_stop: Callable[[], str | None],
    ) -> None:
        self.model, self.task, self.settings = model, task, settings
        self.checkpoints, self.callbacks, self.should_stop = checkpoints, callbacks, should_stop
        self.schedule = Schedule(settings.learning_rate, settings.warmup_steps, settings.max_steps)
        self.optimizer = build_optimizer(model, settings.learning_rate, settings.weight_decay)
        self.parameters = [p for p in model.parameters() if p.requires_grad]
        self.average = WeightAverage(model, settings.average_decay) if settings.average_decay > 0.0 else None
        self.progress = Progress()
        self.state = TrainingState(model, self.optimizer, self.average, None, self.progress, task.carried)
        self.first_step = 0
        self.saved: tuple[int, int] | None = None  # (step, validated step) of the newest checkpoint
        self.last_rows: Sequence[int] = ()
        self.planned: tuple[int, Sequence[Sequence[int]]] | None = None  # (epoch, its batches)
        self.began = time.monotonic()
        self.seconds_before = 0.0

    def resume(self, folder: Path) -> tuple[str, ...]:
        """Go on from the newest sound checkpoint; return notes for the user."""
        checkpoint = load_newest(folder)
        if checkpoint is None:
            return (f"no checkpoint in {folder}: starting at step 0",)
        done, asked = checkpoint.progress["step"], self.settings.max_steps
        if asked < done:
            fix = f"ask for {done} steps or more, or start a new run"
            raise UserError(f"asks for {asked} steps, the run has done {done}", where="training.max_steps", fix=fix)
        restore(checkpoint, self.state)
        self.first_step, self.seconds_before = done, self.progress.seconds
        if self.checkpoints and self.checkpoints.resolve() == folder.resolve():
            self.saved = (done, self.progress.validated_step)
        return (*checkpoint.notes, f"going on from {checkpoint.path} at step {done}")

    def run(self, notes: tuple[str, ...]) -> TrainingResult:
        """Train until something ends it, write the last checkpoint and tell the callbacks."""
        progress = self.progress
        if not self.model.training:
            self.model.train()
        reason = ""
        try:
            for callback in self.callbacks:
                callback.on_start(
                    StartReport(
                        progress.step, progress.validated_step, self.settings.max_steps, notes, self.task.loss_unit
                    )
                )
            reason = self._loop()
            self._save()
        except BaseException as error:
            reason = type(error).__name__
            raise
        finally:
            progress.seconds = self._seconds()
            best = self.state.best.label if self.state.best else None
            with ExitStack() as stack:  # each is told, also when another one fails
                for callback in reversed(self.callbacks):
                    stack.callback(callback.on_end, EndReport(progress.step, reason, best, progress.seconds))
        return TrainingResult(reason, progress.step - self.first_step, self.state.best, progress, notes)

    def _loop(self) -> str:
        settings, progress = self.settings, self.progress
        is_new_work = progress.step < settings.max_steps or progress.validated_step < progress.step
        while True:
            if reason := self.should_stop():
                return reason
            is_last = progress.step >= settings.max_steps
            if is_last or progress.step % settings.validate_every == 0:
                self._validate()
            if progress.step % settings.checkpoint_every == 0:
                self._save()
            if is_last:
                return FINISHED if is_new_work else ALREADY_FINISHED
            if 0 < settings.patience <= progress.bad_validations:
                return EARLY_STOP
            if self._is_past_deadline():
                self._validate()
                return TIME_LIMIT
            self._step()

    def _step(self) -> None:
        progress, began = self.progress, time.monotonic()
        step = progress.step + 1
        rows = self.last_rows = self._next_rows()
        random_state = torch.get_rng_state()
        with self._naming_memory_faults(rows):
            batch = self.task.make_batch(rows)
            sums = self.task.compute_loss(self.model, batch)
            num_tokens = max(1, sums.num_tokens)
            (sums.loss / num_tokens).backward()
        norm = clip_gradients(self.parameters, self.settings.clip_norm, self.settings.clip_value)
        loss, likelihood = torch.stack([sums.loss.detach(), sums.negative_log_likelihood.detach()]).tolist()
        if not (math.isfinite(loss) and math.isfinite(norm)):
            tensor = first_non_finite(self.model, batch, self.task.compute_loss, random_state)
            raise NonFiniteError(step, rows, tensor, self.task.describe_rows(rows))
        learning_rate = self.schedule.learning_rate(step)
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        if self.average is not None:
            self.average.update(step)
        progress.step, progress.cursor = step, progress.cursor + 1
        progress.tokens_seen += sums.num_tokens
        report = StepReport(
            step=step,
            epoch=progress.epoch + 1,
            loss=loss / num_tokens,
            nats_per_token=likelihood / num_tokens,
            learning_rate=learning_rate,
            gradient_norm=norm,
            num_tokens=sums.num_tokens,
            step_seconds=time.monotonic() - began,
            seconds=self._seconds(),
            rows=tuple(rows),
        )
        for callback in self.callbacks:
            callback.on_step(report)

    def _next_rows(self) -> Sequence[int]:
        progress = self.progress
        if self.planned is None or self.planned[0] != progress.epoch:
            self.planned = progress.epoch, self.task.plan_epoch(progress.epoch)
        batches = self.planned[1]
        if progress.cursor > len(batches):
            what = f"epoch {progress.epoch + 1} has {len(batches)} batches, the run has seen {progress.cursor} of it"
            raise UserError(what, where="training data", fix="use the data and the batch size that the run began with")
        if progress.cursor == len(batches):
            progress.epoch, progress.cursor = progress.epoch + 1, 0
            self.planned = progress.epoch, self.task.plan_epoch(progress.epoch)
            if not self.planned[1]:
                raise UserError("there is no batch to train on", where="training data")
        return self.planned[1][progress.cursor]

    def _validate(self) -> None:
        """Validate the current and the averaged weights, once a step; keep the best. All of it counts, or nothing."""
        progress = self.progress
        if progress.validated_step == progress.step:
            return
        best = self.state.best
        reports: list[ValidationReport] = []
        for kind in ("current", "averaged") if self.average else ("current",):
            with self.average.swapped_in() if self.average and kind == "averaged" else nullcontext():
                # Validation must not move the random numbers of the training.
                with evaluating(self.model), torch.random.fork_rng(devices=_cuda_devices(self.model)):
                    validation = self.task.validate(self.model)
                is_best = _is_better(validation, best)
                if is_best:
                    weights = {name: tensor.clone() for name, tensor in weights_of(self.model).items()}
                    best = Best(weights, kind, progress.step, validation)
            reports.append(ValidationReport(progress.step, kind, validation, is_best, self._seconds()))
        is_improved = best is not self.state.best
        progress.bad_validations = 0 if is_improved else progress.bad_validations + 1
        progress.validated_step = progress.step
        if best is not None:
            self.state.best, progress.best_score, progress.best_step = best, best.validation.score, best.step
        for report in reports:
            for callback in self.callbacks:
                callback.on_validation(report)

    def _save(self) -> None:
        mark = (self.progress.step, self.progress.validated_step)
        if self.checkpoints is None or self.progress.step == 0 or mark == self.saved:
            return
        self.progress.seconds = self._seconds()
        try:
            save_checkpoint(self.checkpoints, self.state)
        except NonFiniteStateError as error:  # a gradient was finite, but not what the update made of it
            rows = self.last_rows
            tensor = f"{error.tensor} after the update"
            raise NonFiniteError(self.progress.step, rows, tensor, self.task.describe_rows(rows)) from error
        self.saved = mark

    def _seconds(self) -> float:
        return self.seconds_before + time.monotonic() - self.began

    def _is_past_deadline(self) -> bool:
        """Tell whether the time is over; one step is made in any case."""
        deadline = self.settings.deadline_seconds
        return deadline is not None and self.progress.step > self.first_step and self._seconds() >= deadline

    @contextmanager
    def _naming_memory_faults(self, rows: Sequence[int]) -> Iterator[None]:
        try:
            yield
        except (MemoryError, RuntimeError) as error:  # torch's own out-of-memory error on the CPU is a RuntimeError
            is_memory = isinstance(error, (MemoryError, torch.OutOfMemoryError)) or "can't allocate memory" in str(
                error
            )
            if not is_memory:
                raise
            what = f"out of memory at step {self.progress.step + 1} with a batch of {len(rows)} rows"
            raise UserError(what, where="training", fix="lower training.batch_tokens or model.size") from error


def _is_better(validation: Validation, best: Best | None) -> bool:
    """Compare scores, and losses where scores are equal; what is not finite is never better."""
    if not (math.isfinite(validation.score) and math.isfinite(validation.loss)):
        return False
    if best is None:
        return True
    return (validation.score, -validation.loss) > (best.validation.score, -best.validation.loss)


def _cuda_devices(model: Module) -> list[torch.device]:
    return list({p.device for p in model.parameters() if p.device.type == "cuda"})
