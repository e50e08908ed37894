"""Equal parameters: the widths of a recipe are scaled together until its model has the number of parameters asked for."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from seqline.errors import UserError

WIDTHS = ("embed_size", "hidden_size", "inner_size", "attention_size")
TOLERANCE = 0.03
MOST_WIDTH = 8192
_FORM = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)([kKMG]?)")
_PREFIXES = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9}

Count = Callable[[dict[str, Any]], int]


class Matched(NamedTuple):
    """Settings `model.*` to change, and how many parameters the model then has."""

    changes: dict[str, Any]
    num_parameters: int


def parse_parameters(text: str) -> int:
    """Read a number such as 1M, 2.5M, 800k.

    Raises:
        UserError: anything else.
    """
    match = _FORM.fullmatch(text.strip())
    number = round(float(match[1]) * _PREFIXES[match[2]]) if match else 0
    if number < 1:
        what = f"expected a number of parameters, got {text[:60]!r}"
        raise UserError(what, where="--parameters", fix="write for instance 1M or 800k")
    return number


def match_parameters(wanted: int, settings: dict[str, Any], count: Count) -> Matched:
    """Choose widths for which a model has as near as can be the parameters that are wanted.

    All widths grow by one factor, kept to multiples of what the heads ask for; then those that are free of that are tuned one
    by one.

    Args:
        wanted: parameters.
        settings: the recipe's, those that may not change left out; `num_heads` is read.
        count: `model.*` settings to parameters; a UserError where the recipe does not take them.
    """
    widths = {key: settings[key] for key in WIDTHS if isinstance(settings.get(key), int)}
    if not widths:
        return Matched({}, count({}))
    grid = 2 * (settings.get("num_heads") or 1)  # even heads, as rotary positions need them
    best = _Best(wanted, count)
    first = max(widths.values())

    def scaled(width: int) -> dict[str, Any]:
        return {key: max(grid, round(value * width / first / grid) * grid) for key, value in widths.items()}

    _bisect(lambda step: best.measure(scaled(step * grid)), wanted, (1, MOST_WIDTH // grid))
    for key in ("inner_size", "hidden_size"):
        if key in widths and best.changes:
            start = dict(best.changes)
            around = max(1, start[key] // 2), min(MOST_WIDTH, 2 * start[key])
            _bisect(lambda width, key=key, start=start: best.measure({**start, key: width}), wanted, around)
    return Matched({f"model.{key}": value for key, value in best.changes.items()}, best.found)


class _Best:
    """Remembers the settings whose number of parameters is nearest to the one wanted."""

    def __init__(self, wanted: int, count: Count) -> None:
        self.wanted, self.count = wanted, count
        self.changes: dict[str, Any] = {}
        self.found = 0

    def measure(self, widths: dict[str, Any]) -> int | None:
        """Count the parameters for some widths; None where the recipe does not take them."""
        try:
            found = self.count({f"model.{key}": value for key, value in widths.items()})
        except UserError:
            return None
        if not self.changes or abs(found - self.wanted) < abs(self.found - self.wanted):
            self.changes, self.found = widths, found
        return found


def _bisect(measure: Callable[[int], int | None], wanted: int, widths: tuple[int, int]) -> None:
    """Ask about widths on both sides of the one wanted; what cannot be built or is too large counts as too large."""
    low, high = widths
    while low <= high:
        middle = (low + high) // 2
        found = measure(middle)
        if found is not None and found < wanted:
            low = middle + 1
        else:
            high = middle - 1
