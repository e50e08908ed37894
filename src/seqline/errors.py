"""What goes wrong and whose fault it is: the one error type that a user can mend."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class UserError(Exception):
    """A mistake in what the user gave: a file, an option, a setting, a run folder. Exit status 2.

    The message is one line, `where: what; fix`. `where` is a file, `file:line`, an option or a setting.
    """

    def __init__(self, what: str, *, where: str = "", fix: str = "") -> None:
        self.what, self.where, self.fix = what, where, fix
        message = f"{where}: {what}" if where else what
        super().__init__(" ".join(f"{message}; {fix}".split()) if fix else " ".join(message.split()))


CUT_SHORT = ("interrupted", "terminated")
"""How a signal ends a training, as its manifest says it."""


class Stopped(Exception):
    """A signal ended the work before its result was there; what is kept, the same call goes on with. reason: of CUT_SHORT."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


def told(error: Exception) -> str:
    """Say an error in a line of a report: what a UserError says; of any other its kind too."""
    said = " ".join(str(error).split())
    return said if isinstance(error, UserError) else f"{type(error).__name__}: {said}"


def counted(number: int, what: str) -> str:
    """Write a number of things: "1 row", "1,461 rows"."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Name the nearest known name, or list them all when none is near. For the `fix` of a UserError."""
    names = sorted(known)
    near = get_close_matches(name, names, n=1, cutoff=0.5)
    return f"did you mean {near[0]!r}?" if near else f"known: {', '.join(names)}"
