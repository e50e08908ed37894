"""Every recipe learns a task that needs what it has; the attention models, tasks that the fixed context cannot hold."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import seqline
from seqline.architectures import ARCHITECTURES
from seqline.decoding import Sampling
from seqline.generator import Generator

TRANSLATORS = tuple(name for name, recipe in ARCHITECTURES.items() if recipe.build)
FIXED_CONTEXT = ("encoder-decoder", "contextual", "sutskever", "cho")
ATTENTIVE = tuple(name for name in TRANSLATORS if name not in FIXED_CONTEXT)
TAGGERS = tuple(name for name, recipe in ARCHITECTURES.items() if recipe.features and not recipe.build)
BOTH_WAYS = ("birnn", "bilstm")
LANGUAGE_MODELS = tuple(name for name, recipe in ARCHITECTURES.items() if recipe.language_model)

Letters = list[str]
LETTERS = "abcdefghij"
TASKS: dict[str, Callable[[Letters], Letters]] = {
    "copy": list,
    "reverse": lambda letters: letters[::-1],
    "sort": sorted,
    "previous": lambda letters: ["start", *letters[:-1]],
    "next": lambda letters: [*letters[1:], "end"],
}


def write_pairs(folder: Path, longest: int, task: str = "reverse", count: int = 3000) -> Path:
    """Write sequences of letters and what the task makes of them, none twice; the last 200 are the test set."""
    chance = random.Random(1)
    lines: dict[str, None] = {}
    while len(lines) < count + 200:
        letters = [chance.choice(LETTERS) for _ in range(chance.randint(2, longest))]
        lines[f"{' '.join(letters)}\t{' '.join(TASKS[task](letters))}"] = None
    return write_sets(folder, list(lines), "tsv")


def write_sets(folder: Path, rows: list[str], form: str) -> Path:
    """Write the rows as two files; the last 200 are the test set."""
    folder.mkdir()
    (folder / f"train.{form}").write_text("\n".join(rows[:-200]) + "\n", encoding="utf-8")
    (folder / f"test.{form}").write_text("\n".join(rows[-200:]) + "\n", encoding="utf-8")
    return folder


def train_run(arch: str, data: Path, run: Path, steps: int, task: str = "translation", **more: Any) -> Path:
    """Train the recipe's tiny size without dropout, 600 tokens a step."""
    settings = {
        "tokenizer.kind": "word",
        "training.max_steps": steps,
        "training.batch_tokens": 600,
        "training.validate_every": steps // 4,
        "model.size": "tiny",
        "model.dropout": 0.0,
        **more,
    }
    return seqline.train(data, arch, run, task=task, settings=settings).folder


def train(arch: str, data: Path, run: Path, steps: int) -> seqline.Translator:
    return seqline.Translator.load(train_run(arch, data, run, steps))


def exact_match(arch: str, task: str, steps: int, folder: Path) -> float:
    """Return the percentage of test sequences of at most 6 letters that are right to the last letter."""
    data = write_pairs(folder / "data", longest=6, task=task)
    return seqline.evaluate(train(arch, data, folder / "run", steps), data).scores[-1].value


def tag_accuracy(arch: str, task: str, steps: int, folder: Path) -> float:
    """Return the percentage of right tags of test sequences of at most 8 letters."""
    data = write_pairs(folder / "data", longest=8, task=task)
    report = seqline.evaluate_labels(train_run(arch, data, folder / "run", steps, "tagging"), data)
    assert report.tags is not None
    return 100 * report.tags.accuracy


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("arch", TRANSLATORS)
def test_every_translator_reverses_short_sequences(arch: str, tmp_path: Path) -> None:
    assert exact_match(arch, "reverse", 400, tmp_path) >= (95 if arch in ATTENTIVE else 75)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("task", ["copy", "sort"])
@pytest.mark.parametrize("arch", ATTENTIVE)
def test_every_attentive_recipe_copies_and_sorts(arch: str, task: str, tmp_path: Path) -> None:
    assert exact_match(arch, task, 400, tmp_path) >= 90


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("arch", TAGGERS)
def test_every_recurrent_tagger_remembers_the_token_before(arch: str, tmp_path: Path) -> None:
    assert tag_accuracy(arch, "previous", 200, tmp_path) >= 99


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("arch", ["lstm", *BOTH_WAYS])
def test_only_who_reads_both_ways_knows_the_token_after(arch: str, tmp_path: Path) -> None:
    accuracy = tag_accuracy(arch, "next", 200, tmp_path)
    if arch in BOTH_WAYS:
        assert accuracy >= 99
    else:
        assert accuracy <= 40  # one letter of ten, or the end


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("arch", LANGUAGE_MODELS)
def test_every_language_model_recalls_what_it_has_read(arch: str, tmp_path: Path) -> None:
    """Lines of four random letters, a bar, and the four again: only the first four cost ln 10 nats each."""
    chance, length = random.Random(1), 4
    firsts = chance.sample(range(len(LETTERS) ** length), 3200)
    halves = [" ".join(LETTERS[number // 10**place % 10] for place in range(length)) for number in firsts]
    data = write_sets(tmp_path / "data", [f"{half} | {half}" for half in halves], "txt")
    run = train_run(arch, data, tmp_path / "run", 600, "lm", **{"data.unit": "lines"})
    report = seqline.evaluate_text(run, data)
    assert report.num_tokens == 200 * (2 * length + 2)
    nats_a_line = report.protocols[0].nats_per_token * (2 * length + 2)
    too_many = (nats_a_line - length * math.log(10)) / length  # a letter; 2.3 where nothing is recalled
    assert too_many <= (0.8 if arch == "simple-rnn" else 0.25)
    if arch != "simple-rnn":
        generator = Generator.load(run)
        recalled = [
            generator.generate(f"{half} |", sampling=Sampling(temperature=0.0))[0].text for half in halves[-50:]
        ]
        assert sum(a.split() == b.split() for a, b in zip(recalled, halves[-50:], strict=True)) >= 40


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_greedy_outputs_depend_on_neither_batch_nor_order(tmp_path: Path) -> None:
    data = write_pairs(tmp_path / "data", longest=12)
    sources = [line.split("\t")[0] for line in (data / "test.tsv").read_text(encoding="utf-8").splitlines()]
    for arch in ("luong", "transformer"):
        translator = train(arch, data, tmp_path / arch, steps=200)
        expected = [t.text for t in translator.translate(sources, beam_size=1, batch_rows=1)]
        for rows in (3, 64):
            assert [t.text for t in translator.translate(sources, beam_size=1, batch_rows=rows)] == expected
            turned = translator.translate(sources[::-1], beam_size=1, batch_rows=rows)
            assert [t.text for t in turned][::-1] == expected
