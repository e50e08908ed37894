"""How seqline starts: quick help, no heavy import, no warning, its version."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version

import pytest

import seqline as package

from .conftest import Seqline

HEAVY = ("torch", "numpy", "sentencepiece", "sacrebleu", "safetensors", "matplotlib", "starlette", "uvicorn")
TYPER_ITSELF = ("pydantic", "typer", "rich")
C_LOCALE = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}
COMMANDS = (
    "demo",
    "train",
    "translate",
    "evaluate",
    "compare",
    "score",
    "verify",
    "info",
    "studio",
    "data",
    "data toy",
    "data series",
    "forecast",
    "forecast train",
    "forecast predict",
    "forecast backtest",
)


def python(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        encoding="utf-8",
        timeout=100,
        check=False,
    )


def test_help_imports_nothing_heavy() -> None:
    code = f"""
import sys
from seqline.cli import main
for command in {["", *COMMANDS]!r}:
    try:
        main([*command.split(), "--help"])
    except SystemExit as ended:
        assert ended.code == 0, command
found = [name for name in {HEAVY!r} if name in sys.modules]
assert not found, found
"""
    ended = python("-W", "error", "-c", code, **C_LOCALE)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.count("Usage: ") == 1 + len(COMMANDS)


def test_importing_seqline_is_quick_and_silent() -> None:
    code = f"import sys, seqline; found = [n for n in {HEAVY + TYPER_ITSELF!r} if n in sys.modules]; assert not found, found"
    ended = python("-W", "error", "-c", code)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_python_m_seqline_is_seqline() -> None:
    ended = python("-m", "seqline", "--version")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, f"seqline {version('seqline')}\n", "")


def test_version(seqline: Seqline) -> None:
    assert seqline("--version") == (0, f"seqline {version('seqline')}\n".encode(), "")


@pytest.mark.parametrize("arguments", [(), ("data",), ("forecast",)])
def test_a_command_without_its_arguments_is_answered_with_its_help(seqline: Seqline, arguments: tuple[str]) -> None:
    code, out, err = seqline(*arguments)
    assert (code, out) == (2, b"")
    assert err.startswith("Usage: seqline")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_on_stdout(seqline: Seqline, command: str) -> None:
    code, out, err = seqline(*command.split(), "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"Usage: seqline {command} ".encode())
    assert b"\x1b" not in out


def test_public_names() -> None:
    assert dir(package) == sorted(package.__all__)
    assert len(package.__all__) <= 25
    for name in package.__all__:
        assert getattr(package, name) is not None
    with pytest.raises(AttributeError, match="'seqline' has no attribute 'nope'"):
        _ = package.nope
