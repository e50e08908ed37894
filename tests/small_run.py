"""A run that is trained in two seconds, on letters that it must write backwards; what the tests of whole runs start from."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seqline.config import Config, load_config
from seqline.data.text import Pair, PairSet
from seqline.run import Trained, train

LETTERS = "abcdefgh"
WIDE = [
    "model.embed_size=32",
    "model.hidden_size=32",
    "model.dropout=0.0",
    "training.learning_rate=0.01",
    "training.batch_tokens=600",
    "training.max_steps=120",
    "training.validate_every=120",
    "training.validate_sentences=20",
]
NARROW = [
    "model.embed_size=8",
    "model.hidden_size=8",
    "model.dropout=0.3",
    "training.batch_tokens=60",
    "training.max_steps=12",
    "training.validate_every=4",
    "training.checkpoint_every=3",
    "training.validate_sentences=4",
]


@dataclass(frozen=True)
class ReversingRun:
    """A finished run and the data it learnt from; read only, copy the folder before damaging it."""

    folder: Path
    data: Path

    @property
    def test(self) -> list[tuple[str, str]]:
        """The sources and references of its test set."""
        return [(pair.source, pair.target) for pair in letter_pairs(40, seed=3)]

    @property
    def sources(self) -> list[str]:
        """The sources of its test set."""
        return [source for source, _ in self.test]


def letter_pairs(number: int, seed: int, longest: int = 5) -> list[Pair]:
    """Return pairs of 1 to `longest` letters and the same ones backwards."""
    rng = random.Random(seed)
    rows = [[rng.choice(LETTERS) for _ in range(rng.randint(1, longest))] for _ in range(number)]
    return [Pair(" ".join(row), " ".join(reversed(row)), line) for line, row in enumerate(rows, 1)]


def pair_set(*pairs: tuple[str, str]) -> PairSet:
    """Return pairs that come from no file."""
    return PairSet("pairs", [Pair(*both, line) for line, both in enumerate(pairs, 1)])


def write_tsv(path: Path, pairs: list[Pair]) -> Path:
    """Write pairs as `seqline` reads them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in pairs), encoding="utf-8")
    return path


def write_letters(folder: Path, num_train: int = 60) -> Path:
    """Write a data folder with train, valid and test."""
    for seed, (name, number) in enumerate([("train", num_train), ("valid", 20), ("test", 40)], 1):
        write_tsv(folder / f"{name}.tsv", letter_pairs(number, seed))
    return folder


def settings(*more: str, arch: str = "luong") -> list[str]:
    """Return overrides of a run that takes a tenth of a second; `more` stands over them."""
    luong = ["model.score=dot", "model.input_feeding=false"] if arch == "luong" else []
    return ["tokenizer.kind=word", f"model.architecture={arch}", *luong, *NARROW, *more]


def config_for(data: Path, *more: str, arch: str = "luong") -> Config:
    """Return the config of a quick run on `data`."""
    return load_config(None, [*settings(*more, arch=arch), f"data.train={data}"])


def quick_run(data: Path, out: Path, *more: str, **options: Any) -> Trained:
    """Train a quick run."""
    return train(config_for(data, *more), out, **options)


def weights(folder: Path) -> bytes:
    """Return the bytes of a run's weights."""
    return (folder / "weights.safetensors").read_bytes()


def without_times(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the facts of a manifest without what the clock says."""
    return {key: value for key, value in facts.items() if key != "training_seconds"}


def logged(folder: Path) -> list[dict[str, Any]]:
    """Return the lines of metrics.jsonl without what the clock says."""
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    clock = ("seconds", "target_tokens_per_second")
    return [{key: value for key, value in line.items() if key not in clock} for line in lines]


def content(folder: Path) -> dict[str, bytes]:
    """Return every file under a folder by its name there."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def make_reversing_run(folder: Path) -> ReversingRun:
    """Train the run that most tests translate with."""
    data = write_letters(folder / "data", num_train=400)
    train(config_for(data, *WIDE), folder / "run")
    return ReversingRun(folder / "run", data)
