"""Which column of a table is what: named exactly, or found by the names that the field has for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from seqline.data.series import SeriesOptions
from seqline.data.series.gaps import Layout
from seqline.data.series.table import Table
from seqline.errors import UserError, did_you_mean

TIME_NAMES = ("ds", "date")
ID_NAME = "unique_id"
TARGET_NAME = "y"
_LIKE_TIME = {"ds", "date", "time", "datetime", "timestamp"}


class Roles(NamedTuple):
    """Names of columns; "" where there is none.

    Attributes:
        time: the time column.
        id: the column that says which series a row belongs to.
        layout: targets and covariates.
        static: columns about whole series.
        unused: the rest.
    """

    time: str
    id: str
    layout: Layout
    static: tuple[str, ...]
    unused: tuple[str, ...]

    @property
    def all(self) -> tuple[str, ...]:
        """Every column that is read."""
        return tuple(name for name in (self.time, self.id, *self.layout.names, *self.static) if name)


def find_roles(table: Table, target: str | Sequence[str] | None, how: SeriesOptions) -> Roles:
    """Decide what each column is.

    Args:
        table: with a header.
        target: names of the targets; None = `y`, or the only column that is left.
        how: the columns that are stated.

    Raises:
        UserError: a column that is not there, two uses of one, several that could be the time or the target.
    """
    targets = () if target is None else (target,) if isinstance(target, str) else tuple(target)
    for option, names in (
        ("time", [how.time]), ("id", [how.id]), ("target", targets), ("known", how.known), ("past", how.past),
        ("static", how.static),
    ):  # fmt: skip
        for name in names:
            if name or option not in ("time", "id"):
                _refuse_unknown(table, name, option)
    stated = {how.time, how.id, *targets, *how.known, *how.past, *how.static}
    time = how.time or _find_time(table, stated)
    id_column = how.id or (ID_NAME if ID_NAME in table.names and ID_NAME not in stated else "")
    taken = stated | {time, id_column}
    if not targets:
        targets = (_find_target(table, taken),)
    roles = Roles(time, id_column, Layout(targets, tuple(how.known), tuple(how.past)), tuple(how.static), ())
    twice = next((name for name, count in Counter(roles.all).items() if count > 1), None)
    if twice is not None:
        raise UserError(f"column {twice!r} is asked for twice", where=table.source, fix="give each column one use")
    return roles._replace(unused=tuple(name for name in table.names if name not in roles.all))


def _refuse_unknown(table: Table, name: str, option: str) -> None:
    if name not in table.names or not name:
        known = [column for column in table.names if column]
        same = next((column for column in known if column.lower() == name.lower()), None)
        fix = did_you_mean(name, known) if same is None else f"did you mean {same!r}?"
        fix = fix if len(fix) <= 300 else f"it has {len(known):,} columns, {', '.join(known[:8])}, ..."
        raise UserError(f"{option}: no column {name[:60]!r}", where=table.source, fix=fix)


def _find_time(table: Table, taken: set[str]) -> str:
    """Return `ds` or `date`, "" where there is none and none that looks like one."""
    found = [name for name in TIME_NAMES if name in table.names and name not in taken]
    if len(found) > 1:
        raise UserError("both ds and date could be the time", where=table.source, fix="say which with `time`")
    if found:
        return found[0]
    if table.time_index and table.time_index not in taken:
        return table.time_index
    like = next((name for name in table.names if name.strip().lower() in _LIKE_TIME and name not in taken), None)
    if like is not None:
        raise UserError(
            f"no column ds or date; {like[:60]!r} looks like times", where=table.source, fix=f"state `time={like[:60]}`"
        )
    return ""


def _find_target(table: Table, taken: set[str]) -> str:
    free = [name for name in table.names if name and name not in taken]
    if TARGET_NAME in free:
        return TARGET_NAME
    if len(free) == 1:
        return free[0]
    if not free:
        raise UserError("no column is left to forecast", where=table.source, fix="name one with `target`")
    shown = ", ".join(name[:40] for name in free[:8]) + (", ..." if len(free) > 8 else "")
    raise UserError(
        f"{len(free):,} columns could be forecast: {shown}", where=table.source, fix="say which with `target`"
    )
