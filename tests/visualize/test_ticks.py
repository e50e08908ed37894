"""Round numbers for an axis: few, ascending, and around all that is drawn."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from seqline.visualize.ticks import round_numbers


@given(st.floats(-1e12, 1e12), st.floats(0, 1e12))
@example(0.0, 5e-324)
@example(5e-324, 0.0)
def test_round_numbers_hold_what_is_drawn(low: float, size: float) -> None:
    ticks = round_numbers(low, low + size)
    assert 2 <= len(ticks) <= 8
    assert ticks == sorted(ticks)
    assert ticks[0] < ticks[-1]
    room = 1e-6 * (ticks[-1] - ticks[0])
    assert ticks[0] <= low + room
    assert ticks[-1] >= low + size - room
