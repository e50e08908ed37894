"""The lab that an experiment is given: its folder, its scale, its corpora and the models of the zoo."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from seqline import files
from seqline.errors import Stopped, UserError, counted, did_you_mean

if TYPE_CHECKING:
    from seqline.comparing.training import Start
    from seqline.lab.experiment import Wanted

T = TypeVar("T")
DATA = "data"
QUICK_SEEDS = 1
FULL_SEEDS = 3


@dataclass(frozen=True)
class Lab:
    """Where and at what scale experiments are made.

    Attributes:
        folder: of everything; created by what is written first.
        is_quick: minutes, not an hour.
        seeds: models of each kind; None: as many as the scale asks for.
        data: the user's corpus, which takes the place of the toy pair.
        jobs: trainings at once. threads: CPU threads of each.
        say: takes one line for the user.
        should_stop: a reason ends the lab; the same call goes on from there.
        corpora: makers of corpora by name; None: those of the lab.
        data_steps: updates of each model that learns `data`; None: as many as the scale asks for.
        most_steps: a limit to every training of the zoo, for a look at the course of things.
        start: begins one training; None: in a process of its own.
    """

    folder: Path
    is_quick: bool = False
    seeds: int | None = None
    data: Path | str | None = None
    jobs: int = 1
    threads: int = 1
    say: Callable[[str], None] = lambda _: None
    should_stop: Callable[[], str | None] = lambda: None
    corpora: Mapping[str, MakeCorpus] | None = None
    data_steps: int | None = None
    most_steps: int | None = None
    start: Start | None = None

    def seed_numbers(self) -> range:
        """Return the seeds, from 1 on."""
        return range(1, 1 + (self.seeds or self.pick(FULL_SEEDS, QUICK_SEEDS)))

    def seeds_said(self) -> str:
        """Return "1 seed" or "3 seeds"."""
        return counted(len(self.seed_numbers()), "seed")

    def pick(self, full: T, quick: T) -> T:
        """Return what fits the scale."""
        return quick if self.is_quick else full

    def steps(self, wanted: Wanted) -> int:
        """Return for how many steps a model is trained."""
        steps = self.pick(wanted.steps, wanted.quick_steps)
        return min(steps, self.most_steps or steps)

    def corpus(self, name: str) -> Path:
        """Return the folder of a corpus with its train, valid and test files; it is made the first time.

        Raises:
            UserError: no corpus has this name, or the user's own does not read.
        """
        makers = self.corpora if self.corpora is not None else _corpora_of_the_lab()
        if name not in makers:
            raise UserError(f"no corpus {name!r} in the lab", fix=did_you_mean(name, makers))
        folder = self.folder / DATA / name
        if not folder.exists():
            with files.new_folder(folder) as being_made:
                being_made.rmdir()  # a maker may write files into it, or make it as a whole
                makers[name](being_made, self)
        return folder

    @property
    def toy_name(self) -> str:
        """The name of the corpus that is the toy pair with its gold links, whether or not the user gave one."""
        return "toy" if self.data is not None else "pair"

    def train(self, wanted: Iterable[Wanted]) -> dict[Wanted, str]:
        """Train what is missing in the zoo; return the models that cannot be trained, with the reasons.

        Raises:
            Stopped: `should_stop` gave a reason.
        """
        from seqline.lab.zoo import train_zoo

        return train_zoo(self, wanted)

    def run(self, wanted: Wanted) -> Path:
        """Return the run folder of a model; it is trained if it is missing.

        Raises:
            UserError: it cannot be trained.
            Stopped: `should_stop` gave a reason.
        """
        from seqline.lab.zoo import is_trained, run_folder

        if not is_trained(self, wanted) and (failed := self.train([wanted])):
            raise UserError(failed[wanted], where=str(run_folder(self, wanted)))
        return run_folder(self, wanted)

    def check_stop(self) -> None:
        """End the measurement where the user asked for it; for loops that take long.

        Raises:
            Stopped: `should_stop` gave a reason.
        """
        if reason := self.should_stop():
            raise Stopped(reason)


MakeCorpus: TypeAlias = Callable[[Path, Lab], None]
"""Makes a folder, not there yet, with train, valid and test files."""


def _corpora_of_the_lab() -> Mapping[str, MakeCorpus]:
    from seqline.lab.catalogue import corpora

    return corpora()
