"""What an experiment of the lab is: claims, the models it wants, a measurement, and what the measurement gives.

A verdict comes out of numbers by a rule. Where a rule was written or changed after numbers of its experiment had been seen, the
claim says so: such a verdict wants fresh seeds before it counts as a test.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from seqline.lab.laboratory import Lab

State: TypeAlias = Literal["held", "not held", "undecided"]
Cell: TypeAlias = str | float | int | None
Decisive: TypeAlias = Mapping[str, float | int | str | None]


class Claim(NamedTuple):
    """What the literature says. key: unique in its experiment. source: authors, year, identifier, section.

    is_seen: numbers of the experiment had been seen when the rule was written or changed.
    """

    key: str
    text: str
    source: str
    is_seen: bool = False


class Verdict(NamedTuple):
    """What the numbers say about a claim.

    claim: its key. rule: how it is decided, one sentence. numbers: what decides, by the names that the sentence uses.
    said: one sentence with the numbers in it.
    """

    claim: str
    state: State
    rule: str
    numbers: Decisive
    said: str


class Table(NamedTuple):
    """Rows of cells; None is a place without a value."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


class Picture(NamedTuple):
    """A whole `<svg>`. name: of its file, without an ending, unique in its experiment."""

    name: str
    svg: str
    caption: str


class Finding(NamedTuple):
    """What an experiment gives. numbers: everything that was measured, as plain JSON."""

    tables: tuple[Table, ...]
    pictures: tuple[Picture, ...]
    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...] = ()
    numbers: Mapping[str, Any] = {}

    def undecided(self, rule: str, reason: str) -> Finding:
        """Return the same numbers with nothing decided by them. rule: what asks for that. reason: why it applies here."""
        return self._replace(verdicts=tuple(
            one._replace(state=decide(None), rule=f"{one.rule}; {rule}", said=f"{one.said} {reason}") for one in self.verdicts
        ))  # fmt: skip


@dataclass(frozen=True)
class Wanted:
    """A model of the zoo; equal ones are one model, which experiments share.

    data: name of a corpus of the lab. settings: (key, value) of `data.*`, `tokenizer.*`, `model.*`, `training.*` and
    `decoding.*` over the defaults. steps, quick_steps: `training.max_steps` of the whole lab and of the quick one.
    """

    data: str
    arch: str
    task: str = "translation"
    settings: tuple[tuple[str, Any], ...] = ()
    steps: int = 600
    quick_steps: int = 200
    seed: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "settings", tuple(sorted(self.settings)))


def no_models(_lab: Lab) -> tuple[Wanted, ...]:
    """Return nothing: for an experiment that trains or times by itself."""
    return ()


@dataclass(frozen=True)
class Experiment:
    """One page of the lab.

    name: as in the command. question: one line, as `lab --list` shows it. claims: with their sources. models: what it needs
    from the zoo. learners: architectures among them without whose having learned their language pair nothing is decided.
    has_seeds: False where the number of seeds changes nothing. measure: from a lab whose zoo is trained to what was found.
    """

    name: str
    title: str
    question: str
    claims: tuple[Claim, ...]
    models: Callable[[Lab], tuple[Wanted, ...]] = field(default=no_models)
    learners: tuple[str, ...] = ()
    has_seeds: bool = True
    measure: Callable[[Lab], Finding] = field(kw_only=True)


def decide(is_held: bool | None) -> State:
    """Return the name of a verdict; None is undecided."""
    return "undecided" if is_held is None else "held" if is_held else "not held"


def all_of(parts: Sequence[bool | None]) -> bool | None:
    """Join conditions that must all be met: False where one surely is not, None where one is not sure."""
    return False if False in parts else None if None in parts else True
