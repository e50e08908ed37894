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

ENVIRONMENT = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C", "LANG": "C"}
NUMBERS = ["một", "hai", "ba", "bốn", "năm"]
PAIRS = [Pair(f"xin chào 😀 {word}", f"hello 😀 {word}", line) for line, word in enumerate(NUMBERS, 1)]


def in_c_locale(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-X", "warn_default_encoding", "-m", "seqline", *arguments],
        env={**os.environ, **ENVIRONMENT},
        input=stdin,
        capture_output=True,
        timeout=100,
        check=False,
    )


def test_training_and_translating_give_the_same_bytes(seqline: Seqline, tmp_path: Path) -> None:
    data = write_tsv(tmp_path / "data.tsv", PAIRS)
    command = ["train", str(data), "--valid", str(data), *(f"--set={setting}" for setting in settings()), "--threads=1"]
    assert seqline(*command, "--out", tmp_path / "utf8").code == 0
    ended = in_c_locale(*command, "--out", str(tmp_path / "c"))
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.replace(b"/c", b"/utf8").startswith(f"{tmp_path / 'utf8'}: luong".encode())
    assert weights(tmp_path / "c") == weights(tmp_path / "utf8")
    text = "".join(f"{pair.source}\n" for pair in PAIRS).encode()
    translated = in_c_locale("translate", str(tmp_path / "c"), "-", "--json", stdin=text)
    assert translated.returncode == 0, translated.stderr
    assert "😀".encode() in translated.stdout
    assert translated.stdout == seqline("translate", tmp_path / "utf8", "-", "--json", stdin=text).stdout
    for process in (ended, translated):
        assert b"EncodingWarning" not in process.stderr or b"seqline" not in process.stderr.split(b"EncodingWarning")[0]


@pytest.mark.parametrize("option", [(), ("--json",)])
def test_a_folder_may_have_any_name(reversing_run: ReversingRun, tmp_path: Path, option: tuple[str, ...]) -> None:
    folder = tmp_path / "läuft 😀"
    shutil.copytree(reversing_run.folder, folder)
    ended = in_c_locale("info", str(folder), *option)
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert "läuft 😀".encode() in ended.stdout
