"""Exams of labels: tags of tokens, classes of texts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from seqline.comparing.exam import TIMED, Answers, Marking, Measure, PairExam, Speed, timed
from seqline.config import DataConfig
from seqline.data.labelled import check_classes, check_tagging, split_tokens
from seqline.data.text import PairSet, Tally
from seqline.evaluation.metrics import Array
from seqline.evaluation.significance import mean_statistics, mean_value
from seqline.evaluation.tag_metrics import entities_of, has_entities
from seqline.labeller import Labeller
from seqline.prepare import spaced
from seqline.run_folder import Run


class TaggingExam(PairExam):
    """Lines of tokens to tag; accuracy of tokens and F1 of entities, where there are any."""

    unit = "lines"

    def __init__(self, test: PairSet, data: DataConfig, _: Marking) -> None:
        super().__init__(check_tagging(spaced(test, data), Tally(len(test.pairs))))
        self.tags = [split_tokens(reference) for reference in self.references]
        measures = [Measure("accuracy", "accuracy", True, "tokens, 0 to 100", 2, self._accuracy, _percent)]
        if has_entities(tag for tags in self.tags for tag in tags):
            told = "entities as in CoNLL, micro, 0 to 100"
            measures.append(Measure("entity_f1", "entity F1", True, told, 2, self._entities, _f1))
        self.measures = tuple(measures)

    def answer(self, run: Run) -> dict[str, Any]:
        """Tag everything."""
        return {"outputs": [" ".join(tags) for tags in Labeller.of(run).tag(self.sources)]}

    def time(self, run: Run) -> Speed:
        """Tag the first lines once more."""
        sources, labeller = self.sources[:TIMED], Labeller.of(run)
        return timed(len(sources), "lines/s", lambda: labeller.tag(sources))

    def reply(self, run: Run, text: str) -> str:
        """Tag one line."""
        return " ".join(Labeller.of(run).tag([text])[0])

    def _accuracy(self, answers: Answers) -> Array:
        rows = zip(map(str.split, answers["outputs"]), self.tags, strict=True)
        right = [sum(a == b for a, b in zip(*row, strict=True)) for row in rows]
        return mean_statistics(right, [len(tags) for tags in self.tags])

    def _entities(self, answers: Answers) -> Array:
        """Return for each line the entities right, found, and there."""
        rows = []
        for output, tags in zip(answers["outputs"], self.tags, strict=True):
            found, true = set(entities_of(output.split())), set(entities_of(tags))
            rows.append((len(found & true), len(found), len(true)))
        return np.array(rows, np.float64)


class ClassificationExam(PairExam):
    """Texts to put into classes; accuracy and macro F1."""

    unit = "texts"

    def __init__(self, test: PairSet, data: DataConfig, _: Marking) -> None:
        super().__init__(check_classes(spaced(test, data), Tally(len(test.pairs))))
        self.names = sorted(set(self.references))
        self.measures = (
            Measure("accuracy", "accuracy", True, "texts, 0 to 100", 2, self._accuracy, _percent),
            Measure("macro_f1", "macro F1", True, "mean over the classes of the reference, 0 to 100", 2,
                    self._shares, _macro_f1),
        )  # fmt: skip

    def answer(self, run: Run) -> dict[str, Any]:
        """Classify everything."""
        return {"outputs": [found.label for found in Labeller.of(run).classify(self.sources)]}

    def time(self, run: Run) -> Speed:
        """Classify the first texts once more."""
        sources, labeller = self.sources[:TIMED], Labeller.of(run)
        return timed(len(sources), "texts/s", lambda: labeller.classify(sources))

    def reply(self, run: Run, text: str) -> str:
        """Classify one text."""
        return Labeller.of(run).classify([text])[0].label

    def _accuracy(self, answers: Answers) -> Array:
        return mean_statistics([a == b for a, b in zip(answers["outputs"], self.references, strict=True)])

    def _shares(self, answers: Answers) -> Array:
        """Return [N 3C]: for each class whether it is right, found, and there."""
        found, true = (np.array([[a == name for name in self.names] for a in some], np.float64)
                       for some in (answers["outputs"], self.references))  # fmt: skip
        return np.concatenate([found * true, found, true], axis=1)


def _percent(sums: ArrayLike) -> Array:
    return 100.0 * mean_value(sums)


def _f1(sums: ArrayLike) -> Array:
    """Return 200 right / (found + there), 0 where nothing is."""
    right, found, true = np.moveaxis(np.asarray(sums, np.float64), -1, 0)
    return (200.0 * right / np.where(found + true > 0, found + true, np.inf))[()]


def _macro_f1(sums: ArrayLike) -> Array:
    """Return the mean F1 of the classes that are there."""
    right, found, true = np.split(np.asarray(sums, np.float64), 3, axis=-1)
    each = 200.0 * right / np.where(found + true > 0, found + true, np.inf)
    there = true > 0
    return (np.where(there, each, 0.0).sum(-1) / np.maximum(there.sum(-1), 1))[()]
