"""Laws of a tagger or a classifier: a text's logits are its own, and a call changes nothing and draws nothing."""

from __future__ import annotations

import torch

from seqline.data.batch import source_batch
from seqline.evaluation.subject import Finding, LabelSubject, Worst, chance, poisoned
from seqline.evaluation.verify_decoder import is_fixed
from seqline.shapes import Tensor


def label_fixed_law(subject: LabelSubject) -> Finding:
    """Nothing is drawn at random: a model in evaluation mode gives the same bits whatever torch's generator holds."""
    return is_fixed(subject.model, lambda: subject.model(*_batch(subject, range(len(subject.sources)))))


def label_row_law(subject: LabelSubject) -> Finding:
    """A text's logits are those of the text alone, whatever its neighbours, their order, the padding and its content."""
    worst, every = Worst("row"), list(range(len(subject.sources)))
    alone = [subject.model(*_batch(subject, [row])) for row in every]
    for rows, padding in ((every, 0), (every[::-1], 3), (every, 7), *(([row], 2) for row in every)):
        source, is_real = (torch.nn.functional.pad(t, (0, padding)) for t in _batch(subject, rows))
        logits = subject.model(poisoned(source, is_real), is_real)
        for place, row in enumerate(rows):
            where = f"row {row} of order {rows}, {padding} columns of padding"
            worst.compare(_real(logits[place], alone[row][0]), alone[row][0], where, row)
    return worst.result()


def label_batch_law(subject: LabelSubject) -> Finding:
    """Texts of one length stand side by side without any padding, and still none changes another."""
    width = min(map(len, subject.sources))
    even, worst = subject._replace(sources=[s[:width] for s in subject.sources]), Worst("batch")
    every = list(range(len(even.sources)))
    for rows in (every, every[::-1]):
        logits = subject.model(*_batch(even, rows))
        for place, row in enumerate(rows):
            alone = subject.model(*_batch(even, [row]))
            worst.compare(logits[place], alone[0], f"row {row} of order {rows}", row)
    return worst.result()


def label_pure_law(subject: LabelSubject) -> Finding:
    """A call changes neither the ids it was given nor any parameter; the same call gives the same bits."""
    worst, given = Worst("pure"), _batch(subject, range(len(subject.sources)))
    held = (given, list(subject.model.state_dict().values()))
    before = tuple(part.clone() for part in (*held[0], *held[1]))
    with chance(0):
        first = subject.model(*given).clone()
    worst.compare_trees((*held[0], *held[1]), before, "what it was given (ids, parameters)")
    with chance(0):
        worst.compare(subject.model(*given), first, "a repeated call")
    return worst.result()


def _batch(subject: LabelSubject, rows: range | list[int]) -> tuple[Tensor, Tensor]:
    return source_batch(subject.sources, rows)


def _real(logits: Tensor, like: Tensor) -> Tensor:
    """Return the logits of the real places, of which there are as many as in `like`; a class has one row of them."""
    return logits[: len(like)]
