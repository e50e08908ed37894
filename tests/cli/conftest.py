"""Commands called in this process: what they print, how they exit, and what they leave on the disk."""

from __future__ import annotations

import io
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from seqline.cli import main


class Outcome(NamedTuple):
    """How a command ended."""

    code: int
    stdout: bytes
    stderr: str

    @property
    def lines(self) -> list[str]:
        """The lines of stdout, which must be UTF-8 and end in a line end."""
        text = self.stdout.decode("utf-8")
        assert text == "" or text.endswith("\n")
        return text.split("\n")[:-1]


Seqline = Callable[..., Outcome]
Refused = Callable[..., str]


@pytest.fixture(autouse=True)
def keep_signals() -> Iterator[None]:
    """Put the signal handlers back that a command sets for the rest of its process."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def seqline(capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Seqline:
    """Return what runs `seqline ARGUMENTS`, with `stdin` as its standard input."""

    def run(*arguments: str | Path, stdin: bytes = b"") -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="ascii"))
        monkeypatch.setattr(sys, "argv", ["seqline"])  # help names the command after it
        capsysbinary.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        out, err = capsysbinary.readouterr()
        code = ended.value.code
        assert isinstance(code, int)
        return Outcome(code, out, err.decode("utf-8"))

    return run


@pytest.fixture
def refused(seqline: Seqline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Refused:
    """Return what runs a command in `tmp_path` that must refuse, and gives its one line of error."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str | Path, stdin: bytes = b"") -> str:
        before = everything_in(tmp_path)
        code, out, err = seqline(*arguments, stdin=stdin)
        assert (code, out) == (2, b""), err
        assert err.count("\n") == 1
        assert err.endswith("\n")
        assert err.startswith("error: ")
        assert "Traceback" not in err
        assert everything_in(tmp_path) == before
        return err

    return run


def everything_in(folder: Path) -> dict[str, bytes | None]:
    """Return all names under a folder, files with their content."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }
