"""`seqline compare`: its options, its refusals and its exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seqline.comparing import compare as module
from seqline.comparing import explaining
from seqline.comparing.compare import Running

from ..comparing.small import InProcess, letters
from .conftest import Refused, Seqline

SETTINGS = ("tokenizer.kind=word", "model.embed_size=8", "model.hidden_size=8", "training.batch_tokens=60",
            "training.validate_sentences=4", "decoding.beam_size=1", "decoding.max_length_extra=4")  # fmt: skip
QUICK = [option for setting in SETTINGS for option in ("--set", setting)]


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Train in this process, and draw nothing."""

    def running(jobs: int, say: object, *, command: str) -> Running:
        return Running(jobs, say, start=InProcess, command=command)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(module, "Running", running)
    monkeypatch.setattr(explaining, "installed_engines", lambda: ())


def test_the_table_is_printed_and_progress_goes_elsewhere(in_process: None, seqline: Seqline, tmp_path: Path) -> None:
    data = letters(tmp_path / "data")
    command = ["compare", data, "--archs", "encoder-decoder,luong", "--budget", "2steps", "--out", tmp_path / "out", *QUICK,
               "--set", "luong:model.score=dot"]  # fmt: skip
    ended = seqline(*command)
    assert ended.code == 0, ended.stderr
    assert ended.lines[0].split()[:4] == ["architecture", "BLEU", "chrF2", "against"]
    assert ended.lines[-1] == f"the report, for any browser: {tmp_path / 'out' / 'report.html'}"
    assert "luong-seed1: begins (2 of 2)" in ended.stderr
    ended = seqline(*command, "--json")
    assert ended.code == 0
    found = json.loads(ended.lines[0])
    settings = {row["name"]: row["settings"] for row in found["architectures"]}
    assert settings["luong"]["model.score"] == "dot"
    assert "model.score" not in settings["encoder-decoder"]


def test_a_failure_is_a_remark_and_only_failures_are_an_error(
    in_process: None, seqline: Seqline, tmp_path: Path
) -> None:
    data = letters(tmp_path / "data")
    broken = ["--set", "luong:training.learning_rate=1e30", "--set", "luong:training.clip_norm=0.0"]
    both = ["compare", data, "--archs", "encoder-decoder,luong", "--budget", "3steps", *QUICK, *broken]
    ended = seqline(*both, "--out", tmp_path / "both")
    assert ended.code == 0
    assert "1 of 2 runs failed" in ended.stderr
    assert any(line.startswith("luong-seed1 failed: ") for line in ended.lines)
    ended = seqline(
        "compare", data, "--archs", "luong", "--budget", "3steps", *QUICK, *broken, "--out", tmp_path / "one"
    )
    assert ended.code == 1
    assert json.loads((tmp_path / "one" / "results.json").read_text())["baseline"] is None
    assert (tmp_path / "one" / "report.html").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--archs", "luonk"], "error: --archs: unknown architecture 'luonk'; did you mean 'luong'?\n"),
        (
            ["--archs", "luong", "--budget", "5"],
            "error: --budget: expected a time, a number of steps or of tokens, got '5'; ",
        ),
        (["--archs", "luong", "--parameters", "x"], "error: --parameters: expected a number of parameters, got 'x'; "),
        (["--archs", "luong", "--task", "tag"], "error: --task: unknown task 'tag'; did you mean 'tagging'?\n"),
        (
            ["--archs", "luong", "--set", "cho:model.hidden_size=8"],
            "error: --set: 'cho' is not compared; known: luong\n",
        ),
        (
            ["--archs", "luong", "--set", "luong:data.max_tokens=8"],
            "error: --set luong:data.max_tokens: must be the same for all",
        ),
        (["--archs", "luong", "--sentence", " "], "error: --sentence: expected a text, got a blank one; "),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing(
    refused: Refused, tmp_path: Path, options: list[str], message: str
) -> None:
    letters(tmp_path / "data")
    assert refused("compare", "data", *options, "--out", "out").startswith(message)
