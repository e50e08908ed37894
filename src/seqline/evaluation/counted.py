"""Shares with the counts behind them, and which lines of a text are meant: plain numbers for a report."""

from __future__ import annotations

from typing import NamedTuple


class Ratio(NamedTuple):
    """A part of a whole, as two counts."""

    part: int
    whole: int

    @property
    def share(self) -> float:
        """part / whole, 0 to 1; 0 of nothing is 0."""
        return self.part / self.whole if self.whole else 0.0


class Flags(NamedTuple):
    """Which outputs have a property. of: one flag an output, in their order."""

    of: tuple[bool, ...]

    @property
    def rows(self) -> tuple[int, ...]:
        """The flagged outputs, counted from 0."""
        return tuple(row for row, flag in enumerate(self.of) if flag)

    @property
    def ratio(self) -> Ratio:
        """Flagged outputs of all outputs."""
        return Ratio(sum(self.of), len(self.of))

    @property
    def share(self) -> float:
        """The share of outputs that are flagged, 0 to 1."""
        return self.ratio.share


def any_of(*properties: Flags) -> Flags:
    """Flag the outputs that have one of these properties or more.

    Raises:
        ValueError: Flags of unlike numbers of outputs.
    """
    return Flags(tuple(map(any, zip(*(flags.of for flags in properties), strict=True))))
