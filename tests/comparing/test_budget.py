"""Budgets: how they are read, and how many steps a number of tokens is."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqline.comparing.budget import Budget, parse_budget
from seqline.comparing.preparing import Preparing
from seqline.errors import UserError

from .small import asked, letters, text


@pytest.mark.parametrize(
    ("said", "budget"),
    [
        ("5m", Budget("time", 300)),
        ("300s", Budget("time", 300)),
        ("1.5h", Budget("time", 5400)),
        ("90 s", Budget("time", 90)),
        ("2000steps", Budget("steps", 2000)),
        ("1step", Budget("steps", 1)),
        ("2ksteps", Budget("steps", 2000)),
        ("2Mtokens", Budget("tokens", 2_000_000)),
        ("1.5ktokens", Budget("tokens", 1500)),
    ],
)
def test_a_budget_is_read(said: str, budget: Budget) -> None:
    assert parse_budget(said) == budget
    assert parse_budget(str(budget)) == budget


@pytest.mark.parametrize(
    "said", ["", "5", "m", "-5m", "0s", "0steps", "1.5steps", "5Mm", "2ks", "5 minutes long", "1e3s", "nan s"]
)
def test_what_is_no_budget_is_refused_in_one_line(said: str) -> None:
    with pytest.raises(UserError, match=r"--budget: .*; write for instance 5m, 300s, 2000steps or 2Mtokens") as caught:
        parse_budget(said)
    assert "\n" not in str(caught.value)


@given(st.text(max_size=30))
def test_any_text_is_a_budget_or_refused(said: str) -> None:
    try:
        budget = parse_budget(said)
    except UserError:
        return
    assert 0 < budget.amount <= 10**12
    assert parse_budget(str(budget)).kind == budget.kind


@pytest.mark.parametrize("tokens", [1, 50, 333, 1000])
def test_the_steps_for_tokens_are_the_nearest(tmp_path: Path, tokens: int) -> None:
    config = asked(("luong",)).config("luong", 1, str(letters(tmp_path / "data")))
    preparing = Preparing()
    steps = preparing.steps_for(config, tokens)
    ready = preparing.ready(config)
    task = ready.corpus.prepare(preparing.tokenizers(ready), ready.config).training_task(ready.config)
    counts: list[int] = []
    epoch = 0
    while len(counts) <= steps:
        counts += [int(task.make_batch(rows).target_is_real.sum()) for rows in task.plan_epoch(epoch)]
        epoch += 1
    sums = [sum(counts[:n]) for n in range(len(counts) + 1)]
    assert steps == max(1, min(range(len(sums)), key=lambda n: abs(sums[n] - tokens)))


def test_a_stream_has_steps_for_tokens_too(tmp_path: Path) -> None:
    settings = {"data.context": 16, "training.batch_tokens": 64, "tokenizer.kind": "char"}
    config = asked(("lstm",), task="language_model", settings=settings).config("lstm", 1, str(text(tmp_path / "t.txt")))
    found = Preparing().steps_for(config, 6400)
    assert 100 <= found <= 115  # 64 a step, but for short windows at an epoch's ends
