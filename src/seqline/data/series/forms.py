"""How a column writes its times, so that forecasts can be written in the same way."""

from __future__ import annotations

import re
from typing import NamedTuple

from seqline.data.series import Times
from seqline.data.series.frequency import day_of_month, months_of
from seqline.data.series.zones import DAY, SECOND, local_of, offsets_at

EPOCH_UNITS = {"s": SECOND, "ms": 1000, "us": 1, "ns": 0}
"""Microseconds of what integers may count since 1970; 0 = a thousandth of one."""


class TimeForm(NamedTuple):
    """How times are written.

    Attributes:
        pattern: `%Y %m %d %H %M %S`, `%f` (microseconds), `%z` (`+01:00`) and literal characters; `%-m` has no leading
            zero. A pattern that ends in `Z` is UTC. "" = integers.
        unit: what integers count: `row`, or `s`, `ms`, `us`, `ns` since 1970.
    """

    pattern: str = ""
    unit: str = "row"

    @property
    def is_row(self) -> bool:
        """Whether times are row numbers."""
        return not self.pattern and self.unit == "row"

    @property
    def has_clock(self) -> bool:
        """Whether a time of day is written."""
        return "%H" in self.pattern or "%-H" in self.pattern or self.unit in EPOCH_UNITS

    def write(self, times: Times, zone: str) -> list[str] | list[int]:
        """Write instants in this form.

        Args:
            times: [N] microseconds since 1970 UTC, or row numbers.
            zone: the zone whose local time is written; "" = the time as it is.

        Returns:
            N texts, or N integers where the input had integers.
        """
        if not self.pattern:
            size = EPOCH_UNITS.get(self.unit, 1)
            return (times // size if size else times * 1000).tolist()
        zone = "" if self.pattern.endswith("Z") else zone
        local = local_of(times, zone)
        days, rest = local // DAY, local % DAY
        months = months_of(days)
        fields = {
            "Y": months // 12 + 1970, "m": months % 12 + 1, "d": day_of_month(days),
            "H": rest // (3600 * SECOND), "M": rest // (60 * SECOND) % 60, "S": rest // SECOND % 60,
            "f": rest % SECOND,
        }  # fmt: skip
        template = re.sub(r"[{}]", r"\g<0>\g<0>", self.pattern)
        for name, width in (("Y", 4), ("m", 2), ("d", 2), ("H", 2), ("M", 2), ("S", 2), ("f", 6)):
            template = template.replace(f"%{name}", f"{{{name}:0{width}d}}").replace(f"%-{name}", f"{{{name}:d}}")
        template = template.replace("%z", "{z}")
        shifts = [offset_text(o) for o in offsets_at(times, zone).tolist()] if "{z}" in template else [""] * len(times)
        columns = zip(*(field.tolist() for field in fields.values()), strict=True)
        return [
            template.format(**dict(zip(fields, row, strict=True)), z=shift)
            for row, shift in zip(columns, shifts, strict=True)
        ]


def offset_text(microseconds: int) -> str:
    """Write an offset from UTC in microseconds as `+01:00`; seconds are left out."""
    minutes = abs(microseconds) // (60 * SECOND)
    return f"{'-' if microseconds < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}"
