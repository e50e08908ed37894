"""Judging a tagger or a classifier on labelled text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from seqline.data.labelled import check_classes, check_tagging, split_tokens
from seqline.data.text import PairSet, Tally, require_pairs
from seqline.evaluation.tag_metrics import ClassScore, Share, TagScore, score_classes, score_tags
from seqline.labeller import Labeller
from seqline.prepare import spaced
from seqline.run_folder import Run

OnDone = Callable[[int], None]


@dataclass(frozen=True)
class LabelReport:
    """What `seqline evaluate` found for a tagger (`tags`) or a classifier (`classes`).

    num_examples: lines or texts. num_unknown: labels of the reference that the model does not have; each counts as missed.
    """

    num_examples: int
    num_unknown: int
    tags: TagScore | None
    classes: ClassScore | None

    def as_json(self) -> dict[str, Any]:
        """Return plain values; shares of 1, not percentages."""
        found: dict[str, Any] = {"num_examples": self.num_examples, "num_unknown": self.num_unknown}
        if self.tags is not None:
            entities = self.tags.entities
            found |= {"num_tokens": self.tags.num_tokens, "accuracy": self.tags.accuracy}
            found["entities"] = None if entities is None else share_json(entities)
            found["by_type"] = {name: share_json(share) for name, share in self.tags.by_type.items()}
        if self.classes is not None:
            found |= {"accuracy": self.classes.accuracy, "macro_f1": self.classes.macro_f1}
            found["by_class"] = {name: share_json(share) for name, share in self.classes.by_class.items()}
            found["confusion"] = [[*pair, count] for pair, count in self.classes.confusion.items()]
        return found


def share_json(share: Share) -> dict[str, float]:
    """Return counts, precision, recall and F1 by name."""
    return {**share._asdict(), "precision": share.precision, "recall": share.recall, "f1": share.f1}


def evaluate(run: Run, pairs: PairSet, *, batch_rows: int | None = None, on_done: OnDone | None = None) -> LabelReport:
    """Label the sources and compare with the labels that stand beside them; blank lines do not count.

    Raises:
        UserError: nothing to score; a line whose labels do not fit; a run for another task.
    """
    labeller = Labeller.of(run)
    is_tagging = run.config.data.task == "tagging"
    check = check_tagging if is_tagging else check_classes
    kept = check(spaced(pairs, run.config.data), Tally(len(pairs.pairs)))
    require_pairs(kept, pairs.name)
    sources = [pair.source for pair in kept.pairs]
    if is_tagging:
        reference = [split_tokens(pair.target) for pair in kept.pairs]
        score = score_tags(labeller.tag(sources, batch_rows=batch_rows, on_done=on_done), reference)
        unknown = sum(labeller.labels.encode(tag) < 0 for tags in reference for tag in tags)
        return LabelReport(len(sources), unknown, score, None)
    classes = [pair.target for pair in kept.pairs]
    found = [c.label for c in labeller.classify(sources, batch_rows=batch_rows, on_done=on_done)]
    unknown = sum(labeller.labels.encode(name) < 0 for name in classes)
    return LabelReport(len(sources), unknown, None, score_classes(found, classes))
