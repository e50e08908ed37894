"""What the state of a view may hold when a person writes it: its own names, words from a list, whole numbers in a range.

The scenes themselves draw something for any state, as a page must; a command that ignores what it was told would mislead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from seqline.errors import UserError, did_you_mean

CHOICES = {
    "theme": ("light", "dark", "print"),
    "palette": ("viridis", "cividis", "greys"),
    "lang": ("en", "zh"),
    "level": ("piece", "word"),
    "special": ("show", "grey", "hide"),
}
WHOLE = {"t": (1, 10**6), "beat": (0, 100), "unit": (0, 10**6), "width": (320, 20_000), "height": (320, 20_000)}
"""Whole numbers, with the least and the most."""
WHOLE_OR_WORD = ("layer", "head", "row", "col")
"""A place, counted from 0, or a word of the view such as mean."""


def check_names(state: Mapping[str, Any], known: Iterable[str]) -> None:
    """Refuse a name that the view does not have.

    Raises:
        UserError: names it, and the nearest one.
    """
    names = sorted(set(known) - {"font"})
    for name in state:
        if name not in names:
            raise UserError(f"this view has no setting {name!r}", where=name, fix=did_you_mean(name, names))


def check_values(state: Mapping[str, Any]) -> None:
    """Refuse a value that the drawing would ignore.

    Raises:
        UserError: a word that is not in the list, or no whole number in the range.
    """
    for name, choices in CHOICES.items():
        if name in state and state[name] not in choices:
            raise UserError(f"expected {listed(choices)}, got {state[name]!r}", where=name, fix="choose one of these")
    for name, (least, most) in WHOLE.items():
        if state.get(name) is not None and not (_is_whole(state[name]) and least <= state[name] <= most):
            what = f"expected a whole number from {least:,} to {most:,}, got {state[name]!r}"
            raise UserError(what, where=name, fix="leave it out for what the view chooses")
    for name in WHOLE_OR_WORD:
        value = state.get(name)
        if not (value is None or isinstance(value, str) or (_is_whole(value) and value >= 0)):
            raise UserError(f"expected a whole number from 0, got {value!r}", where=name, fix="count from 0")


def listed(names: tuple[str, ...]) -> str:
    """Return names as a sentence has them: a, b or c."""
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
