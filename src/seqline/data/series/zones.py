"""Between instants and local clocks, for whole arrays of microseconds: zones by their IANA name or as a fixed offset.

A zone asked for one instant at a time is slow, so it is asked at the two ends of each UTC day that occurs; only days on
which the clock changes are asked instant by instant.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo, available_timezones

import numpy as np

from seqline.data.series import Flags, Times
from seqline.errors import UserError, did_you_mean

SECOND = 1_000_000
DAY = 86_400 * SECOND
"""Microseconds of a second and of a day."""
FIRST, LAST = -62_135_596_800 * SECOND, 253_402_300_800 * SECOND - 1
"""The range of times: the years 1 to 9999 in UTC, in microseconds since 1970."""
OFFSET = re.compile(r"([+-])(\d{2}):?([0-5]\d)?", re.ASCII)
"""An offset from UTC: `+01:00`, `+0100` or `+01`."""
MAX_OFFSET = 18 * 3600
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Utc(NamedTuple):
    """Instants of local times, with what the clock says about each of them.

    Attributes:
        first: [N] the earlier instant that has this local time; where the clock skips it, by the offset before the
            change.
        second: [N] the later one; equal to `first` where the local time is shown once.
        is_skipped: [N] the clock never shows this time.
    """

    first: Times
    second: Times
    is_skipped: Flags

    @property
    def is_repeated(self) -> Flags:
        """[N] the clock shows this time twice."""
        return (self.first != self.second) & ~self.is_skipped


def seconds_of(offset: str) -> int:
    """Return the seconds east of UTC of an offset as `OFFSET` has them, or `Z`.

    Raises:
        ValueError: no such offset, or more than 18 hours.
    """
    if offset == "Z":
        return 0
    found = OFFSET.fullmatch(offset)
    if not found:
        raise ValueError(f"no offset: {offset}")
    seconds = int(found[2]) * 3600 + int(found[3] or 0) * 60
    if seconds > MAX_OFFSET:
        raise ValueError(f"offset above 18 hours: {offset}")
    return -seconds if found[1] == "-" else seconds


def check_zone(name: str, where: str = "zone") -> None:
    """Refuse a name that is neither a known zone nor a fixed offset; "" is no zone and passes.

    Raises:
        UserError: unknown.
    """
    if name and not _is_fixed(name):
        _zone(name, where)


def offsets_at(times: Times, name: str) -> Times:
    """Return how far local clocks are ahead of UTC.

    Args:
        times: [N] microseconds since 1970 UTC.
        name: a zone, a fixed offset, or "" for no zone.

    Returns:
        [N] microseconds.
    """
    if not name or not len(times):
        return np.zeros(len(times), dtype=np.int64)
    if _is_fixed(name):
        return np.full(len(times), seconds_of(name) * SECOND, dtype=np.int64)
    days, where = np.unique(times // DAY, return_inverse=True)
    ends = np.array([_day(name, day) for day in days.tolist()], dtype=np.int64)
    offsets = ends[where, 0]
    changing = np.flatnonzero((ends[:, 0] != ends[:, 1])[where])
    if len(changing):
        zone = _zone(name, "zone")
        instants, back = np.unique(times[changing], return_inverse=True)
        offsets[changing] = np.array([_offset(zone, instant) for instant in instants.tolist()], dtype=np.int64)[back]
    return offsets


def local_of(times: Times, name: str) -> Times:
    """Return local times, [N] microseconds as a clock on the wall shows them, of instants [N]."""
    return times + offsets_at(times, name)


def utc_of(local: Times, name: str) -> Utc:
    """Find the instants that have given local times.

    The offsets a day before and a day after are the candidates: no zone changes its clock twice within two days.

    Args:
        local: [N] microseconds as a clock on the wall shows them.
        name: a zone, a fixed offset, or "" for no zone.

    Returns:
        The instants.
    """
    before = local - offsets_at(local - DAY, name)
    after = local - offsets_at(local + DAY, name)
    is_before, is_after = local_of(before, name) == local, local_of(after, name) == local
    first = np.where(is_before, before, np.where(is_after, after, before))
    second = np.where(is_after, after, first)
    return Utc(np.minimum(first, second), np.maximum(first, second), ~(is_before | is_after))


def _is_fixed(name: str) -> bool:
    try:
        seconds_of(name)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=32)
def _zone(name: str, where: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError) as error:
        known = available_timezones()
        if not known:
            raise UserError("this machine has no time zones", where=where, fix="pip install tzdata") from error
        near = did_you_mean(name, known)
        fix = near if len(near) < 200 else "name one as Europe/Berlin, UTC or +01:00"
        raise UserError(f"no time zone {name[:60]!r}", where=where, fix=fix) from error


@lru_cache(maxsize=1 << 16)
def _day(name: str, day: int) -> tuple[int, int]:
    """Return the offsets at the first and the last instant of a UTC day."""
    zone = _zone(name, "zone")
    return _offset(zone, day * DAY), _offset(zone, day * DAY + DAY - 1)


def _offset(zone: ZoneInfo, instant: int) -> int:
    """Return the offset at an instant; beyond the calendar's ends, that of the ends."""
    inside = min(max(instant, FIRST + 2 * DAY), LAST - 2 * DAY)
    offset = (_EPOCH + timedelta(microseconds=inside)).astimezone(zone).utcoffset()
    return 0 if offset is None else (offset.days * 86_400 + offset.seconds) * SECOND + offset.microseconds
