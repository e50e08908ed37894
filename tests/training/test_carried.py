"""Truncated backpropagation: values go on from window to window, gradients do not, and a resumed run goes on exactly."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from seqline.architectures import ARCHITECTURES
from seqline.architectures.recipe import Vocabulary
from seqline.config import Config
from seqline.data.plain import Text, stream_lines
from seqline.data.tokenizer import train_tokenizer
from seqline.language import PreparedStream
from seqline.models.language_model import LanguageModel
from seqline.run import Trained
from seqline.training.carried import Carried
from seqline.training.task import TrainingTask

from ..small_models import assert_equal, random_weights
from ..small_run import logged, weights, without_times
from ..small_texts import quick, sentences, write_texts

CONTEXT, ROWS = 5, 3
TEXT = "\n".join(sentences(8, seed=4))
RECURRENT = {"embed_size": 6, "hidden_size": 7, "num_layers": 2, "dropout": 0.0}
MODELS: dict[str, dict[str, Any]] = {
    "simple-rnn": RECURRENT,
    "lstm": RECURRENT,
    "gru": RECURRENT,
    "ssru": {"embed_size": 6, "num_heads": 2, "inner_size": 9, "num_layers": 2, "dropout": 0.0},
}
every_model = pytest.mark.parametrize("name", MODELS)
TOKENIZER = train_tokenizer(stream_lines(f"{TEXT}\n", "char"), "char", None)


def make(name: str, context: int = CONTEXT, rows: int = ROWS) -> tuple[PreparedStream, TrainingTask, LanguageModel]:
    """Return a stream, its task and a model of it."""
    changes = {"data.context": context, "data.carry_state": True, "training.batch_tokens": rows * context}
    config = Config().replace(
        **{"data.task": "language_model", "model.architecture": name, "training.label_smoothing": 0.0}, **changes
    )
    recipe, size = ARCHITECTURES[name], TOKENIZER.vocab_size
    assert recipe.language_model is not None
    model = recipe.language_model(recipe.settings(**MODELS[name]), Vocabulary(size, size, True))
    prepared = PreparedStream(Text("t", TEXT), Text("v", TEXT), TOKENIZER, config)
    return prepared, prepared.training_task(config), random_weights(model)


def losses(task: TrainingTask, model: LanguageModel, batches: Any) -> list[Tensor]:
    return [task.compute_loss(model, task.make_batch(rows)).loss for rows in batches]


def test_every_architecture_that_carries_its_state_is_tested() -> None:
    assert set(MODELS) == {name for name, recipe in ARCHITECTURES.items() if recipe.carries_state}


@every_model
@pytest.mark.parametrize("epoch", [0, 1])
def test_windows_give_the_values_of_one_long_reading(name: str, epoch: int) -> None:
    prepared, task, model = make(name)
    seen: list[Tensor] = []
    plan = task.plan_epoch(epoch)
    hook = model.register_forward_hook(lambda *call: seen.append(call[-1][0].detach()))
    losses(task, model, plan)
    hook.remove()
    assert len({len(batch) for batch in plan}) == 2  # a lane ends before the others
    for lane in range(len(plan[0])):
        spans = [prepared.windows.span(batch[lane]) for batch in plan if lane < len(batch)]
        ids = prepared.stream[spans[0].start : spans[-1].end]
        whole, _ = model(ids[None], model.initial_state(None, 1))
        cut = [logits[lane, : s.end - s.start] for logits, s in zip(seen, spans, strict=False)]
        assert_equal([torch.cat(cut)], [whole[0]])


@every_model
def test_no_gradient_reaches_the_window_before(name: str) -> None:
    _, task, model = make(name)
    read: list[Tensor] = []

    def forward(ids: Tensor) -> Tensor:
        read.append(torch.nn.functional.embedding(ids, model.embedding.weight.detach()).requires_grad_())
        return read[-1]

    model.embedding.forward = forward
    sums = losses(task, model, task.plan_epoch(0)[:3])
    assert torch.autograd.grad(sums[1], read[0], allow_unused=True, retain_graph=True) == (None,)
    assert torch.autograd.grad(sums[2], read[:2], allow_unused=True, retain_graph=True) == (None, None)
    own = torch.autograd.grad(sums[2], read[2])[0]
    assert bool((own.abs().sum(-1) > 0).all())  # the window's own inputs all have one


def graph_size(loss: Tensor) -> int:
    seen, waiting = set(), [loss.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            waiting += [function for function, _ in node.next_functions]
    return len(seen)


@every_model
def test_the_graph_does_not_grow(name: str) -> None:
    _, task, model = make(name, context=1, rows=1)
    sizes = [graph_size(loss) for loss in losses(task, model, task.plan_epoch(0)[1:52])]
    assert len(sizes) == 51
    assert len(set(sizes[1:])) == 1  # the first begins from nothing, and may be simpler


@every_model
def test_a_stream_begins_from_nothing_whatever_was_before(name: str) -> None:
    _, task, model = make(name)
    first, second = task.plan_epoch(0), task.plan_epoch(1)
    fresh = losses(make(name)[1], model, second)
    for before in (first[:1], [*first, *second[:2]]):
        losses(task, model, before)
        assert all(torch.equal(a, b) for a, b in zip(losses(task, model, second), fresh, strict=True))


@every_model
def test_a_batch_looked_at_again_begins_where_it_began(name: str) -> None:
    _, task, model = make(name)
    plan = task.plan_epoch(0)
    once = losses(task, model, plan)
    twice = losses(make(name)[1], model, [batch for batch in plan for _ in range(2)])
    assert all(torch.equal(a, b) for a, b in zip(once, twice[::2], strict=True))
    assert all(torch.equal(a, b) for a, b in zip(once, twice[1::2], strict=True))


@every_model
def test_the_state_goes_through_a_checkpoint(name: str) -> None:
    _, task, model = make(name)
    plan = task.plan_epoch(0)
    expected = losses(task, model, plan)
    for done in (1, len(plan) - 1):
        _, other, _ = make(name)
        losses(other, model, plan[:done])
        assert other.carried is not None
        saved = {name: tensor.clone() for name, tensor in other.carried.tensors().items()}
        _, resumed, _ = make(name)
        assert resumed.carried is not None
        resumed.carried.restore(dict(reversed(saved.items())))  # a file may give them in any order
        again = resumed.carried.tensors()  # saved once more before a step was made
        assert again.keys() == saved.keys()
        assert all(torch.equal(again[key], saved[key]) for key in saved)
        found = losses(resumed, model, plan[done:])
        assert all(torch.equal(a, b) for a, b in zip(found, expected[done:], strict=True))


def test_nothing_is_kept_before_the_first_batch() -> None:
    carried = Carried()
    assert carried.tensors() == {}
    carried.restore({})
    assert torch.equal(carried.begin([0, 3], False, lambda rows: torch.zeros(rows, 2)), torch.zeros(2, 2))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_texts(tmp_path_factory.mktemp("texts"), num_train=12)


STEPS = 9
SETTINGS = [
    f"training.max_steps={STEPS}",
    "training.validate_every=4",
    "training.checkpoint_every=3",
    "training.warmup_steps=4",  # as long as it lasts, the rate does not depend on how many steps are asked for
]


@pytest.fixture(scope="module")
def whole(data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Trained]:
    """Return runs that nothing stopped."""
    folder = tmp_path_factory.mktemp("whole")
    return {name: quick("lm", data, folder / name, name, *SETTINGS) for name in ("gru", "lstm")}


def epoch_length(run: Trained) -> int:
    return [line["epoch"] for line in logged(run.folder) if line["event"] == "step"].count(1)


@pytest.mark.parametrize(("name", "steps"), [("gru", n) for n in (1, 4, 5, 6, 8)] + [("lstm", 4)])
def test_a_stopped_and_resumed_run_is_the_run_that_never_stopped(
    whole: dict[str, Trained], data: Path, tmp_path: Path, name: str, steps: int
) -> None:
    asked = itertools.count(-3)  # a new run is asked three times before its training begins
    stop = {"should_stop": lambda: "interrupted" if next(asked) >= steps else None}
    stopped = quick("lm", data, tmp_path / "run", name, *SETTINGS, **stop)
    assert stopped.facts["steps"] == steps
    resumed = quick("lm", data, tmp_path / "run", name, *SETTINGS, resume=True)
    assert resumed.result.trained_steps == STEPS - steps
    assert weights(tmp_path / "run") == weights(whole[name].folder)
    assert logged(tmp_path / "run") == logged(whole[name].folder)
    assert without_times(resumed.facts) == without_times(whole[name].facts)


def test_these_stops_are_before_at_and_after_the_end_of_an_epoch(whole: dict[str, Trained]) -> None:
    assert epoch_length(whole["gru"]) == 5


@pytest.mark.parametrize("name", ["gru", "lstm"])
def test_a_run_that_is_asked_for_more_steps_goes_on_exactly(
    whole: dict[str, Trained], data: Path, tmp_path: Path, name: str
) -> None:
    few = quick("lm", data, tmp_path / "run", name, *SETTINGS, "training.max_steps=4")
    assert (few.result.reason, few.facts["steps"]) == ("finished", 4)
    quick("lm", data, tmp_path / "run", name, *SETTINGS, resume=True)
    assert weights(tmp_path / "run") == weights(whole[name].folder)
