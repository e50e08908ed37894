"""Size, batch and number of steps: what the user set stands, the rest fits the corpus and the time."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from seqline.architectures import ARCHITECTURES
from seqline.architectures.recipe import Recipe
from seqline.budget import (
    BATCH_TOKENS,
    EPOCHS,
    LEAST_BATCH_TOKENS,
    LEAST_UPDATES,
    MOST_EPOCHS,
    SHARE_HELD_BACK,
    Speed,
    choose_size,
    measure_step,
    measure_validation,
    with_batches,
    with_model,
    with_steps,
)
from seqline.config import Config
from seqline.corpus import Prepared
from seqline.data.batch import Example, collate
from seqline.data.loader import plan_epoch
from seqline.errors import UserError
from seqline.prepare import lengths_of
from seqline.tasks import TASKS
from seqline.training.loss import smoothed_cross_entropy
from seqline.training.progress import Validation
from seqline.training.task import TrainingTask

from .small_models import make_batch, make_model

LUONG = ARCHITECTURES["luong"]


def config(**changes: Any) -> Config:
    return Config().replace(**{key.replace("__", "."): value for key, value in changes.items()})


def examples(number: int, length: int = 9) -> list[Example]:
    """Return pairs whose sides have `length` tokens, the end mark included."""
    return [Example([*[4] * (length - 1), 3], [4] * (length - 1)) for _ in range(number)]


class Examples(Prepared):
    """Examples that only a budget looks at."""

    def __init__(self, data: list[Example]) -> None:
        self.lengths = lengths_of(data)
        widest = list(map(max, zip(*self.lengths, strict=True)))
        self.shortest, self.longest, self.notes = min(widest), max(widest), ()

    def num_batches(self, batch_tokens: int) -> int:
        return len(plan_epoch(*self.lengths, batch_tokens, 0, 0))

    def widest(self, batch_tokens: int) -> list[int]:
        raise NotImplementedError

    def tally(self, batch_tokens: int) -> str:
        raise NotImplementedError

    def training_task(self, config: Config) -> TrainingTask:
        raise NotImplementedError


def num_batches(data: list[Example]) -> int:
    return len(plan_epoch(*lengths_of(data), BATCH_TOKENS["tiny"], 0, 0))


def never(*_: int) -> float:
    raise AssertionError("the speed is measured only where it matters")


def steps(given: Config, data: list[Example], seconds: Any = never, validation: float | None = None) -> Config:
    """Fix the steps on a machine that takes `seconds` an update and `validation` seconds, next to none, a validation."""
    speed = Speed(seconds, never if seconds is never else lambda: validation or 1e-9)
    return with_steps(with_batches(given, LUONG, "tiny"), given, "tiny", Examples(data), speed)


def for_updates(minutes: float) -> float:
    """Return the seconds of a time budget in which validations cost nothing."""
    return minutes * 60 * (1 - SHARE_HELD_BACK)


SOME = examples(500)


@pytest.mark.parametrize(
    ("num_pairs", "size"),
    [(1, "tiny"), (19_999, "tiny"), (20_000, "small"), (499_999, "small"), (500_000, "base"), (10**7, "base")],
)
def test_the_size_follows_the_corpus(num_pairs: int, size: str) -> None:
    assert choose_size(config(), num_pairs) == size


@pytest.mark.parametrize("size", ["tiny", "small", "base"])
def test_a_size_that_was_named_stands(size: str) -> None:
    assert {choose_size(config(model__size=size), number) for number in (10, 10**6)} == {size}


@pytest.mark.parametrize("recipe", ARCHITECTURES.values(), ids=list(ARCHITECTURES))
def test_the_settings_of_a_size_are_filled_in_and_kept(recipe: Recipe) -> None:
    task = next(task.name for task in TASKS.values() if task.fits(recipe))
    for size, expected in recipe.sizes.items():
        filled = with_model(config(data__task=task), recipe, size)
        assert filled.model.architecture == recipe.name
        assert filled.model.size == size
        assert expected.items() <= filled.model.settings.items()
        assert with_model(filled, recipe, size) == filled


def test_own_settings_stand_over_those_of_the_size() -> None:
    filled = with_model(config(model__hidden_size=17, model__score="concat"), LUONG, "small")
    expected = {**LUONG.sizes["small"], "hidden_size": 17, "score": "concat"}
    assert expected.items() <= filled.model.settings.items()


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [("hidden_sizes", 3, "'hidden_size'"), ("hidden_size", 0, "at least 1"), ("dropout", 1.0, "below 1")],
)
def test_a_setting_that_the_recipe_does_not_take_is_refused(key: str, value: float, words: str) -> None:
    with pytest.raises(UserError, match=rf"model\.{key}: .*{words}"):
        with_model(config(**{f"model__{key}": value}), LUONG, "tiny")


@pytest.mark.parametrize("size", ["tiny", "small", "base"])
def test_batches_and_learning_rate_follow_the_size_and_own_ones_stand(size: Any) -> None:
    training = with_batches(config(), LUONG, size).training
    assert training.batch_tokens == BATCH_TOKENS[size]
    assert training.learning_rate == LUONG.learning_rate[size]
    own = config(training__batch_tokens=77, training__learning_rate=0.5)
    assert with_batches(own, LUONG, size) == own


def test_without_a_time_budget_the_number_of_epochs_follows_the_size() -> None:
    data = examples(5000)
    assert 50 <= num_batches(data) <= 51  # 100 pairs of 9 tokens in a batch of 900
    training = steps(config(), data).training
    assert training.max_steps is not None
    assert training.max_steps == num_batches(data) * EPOCHS["tiny"]
    assert training.warmup_steps == min(400, training.max_steps // 5)
    assert training.validate_every == training.checkpoint_every == training.max_steps / 20
    assert training.batch_tokens == BATCH_TOKENS["tiny"]


def test_a_tiny_corpus_still_gets_a_thousand_updates() -> None:
    assert steps(config(), examples(30)).training.max_steps == LEAST_UPDATES == 1000


@pytest.mark.parametrize("epochs", [1, 3])
def test_few_epochs_that_were_asked_for_stay_few(epochs: int) -> None:
    data = examples(200)
    assert steps(config(training__max_epochs=epochs), data).training.max_steps == num_batches(data) * epochs


def test_own_steps_and_rhythm_stand() -> None:
    own = config(training__max_steps=33, training__warmup_steps=0, training__validate_every=7)
    training = steps(own, examples(5000)).training
    assert (training.max_steps, training.warmup_steps, training.validate_every) == (33, 0, 7)
    assert training.checkpoint_every == 7
    own = config(
        training__max_steps=33, training__max_minutes=1.0, training__max_epochs=1, training__checkpoint_every=5
    )
    training = steps(own, examples(5000)).training
    assert (training.max_steps, training.warmup_steps, training.checkpoint_every) == (33, 6, 5)
    assert training.validate_every == 2


def test_the_result_says_everything_and_does_not_change_when_it_is_asked_again() -> None:
    filled = steps(config(), examples(500))
    assert None not in (
        filled.training.max_steps,
        filled.training.warmup_steps,
        filled.training.validate_every,
        filled.training.checkpoint_every,
        filled.training.batch_tokens,
        filled.training.learning_rate,
    )
    assert steps(filled, examples(500)) == filled


def test_a_time_budget_is_filled_with_steps_of_the_measured_speed() -> None:
    asked: list[int] = []

    def seconds(batch_tokens: int) -> float:
        asked.append(batch_tokens)
        return 0.1

    training = steps(config(training__max_minutes=5.0), examples(5000), seconds).training
    assert training.max_steps == pytest.approx(for_updates(5.0) / 0.1, abs=1)
    assert training.batch_tokens == BATCH_TOKENS["tiny"]
    assert asked == [BATCH_TOKENS["tiny"]]
    assert training.max_steps is not None
    assert training.validate_every == -(-training.max_steps // 10)


def test_a_time_budget_does_not_wear_out_a_small_corpus() -> None:
    data = examples(2000)
    training = steps(config(training__max_minutes=60.0), data, lambda _: 0.01).training
    assert training.max_steps == num_batches(data) * MOST_EPOCHS
    own = config(training__max_minutes=60.0, training__max_epochs=3)
    assert steps(own, data, lambda _: 0.01).training.max_steps == num_batches(data) * 3


def test_a_short_time_takes_smaller_batches_and_at_least_a_thousand_updates() -> None:
    training = steps(config(training__max_minutes=1.0), examples(5000), lambda tokens: tokens * 1e-4).training
    assert training.max_steps is not None
    assert training.batch_tokens is not None
    assert LEAST_UPDATES <= training.max_steps < 1.01 * LEAST_UPDATES
    assert LEAST_BATCH_TOKENS <= training.batch_tokens < BATCH_TOKENS["tiny"]


@given(st.floats(0.05, 500.0), st.floats(1e-6, 1e-2))
def test_in_any_time_there_are_a_thousand_updates_or_the_smallest_batches(minutes: float, cost: float) -> None:
    training = steps(config(training__max_minutes=minutes), SOME, lambda tokens: tokens * cost).training
    assert training.max_steps is not None
    assert training.batch_tokens is not None
    is_enough = training.max_steps >= LEAST_UPDATES - 1  # one less where floats round down
    assert is_enough or training.batch_tokens == LEAST_BATCH_TOKENS
    seconds = training.max_steps * training.batch_tokens * cost
    assert training.max_steps == 1 or seconds <= for_updates(minutes) * (1 + 1e-9)


def test_an_own_batch_size_does_not_shrink_for_the_time() -> None:
    own = config(training__max_minutes=1.0, training__batch_tokens=900)
    training = steps(own, examples(5000), lambda tokens: tokens * 1e-4).training
    assert training.batch_tokens == 900
    assert training.max_steps == pytest.approx(for_updates(1.0) / 0.09, abs=1)


@pytest.mark.parametrize(
    ("validation", "num_validations", "left"), [(0.2, 10, 60 - 2.4 - 4), (1.0, 3, 60 - 2.4 - 6), (30.0, 2, 30.0)]
)
def test_validations_are_paid_out_of_the_time_and_rarer_where_they_are_dear(
    validation: float, num_validations: int, left: float
) -> None:
    own = config(training__max_minutes=1.0, training__batch_tokens=900)
    training = steps(own, examples(5000), lambda _: 0.03, validation).training
    assert training.max_steps == pytest.approx(left / 0.03, abs=1)
    assert training.max_steps is not None
    assert training.validate_every == -(-training.max_steps // num_validations)


def test_time_for_nothing_is_time_for_one_step() -> None:
    training = steps(config(training__max_minutes=1e-3), examples(50), lambda _: 100.0).training
    assert (training.max_steps, training.warmup_steps, training.validate_every) == (1, 0, 1)


def test_batches_that_hold_no_pair_are_refused() -> None:
    data = [*examples(5, length=40), *examples(3, length=21)]
    with pytest.raises(
        UserError, match=r"training\.batch_tokens: 20 tokens hold no example, the shortest has 21.*at least 21"
    ):
        steps(config(training__batch_tokens=20), data)
    assert steps(config(training__batch_tokens=21), data).training.batch_tokens == 21


def test_batches_that_shrink_for_the_time_still_hold_the_pairs() -> None:
    data = examples(50, length=500)

    def seconds(batch_tokens: int) -> float:
        assert plan_epoch(*lengths_of(data), batch_tokens, 0, 0), f"{batch_tokens} tokens hold no example"
        return batch_tokens * 1e-3

    training = steps(config(training__max_minutes=1.0), data, seconds).training
    assert training.batch_tokens is not None
    assert training.batch_tokens >= 500


def test_a_validation_is_measured_in_evaluation_mode() -> None:
    model = make_model("luong-unfed-general").train()
    seen: list[bool] = []

    def validate(module: Any) -> Validation:
        seen.append(module.training or torch.is_grad_enabled())
        return Validation(0.0, {}, 0.0)

    task = TrainingTask(never, never, never, validate)  # type: ignore[arg-type]
    assert 0.0 < measure_validation(model, task) < 60.0
    assert seen == [False]
    assert model.training


def test_measuring_changes_no_weight_and_meets_every_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seqline.budget.MEASURED_SECONDS", 100.0)
    monkeypatch.setattr("seqline.budget.MEASURED_STEPS", 10)
    model, batch = make_model("luong-unfed-general"), make_batch()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    data = [Example([*[5] * length, 3], [5] * length) for length in range(1, 101)]
    seen: list[int] = []

    def make(rows: Any) -> Any:
        seen.extend(rows)
        return collate(data, rows)

    def compute_loss(twin: Any, batch: Any) -> Any:
        assert twin.training
        assert twin is not model
        logits = twin(batch.source, batch.source_is_real, batch.target_in)
        return smoothed_cross_entropy(logits, batch.target_out, batch.target_is_real, 0.1)

    def plan(_: int) -> list[list[int]]:
        return [[row] for row in range(100)]

    task = TrainingTask(plan, make, compute_loss, lambda _: Validation(0.0, {}, 0.0))
    assert 0.0 < measure_step(model, task) < 60.0
    assert all(torch.equal(model.state_dict()[name], tensor) for name, tensor in before.items())
    assert not model.training
    assert seen == [0, *range(0, 100, 10)]  # the first one twice, for it pays for first use
    assert all(parameter.grad is None for parameter in model.parameters())
    assert torch.isfinite(model(batch.source, batch.source_is_real, batch.target_in)).all()
