"""The test set as an exam: what a run answers, what the answers are worth, and what each example adds to that.

One class a task, all asked in the same way (exams.py, label_exams.py): nothing else in a comparison knows which task it is.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from seqline.data.text import PairSet, require_pairs
from seqline.errors import UserError, did_you_mean
from seqline.evaluation.metrics import METRICS, Array
from seqline.evaluation.text_metrics import source_lengths
from seqline.run_folder import Run

METRICS_OF_TEXT = ("bleu", "chrf")


class Marking(NamedTuple):
    """How translations are marked. metrics: names in METRICS, the first decides. lowercase: lowercased scores too."""

    metrics: tuple[str, ...] = METRICS_OF_TEXT
    lowercase: bool = False


MARKING = Marking()


def check_marking(marking: Marking, task: str) -> None:
    """Refuse metrics that are unknown or stand twice, or any choice for a task that has scores of its own.

    Raises:
        UserError: as said.
    """
    if task != "translation":
        for where, is_set in (("--metrics", marking.metrics != METRICS_OF_TEXT), ("--lowercase", marking.lowercase)):
            if is_set:
                raise UserError(f"is for translation, and this is {task}", where=where, fix="leave it out")
    for name in marking.metrics:
        if name not in METRICS:
            raise UserError(f"unknown metric {name!r}", where="--metrics", fix=did_you_mean(name, METRICS))
        if marking.metrics.count(name) > 1:
            raise UserError(f"{name!r} is named twice", where="--metrics", fix="name each metric once")
    if not marking.metrics:
        raise UserError("names no metric", where="--metrics", fix="write for instance bleu,chrf")


TIMED = 100
"""So many examples are answered once more, to be timed."""
Answers = Mapping[str, Any]


class Measure(NamedTuple):
    """One score.

    key: in files. label: for people. signature: how it is computed. digits: behind the point.
    statistics: answers -> [N S], what each example adds. value: sums [... S] -> [...].
    """

    key: str
    label: str
    is_higher_better: bool
    signature: str
    digits: int
    statistics: Callable[[Answers], Array]
    value: Callable[[ArrayLike], Array]


class Speed(NamedTuple):
    """How fast answers come. number: of what `unit` says. seconds: in all."""

    number: int
    seconds: float
    unit: str

    @property
    def per_second(self) -> float:
        """The rate."""
        return self.number / max(self.seconds, 1e-9)


class Exam(ABC):
    """A test set.

    unit: what an example is called. length: what is said of its length. measures: the first is the one to quote. num_examples: N.
    """

    unit: str
    length = "source length"
    measures: tuple[Measure, ...]
    num_examples: int

    @abstractmethod
    def answer(self, run: Run) -> dict[str, Any]:
        """Return a run's answers as plain values."""

    @abstractmethod
    def time(self, run: Run) -> Speed:
        """Measure how fast a run answers; a search of some examples, all else is warm already."""

    @abstractmethod
    def reply(self, run: Run, text: str) -> str:
        """Answer one text."""

    @abstractmethod
    def texts(self) -> Sequence[str]:
        """Return what is asked, an example each."""

    def lengths(self) -> tuple[list[int], str]:
        """Return the length of each example, and in what."""
        return source_lengths(self.texts())

    def notes(self, answers: Answers) -> list[str]:
        """Say what stands out in a run's answers."""
        return []

    def expected(self, text: str) -> str | None:
        """Return the reference of a text of the test set, None where there is none."""
        return None

    def middle(self) -> str:
        """Return a text of middle length to look at, the first of that length."""
        lengths, _ = self.lengths()
        rows = sorted((row for row in range(len(lengths)) if lengths[row]), key=lambda row: (lengths[row], row))
        wanted = lengths[rows[len(rows) // 2]]
        return self.texts()[min(row for row in rows if lengths[row] == wanted)]


def timed(count: int, unit: str, work: Callable[[], Any]) -> Speed:
    """Measure how long some work on `count` examples takes."""
    began = time.perf_counter()
    work()
    return Speed(count, time.perf_counter() - began, unit)


class PairExam(Exam):
    """An exam of pairs: what is asked, and what should be answered."""

    def __init__(self, pairs: PairSet) -> None:
        require_pairs(pairs)
        self.sources, self.references = [p.source for p in pairs.pairs], [p.target for p in pairs.pairs]
        self.num_examples = len(self.sources)

    def texts(self) -> Sequence[str]:
        """Return the sources."""
        return self.sources

    def expected(self, text: str) -> str | None:
        """Return the reference that stands beside a source."""
        return self.references[self.sources.index(text)] if text in self.sources else None
