"""The commands as functions: what `seqline train` and `seqline evaluate` do, for Python."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seqline import label_report, language_report, report
from seqline.config import Config
from seqline.errors import UserError
from seqline.generator import Generator
from seqline.judging.comparison import Resampling
from seqline.judging.reading import read_scored, read_scored_text, read_system, read_training
from seqline.judging.systems import RunSystem
from seqline.label_report import LabelReport
from seqline.labeller import Labeller
from seqline.language_report import LanguageReport
from seqline.predictor import Predictor
from seqline.recording.by_hand import Rows
from seqline.recording.forecast_asked import Asked
from seqline.recording.learning import with_training
from seqline.report import Report, Wanted
from seqline.run import Trained
from seqline.run import train as train_run
from seqline.run_folder import Run, load_run
from seqline.translator import Translator
from seqline.visualize.trace import Trace
from seqline.watch import LIMIT_MB

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


@dataclass(frozen=True)
class Judging:
    """More of how a run is judged.

    Args:
        resamples: trials of each test of significance.
        seed: of the tests; the same seed gives the same p-values.
        num_examples: the most sentences listed as worst, as gains and as losses.
    """

    resamples: int = Resampling.resamples
    seed: int = Resampling.seed
    num_examples: int = Wanted.num_examples


def evaluate(
    run: PathLike | Translator,
    data: PathLike,
    *,
    beam_size: int | None = None,
    lowercase: bool = False,
    metrics: Sequence[str] = (),
    against: PathLike | Translator | None = None,
    frequencies: PathLike | None = None,
    more: Judging | None = None,
) -> Report:
    """Score a translating run on a corpus, as `seqline evaluate RUN DATA`.

    Args:
        run: folder of a run, or a loaded Translator.
        data: TSV, "SRC,TGT", JSONL, or a folder, of which the test set is taken.
        beam_size: 1 is greedy; None: the run's own.
        lowercase: add lowercased scores.
        metrics: names beside BLEU, chrF2 and exact match: ter, wer, per, cer, rouge1, rouge2, rougeL, distinct, or all.
        against: a system to compare with: another run, or a text file with one output a line.
        frequencies: the training text: adds word F1 by how often a word stands in its target side.
        more: all else.

    Raises:
        UserError: no such run or data, a run for another task, or an unknown metric.
    """
    more = more or Judging()
    translator = run if isinstance(run, Translator) else Translator.load(run)
    keys = translator.data.keys
    pairs = read_scored(os.fspath(data), keys)
    rival = RunSystem(against) if isinstance(against, Translator) else against
    wanted = Wanted(
        metrics=tuple(metrics),
        training=None if frequencies is None else read_training(os.fspath(frequencies), keys),
        against=read_system(os.fspath(rival), pairs) if isinstance(rival, str | os.PathLike) else rival,
        resampling=Resampling(more.resamples, more.seed),
        num_examples=more.num_examples,
    )
    return report.evaluate(translator, pairs, beam_size=beam_size, lowercase=lowercase, wanted=wanted)


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


@dataclass(frozen=True)
class Explaining:
    """More of how a text is recorded.

    Args:
        max_tokens: of a language model, as are the next three; see `Generator.explain`. None: its default.
        temperature: 0 is greedy.
        top_k: draw from so many.
        top_p: draw from this share.
        timing: with times, which differ from one recording to the next.
        seed: of every draw.
        limit_mb: the most that is recorded, in 10^6 bytes.
        forecast: which series is forecast, and from how much of it.
    """

    max_tokens: int | None = None
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    timing: bool = True
    seed: int = 0
    limit_mb: float = LIMIT_MB
    forecast: Asked | None = None


ALWAYS = ("timing", "seed", "limit_mb")
OPTIONS: dict[str, tuple[str, ...]] = {
    "translation": (*ALWAYS, "beam_size", "force", "attention_rows"),
    "language_model": (*ALWAYS, "force", "max_tokens", "temperature", "top_k", "top_p"),
    "tagging": ALWAYS,
    "classification": ALWAYS,
    "forecasting": (*ALWAYS, "forecast"),
}
"""What `explain` takes for a run of each task."""
_USERS: dict[str, type[Translator | Generator | Labeller | Predictor]] = {
    "translation": Translator,
    "language_model": Generator,
    "forecasting": Predictor,
}


def explain(
    run: PathLike | Run,
    text: Any,
    *,
    beam_size: int | None = None,
    force: Mapping[int, int | str] | None = None,
    attention_rows: Rows | None = None,
    device: str = "cpu",
    training: bool = False,
    more: Explaining | None = None,
) -> Trace:
    """Record what a model does with one text, as `seqline explain RUN TEXT`; the run says which task it is.

    Args:
        run: a run folder, or one that is loaded.
        text: to translate, to go on from, or to label; histories to forecast, see `Predictor.explain`.
        beam_size: hypotheses kept, for a translation.
        force: what if: tokens at output steps counted from 1, for a translation or a continuation.
        attention_rows: what if: weights at output steps, for a translation; see `Translator.explain`.
        device: where to compute.
        training: with the curves of its training, and how each kept copy of its weights reads this text.
        more: all else.

    Raises:
        UserError: an option that the task has no use for; see also `explain` of the translator, generator, labeller and
            predictor.
    """
    loaded = run if isinstance(run, Run) else load_run(Path(run), device)
    task = loaded.config.data.task
    asked = {"beam_size": beam_size, "force": force, "attention_rows": attention_rows, **vars(more or Explaining())}
    given = {name: value for name, value in asked.items() if value not in (None, {}, [], ())}
    for name in given:
        if name not in OPTIONS[task]:
            wanted = " or ".join(each for each in OPTIONS if name in OPTIONS[each])
            what = f"is for {wanted}, and the run {loaded.folder.name} is for {task}"
            raise UserError(what, where=name, fix="leave it out")
    trace = _USERS.get(task, Labeller).of(loaded).explain(text, **given)
    return with_training(trace, loaded) if training else trace
