"""Two systems on the same sentences: what each scores, whether the difference could be chance, and where it lies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from seqline.errors import UserError
from seqline.evaluation.metrics import Array
from seqline.evaluation.significance import (
    Interval,
    Value,
    approximate_randomization,
    mean_value,
    paired_bootstrap,
)
from seqline.judging.judge import Judged, Lines
from seqline.judging.systems import Likelihood

MOST_RESAMPLES = 1_000_000
NATS = "nats per character", "of the references, the true prefix given; pairs that both models can score"
LEVEL = 0.05
"""Both tests must give less than this for a verdict."""


@dataclass(frozen=True)
class Resampling:
    """How the tests draw. resamples: trials of each test. seed: the same one gives the same p-values."""

    resamples: int = 10_000
    seed: int = 12345

    def __post_init__(self) -> None:
        """Refuse what cannot be drawn."""
        if not 1 <= self.resamples <= MOST_RESAMPLES:
            what = f"expected 1 to {MOST_RESAMPLES:,}, got {self.resamples:,}"
            raise UserError(what, where="resamples", fix="10,000 leave p-values of 0.05 uncertain by 0.002")
        if self.seed < 0:
            raise UserError(f"expected 0 or more, got {self.seed}", where="seed")


class Contrast(NamedTuple):
    """One metric of both systems.

    difference: value minus other. interval: of the difference; interval_value, interval_other: of each system; all 95 %, by
    bootstrap. verdict: what this system is, as against the other: better, worse, or neither shown.
    """

    name: str
    signature: str
    value: float
    other: float
    difference: float
    interval: Interval
    interval_value: Interval
    interval_other: Interval
    p_bootstrap: float
    p_randomization: float
    verdict: str


class Change(NamedTuple):
    """A sentence that the two systems put differently. chrf, other_chrf: sentence chrF2, 0 to 100."""

    line: int
    source: str
    reference: str
    output: str
    other: str
    chrf: float
    other_chrf: float
    difference: float


@dataclass(frozen=True)
class Comparison:
    """What a system is worth as against another one.

    other: the other system. likelihood: its own, or None where there is no model. gains, losses: sentences on which the first
    one does better or worse, largest change first. notes: settings that differ and matter.
    """

    other: Judged
    likelihood: Likelihood | None
    tests: tuple[Contrast, ...]
    gains: tuple[Change, ...]
    losses: tuple[Change, ...]
    notes: tuple[str, ...]
    how: Resampling

    def as_json(self) -> dict[str, Any]:
        """Return everything but the outputs as plain values."""
        return {
            "name": self.other.answers.name,
            **self.other.as_json(),
            "likelihood": None if self.likelihood is None else self.likelihood.as_json(),
            "tests": [_test_json(test) for test in self.tests],
            "gains": [change._asdict() for change in self.gains],
            "losses": [change._asdict() for change in self.losses],
            "notes": list(self.notes),
            **asdict(self.how),
        }


def _test_json(test: Contrast) -> dict[str, Any]:
    return {key: list(value) if isinstance(value, Interval) else value for key, value in test._asdict().items()}


def compare(
    system: Judged,
    other: Judged,
    lines: Lines,
    likelihoods: tuple[Likelihood | None, Likelihood | None] = (None, None),
    notes: Sequence[str] = (),
    how: Resampling | None = None,
    num_examples: int = 10,
) -> Comparison:
    """Compare two systems that were judged on the same lines.

    Args:
        system: the one that verdicts are about.
        other: what it is held against.
        lines: what both were judged on.
        likelihoods: of both, in this order; nats per character are tested where both have one.
        notes: what to know before reading the numbers.
        how: how the tests draw; None: the defaults.
        num_examples: the most sentences shown as gains, and as losses.
    """
    how = how or Resampling()
    tests = [
        _test(
            (a.score.name, a.score.signature),
            (a.score.value, b.score.value),
            (a.statistics, b.statistics),
            a.metric.value,
            a.metric.is_higher_better,
            how,
        )
        for a, b in zip(system.measured, other.measured, strict=True)
    ]
    mine, theirs = likelihoods
    if mine is not None and theirs is not None:
        tests += _likelihood_test(mine, theirs, how)
    gains, losses = _changes(system, other, lines, num_examples)
    return Comparison(other, theirs, tuple(tests), gains, losses, tuple(notes), how)


def _likelihood_test(mine: Likelihood, theirs: Likelihood, how: Resampling) -> list[Contrast]:
    """Test nats per character, on the pairs that have a likelihood under both models; nothing where there is none."""
    has_both = (mine.statistics[:, 1] > 0) & (theirs.statistics[:, 1] > 0)
    if not has_both.any():
        return []
    statistics = mine.statistics[has_both], theirs.statistics[has_both]
    values = float(mean_value(statistics[0].sum(axis=0))), float(mean_value(statistics[1].sum(axis=0)))
    return [_test(NATS, values, statistics, mean_value, False, how)]


def _test(
    names: tuple[str, str],
    values: tuple[float, float],
    statistics: tuple[Array, Array],
    value: Value,
    is_higher_better: bool,
    how: Resampling,
) -> Contrast:
    bootstrap = paired_bootstrap(*statistics, value, num_resamples=how.resamples, seed=how.seed)
    swapped = approximate_randomization(*statistics, value, num_trials=how.resamples, seed=how.seed)
    difference = values[0] - values[1]
    is_shown = max(bootstrap.p_value, swapped.p_value) < LEVEL and difference != 0.0
    is_better = (difference > 0) is is_higher_better
    return Contrast(
        *names,
        *values,
        difference,
        bootstrap.difference,
        bootstrap.system,
        bootstrap.baseline,
        bootstrap.p_value,
        swapped.p_value,
        ("better" if is_better else "worse") if is_shown else f"no difference shown at p < {LEVEL}",
    )


def _changes(system: Judged, other: Judged, lines: Lines, count: int) -> tuple[tuple[Change, ...], tuple[Change, ...]]:
    """Return the largest gains and losses in sentence chrF2; of equal ones the earlier line comes first."""
    mine, theirs = system.sentence_chrf, other.sentence_chrf
    difference = mine - theirs
    # A change of case or white space alone is no change of chrF2, and a change of rounding none at all.
    order = [int(i) for i in np.argsort(-difference, kind="stable") if abs(difference[i]) > 1e-9]
    gains = [i for i in order if difference[i] > 0][:count]
    losses = sorted((i for i in order if difference[i] < 0), key=lambda i: (difference[i], i))[:count]

    def change(i: int) -> Change:
        texts = lines.sources[i], lines.references[i], system.answers.texts[i], other.answers.texts[i]
        return Change(lines.numbers[i], *texts, float(mine[i]), float(theirs[i]), float(difference[i]))

    return tuple(map(change, gains)), tuple(map(change, losses))


def differing(mine: Mapping[str, object], theirs: Mapping[str, object]) -> list[str]:
    """Say which settings of two systems differ in a way that matters for reading their numbers side by side.

    Args:
        mine: what `System.settings` says.
        theirs: the same of the other; what only one of them knows is not compared.
    """
    both = [key for key in mine if key in theirs and mine[key] != theirs[key]]
    said = {
        "vocabulary": "the target vocabularies differ: perplexity and nats per piece do not compare, nats per character do",
        "data.fingerprint": "the two runs were trained on different data",
    }
    return [said.get(key) or f"{key} differs: {mine[key]} here, {theirs[key]} in the other run" for key in both]
