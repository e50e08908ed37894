"""A comparison from beginning to end: sets, plan, trainings, exam, results, page."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seqline import files
from seqline.comparing.asked import Asked, check_asked
from seqline.comparing.budget import parse_budget
from seqline.comparing.exam import METRICS_OF_TEXT, Marking
from seqline.comparing.exams import EXAMS
from seqline.comparing.explaining import explain_all
from seqline.comparing.measuring import measure_all
from seqline.comparing.page import page
from seqline.comparing.plan import keep, open_plan
from seqline.comparing.results import Judging, check_judging, results
from seqline.comparing.sets import read_sets
from seqline.comparing.table import markdown
from seqline.comparing.training import Child, Start, train_all
from seqline.config import Config
from seqline.errors import Stopped, UserError
from seqline.files import PathLike
from seqline.machine import torch_threads
from seqline.training.callbacks import stop_on_signals

RESULTS, TABLE, PAGE = "results.json", "table.md", "report.html"


@dataclass(frozen=True)
class Where:
    """Where the data is, beside the training set.

    valid, test: "" = those of the folder, else held out. keys: names of the two sides in JSON lines.
    """

    valid: str = ""
    test: str = ""
    keys: tuple[str, str] = ("source", "target")


@dataclass(frozen=True)
class Running:
    """How the runs are made. jobs: so many at once. say: takes a line for the user. should_stop: a reason ends it all."""

    jobs: int = 1
    say: Callable[[str], None] = lambda _: None
    should_stop: Callable[[], str | None] = lambda: None
    start: Start = Child
    command: str = ""


@dataclass(frozen=True)
class Compared:
    """A finished comparison. results: what `results.json` holds. table: Markdown. page: the report."""

    folder: Path
    results: dict[str, Any] = field(repr=False)

    @property
    def table(self) -> str:
        """The table as Markdown."""
        return markdown(self.results)

    @property
    def page(self) -> Path:
        """The report for a browser."""
        return self.folder / PAGE

    @property
    def num_failed(self) -> int:
        """Runs that failed."""
        return sum(run["state"] == "failed" for run in self.results["runs"])

    @property
    def num_finished(self) -> int:
        """Runs that did not."""
        return len(self.results["runs"]) - self.num_failed


def run(data: str, asked: Asked, out: Path, where: Where, judging: Judging, running: Running) -> Compared:
    """Compare architectures; what is in `out` already is taken as it is.

    Raises:
        UserError: bad settings or data, or an `out` that holds something else: found before anything is created. Also
            another command that works in `out`.
        Stopped: the user ended it; the same call goes on from there.
    """
    check_asked(asked)
    check_judging(judging, asked)
    if running.jobs < 1:
        raise UserError(f"expected 1 or more, got {running.jobs}", where="--jobs")
    base = asked.base().replace(**{"data.valid": where.valid or None, "data.keys": where.keys})
    sets = read_sets(data, base.data, where.test, base.training.seed)
    exam = EXAMS[asked.task](sets.test, base.data, judging.marking)
    plan = open_plan(asked, sets, out)
    for note in plan.notes:
        running.say(note)
    with files.alone_in(out), torch_threads(asked.threads):
        keep(plan)
        with stop_on_signals() as signalled:
            outcomes = train_all(
                plan,
                jobs=running.jobs,
                say=running.say,
                should_stop=lambda: running.should_stop() or signalled(),
                start=running.start,
            )
            if reason := signalled():
                raise Stopped(reason)
        measured = measure_all(plan, outcomes, exam, running.say, running.should_stop)
        command = running.command or _command(data, asked, out, where, judging, running)
        found = results(plan, asked, exam, measured, judging, command)
        shown = explain_all(plan, measured, exam, judging, found)
        found["example"] = shown.as_json()
        files.write_json(out / RESULTS, found)
        files.write_text(out / TABLE, markdown(found))
        files.write_text(out / PAGE, page(found, shown))
    return Compared(out, found)


def _command(data: str, asked: Asked, out: Path, where: Where, judging: Judging, running: Running) -> str:
    """Return the command that asks for the same; what stands at its default is left out."""
    given = {
        "--archs": ",".join(asked.archs),
        "--seeds": str(asked.seeds),
        "--budget": str(asked.budget),
        "--task": _unless(asked.task, Asked.task),
        "--valid": where.valid,
        "--test": where.test,
        "--keys": _unless(",".join(where.keys), ",".join(Where.keys)),
        "--parameters": str(asked.parameters or ""),
        "--baseline": judging.baseline or "",
        "--metrics": _unless(",".join(judging.marking.metrics), ",".join(METRICS_OF_TEXT)),
        "--sentence": judging.sentence or "",
        "--jobs": str(running.jobs),
        "--threads": str(asked.threads),
        "--device": _unless(asked.device, Asked.device),
        "--out": str(out),
    }
    parts = ["seqline", "compare", data, *(word for name, value in given.items() if value for word in (name, value))]
    parts += ["--lowercase"] if judging.marking.lowercase else []
    for owner, key, value in asked.settings:
        written = str(value).lower() if isinstance(value, bool) else str(value)
        parts += ["--set", f"{owner}:{key}={written}" if owner else f"{key}={written}"]
    return shlex.join(parts)


def _unless(value: str, default: str) -> str:
    return "" if value == default else value


@dataclass(frozen=True)
class More:
    """More of how architectures are compared.

    Args:
        valid: validation data; None: the folder's own, or held out.
        test: test data; None: the folder's own, or held out.
        keys: names of the two sides in JSON lines.
        parameters: the number that every model shall have; None: as the recipes have them.
        baseline: what the others are tested against; None: the best one.
        metrics: of translations, names in METRICS; the first decides which is better.
        lowercase: lowercased scores too.
        sentence: what all models are shown on the page; None: a sentence of the test set.
        jobs: trainings at once.
        threads: of each.
        device: where they are trained: cpu, cuda, mps.
        say: takes one line of progress.
    """

    valid: PathLike | None = None
    test: PathLike | None = None
    keys: tuple[str, str] = ("source", "target")
    parameters: int | None = None
    baseline: str | None = None
    metrics: Sequence[str] = METRICS_OF_TEXT
    lowercase: bool = False
    sentence: str | None = None
    jobs: int = 1
    threads: int = 1
    device: str = "cpu"
    say: Callable[[str], None] = lambda _: None


def compare(
    data: PathLike,
    archs: Sequence[str],
    out: PathLike,
    *,
    seeds: int = 1,
    budget: str = "5m",
    task: str = "translation",
    settings: Mapping[str, Any] | None = None,
    more: More | None = None,
) -> Compared:
    """Compare architectures at one budget on one corpus, as `seqline compare DATA --archs A,B --out DIR`.

    Args:
        data: TSV, "SRC,TGT", JSONL, or a folder with train, valid and test; plain text for a language model.
        archs: names in ARCHITECTURES.
        out: folder to make, or one to go on with.
        seeds: runs an architecture.
        budget: of each run: 300s, 5m, 2000steps, 2Mtokens.
        task: translation, language_model (or lm), tagging or classification.
        settings: dotted keys, such as {"model.hidden_size": 128}; {"luong:model.score": "dot"} is for one architecture.
        more: all else.

    Raises:
        UserError: bad data or settings, or an `out` that holds something else.
        Stopped: a signal came while runs were trained; the same call goes on from there.
    """
    more = more or More()
    if seeds < 1:
        raise UserError(f"expected 1 or more, got {seeds}", where="--seeds")
    given = tuple((*_owned(key), value) for key, value in (settings or {}).items())
    task = Config().replace(**{"data.task": task}).data.task
    budget_of_all = parse_budget(budget)
    asked = Asked(tuple(archs), seeds, budget_of_all, task, given, more.parameters, more.threads, more.device)
    where = Where(*(str(path) if path is not None else "" for path in (more.valid, more.test)), keys=more.keys)
    judging = Judging(more.baseline, sentence=more.sentence, marking=Marking(tuple(more.metrics), more.lowercase))
    return run(str(data), asked, Path(out), where, judging, Running(jobs=more.jobs, say=more.say))


def _owned(key: str) -> tuple[str, str]:
    owner, colon, rest = key.partition(":")
    return (owner, rest) if colon else ("", key)
