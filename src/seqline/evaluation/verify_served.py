"""The laws in the precision that is served: float32 rounds, so tokens are compared where they are not nearly tied.

Two computations of one thing must choose the same token wherever the most probable one leads by at least `MARGIN` nats;
places under it are counted. The mean log-probability of a text may differ by `SCORE_TOLERANCE` nats a token, times its size
once that is above 1.
"""

from __future__ import annotations

from typing import NamedTuple

import torch

from seqline.data.batch import collate, source_batch
from seqline.evaluation.subject import LabelSubject, Subject, largest, prepared
from seqline.shapes import Tensor

MARGIN = 1e-4
SCORE_TOLERANCE = 1e-5


class Agreement(NamedTuple):
    """What two computations of the same have in common.

    num_places: compared. num_close: under the margin, where either token will do. num_other: above it, and another token.
    difference: the largest of a mean log-probability, in nats a token. row: an example that does not agree. where: how.
    """

    num_places: int = 0
    num_close: int = 0
    num_other: int = 0
    difference: float = 0.0
    row: int | None = None
    where: str = ""

    @property
    def holds(self) -> bool:
        """Whether the tokens agree and the scores are near."""
        return self.num_other == 0 and self.difference <= SCORE_TOLERANCE

    def joined(self, other: Agreement) -> Agreement:
        """Return both together; the place named is the first that does not agree."""
        row, where = (other.row, other.where) if self.holds and not other.holds else (self.row, self.where)
        places, close = self.num_places + other.num_places, self.num_close + other.num_close
        apart = max(self.difference, other.difference)
        return Agreement(places, close, self.num_other + other.num_other, apart, row, where)


def agree(got: Tensor, expected: Tensor, targets: Tensor, row: int, where: str) -> Agreement:
    """Compare logits [T V] of one text, of which `targets` [T] are scored."""
    ours, theirs = (logits.log_softmax(-1) for logits in (got, expected))
    best = theirs.topk(2, dim=-1).values
    is_clear = best[:, 0] - best[:, 1] >= MARGIN
    is_other = ours.argmax(-1) != theirs.argmax(-1)
    scores = [float(p.gather(1, targets[:, None]).double().mean()) for p in (ours, theirs)]
    apart = largest(torch.tensor(scores[0] - scores[1], dtype=torch.float64)) / max(1.0, abs(scores[1]))
    return Agreement(len(targets), int((~is_clear).sum()), int((is_other & is_clear).sum()), apart, row, where)


def served(subject: Subject) -> Agreement:
    """Compare each pair alone with the pair in a batch, and with the same target read token by token."""
    batch, memory, state = prepared(subject)
    together = subject.model(batch.source, batch.source_is_real, batch.target_in)
    steps = []
    for place in range(batch.target_in.shape[1]):
        logits, state = subject.model.decoder(batch.target_in[:, place : place + 1], state, memory)
        steps.append(logits)
    by_steps, found = torch.cat(steps, 1), Agreement()
    for row in range(len(subject.examples)):
        alone = collate(subject.examples, [row])
        expected = subject.model(alone.source, alone.source_is_real, alone.target_in)[0]
        targets = alone.target_out[0]
        for logits, where in ((together, "in a batch"), (by_steps, "token by token")):
            found = found.joined(agree(logits[row, : len(targets)], expected, targets, row, where))
    return found


def served_labels(subject: LabelSubject) -> Agreement:
    """Compare each text alone with the text in a batch; the scored label is the one chosen alone."""
    together = subject.model(*source_batch(subject.sources, range(len(subject.sources))))
    found = Agreement()
    for row in range(len(subject.sources)):
        expected = subject.model(*source_batch(subject.sources, [row]))[0]
        got = together[row][: len(expected)]
        expected, got = (logits.reshape(-1, logits.shape[-1]) for logits in (expected, got))
        found = found.joined(agree(got, expected, expected.argmax(-1), row, "in a batch"))
    return found
