"""Which fonts are chosen, what is reported missing, and that a picture knows no other font."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from seqline.errors import UserError
from seqline.visualize import fonts
from seqline.visualize.fonts import BUNDLED, CHINESE, CHINESE_FAMILY, load_fonts, missing_glyphs, missing_sentence


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend that no known font is installed."""
    monkeypatch.setattr(fonts, "_installed", dict)
    monkeypatch.delenv("SEQLINE_FONTS", raising=False)


def test_the_bundled_font_and_its_licence_are_there() -> None:
    assert BUNDLED.stat().st_size > 700_000
    licence = BUNDLED.with_name("LICENSE-DejaVu.txt").read_text(encoding="utf-8")
    assert "Bitstream Vera" in licence


def test_latin_greek_cyrillic_arabic_hebrew_and_markers_need_no_other_font(alone: None) -> None:
    chosen = load_fonts("the ▁pizza Ġwas Ελλάδα привет خرجت שלום ␣ ⏎")
    assert [font.family for font in chosen] == ["DejaVu Sans"]
    assert missing_glyphs("خرجت البيتزا ▁", chosen) == []


def test_missing_glyphs_are_named_with_what_mends_it(alone: None) -> None:
    missing = missing_glyphs("a 靐 b 龘靐", load_fonts("靐龘"))
    assert missing_sentence(missing) == "missing glyphs: 靐 龘 — install fonts-noto-cjk or set SEQLINE_FONTS"
    assert "fonts-noto-core" in missing_sentence(["\u0e01"])
    assert missing_sentence([]) == ""
    assert "and 5 more" in missing_sentence([chr(0x4E00 + i) for i in range(25)])


def test_white_space_and_format_marks_need_no_glyph() -> None:
    assert fonts.drawn("a \u2067\u2069\u200b\n\ta") == ["a"]


def test_a_font_of_the_variable_comes_before_installed_ones(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, alone: None
) -> None:
    from fontTools.subset import Options, Subsetter
    from fontTools.ttLib import TTFont

    font = TTFont(BUNDLED)
    subset = Subsetter(Options())
    subset.populate(text="xy")
    subset.subset(font)
    font["cmap"].tables[0].cmap[0x6BD4] = "x"
    for table in font["cmap"].tables:
        table.cmap[0x6BD4] = "x"
    font.save(tmp_path / "mine.ttf")
    monkeypatch.setenv("SEQLINE_FONTS", str(tmp_path / "mine.ttf"))
    chosen = load_fonts("比")
    assert [font.path for font in chosen] == [BUNDLED, tmp_path / "mine.ttf"]
    assert missing_glyphs("比", chosen) == []
    assert len(load_fonts("abc")) == 1


def test_a_file_that_is_no_font_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "notes.ttf").write_text("not a font", encoding="utf-8")
    monkeypatch.setenv("SEQLINE_FONTS", str(tmp_path / "notes.ttf"))
    with pytest.raises(UserError, match=r"notes\.ttf: expected a font file"):
        load_fonts("\U000e0fff比")
    monkeypatch.setenv("SEQLINE_FONTS", str(tmp_path / "absent.ttf"))
    with pytest.raises(UserError, match="no such file"):
        load_fonts("比")


@pytest.mark.skipif(
    shutil.which("fc-list") is None or "NotoSansCJK-Regular.ttc" not in fonts._installed(), reason="no CJK font"
)
def test_an_installed_cjk_font_is_found() -> None:
    chosen = load_fonts("the 靐龘")
    assert [font.family for font in chosen] == ["DejaVu Sans", "Noto Sans CJK SC"]
    assert missing_glyphs("the 靐龘", chosen) == []


def test_every_chinese_character_that_seqline_prints_is_bundled(alone: None) -> None:
    from seqline.tour.characters import own_characters

    own = own_characters()
    assert len(own) > 500
    assert set("披萨学生步源句注意力") <= set(own)
    chosen = load_fonts(own)
    assert [font.family for font in chosen] == ["DejaVu Sans", CHINESE_FAMILY]
    assert missing_glyphs(own, [font for font in chosen if font.path == CHINESE]) == []


def test_the_bundled_chinese_font_is_small_and_has_its_licence_and_a_name_of_its_own() -> None:
    from fontTools.ttLib import TTFont

    assert CHINESE.stat().st_size < 250_000
    licence = CHINESE.with_name("LICENSE-OFL.txt").read_text(encoding="utf-8")
    assert "SIL OPEN FONT LICENSE Version 1.1" in licence
    assert "Adobe" in licence
    with TTFont(CHINESE) as font:
        assert font["name"].getBestFamilyName() == CHINESE_FAMILY


def test_reading_a_trace_loads_no_picture_package() -> None:
    code = (
        "import sys, seqline.visualize.trace, seqline.visualize.export\n"
        "print([m for m in ('torch', 'quickjs', 'py_mini_racer', 'resvg_py', 'PIL', 'fontTools', 'av') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
