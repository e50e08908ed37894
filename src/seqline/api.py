"""The commands as functions: what `seqline train` and `seqline evaluate` do, for Python."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from seqline import label_report, language_report, report
from seqline.config import Config
from seqline.data.plain import Text, read_plain, read_plain_set
from seqline.data.text import PairSet, read_pairs, read_set
from seqline.errors import UserError
from seqline.generator import Generator
from seqline.label_report import LabelReport
from seqline.labeller import Labeller
from seqline.language_report import LanguageReport
from seqline.recording.learning import with_training
from seqline.report import Report
from seqline.run import Trained
from seqline.run import train as train_run
from seqline.run_folder import Run, load_run
from seqline.translator import Translator
from seqline.visualize.trace import Trace

PathLike = str | os.PathLike[str]


def train(
    data: PathLike,
    arch: str,
    out: PathLike,
    *,
    task: str = "translation",
    valid: PathLike | None = None,
    settings: Mapping[str, Any] | None = None,
    max_minutes: float | None = None,
    seed: int | None = None,
    resume: bool = False,
) -> Trained:
    """Train a model and leave a run folder, as `seqline train DATA --arch A --out RUN`.

    Args:
        data: TSV, "SRC,TGT", JSONL, or a folder with train, valid and test; plain text for a language model.
        arch: a name in ARCHITECTURES.
        out: folder to make.
        task: translation, language_model (or lm), tagging or classification.
        valid: validation data; None: the folder's own, or 2 % held out.
        settings: dotted keys, such as {"training.max_steps": 500, "model.hidden_size": 128}.
        max_minutes: fit the whole schedule into this time.
        seed: of everything random; None: 1.
        resume: go on with the run in `out`.

    Raises:
        UserError: bad data or settings, or an `out` that exists.
    """
    named = {"data.train": os.fspath(data), "model.architecture": arch, "data.task": task}
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
    """Score a translating run on a corpus, as `seqline evaluate RUN DATA`.

    Args:
        run: folder of a run, or a loaded Translator.
        data: TSV, "SRC,TGT", JSONL, or a folder, of which the test set is taken.
        beam_size: 1 is greedy; None: the run's own.
        lowercase: add lowercased scores.

    Raises:
        UserError: no such run or data, or a run for another task.
    """
    translator = run if isinstance(run, Translator) else Translator.load(run)
    pairs = read_scored(os.fspath(data), translator.data.keys)
    return report.evaluate(translator, pairs, beam_size=beam_size, lowercase=lowercase)


def evaluate_text(run: PathLike | Run, data: PathLike) -> LanguageReport:
    """Score a language model on a text, or on the test text of a folder, as `seqline evaluate RUN DATA`.

    Raises:
        UserError: no such run or text, or a run for another task.
    """
    loaded = run if isinstance(run, Run) else load_run(Path(run))
    return language_report.evaluate(loaded, read_scored_text(os.fspath(data)))


def evaluate_labels(run: PathLike | Run, data: PathLike) -> LabelReport:
    """Score a tagger or classifier on labelled text, or on the test set of a folder, as `seqline evaluate RUN DATA`.

    Raises:
        UserError: no such run or data, or a run for another task.
    """
    loaded = run if isinstance(run, Run) else load_run(Path(run))
    return label_report.evaluate(loaded, read_scored(os.fspath(data), loaded.config.data.keys))


def explain(
    run: PathLike | Run,
    text: str,
    *,
    beam_size: int | None = None,
    force: Mapping[int, int | str] | None = None,
    device: str = "cpu",
    training: bool = False,
    **options: Any,
) -> Trace:
    """Record what a model does with one text, as `seqline explain RUN TEXT`; the run says which task it is.

    Args:
        run: a run folder, or one that is loaded.
        text: to translate, to go on from, or to label.
        beam_size: hypotheses kept, for a translation.
        force: what if: tokens at output steps counted from 1, for a translation or a continuation.
        device: where to compute.
        training: with the curves of its training, and how each kept copy of its weights reads this text.
        options: others of `Translator.explain`, `Generator.explain` or `Labeller.explain`.

    Raises:
        UserError: an option that the task has no use for; see also the three methods.
    """
    loaded = run if isinstance(run, Run) else load_run(Path(run), device)
    task = loaded.config.data.task
    if beam_size is not None and task != "translation":
        raise UserError(f"is for translation, and this run is for {task}", where="beam_size", fix="leave it out")
    if force and task not in ("translation", "language_model"):
        raise UserError(f"is for what is written, and this run is for {task}", where="force", fix="leave it out")
    if task == "translation":
        trace = Translator.of(loaded).explain(text, beam_size=beam_size, force=force, **options)
    elif task == "language_model":
        trace = Generator.of(loaded).explain(text, force=force, **options)
    else:
        trace = Labeller.of(loaded).explain(text, **options)
    return with_training(trace, loaded) if training else trace


def read_scored(data: str, keys: tuple[str, str]) -> PairSet:
    """Read the pairs to score: a set, or the test set of a folder.

    Raises:
        UserError: nothing there, or no test set in the folder.
    """
    pairs = read_set(data, "test", keys) if Path(data).is_dir() else read_pairs(data, keys)
    if pairs is None:
        raise UserError("no test set in this folder", where=data, fix="name the file itself")
    return pairs


def read_scored_text(data: str) -> Text:
    """Read the text to score: a file, or the test text of a folder.

    Raises:
        UserError: nothing there, or no test text in the folder.
    """
    text = read_plain_set(data, "test") if Path(data).is_dir() else read_plain(data)
    if text is None:
        raise UserError("no test text in this folder", where=data, fix="name the file itself")
    return text
