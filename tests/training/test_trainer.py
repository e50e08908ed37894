"""The loop: exact resume, stops, validation and averages, non-finite numbers, and what is told to whom."""

from __future__ import annotations

import io
import json
import math
import os
import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from seqline.errors import UserError
from seqline.training.callbacks import MetricsLog, ProgressLine, stop_on_signals
from seqline.training.checkpoint import load_newest
from seqline.training.non_finite import NonFiniteError
from seqline.training.progress import Validation
from seqline.training.reports import EndReport, StartReport, StepReport, ValidationReport
from seqline.training.task import TrainingResult
from seqline.training.trainer import train
from seqline.training.weights import load_weights, weights_of

from .tiny import TASK, Recorder, TinyModel, compute_loss, new_model, plan_epoch, settings, validate


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


def metrics(folder: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in line.items() if "second" not in k} for line in lines]


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


def test_the_deadline_ends_after_a_last_validation(tmp_path: Path) -> None:
    recorder = Recorder()
    result = train(new_model(), TASK, settings(deadline_seconds=1e-9), checkpoints=tmp_path, callbacks=[recorder])
    assert (result.reason, result.progress.step) == ("time limit", 1)
    assert [v.step for v in recorder.validations] == [1, 1]
    assert load_newest(tmp_path) is not None


@pytest.mark.parametrize(("learning_rate", "weight_decay"), [(1e37, 0.0), (1e30, 0.01)])
def test_a_huge_learning_rate_stops_at_the_first_bad_number(
    tmp_path: Path, learning_rate: float, weight_decay: float
) -> None:
    changes = settings(
        learning_rate=learning_rate,
        warmup_steps=0,
        clip_norm=0.0,
        weight_decay=weight_decay,
        checkpoint_every=1,
        validate_every=1,
    )
    recorder = Recorder()
    with pytest.raises(NonFiniteError) as caught:
        train(new_model(), TASK, changes, checkpoints=tmp_path, callbacks=[recorder])
    error = caught.value
    assert error.step <= 3
    assert error.rows == tuple(plan_epoch(0)[error.step - 1])
    assert f"step {error.step}, first in {error.tensor}" in str(error)
    if weight_decay:  # the decay alone makes the weights overflow
        assert error.tensor == "weight 'recurrent.weight_ih_l0' after the update"
    assert all(str(row) in str(error) for row in error.rows)
    assert recorder.ends[0].reason == "NonFiniteError"
    checkpoint = load_newest(tmp_path)
    assert checkpoint is not None
    assert checkpoint.progress["step"] == error.step - 1
    for tensors in checkpoint.tensors.values():
        assert all(tensor.isfinite().all() for tensor in tensors.values())


def spoil_weight(model: TinyModel) -> None:
    with torch.no_grad():
        model.projection.bias[3] = math.nan


def spoil_output(model: TinyModel) -> None:
    model.recurrent.register_forward_hook(lambda _m, _i, outputs: (outputs[0] / 0.0 - outputs[0] / 0.0, outputs[1]))


def spoil_gradient(model: TinyModel) -> None:
    model.recurrent.weight_hh_l0.register_hook(lambda gradient: gradient * math.inf)


def grow_gradient(model: TinyModel) -> None:
    for parameter in model.parameters():
        parameter.register_hook(lambda gradient: torch.full_like(gradient, 1e30))


@pytest.mark.parametrize(
    ("spoil", "tensor"),
    [
        (spoil_weight, "weight 'projection.bias'"),
        (spoil_output, "output of 'recurrent'"),
        (spoil_gradient, "gradient of 'recurrent.weight_hh_l0'"),
        (grow_gradient, "the norm of all gradients, the largest being that of"),
    ],
)
def test_the_first_non_finite_tensor_is_named_and_nothing_is_updated(
    spoil: Callable[[TinyModel], None], tensor: str
) -> None:
    model = new_model()
    spoil(model)
    before = {name: value.clone() for name, value in weights_of(model).items()}
    task = replace(TASK, describe_rows=lambda rows: "lines " + " ".join(str(row + 1) for row in rows))
    with pytest.raises(NonFiniteError) as caught:
        train(model, task, settings())
    assert caught.value.tensor.startswith(tensor)
    assert caught.value.step == 1
    assert "lines " + " ".join(str(row + 1) for row in plan_epoch(0)[0]) in str(caught.value)
    for name, value in weights_of(model).items():
        torch.testing.assert_close(value, before[name], rtol=0, atol=0, equal_nan=True)


def test_a_loss_that_is_not_finite_and_a_spoilt_batch_are_named() -> None:
    def spoilt_loss(model: nn.Module, batch: Any) -> Any:
        part = compute_loss(model, batch)
        return part._replace(loss=part.loss * math.nan)

    with pytest.raises(NonFiniteError, match="first in loss"):
        train(new_model(), replace(TASK, compute_loss=spoilt_loss), settings())
    task = replace(
        TASK,
        make_batch=lambda rows: {"weights": torch.tensor([1.0, math.inf]), "inner": TASK.make_batch(rows)},
        compute_loss=lambda model, batch: spoilt_loss(model, batch["inner"]),
    )
    with pytest.raises(NonFiniteError, match=r"first in batch\.weights"):
        train(new_model(), task, settings())


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


@pytest.mark.parametrize(("number", "reason"), [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated")])
def test_a_signal_asks_for_a_stop_and_the_second_breaks_off(tmp_path: Path, number: int, reason: str) -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)

    class Signalled(Recorder):
        def on_step(self, report: StepReport) -> None:
            if report.step == 3:
                os.kill(os.getpid(), number)

    with stop_on_signals() as should_stop:
        result = train(
            new_model(), TASK, settings(), checkpoints=tmp_path, callbacks=[Signalled()], should_stop=should_stop
        )
        assert (result.reason, result.progress.step) == (reason, 3)
        assert (tmp_path / "step-3").is_dir()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_outside_the_main_thread_no_signal_is_taken() -> None:
    answers: list[str | None] = []

    def ask() -> None:
        with stop_on_signals() as should_stop:
            answers.append(should_stop())

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert answers == [None]


def test_the_metrics_log_is_json_lines_of_one_run(tmp_path: Path) -> None:
    path = tmp_path / "run" / "metrics.jsonl"
    for _ in range(2):  # the second run starts the file anew
        train(new_model(), TASK, settings(max_steps=5), callbacks=[MetricsLog(path)])
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["event"] for line in lines] == ["step"] * 5 + ["validation"] * 2 + ["end"]
    assert [line["step"] for line in lines[:5]] == [1, 2, 3, 4, 5]
    wanted = {
        "loss",
        "nats_per_token",
        "learning_rate",
        "gradient_norm",
        "target_tokens_per_second",
        "seconds",
        "epoch",
    }
    assert wanted <= set(lines[0])
    assert lines[-1]["reason"] == "finished"
    log = MetricsLog(path)
    log.on_validation(ValidationReport(1, "current", Validation(math.nan, {"bleu": math.inf}, math.nan), False, 1.0))
    last = json.loads(path.read_text().splitlines()[-1])
    assert (last["nats_per_token"], last["scores"], last["score"]) == (None, {"bleu": None}, None)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()])
def test_the_progress_line(stream: io.StringIO) -> None:
    now = 0.0
    line = ProgressLine(stream, clock=lambda: now)
    line.on_start(StartReport(0, 0, 1000, ("a [note]",)))
    for step in range(1, 101):
        now += 1.0
        line.on_step(StepReport(step, 1, 2.5, 2.25, 0.1, 1.0, 500, 1.0, now, (1, 2)))
    line.on_validation(ValidationReport(100, "averaged", Validation(2.125, {"bleu": 12.3456}, 12.3), True, now))
    line.on_end(EndReport(100, "interrupted", "averaged at step 100", 4000.0))
    text = stream.getvalue()
    assert "a [note]\n" in text
    assert "step 100 averaged weights: 2.125 nats/token, bleu 12.35 (best so far)\n" in text
    assert "interrupted at step 100 after 1 h 06 min; best weights: averaged at step 100\n" in text
    assert "2.250 nats/token, 500 tokens/s, 15 min 10 s left" in text
    if not stream.isatty():
        assert [row.split(":")[0] for row in text.splitlines()[1:4]] == [f"step {s}/1,000" for s in (30, 60, 90)]
        assert "\x1b" not in text
