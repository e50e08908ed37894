"""The commands as functions: what `seqline train` and `seqline evaluate` do, for Python."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from seqline.config import Config
from seqline.data.text import PairSet, read_pairs, read_set
from seqline.errors import UserError
from seqline.report import Report
from seqline.report import evaluate as evaluate_pairs
from seqline.run import Trained
from seqline.run import train as train_run
from seqline.translator import Translator

PathLike = str | os.PathLike[str]


def train(
    data: PathLike,
    arch: str,
    out: PathLike,
    *,
    valid: PathLike | None = None,
    settings: Mapping[str, Any] | None = None,
    max_minutes: float | None = None,
    seed: int | None = None,
    resume: bool = False,
) -> Trained:
    """Train a model and leave a run folder, as `seqline train DATA --arch A --out RUN`.

    Args:
        data: TSV, "SRC,TGT", JSONL, or a folder with train, valid and test.
        arch: a name in ARCHITECTURES.
        out: folder to make.
        valid: validation data; None: the folder's own, or 2 % held out.
        settings: dotted keys, such as {"training.max_steps": 500, "model.hidden_size": 128}.
        max_minutes: fit the whole schedule into this time.
        seed: of everything random; None: 1.
        resume: go on with the run in `out`.

    Raises:
        UserError: bad data or settings, or an `out` that exists.
    """
    named = {"data.train": os.fspath(data), "model.architecture": arch}
    optional = {
        "data.valid": os.fspath(valid) if valid is not None else None,
        "training.max_minutes": float(max_minutes) if max_minutes is not None else None,
        "training.seed": seed,
    }
    given = {key: value for key, value in optional.items() if value is not None}
    return train_run(Config().replace(**named, **(settings or {}), **given), out, resume=resume)


def evaluate(
    run: PathLike | Translator, data: PathLike, *, beam_size: int | None = None, lowercase: bool = False
) -> Report:
    """Score a run on a corpus, as `seqline evaluate RUN DATA`.

    Args:
        run: folder of a run, or a loaded Translator.
        data: TSV, "SRC,TGT", JSONL, or a folder, of which the test set is taken.
        beam_size: 1 is greedy; None: the run's own.
        lowercase: add lowercased scores.

    Raises:
        UserError: no such run or data.
    """
    translator = run if isinstance(run, Translator) else Translator.load(run)
    return evaluate_pairs(
        translator, read_scored(os.fspath(data), translator.data.keys), beam_size=beam_size, lowercase=lowercase
    )


def read_scored(data: str, keys: tuple[str, str]) -> PairSet:
    """Read the pairs to score: a set, or the test set of a folder.

    Raises:
        UserError: nothing there, or no test set in the folder.
    """
    pairs = read_set(data, "test", keys) if Path(data).is_dir() else read_pairs(data, keys)
    if pairs is None:
        raise UserError("no test set in this folder", where=data, fix="name the file itself")
    return pairs
