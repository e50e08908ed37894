"""The plot of a forecast: what is drawn lies where its numbers say, and every suffix gives its kind of file."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from seqline.errors import UserError
from seqline.visualize.series_plot import MOST_PANELS, Band, Forecasted, check_plot, plot, write_plot
from seqline.visualize.ticks import round_numbers

DAYS = [f"2024-01-{n:02d}" for n in range(1, 10)]
PLAIN = Forecasted(
    "y", DAYS[:5], [1.0, 2.0, None, 4.0, 5.0], DAYS[5:7], [6.0, 7.0], [Band(0.8, [5.0, 5.5], [7.0, 8.5])]
)


def points(drawn: str, tag: str) -> list[list[tuple[float, float]]]:
    found = re.findall(rf'<{tag} points="([^"]*)"', drawn)
    return [[tuple(map(float, pair.split(","))) for pair in each.split()] for each in found]  # type: ignore[misc]


def test_history_is_parted_at_gaps_and_the_forecast_goes_on_from_its_end() -> None:
    drawn = plot([PLAIN])
    _, _, first, second, ahead = points(drawn, "polyline")
    assert (len(first), len(second), len(ahead)) == (2, 2, 3)
    assert ahead[0] == second[-1]
    assert [x for x, _ in first + second + ahead[1:]] == sorted({x for x, _ in first + second + ahead})
    assert ahead[1][1] > ahead[2][1]  # higher values lie higher
    (band,) = points(drawn, "polygon")
    assert len(band) == 4
    assert band[0][1] < ahead[1][1] < band[3][1]


def test_it_is_valid_svg_whatever_the_names() -> None:
    odd = PLAIN._replace(title='<b> & "quotes"')
    root = ET.fromstring(plot([odd]))
    assert any(text.text == '<b> & "quotes"' for text in root.iter("{http://www.w3.org/2000/svg}text"))


def test_a_single_point_and_a_single_step() -> None:
    one = Forecasted("y", DAYS[:1], [3.0], DAYS[1:2], [3.0], [Band(0.8, [3.0], [3.0])])
    drawn = plot([one])
    assert "nan" not in drawn
    assert "inf" not in drawn
    assert len(points(drawn, "polygon")[0]) == 4


def test_more_series_than_are_drawn_are_counted() -> None:
    drawn = plot([PLAIN] * (MOST_PANELS + 3))
    assert "and 3 more, not drawn" in drawn
    assert drawn.count('<g transform="translate(0 ') == MOST_PANELS
    assert "not drawn" not in plot([PLAIN] * MOST_PANELS)


@pytest.mark.parametrize(("suffix", "start"), [("png", b"\x89PNG"), ("svg", b"<svg"), ("html", b"<!doctype html>")])
def test_every_suffix_gives_its_kind_of_file(tmp_path: Path, suffix: str, start: bytes) -> None:
    if suffix == "png":
        pytest.importorskip("resvg_py")
    write_plot(tmp_path / f"a.{suffix}", [PLAIN])
    assert (tmp_path / f"a.{suffix}").read_bytes().startswith(start)


def test_other_suffixes_are_refused() -> None:
    with pytest.raises(UserError, match=r"a\.jpg: cannot draw 'jpg' files"):
        check_plot("a.jpg")


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
