"""The docs name what exists: every setting, every file that is linked, every command line that is shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from seqline.architectures import ARCHITECTURES
from seqline.architectures.queries import QuerySettings
from seqline.config import Config
from seqline.forecasting.building import ForecastSettings

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.md")])


def test_settings_page_lists_every_key_and_no_other() -> None:
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    sections = {name: type(getattr(Config(), name)) for name in Config.model_fields}
    keys = {f"{name}.{key}" for name, section in sections.items() for key in section.model_fields}
    keys |= {f"model.{key}" for recipe in ARCHITECTURES.values() for key in recipe.settings.model_fields}
    keys |= {f"model.{key}" for section in (QuerySettings, ForecastSettings) for key in section.model_fields}
    assert set(re.findall(r"^\| `([a-z_.]+)` \|", page, flags=re.MULTILINE)) == keys


def test_settings_page_has_the_sizes_of_every_recipe() -> None:
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    for recipe in ARCHITECTURES.values():
        block = page.split(f"### {recipe.name}\n")[1].split("###")[0]
        assert set(re.findall(r"`model\.([a-z_]+)`", block)) == set(recipe.settings.model_fields)
        for key in recipe.sizes["tiny"]:
            values = " | ".join(f"`{recipe.sizes[size][key]}`" for size in ("tiny", "small", "base"))
            assert f"| `model.{key}` | {values} |" in block


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_readme_names_every_architecture() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [name for name in ARCHITECTURES if f"`{name}`" not in readme] == []
