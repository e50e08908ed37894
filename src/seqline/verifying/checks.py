"""What a check of a run says: one law each, with how far it was from holding; and laws checked one after the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from seqline.errors import UserError
from seqline.evaluation.subject import Finding
from seqline.evaluation.verify import Law

OK, FAILED, NOT_CHECKED = "ok", "FAILED", "not checked"
TITLES = {"fixed": "dropout", "row": "padding", "split": "cache"}


@dataclass(frozen=True)
class Check:
    """One law on one run.

    law: its name. meaning: what it says. status: ok, FAILED or not checked. number: how much was compared, or how far it was
    apart. difference: the same as a number, None where there is none or it is infinite. failure: what is wrong, in a sentence.
    """

    law: str
    meaning: str
    status: str
    number: str = ""
    difference: float | None = None
    failure: str = ""


class Seen(NamedTuple):
    """What the laws were checked on. names: a few words each. notes: what was left out, cut or added."""

    names: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass
class Findings:
    """The checks so far, and who is told of each."""

    on_done: Callable[[int], None] | None
    checks: list[Check] = field(default_factory=list)

    def add(self, check: Check) -> None:
        """Take one more check down."""
        self.checks.append(check)
        if self.on_done is not None:
            self.on_done(1)

    @property
    def not_ok(self) -> list[str]:
        """The laws that do not hold or were not checked."""
        return [check.law for check in self.checks if check.status != OK]


def check_laws(laws: Mapping[str, Law], subject: Any, findings: Findings, named: Callable[[int | None], str]) -> None:
    """Check laws in their order; one that needs another which does not hold is not checked.

    Args:
        laws: by name.
        subject: what they are checked on.
        findings: where they are taken down.
        named: the number of an example, or None, to words for it.

    Raises:
        UserError: a law's.
    """
    for name, law in laws.items():
        title = TITLES.get(name, name)
        if missing := missing_of(law.needs, findings):
            findings.add(Check(title, law.meaning, NOT_CHECKED, f"see {missing}"))
            continue
        try:
            found = law.check(subject)
        except UserError:
            raise
        except Exception as error:  # whatever a damaged part raises: the law does not hold
            what = f"the check ended in an error, {type(error).__name__}: {error}"
            findings.add(Check(title, law.meaning, FAILED, "error", failure=what))
            continue
        findings.add(law_check(title, law, found, named))


def law_check(title: str, law: Law, found: Finding, named: Callable[[int | None], str]) -> Check:
    """Return what is said of a law and what was found."""
    is_finite = math.isfinite(found.difference)
    number, difference = (f"{found.difference:.0e}", found.difference) if is_finite else ("different", None)
    if found.difference == 0:
        number = "0"
    if found.holds(law.tolerance):
        return Check(title, law.meaning, OK, number, difference)
    size = f"largest difference {found.difference:.2g}" if is_finite else "they are not the same"
    failure = law.fault.format(text=named(found.row), size=size, where=found.where)
    return Check(title, law.meaning, FAILED, number, difference, failure)


def missing_of(needs: Sequence[str], findings: Findings) -> str:
    """Return the first law among `needs` that does not hold."""
    return next((TITLES.get(n, n) for n in needs if TITLES.get(n, n) in findings.not_ok), "")
