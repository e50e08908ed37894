"""The loop: exact resume, stops, validation, averages and the best weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from seqline.errors import UserError
from seqline.training import optimizer
from seqline.training.callbacks import MetricsLog
from seqline.training.checkpoint import load_newest
from seqline.training.progress import Validation
from seqline.training.reports import StepReport
from seqline.training.task import TrainingResult
from seqline.training.trainer import train
from seqline.training.weights import load_weights, weights_of

from .tiny import TASK, Recorder, compute_loss, metrics, new_model, plan_epoch, settings, validate


def state_bytes(folder: Path, step: int) -> dict[str, bytes]:
    """Return all of a checkpoint but its manifest, which holds the time."""
    return {p.name: p.read_bytes() for p in (folder / f"step-{step}").iterdir() if p.name != "manifest.json"}


def stop_at(step: int, folder: Path, recorder: Recorder | None = None, **changes: Any) -> TrainingResult:
    recorder = recorder or Recorder()
    recorder.stop_after = step
    return train(
        new_model(),
        TASK,
        settings(**changes),
        checkpoints=folder,
        resume_from=folder,
        callbacks=[recorder, MetricsLog(folder / "metrics.jsonl")],
        should_stop=recorder.should_stop,
    )


@pytest.mark.parametrize("stops", [[10], [1, 12, 13, 14], [3, 6, 19], [20]])
def test_a_resumed_run_is_the_run_that_never_stopped(tmp_path: Path, stops: list[int]) -> None:
    whole, parts = Recorder(), Recorder()
    model = new_model()
    log = MetricsLog(tmp_path / "a" / "metrics.jsonl")
    one = train(model, TASK, settings(), checkpoints=tmp_path / "a", callbacks=[whole, log])
    assert (one.reason, one.trained_steps) == ("finished", 20)
    assert [step.epoch for step in whole.steps] == [1] * 13 + [2] * 7
    for stop in stops:
        torch.manual_seed(stop)  # the caller's random state must not matter
        result = stop_at(stop, tmp_path / "b", parts)
        assert (result.reason, result.progress.step) == ("interrupted", stop)
    result = stop_at(99, tmp_path / "b", parts)
    assert state_bytes(tmp_path / "a", 20) == state_bytes(tmp_path / "b", 20)
    told = [
        [(s.step, s.epoch, s.rows, s.loss, s.nats_per_token, s.learning_rate, s.gradient_norm) for s in recorder.steps]
        for recorder in (whole, parts)
    ]
    assert told[0] == told[1]
    assert [v[:4] for v in whole.validations] == [v[:4] for v in parts.validations]
    assert result.progress.bad_validations == one.progress.bad_validations
    assert metrics(tmp_path / "a") == metrics(tmp_path / "b")


def test_a_killed_run_repeats_from_its_last_checkpoint(tmp_path: Path) -> None:
    train(
        new_model(),
        TASK,
        settings(),
        checkpoints=tmp_path / "a",
        callbacks=[MetricsLog(tmp_path / "a" / "metrics.jsonl")],
    )

    class Kill(Recorder):
        def on_step(self, report: StepReport) -> None:
            if report.step == 14:
                raise SystemExit

    folder = tmp_path / "b"
    log = MetricsLog(folder / "metrics.jsonl")
    with pytest.raises(SystemExit):
        train(new_model(), TASK, settings(), checkpoints=folder, callbacks=[log, Kill()])
    with (folder / "metrics.jsonl").open("a") as file:
        file.write('{"event": "step", "st')
    result = train(new_model(), TASK, settings(), checkpoints=folder, resume_from=folder, callbacks=[log])
    assert result.trained_steps == 10
    assert state_bytes(tmp_path / "a", 20) == state_bytes(folder, 20)
    assert metrics(tmp_path / "a") == metrics(folder)


def test_an_interrupted_validation_is_done_again_and_counts_once(tmp_path: Path) -> None:
    train(new_model(), TASK, settings(), checkpoints=tmp_path / "a")
    calls = 0

    def fail(model: nn.Module) -> Validation:
        nonlocal calls
        calls += 1
        if calls == 6:  # the averaged weights of step 15
            raise KeyboardInterrupt
        return validate(model)

    model = new_model()
    model.recurrent.eval()
    with pytest.raises(KeyboardInterrupt):
        train(model, replace(TASK, validate=fail), settings(), checkpoints=tmp_path / "b")
    assert (model.training, model.dropout.training, model.recurrent.training) == (True, True, False)
    train(new_model(), TASK, settings(), checkpoints=tmp_path / "b", resume_from=tmp_path / "b")
    assert state_bytes(tmp_path / "a", 20) == state_bytes(tmp_path / "b", 20)


def test_the_same_seed_is_the_same_run_and_another_is_not() -> None:
    models = [new_model() for _ in range(3)]
    before = torch.get_rng_state()
    for model, seed in zip(models, (1, 1, 2), strict=True):
        train(model, TASK, settings(seed=seed))
    assert torch.equal(torch.get_rng_state(), before)
    first, second, third = (torch.cat([p.flatten() for p in m.parameters()]) for m in models)
    assert torch.equal(first, second)
    assert not torch.equal(first, third)


def test_validation_does_not_change_the_training() -> None:
    models = [new_model(), new_model()]
    for model, every in zip(models, (1, 20), strict=True):
        train(model, TASK, settings(validate_every=every))
    assert all(torch.equal(a, b) for a, b in zip(models[0].parameters(), models[1].parameters(), strict=True))


def test_a_finished_run_says_so_and_trains_nothing(tmp_path: Path) -> None:
    train(new_model(), TASK, settings(max_steps=10), checkpoints=tmp_path)
    before = state_bytes(tmp_path, 10)
    model, recorder = new_model(), Recorder()
    result = train(
        model, TASK, settings(max_steps=10), checkpoints=tmp_path, resume_from=tmp_path, callbacks=[recorder]
    )
    assert (result.reason, result.trained_steps, recorder.steps) == ("already finished", 0, [])
    assert result.best is not None
    assert state_bytes(tmp_path, 10) == before
    with pytest.raises(UserError, match="asks for 5 steps, the run has done 10"):
        train(model, TASK, settings(max_steps=5), checkpoints=tmp_path, resume_from=tmp_path)
    result = train(model, TASK, settings(max_steps=12), checkpoints=tmp_path, resume_from=tmp_path)
    assert (result.reason, result.trained_steps) == ("finished", 2)


def test_checkpoints_of_two_runs_do_not_mix(tmp_path: Path) -> None:
    train(new_model(), TASK, settings(), checkpoints=tmp_path)
    before = state_bytes(tmp_path, 20)
    for resume_from in (None, tmp_path / "other"):
        with pytest.raises(UserError, match="an earlier run"):
            train(new_model(), TASK, settings(), checkpoints=tmp_path, resume_from=resume_from)
    assert state_bytes(tmp_path, 20) == before


def test_a_damaged_checkpoint_is_passed_over_and_the_end_is_the_same(tmp_path: Path) -> None:
    train(new_model(), TASK, settings(), checkpoints=tmp_path)
    before = state_bytes(tmp_path, 20)
    (tmp_path / "step-20" / "best.safetensors").write_bytes(b"x")
    recorder = Recorder()
    result = train(new_model(), TASK, settings(), checkpoints=tmp_path, resume_from=tmp_path, callbacks=[recorder])
    assert result.trained_steps == 5
    assert "step-20 is damaged (best.safetensors" in recorder.starts[0].notes[0]
    assert state_bytes(tmp_path, 20) == before


def test_resuming_with_other_data_is_refused(tmp_path: Path) -> None:
    stop_at(9, tmp_path)
    task = replace(TASK, plan_epoch=lambda epoch: plan_epoch(epoch)[:5])
    with pytest.raises(UserError, match="has 5 batches, the run has seen 9"):
        train(new_model(), task, settings(), resume_from=tmp_path)
    with pytest.raises(UserError, match="no batch"):
        train(new_model(), replace(TASK, plan_epoch=lambda _: []), settings())


def scripted(scores: list[float], loss: float = 1.0) -> Callable[[nn.Module], Validation]:
    remaining = list(scores)

    def next_score(_model: nn.Module) -> Validation:
        return Validation(loss, {}, remaining.pop(0))

    return next_score


def test_early_stop_counts_validations_without_improvement(tmp_path: Path) -> None:
    scores = [1.0, 5.0, 3.0, 5.0, 4.0, 4.0]  # current, averaged: step 2, 4, 6
    task = replace(TASK, validate=scripted(scores))
    recorder = Recorder()
    changes = settings(validate_every=2, patience=2)
    result = train(new_model(), task, changes, checkpoints=tmp_path, callbacks=[recorder])
    assert (result.reason, result.progress.step, result.progress.bad_validations) == ("early stop", 6, 2)
    assert [v.is_best for v in recorder.validations] == [True, True, False, False, False, False]
    assert result.best is not None
    assert result.best.label == "averaged at step 2"
    again = train(new_model(), task, changes, checkpoints=tmp_path, resume_from=tmp_path)
    assert (again.reason, again.trained_steps) == ("early stop", 0)


def test_a_score_that_is_not_finite_is_never_the_best() -> None:
    for scores, loss in (([math.nan, math.inf], 1.0), ([1.0, 2.0], math.nan)):
        result = train(new_model(), replace(TASK, validate=scripted(scores, loss)), settings(max_steps=2))
        assert result.best is None


def test_a_better_loss_counts_where_scores_are_equal() -> None:
    losses = [3.0, 2.0, 2.5, 1.0]
    task = replace(TASK, validate=lambda _: Validation(losses.pop(0), {}, 0.0))
    result = train(new_model(), task, settings(max_steps=10))
    assert result.best is not None
    assert (result.best.label, result.best.validation.loss) == ("averaged at step 10", 1.0)


@pytest.mark.parametrize("average_decay", [0.0, 0.9])
def test_the_best_weights_score_what_was_logged(average_decay: float) -> None:
    recorder = Recorder()
    result = train(new_model(), TASK, settings(average_decay=average_decay), callbacks=[recorder])
    assert result.best is not None
    assert {v.kind for v in recorder.validations} == ({"current", "averaged"} if average_decay else {"current"})
    assert result.best.validation.score == max(v.validation.score for v in recorder.validations)
    model = new_model(seed=99)
    load_weights(model, result.best.weights, "best")
    assert validate(model.eval()) == result.best.validation


def test_the_best_weights_stay_what_they_were() -> None:
    seen: list[dict[str, Tensor]] = []

    def worse_each_time(model: nn.Module) -> Validation:
        seen.append({name: tensor.clone() for name, tensor in weights_of(model).items()})
        return Validation(1.0, {}, -len(seen))

    result = train(new_model(), replace(TASK, validate=worse_each_time), settings())
    assert result.best is not None
    assert result.best.label == "best at step 5"
    assert all(torch.equal(result.best.weights[name], tensor) for name, tensor in seen[0].items())
    assert not torch.equal(seen[0]["embedding.weight"], seen[-1]["embedding.weight"])


def test_averaged_weights_do_not_touch_the_training() -> None:
    models = [new_model(), new_model()]
    for model, decay in zip(models, (0.0, 0.9), strict=True):
        train(model, TASK, settings(average_decay=decay))
    assert all(torch.equal(a, b) for a, b in zip(models[0].parameters(), models[1].parameters(), strict=True))


def test_the_gradient_is_the_sum_over_the_count_and_is_clipped_once() -> None:
    model, recorder = new_model(dropout=0.0), Recorder()
    part = compute_loss(model, TASK.make_batch(plan_epoch(0)[0]))
    gradients = torch.autograd.grad(part.loss / part.num_tokens, list(model.parameters()))
    train(model, TASK, settings(max_steps=1, clip_norm=1e-3), callbacks=[recorder])
    step = recorder.steps[0]
    norm = math.sqrt(sum(g.double().square().sum().item() for g in gradients))
    assert step.gradient_norm == pytest.approx(norm, rel=1e-5)
    assert step.loss == pytest.approx(part.loss.item() / part.num_tokens, rel=1e-6)
    assert (step.num_tokens, step.rows, step.learning_rate) == (part.num_tokens, tuple(plan_epoch(0)[0]), 0.002)


def test_the_rate_of_every_step_is_the_closed_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[float] = []
    step = optimizer._bare_step

    def noting(self: torch.optim.AdamW, closure: None = None) -> None:
        used.extend({group["lr"] for group in self.param_groups})
        step(self, closure)

    monkeypatch.setattr(optimizer, "_bare_step", noting)
    recorder = Recorder()
    for stop in (2, 7, 99):  # a resumed run repeats no rate and leaves none out
        stop_at(stop, tmp_path, recorder)
    schedule = optimizer.Schedule(0.01, 5, 20)
    assert used == [schedule.learning_rate(number) for number in range(1, 21)]
    assert [report.learning_rate for report in recorder.steps] == used


def test_the_deadline_ends_after_a_last_validation(tmp_path: Path) -> None:
    recorder = Recorder()
    result = train(new_model(), TASK, settings(deadline_seconds=1e-9), checkpoints=tmp_path, callbacks=[recorder])
    assert (result.reason, result.progress.step) == ("time limit", 1)
    assert [v.step for v in recorder.validations] == [1, 1]
    assert load_newest(tmp_path) is not None


def test_the_deadline_is_of_the_whole_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = count()
    monkeypatch.setattr("seqline.training.trainer.time.monotonic", lambda: float(next(ticks)))
    long = {"max_steps": 10_000, "deadline_seconds": 300.0}
    results = [stop_at(stop, tmp_path, **long) for stop in (20, 10_000, 10_000)]
    used = [result.progress.seconds for result in results]
    assert 50 < used[0] < 250
    assert used[1] == pytest.approx(300, abs=30)
    assert [result.reason for result in results[1:]] == ["time limit"] * 2
    assert results[2].progress.step == results[1].progress.step + 1


def test_exhausted_memory_names_the_setting() -> None:
    def too_large(_model: nn.Module, _batch: Any) -> Any:
        raise RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory: you tried ...")

    with pytest.raises(UserError, match=r"out of memory at step 1 .* lower training.batch_tokens"):
        train(new_model(), replace(TASK, compute_loss=too_large), settings())

    def wrong(_model: nn.Module, _batch: Any) -> Tensor:
        raise RuntimeError("shapes differ")

    with pytest.raises(RuntimeError, match="shapes differ"):
        train(new_model(), replace(TASK, compute_loss=wrong), settings())


@pytest.mark.parametrize("name", ["max_steps", "validate_every", "checkpoint_every"])
def test_settings_below_one_are_refused(name: str) -> None:
    with pytest.raises(UserError, match=f"training.{name}: must be at least 1, got 0"):
        settings(**{name: 0})
