"""docs/line: quoted code occurs in the file it names, commands parse, every architecture and every page is listed."""

from __future__ import annotations

import re
import shlex
from itertools import pairwise
from pathlib import Path

import pytest
import typer.main

from seqline.architectures import ARCHITECTURES
from seqline.cli import app
from seqline.config import load_config
from seqline.tasks import TASKS

ROOT = Path(__file__).parents[2]
INDEX = ROOT / "docs" / "line.md"
PAGES = [INDEX, *sorted((ROOT / "docs" / "line").glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def bare(code: str) -> str:
    """Return code without what a formatter may change: white space and commas before a bracket."""
    return re.sub(r",(?=[)\]}])", "", "".join(code.split()))


def test_every_architecture_is_named() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert [name for name in ARCHITECTURES if f"`{name}`" not in text] == []


def test_the_index_leads_to_every_page() -> None:
    index = INDEX.read_text(encoding="utf-8")
    assert [page.name for page in PAGES[1:] if f"(line/{page.name})" not in index] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_quoted_code_occurs_in_its_file(page: Path) -> None:
    for block in blocks(page, "python"):
        first, code = block.split("\n", 1)
        assert first.startswith("# src/"), f"{page.name}: a block of code names no file: {first}"
        source = (ROOT / first[2:]).read_text(encoding="utf-8")
        assert bare(code), f"{page.name}: an empty block"
        occurs = bare(code) in bare(source)
        assert occurs, f"{page.name}: not in {first[2:]}:\n{code}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_parse(page: Path) -> None:
    for line in "".join(blocks(page, "sh")).splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["seqline"]:
            check_command(words[1:], line)


def check_command(words: list[str], line: str) -> None:
    """Check a command's options, and for `train` its architecture, task and settings."""
    command = typer.main.get_command(app)
    while commands := getattr(command, "commands", None):
        assert words[0] in commands, f"no such command: {line}"
        command, words = commands[words[0]], words[1:]
    options = {name for parameter in command.params for name in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= options, line
    given = [(name, value) for name, value in pairwise(words) if name.startswith("--")]
    values = dict(given)
    if "--arch" in values:
        config = load_config(None, [value for name, value in given if name == "--set"])
        recipe, task = ARCHITECTURES[values["--arch"]], values.get("--task", "translation")
        task = TASKS["language_model" if task == "lm" else task]
        task.require(recipe)
        own = {key: value for key, value in dict(config.model.settings).items() if value is not None}
        task.settings_of(recipe)(**{**recipe.sizes["tiny"], **own})


def test_glossary_is_sorted_and_names_what_exists() -> None:
    entries = re.findall(
        r"^- \*\*(.+?)\*\* \((.+?)\): ", (ROOT / "docs" / "glossary.md").read_text("utf-8"), re.MULTILINE
    )
    assert len(entries) > 80
    terms = [term.casefold() for term, _ in entries]
    assert terms == sorted(terms)
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    names = re.findall(r"`(\w+)`", " ".join(code for _, code in entries))
    assert [name for name in names if not re.search(rf"\b{name}\b", source)] == []
