"""The locale decides nothing: the same bytes under `C` as under UTF-8."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from seqline.data.text import Pair

from ..small_run import ReversingRun, settings, weights, write_tsv
from .conftest import Seqline

C_LOCALE = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C", "LANG": "C", "PYTHONHASHSEED": "2"}
NUMBERS = ["một", "hai", "ba", "bốn", "năm"]
PAIRS = [Pair(f"xin chào 😀 {word}", f"hello 😀 {word}", line) for line, word in enumerate(NUMBERS, 1)]
CALL_ALL = """
import sys
from seqline.cli import main
for arguments in {commands!r}:
    try:
        main(arguments)
    except SystemExit as ended:
        assert ended.code == 0, arguments
"""


def in_c_locale(*commands: list[str], stdin: bytes) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-X", "warn_default_encoding", "-c", CALL_ALL.format(commands=commands)],
        env={**os.environ, **C_LOCALE},
        input=stdin,
        capture_output=True,
        timeout=100,
        check=False,
    )


def test_training_and_translating_give_the_same_bytes(seqline: Seqline, tmp_path: Path) -> None:
    data = write_tsv(tmp_path / "data.tsv", PAIRS)
    train = ["train", str(data), "--valid", str(data), *(f"--set={setting}" for setting in settings()), "--threads=1"]
    text = "".join(f"{pair.source}\n" for pair in PAIRS).encode()
    assert seqline(*train, "--out", tmp_path / "utf8").code == 0
    translated = seqline("translate", tmp_path / "utf8", "-", "--json", stdin=text)
    ended = in_c_locale(
        [*train, "--out", str(tmp_path / "c")], ["translate", str(tmp_path / "c"), "-", "--json"], stdin=text
    )
    assert ended.returncode == 0, ended.stderr
    assert weights(tmp_path / "c") == weights(tmp_path / "utf8")
    assert ended.stdout.endswith(translated.stdout)
    assert translated.stdout.count("xin chào 😀".encode()) == len(PAIRS)
    warnings = [line for line in ended.stderr.decode().splitlines() if "EncodingWarning" in line]
    assert not [line for line in warnings if f"{os.sep}seqline{os.sep}" in line]


@pytest.mark.parametrize("option", [(), ("--json",)])
def test_a_folder_may_have_any_name(
    seqline: Seqline, reversing_run: ReversingRun, tmp_path: Path, option: tuple[str, ...]
) -> None:
    folder = tmp_path / "läuft 😀"
    shutil.copytree(reversing_run.folder, folder)
    for argument in (str(folder), os.fsencode(folder).decode("ascii", "surrogateescape")):  # UTF-8, and the C locale
        ended = seqline("info", argument, *option)
        assert (ended.code, ended.stderr) == (0, "")
        assert "läuft 😀" in ended.stdout.decode()
