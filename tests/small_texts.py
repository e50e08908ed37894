"""Texts of a small language, and quick runs of language models, taggers and classifiers on them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from seqline.config import Config, load_config
from seqline.run import Trained, train

NOUNS, VERBS, NAMES = ["cat", "dog", "bird"], ["sees", "hears"], ["Ana", "Bo", "Paris"]
TAG_OF = {**dict.fromkeys(NOUNS, "N"), **dict.fromkeys(VERBS, "V"), **dict.fromkeys(NAMES, "B-NAME"), "the": "D"}
QUICK = [
    "model.embed_size=8",
    "model.dropout=0.2",
    "training.max_steps=4",
    "training.validate_every=2",
    "training.checkpoint_every=2",
    "training.validate_sentences=6",
]
RECURRENT = ["model.hidden_size=8"]
BLOCKS = ["model.num_layers=1", "model.num_heads=2", "model.inner_size=16"]


def sentences(number: int, seed: int) -> list[str]:
    """Return sentences of one, three or five words."""
    rng = random.Random(seed)
    rows = []
    for _ in range(number):
        name, nouns, verb = rng.choice(NAMES), rng.sample(NOUNS, 2), rng.choice(VERBS)
        rows.append(rng.choice([name, f"{name} {verb} {rng.choice(NAMES)}", f"the {nouns[0]} {verb} the {nouns[1]}"]))
    return rows


def write_texts(folder: Path, num_train: int = 30) -> Path:
    """Write train.txt, valid.txt and test.txt; every third line is followed by a blank one."""
    folder.mkdir(parents=True, exist_ok=True)
    for seed, (name, number) in enumerate([("train", num_train), ("valid", 8), ("test", 10)]):
        lines = [line + "\n" * (1 + (i % 3 == 0)) for i, line in enumerate(sentences(number, seed))]
        (folder / f"{name}.txt").write_text("".join(lines), encoding="utf-8")
    return folder


def write_tagged(folder: Path) -> Path:
    """Write train.tsv, valid.tsv and test.tsv of tokens and their tags."""
    return _write_tsv(folder, lambda line: " ".join(TAG_OF[word] for word in line.split()))


def write_classed(folder: Path) -> Path:
    """Write train.tsv, valid.tsv and test.tsv of texts and whether they begin with a name."""
    return _write_tsv(folder, lambda line: "name" if line.split()[0] in NAMES else "no name")


def _write_tsv(folder: Path, label: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for seed, (name, number) in enumerate([("train", 30), ("valid", 8), ("test", 10)]):
        rows = [f"{line}\t{label(line)}\n" for line in sentences(number, seed)]
        (folder / f"{name}.tsv").write_text("".join(rows), encoding="utf-8")
    return folder


def settings_for(task: str, arch: str, *more: str) -> list[str]:
    """Return the overrides of a quick run; `more` stands over them."""
    widths = BLOCKS if arch.startswith(("transformer", "ttt", "ssru")) else RECURRENT
    stream = ["data.context=8", "training.batch_tokens=32"]
    is_stream = task == "lm" and "data.unit=lines" not in more
    own = stream if is_stream else ["training.batch_tokens=60"]
    return [f"data.task={task}", f"model.architecture={arch}", *widths, *QUICK, *own, *more]


def config_of(task: str, data: Path, arch: str, *more: str) -> Config:
    """Return the config of a quick run on `data`."""
    return load_config(None, [*settings_for(task, arch, *more), f"data.train={data}"])


def quick(task: str, data: Path, out: Path, arch: str, *more: str, **options: Any) -> Trained:
    """Train a quick run."""
    return train(config_of(task, data, arch, *more), out, **options)
