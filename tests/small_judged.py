"""Outputs written by hand, and judged: what the tests of comparisons and pages start from."""

from __future__ import annotations

from collections.abc import Sequence

from seqline.judging.faults import Lines
from seqline.judging.judge import Answers, Judged, Standards, judge

SOURCES = (
    "der kleine hund schläft heute nicht",
    "wir gingen um zwölf",
    "niemand sah das rote boot",
    "das ist gut",
    "die alte frau liest ein dickes buch",
)
REFERENCES = (
    "the little dog does not sleep today",
    "we left at noon",
    "nobody saw the red boat",
    "that is good",
    "the old woman reads a thick book",
)


def answers(texts: Sequence[str], name: str = "one", *, cut: Sequence[int] = (), loop: Sequence[int] = ()) -> Answers:
    """Return outputs of a system that nobody ran; cut, loop: rows that are so."""
    rows = range(len(texts))
    flags = [tuple(row in chosen for row in rows) for chosen in (cut, loop, ())]
    return Answers(name, "greedy", tuple(texts), *flags)


def lines(sources: Sequence[str] = SOURCES, references: Sequence[str] = REFERENCES) -> Lines:
    """Return what is judged against, numbered from 1."""
    return Lines(sources, references, range(1, len(sources) + 1))


def judged(texts: Sequence[str], name: str = "one", against: Lines | None = None, *metrics: str) -> Judged:
    """Return hand-made outputs judged."""
    return judge(answers(texts, name), against or lines(), Standards(tuple(metrics)))
