"""Comparisons of a second: tiny data of every task, runs of a few steps, trained in this process."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from seqline.comparing.asked import Asked
from seqline.comparing.budget import parse_budget
from seqline.comparing.child import work
from seqline.comparing.compare import Compared, Running, Where, run
from seqline.comparing.plan import Plan, Planned
from seqline.comparing.results import Judging
from seqline.comparing.training import Ended

from ..small_run import letter_pairs, write_tsv

ARCHS = ("encoder-decoder", "luong")
SMALL = {
    "tokenizer.kind": "word",
    "model.embed_size": 8,
    "model.dropout": 0.0,
    "training.batch_tokens": 60,
    "training.validate_every": 50,
    "training.validate_sentences": 4,
}
GREEDY = {"decoding.beam_size": 1, "decoding.max_length_extra": 4}
"""Of translations: untrained models do not know when to stop."""
HIDDEN = {"encoder-decoder": 8, "luong": 8, "lstm": 8, "bilstm": 8, "gru": 8}


class InProcess:
    """A training that is done as soon as it is begun."""

    begun: list[str]

    def __init__(self, plan: Plan, planned: Planned, is_resumed: bool) -> None:
        answer, code = work(str(plan.config_file(planned)), str(plan.run_folder(planned)), is_resumed=is_resumed)
        self.ended = Ended(code, {**answer, "peak_memory_bytes": 1000 + planned.seed}, "log\n")

    def poll(self) -> Ended | None:
        return self.ended

    def stop(self) -> None:
        raise AssertionError("it is over already")


def never(plan: Plan, planned: Planned, is_resumed: bool) -> InProcess:
    """Begin no training."""
    raise AssertionError(f"{planned.name} is trained again")


def asked(archs: tuple[str, ...] = ARCHS, *, task: str = "translation", budget: str = "4steps", **more: Any) -> Asked:
    """Ask for a quick comparison."""
    settings = {**SMALL, **(GREEDY if task == "translation" else {}), **more.pop("settings", {})}
    given = [("", key, value) for key, value in settings.items() if value is not None]
    given += [
        (arch, "model.hidden_size", HIDDEN[arch]) for arch in archs if arch in HIDDEN and not more.get("parameters")
    ]
    return Asked(archs, budget=parse_budget(budget), task=task, settings=tuple(given), **more)


def compared(data: Path, out: Path, wanted: Asked, judging: Judging | None = None, **running: Any) -> Compared:
    """Compare in this process."""
    running = {"start": InProcess, **running}
    return run(str(data), wanted, out, Where(), judging or Judging(trials=100), Running(**running))


def letters(folder: Path) -> Path:
    """Write pairs with train, valid and test."""
    for seed, (name, number) in enumerate([("train", 60), ("valid", 10), ("test", 16)], 1):
        write_tsv(folder / f"{name}.tsv", letter_pairs(number, seed))
    return folder


def one_file(path: Path, number: int = 200) -> Path:
    """Write pairs without any other set; some stand there twice."""
    pairs = letter_pairs(number, seed=5)
    return write_tsv(path, [*pairs, *pairs[:20]])


def labels(path: Path, task: str, number: int = 120) -> Path:
    """Write labelled lines."""
    rng, rows = random.Random(4), []
    for _ in range(number):
        words = [rng.choice(["Ann", "Bob", "sees", "the", "cat", "old"]) for _ in range(rng.randint(2, 6))]
        tags = ["B-PER" if word in ("Ann", "Bob") else "O" for word in words]
        rows.append((" ".join(words), " ".join(tags) if task == "tagging" else "person" if "B-PER" in tags else "none"))
    path.write_text("".join(f"{source}\t{target}\n" for source, target in rows), encoding="utf-8")
    return path


def text(path: Path, lines: int = 150) -> Path:
    """Write a text for a language model."""
    rng = random.Random(6)
    rows = [
        " ".join(rng.choice(["a", "bee", "sees", "the", "sea"]) for _ in range(rng.randint(2, 9))) for _ in range(lines)
    ]
    path.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    return path
