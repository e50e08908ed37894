"""Files of every kind: sizes, frames, numbers, and one line for whatever cannot be written."""

from __future__ import annotations

import csv
import io
import json
import sys
import xml.etree.ElementTree as ET
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from seqline.errors import UserError
from seqline.visualize import fonts, video
from seqline.visualize.export import Drawing, save
from seqline.visualize.raster import png
from seqline.visualize.synthetic import fixture
from seqline.visualize.trace import Trace

from .svg import having


@cache
def drawing(name: str, view: str) -> Drawing:
    return Drawing(fixture(name), view, {})


@cache
def frames(name: str, view: str) -> tuple[bytes, ...]:
    made = Drawing(fixture(name), view, {})
    return tuple(png(svg, made.fonts) for svg in made.frames())


def pixels(data: bytes) -> np.ndarray:
    with Image.open(io.BytesIO(data)) as image:
        return np.asarray(image.convert("RGB"))


def test_svg_is_the_scene_and_names_its_fonts(tmp_path: Path) -> None:
    report = save(fixture("D"), tmp_path / "a.svg", "align", {"theme": "dark"})
    assert report.files == (tmp_path / "a.svg",)
    root = ET.parse(tmp_path / "a.svg").getroot()
    assert root.attrib["font-family"] == "'DejaVu Sans'"
    assert len(having(root, "data-background")) == 1
    save(fixture("D"), tmp_path / "b.svg", "align", {"transparent": True})
    assert not having(ET.parse(tmp_path / "b.svg").getroot(), "data-background")


def test_svg_can_carry_its_font(tmp_path: Path) -> None:
    save(fixture("D"), tmp_path / "a.svg", "align", {"embed_fonts": True})
    text = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert "@font-face" in text
    assert "data:font/woff2;base64," in text
    assert ET.fromstring(text).attrib["data-view"] == "align"


@pytest.mark.parametrize("scale", [1, 2, 4])
def test_png_has_the_size_asked_for_and_colours(tmp_path: Path, scale: int) -> None:
    save(fixture("D"), tmp_path / "a.png", "align", {"scale": scale})
    shown = pixels((tmp_path / "a.png").read_bytes())
    size = ET.fromstring(drawing("D", "align").svg()).attrib
    assert shown.shape == (float(size["height"]) * scale, float(size["width"]) * scale, 3)
    packed = shown.astype(np.int32) @ np.array([65536, 256, 1])  # sorting numbers is quicker than sorting rows
    _, counts = np.unique(packed, return_counts=True)
    assert len(counts) >= 12
    assert counts.max() < 0.97 * counts.sum()


def test_png_says_what_it_shows_and_may_be_transparent(tmp_path: Path) -> None:
    save(fixture("D"), tmp_path / "a.png", "align", {"transparent": "true"})
    with Image.open(tmp_path / "a.png") as image:
        assert "checkpoint" in image.text["Description"]
        assert image.convert("RGBA").getpixel((2, 2))[3] == 0
    save(fixture("D"), tmp_path / "b.png", "align")
    with Image.open(tmp_path / "b.png") as image:
        assert image.convert("RGBA").getpixel((2, 2)) == (255, 255, 255, 255)


def test_chinese_beside_isolated_arabic_is_drawn_and_not_boxed() -> None:
    head = '<svg xmlns="http://www.w3.org/2000/svg" width="120" height="40" font-family="{}">'
    line = '<text x="5" y="30" font-size="24">{}</text></svg>'
    loaded = fonts.load_fonts("出来")
    families = ", ".join(f"'{font.family}'" for font in loaded)
    alone = pixels(png(head.format(families) + line.format("出来"), loaded))
    beside = pixels(png(head.format(families) + line.format("出来\u2067من\u2069"), loaded))
    assert (alone[:, :50] < 255).any()
    assert np.array_equal(alone[:, :50], beside[:, :50])


def _gif_frames(data: bytes) -> tuple[list[np.ndarray], list[int]]:
    with Image.open(io.BytesIO(data)) as image:
        shown, durations = [], []
        for number in range(image.n_frames):
            image.seek(number)
            durations.append(image.info["duration"])
            shown.append(np.asarray(image.convert("RGB")))
    return shown, durations


def test_gif_has_every_frame_with_its_duration_and_its_pixels() -> None:
    made = frames("D", "timeline")
    data = video.gif(made, fps=2, comment="said")
    shown, durations = _gif_frames(data)
    assert len(shown) == len(made) == drawing("D", "timeline").num_frames() == 12
    assert durations == [500] * 11 + [2500]
    assert len(data) <= 100_000
    images = [Image.fromarray(pixels(each)) for each in made]
    palette = video.shared_palette(images)
    assert len(set(zip(*[iter(palette.getpalette() or [])] * 3, strict=True))) <= 128
    for number, image in enumerate(images):
        assert np.array_equal(shown[number], np.asarray(video.with_palette(image, palette).convert("RGB"))), number
    with Image.open(io.BytesIO(data)) as image:
        assert image.info["loop"] == 0
        assert image.info["comment"] == b"said"
    assert data == video.gif(made, fps=2, comment="said")


def test_a_frame_equal_to_the_one_before_takes_its_time() -> None:
    one, two = frames("D", "timeline")[:2]
    assert _gif_frames(video.gif([one, one, two], fps=2))[1] == [1000, 2500]


def test_a_noisy_picture_survives_the_compression() -> None:
    noise = np.random.default_rng(0).integers(0, 256, (90, 110, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(noise).save(file, "PNG")
    expected = video.with_palette(Image.fromarray(noise), video.shared_palette([Image.fromarray(noise)])).convert("RGB")
    assert np.array_equal(_gif_frames(video.gif([file.getvalue()]))[0][0], np.asarray(expected))


def test_gif_comes_with_a_sheet_of_its_frames(tmp_path: Path) -> None:
    report = save(fixture("C"), tmp_path / "a.gif", "softmax", {"fps": 1})
    assert [file.name for file in report.files] == ["a.gif", "a-frames.png"]
    count = len(_gif_frames((tmp_path / "a.gif").read_bytes())[0])
    with Image.open(tmp_path / "a-frames.png") as sheet:
        columns, rows = (sheet.width - 8) // 488, (sheet.height - 8) // 278
    assert columns * rows >= count > columns * (rows - 1)


def test_mp4_decodes_to_its_frames(tmp_path: Path) -> None:
    av = pytest.importorskip("av")
    report = save(fixture("D"), tmp_path / "a.mp4", "align", {"fps": 2})
    with av.open(str(report.files[0])) as film:
        shown = [(frame.width, frame.height, frame.format.name) for frame in film.decode(video=0)]
    made = drawing("D", "align")
    size = ET.fromstring(made.svg()).attrib
    width, height = (int(size[side]) // 2 * 2 for side in ("width", "height"))
    assert shown == [(width, height, "yuv420p")] * made.num_frames()
    data = report.files[0].read_bytes()
    assert data.index(b"moov") < data.index(b"mdat")


def test_csv_and_json_have_all_digits(tmp_path: Path) -> None:
    weights = np.asarray(fixture("A").decoded()["attention"][0]["weights"][0][0])
    save(fixture("A"), tmp_path / "a.csv", "align")
    rows = list(csv.reader((tmp_path / "a.csv").read_text(encoding="utf-8").splitlines()))
    assert rows[0] == ["output", "fed in", "比萨", "从", "烤箱", "出来", "sum"]
    assert np.array_equal(np.array([[float(v) for v in row[2:6]] for row in rows[1:]]), weights)
    save(fixture("A"), tmp_path / "a.json", "align", {"t": 6})
    value = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert (value["view"], value["state"]["t"]) == ("align", 6)
    assert value["table"]["rows"][1][2:6] == list(weights[1])


def test_html_is_one_page(tmp_path: Path) -> None:
    save(fixture("A"), tmp_path / "a.html", "align", {"t": 6})
    assert (tmp_path / "a.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_all_views_go_into_one_folder_with_an_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("align", "pe", "softmax")
    monkeypatch.setattr("seqline.visualize.export.view_names", lambda: names)
    report = save(fixture("A"), tmp_path / "all", "all", {"theme": "dark"})
    expected = {"index.html"} | {
        f"{name}{end}" for name in ("align", "softmax") for end in (".svg", ".png", ".gif", "-frames.png")
    }
    assert {file.name for file in (tmp_path / "all").iterdir()} == expected == {file.name for file in report.files}
    index = (tmp_path / "all" / "index.html").read_text(encoding="utf-8")
    assert "pe: " in index
    assert 'href="align.gif"' in index


@pytest.mark.parametrize(
    ("path", "view", "state", "said"),
    [
        ("a.svg", "aling", {}, "view: no view named 'aling'; did you mean 'align'?"),
        ("a.sgv", "align", {}, "did you mean 'svg'?"),
        ("a", "align", {}, "cannot write '' files"),
        ("a.svg", "align", {"laier": 1}, "laier: this view has no setting 'laier'; did you mean 'layer'?"),
        ("a.svg", "align", {"font": ["Comic"]}, "font: this view has no setting 'font'"),
        ("a.svg", "align", {"theme": "drak"}, "theme: expected light, dark or print, got 'drak'"),
        ("a.png", "align", {"scale": 5}, "scale: expected 1, 2, 3 or 4, got 5"),
        ("a.svg", "align", {"fps": 2}, "fps: a .svg file takes no fps; it is for gif or mp4"),
        ("a.gif", "align", {"fps": 0}, "fps: expected a number above 0"),
        ("a.gif", "card", {}, "has one frame; save a png or an svg"),
        ("a.html", "align", {"laier": 1}, "did you mean 'layer'?"),
        ("a.svg", "align", {"row": 2.5}, "row: expected a whole number from 0, got 2.5; count from 0"),
        ("a.svg", "align", {"t": "soon"}, "t: expected a whole number from 1 to 1,000,000, got 'soon'"),
        ("a.svg", "align", {"layer": -1}, "layer: expected a whole number from 0, got -1"),
        ("a.png", "align", {"width": 1e9}, "width: expected a whole number from 320 to 20,000"),
    ],
)
def test_what_cannot_be_written_is_said_in_one_line(
    tmp_path: Path, path: str, view: str, state: dict[str, Any], said: str
) -> None:
    with pytest.raises(UserError) as caught:
        save(fixture("A"), tmp_path / path, view, state)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("module", "suffix", "extra"),
    [
        ("resvg_py", "png", "pictures"),
        ("PIL", "gif", "pictures"),
        ("fontTools", "svg", "pictures"),
        ("av", "mp4", "video"),
    ],
)
def test_a_missing_package_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, suffix: str, extra: str
) -> None:
    fonts._font.cache_clear()
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UserError) as caught:
        save(fixture("A"), tmp_path / f"a.{suffix}", "align")
    assert f'pip install "seqline[{extra}]"' in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_glyphs_are_in_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fonts, "_installed", dict)
    monkeypatch.delenv("SEQLINE_FONTS", raising=False)
    rare = Trace.from_numpy([[0.5, 0.5]], ["a"], ["龘", "靐"])  # not among the Chinese characters that are bundled
    report = save(rare, tmp_path / "a.png", "align")
    assert {"龘", "靐"} <= set(report.missing)
    assert report.warning.startswith("missing glyphs: ")
    assert save(fixture("D"), tmp_path / "b.png", "align").warning == ""
