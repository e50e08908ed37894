"""A session in the lab: which experiments, their models, their measurements, and the pages that say what came out."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from seqline import files
from seqline.errors import Stopped, UserError, told
from seqline.files import PathLike
from seqline.lab import results
from seqline.lab.catalogue import EXPERIMENTS, chosen
from seqline.lab.experiment import Experiment, Finding, Wanted
from seqline.lab.laboratory import Lab
from seqline.lab.page import page
from seqline.lab.results import Made, Result
from seqline.lab.written import experiment_page, overview
from seqline.lab.zoo import LEARNED_RULE, name_of, trained, unlearned
from seqline.machine import torch_threads
from seqline.training.callbacks import stop_on_signals
from seqline.visualize.html import seqline_version

LAB, OVERVIEW, PAGE = "lab.json", "lab.md", "index.html"
SCALE = "scale.json"


@dataclass(frozen=True)
class Measured:
    """What is known after a session. results: of every experiment in the folder, in the order of history."""

    folder: Path
    results: list[Result] = field(repr=False)
    names: tuple[str, ...] = ()

    @property
    def page(self) -> Path:
        """The page for a browser."""
        return self.folder / PAGE

    @property
    def asked(self) -> list[Result]:
        """The results that were asked for."""
        return [result for result in self.results if result["name"] in self.names]

    @property
    def failed(self) -> list[Result]:
        """Those of them that came to none."""
        return [result for result in self.asked if result["state"] == results.FAILED]


def run(names: Sequence[str], lab: Lab, experiments: Mapping[str, Experiment] = EXPERIMENTS) -> Measured:
    """Make experiments; what the folder has of them under the same settings is taken as it is.

    Args:
        names: as `chosen` gives them.
        lab: where and at what scale.
        experiments: those there are.

    Raises:
        UserError: a corpus that does not read, or a folder that holds something else: found before anything is created. Also
            another lab at work in the folder.
        Stopped: the user ended the trainings; the same call goes on from there.
    """
    session = _Session(lab, experiments)
    session.open()
    with files.alone_in(lab.folder), torch_threads(lab.threads):
        begun = [begin for name in names if (begin := session.begin(name)) is not None]
        with stop_on_signals() as asked:
            training = replace(lab, should_stop=lambda: lab.should_stop() or asked())
            untrained = training.train(wanted for one in begun for wanted in one.models)
            training.check_stop()
        for number, one in enumerate(begun, 1):
            if reason := lab.should_stop():
                raise Stopped(reason)
            lab.say(f"{one.name}: measuring ({number} of {len(begun)})")
            session.measure(one, untrained)
            session.write()
        return Measured(lab.folder, session.write(), tuple(names))


@dataclass(frozen=True)
class _Begun:
    """An experiment that must be measured. reason: why it cannot be."""

    name: str
    made: Made
    experiment: Experiment | None = None
    models: tuple[Wanted, ...] = ()
    reason: str | None = None


class _Session:
    """One folder with experiments."""

    def __init__(self, lab: Lab, experiments: Mapping[str, Experiment]) -> None:
        self.lab, self.experiments = lab, experiments
        self.scale = _scale(lab)

    def open(self) -> None:
        """Make the folder, or check that it holds a lab of the same corpus and scale.

        Raises:
            UserError: it holds something else.
        """
        folder = self.lab.folder
        if not folder.exists():
            with files.new_folder(folder) as new:
                files.write_json(new / SCALE, self.scale)
            return
        try:
            known = json.loads(files.read_bytes(folder / SCALE)) if (folder / SCALE).is_file() else None
        except ValueError:
            known = None
        if not isinstance(known, dict):
            raise UserError("exists already and holds no lab", where=str(folder), fix="name another --out")
        for key, value in self.scale.items():
            if known.get(key) != value:
                what = f"holds a lab with {key} {known.get(key)!r}, not {value!r}"
                raise UserError(what, where=str(folder), fix="name another --out, or ask for the same")

    def begin(self, name: str) -> _Begun | None:
        """Return what is to be measured; None where it was measured before."""
        made = Made({**self.scale, "threads": self.lab.threads})
        try:
            experiment = self.experiments[name]
            if experiment.has_seeds:
                made = replace(made, settings={**made.settings, "seeds": len(self.lab.seed_numbers())})
            models = experiment.models(self.lab)
            made = replace(made, models=sorted({name_of(self.lab, wanted) for wanted in models}))
        except Exception as error:  # one experiment's fault, whatever it is, is not the lab's end
            return _Begun(name, made, reason=told(error))
        known = results.read(self.lab.folder / name)
        if known is not None and results.is_same(known, experiment, made):
            self.lab.say(f"{name}: measured before, taken as it is")
            return None
        return _Begun(name, made, experiment, models)

    def measure(self, one: _Begun, untrained: Mapping[Wanted, str]) -> None:
        """Measure, and write what was found, or why nothing was."""
        result, finding = self._result(one, untrained, time.monotonic())
        folder = self.lab.folder / one.name
        results.write(folder, result, finding)
        files.write_text(folder / f"{one.name}.md", experiment_page(result))
        self.lab.say(f"{one.name}: {_summary(result)}")

    def _result(self, one: _Begun, untrained: Mapping[Wanted, str], began: float) -> tuple[Result, Finding | None]:
        reason = one.reason or next(
            (f"a model could not be trained: {untrained[wanted]}" for wanted in one.models if wanted in untrained), None
        )
        if reason is None and one.experiment is not None:
            try:
                finding = one.experiment.measure(self.lab)
                learners = [each for each in one.models if each.arch in one.experiment.learners]
                if said := unlearned(self.lab, learners):
                    finding = finding.undecided(LEARNED_RULE, said)
                seconds = time.monotonic() - began
                made = replace(
                    one.made, seconds=seconds, trained=[trained(self.lab, each) for each in dict.fromkeys(one.models)]
                )
                return results.finished(one.experiment, finding, made), finding
            except Stopped:
                raise
            except Exception as error:  # as above
                reason = told(error)
        made = replace(one.made, seconds=time.monotonic() - began)
        return results.failed(one.name, reason or "", made, one.experiment), None

    def write(self) -> list[Result]:
        """Write the pages on all that the folder holds, and return it."""
        folder = self.lab.folder
        found = [result for name in self.experiments if (result := results.read(folder / name)) is not None]
        files.write_json(folder / LAB, {"version": seqline_version(), "scale": self.scale, "experiments": found})
        files.write_text(folder / OVERVIEW, overview(found, self.scale))
        files.write_text(folder / PAGE, page(found, self.scale, folder))
        return found


def _scale(lab: Lab) -> dict[str, Any]:
    """Return what all experiments of a folder have in common.

    Raises:
        UserError: a corpus of the user that does not read, or none where one is needed.
    """
    digest = None
    if lab.data == "-":
        raise UserError("expected a file or a folder", where="--data", fix="write what comes in into a file first")
    if lab.data_steps is not None and lab.data is None:
        raise UserError("is for models of your own corpus", where="--steps", fix="give one by --data, or leave it out")
    if lab.data is not None:
        from seqline.lab.corpora import user_sets

        digest = user_sets(str(lab.data)).fingerprint
    return {
        "quick": lab.is_quick,
        "data_sha256": digest,
        "data_steps": lab.data_steps,
        "most_steps": lab.most_steps,
    }


def _summary(result: Result) -> str:
    if result["state"] == results.FAILED:
        return f"failed: {result['reason']}"
    states = [f"{count} {state}" for state, count in results.count_states([result]).items() if count]
    return f"{', '.join(states)} in {result['seconds']:.0f} s"


def run_lab(
    names: str | Iterable[str],
    out: PathLike,
    *,
    quick: bool = False,
    data: PathLike | None = None,
    seeds: int | None = None,
    jobs: int = 1,
    threads: int = 1,
    steps: int | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Measured:
    """Measure claims of the history again, as `seqline lab NAME --out DIR`.

    Args:
        names: of experiments: "all", "heads,cost", or several.
        out: folder to make, or one to go on with.
        quick: minutes instead of an hour, and more that stays undecided.
        data: a parallel corpus that takes the place of the toy pair: TSV, "SRC,TGT", JSONL, or a folder.
        seeds: models of each kind; None: as many as the scale asks for.
        jobs: trainings at once.
        threads: CPU threads of each.
        steps: training updates of each model that learns `data`; None: as many as the scale asks for.
        say: takes one line of progress.

    Raises:
        UserError: no such experiment, bad data, or an `out` that holds something else.
        Stopped: a signal came while models were trained; the same call goes on from there.
    """
    for name, value in (("--seeds", seeds), ("--jobs", jobs), ("--threads", threads), ("--steps", steps)):
        if value is not None and value < 1:
            raise UserError(f"expected 1 or more, got {value}", where=name)
    lab = Lab(Path(out), quick, seeds, None if data is None else str(data), jobs, threads, say, data_steps=steps)
    return run(chosen(names), lab)
