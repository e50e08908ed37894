"""The plot of a forecast: a small trace a series, drawn by the view `series`; every suffix gives its kind of file."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from seqline.errors import UserError
from seqline.visualize import series_plot
from seqline.visualize.series_plot import (
    HEIGHT,
    MOST_PANELS,
    Forecasted,
    Maker,
    Past,
    check_plot,
    page,
    plot,
    trace_of,
    write_plot,
)
from seqline.visualize.trace import Trace

from .svg import PRINTED, drawn, having, words

pytest.importorskip("quickjs")

DAYS = [f"2024-01-{n:02d}" for n in range(1, 10)]
PAST = Past(DAYS[:5], [1.0, 2.0, 2.0, 4.0, 5.0], [True, True, False, True, True], 5)
PLAIN = Forecasted("", "y", PAST, DAYS[5:7], [6.0, 7.0], {0.1: [5.0, 5.5], 0.9: [7.0, 8.5]})
MAKER = Maker("lstm", "0123456789abcdef", 3, "1d")


def numbers(root: ET.Element, key: str) -> list[float]:
    return [float(each.attrib["data-v"]) for each in having(root, key)]


def test_it_is_the_view_of_a_trace_with_the_numbers_of_the_forecast() -> None:
    root = ET.fromstring(plot([PLAIN], MAKER))
    assert numbers(root, "data-hist") == pytest.approx(PAST.values, abs=PRINTED)
    assert [each.attrib["data-hist"] for each in having(root, "data-gap")] == ["2"]
    assert numbers(root, "data-pred") == pytest.approx(PLAIN.mean, abs=PRINTED)
    assert [each.attrib["data-interval"] for each in having(root, "data-interval")] == ["0.1 0.9"]
    assert "10–90 %" in words(root)
    assert DAYS[0] in words(root)
    assert "Model lstm, checkpoint 0123456789ab, seed 3, seqline" in words(root)
    again = drawn(trace_of(PLAIN, MAKER).decoded(), "series", width=960, height=HEIGHT)
    assert ET.tostring(again) == ET.tostring(root)


def test_its_trace_is_one_of_the_format() -> None:
    trace = trace_of(PLAIN, MAKER)
    assert isinstance(Trace.from_json(trace.to_json()), Trace)
    assert trace.document["forecast"]["windows"][0]["lookback"] == 5
    assert trace_of(PLAIN._replace(quantiles={}), Maker()).document["forecast"]["q"] is None


def test_each_series_is_drawn_below_the_other_whatever_its_name() -> None:
    odd = [PLAIN._replace(series=name) for name in ('<b> & "quotes"', "b")]
    root = ET.fromstring(plot(odd, MAKER))
    panels = having(root, "data-view", "series")
    assert [float(panel.attrib["y"]) for panel in panels] == [0, HEIGHT]
    assert float(root.attrib["height"]) == 2 * HEIGHT
    assert '<b> & "quotes": the model reads the last 5 points' in words(panels[0])
    assert "b: the model reads" in words(panels[1])


def test_a_single_point_and_a_single_step() -> None:
    one = Forecasted("", "y", Past(DAYS[:1], [3.0], [True], 1), DAYS[1:2], [3.0], {0.1: [3.0], 0.9: [3.0]})
    text = plot([one], MAKER)
    assert "NaN" not in text
    assert "Infinity" not in text
    assert "the model reads the last point and predicts the next one" in words(ET.fromstring(text))


def test_more_series_than_are_drawn_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_PANELS == 12
    monkeypatch.setattr(series_plot, "MOST_PANELS", 2)
    root = ET.fromstring(plot([PLAIN] * 5, MAKER))
    assert "and 3 more, not drawn" in words(root)
    assert len(having(root, "data-view", "series")) == 2
    assert "not drawn" not in plot([PLAIN] * 2, MAKER)
    shown = page([PLAIN] * 5, MAKER)
    assert shown.count('data-player="none"') == 2
    assert "and 3 more, not drawn" in shown
    assert shown.count("<tr><td>") == 5 * 2


def test_a_page_holds_the_recordings_and_all_numbers_and_asks_no_network() -> None:
    shown = page([PLAIN._replace(series="<i>")], MAKER)
    assert re.findall(r"<tr><td>(.*?)</td><td>(.*?)</td><td>(.*?)</td><td>(.*?)</td><td>(.*?)</td></tr>", shown) == [
        ("&lt;i&gt;: y", "2024-01-06", "6", "5", "7"),
        ("&lt;i&gt;: y", "2024-01-07", "7", "5.5", "8.5"),
    ]
    assert "<th>q0.1</th><th>q0.9</th>" in shown
    assert "default-src 'none'" in shown
    assert '<script type="application/json" data-trace="0">' in shown
    assert not re.search(r"""(src|href)=["']?(https?:|//)""", shown)


@pytest.mark.parametrize(("suffix", "start"), [("png", b"\x89PNG"), ("svg", b"<svg"), ("html", b"<!doctype html>")])
def test_every_suffix_gives_its_kind_of_file(tmp_path: Path, suffix: str, start: bytes) -> None:
    if suffix == "png":
        pytest.importorskip("resvg_py")
    write_plot(tmp_path / f"a.{suffix}", [PLAIN], MAKER)
    assert (tmp_path / f"a.{suffix}").read_bytes().startswith(start)


def test_other_suffixes_are_refused() -> None:
    with pytest.raises(UserError, match=r"a\.jpg: cannot draw 'jpg' files"):
        check_plot("a.jpg")


def test_drawing_needs_no_torch() -> None:
    code = "import sys; import seqline.visualize.series_plot; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
