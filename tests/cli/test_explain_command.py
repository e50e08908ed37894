"""`seqline explain`: one text, one run, one file; drawing what was recorded needs no model."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from seqline.visualize.trace import Trace

from ..small_run import ReversingRun
from .conftest import Refused, Seqline, everything_in


@pytest.fixture(scope="module")
def recorded(reversing_run: ReversingRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a trace of the run in a folder of its own."""
    from seqline.api import explain

    path = tmp_path_factory.mktemp("recorded") / "one.json.gz"
    explain(reversing_run.folder, "a b c", beam_size=2, training=True).write(path)
    return path


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_run_and_a_text_make_a_new_page(seqline: Seqline, reversing_run: ReversingRun, here: Path) -> None:
    for name in ("run-timeline.html", "run-timeline-2.html"):
        done = seqline("explain", reversing_run.folder, "a b c")
        assert (done.code, done.stderr, done.lines) == (0, "", ["c b a", f"written: {name}"])
        assert (here / name).read_bytes().startswith(b"<!doctype html>")
    assert set(everything_in(here)) == {"run-timeline.html", "run-timeline-2.html"}


def test_a_text_from_standard_input_forced_and_as_json(
    seqline: Seqline, reversing_run: ReversingRun, here: Path
) -> None:
    options = ["--out", "x.json", "--force", "1=h", "--json"]
    done = seqline("explain", reversing_run.folder, "-", *options, stdin=b"a b c\n")
    assert (done.code, done.stderr) == (0, "")
    said = json.loads(done.stdout)
    assert (said["file"], said["source"], said["failed"]) == ("x.json", "a b c", [])
    assert said["target"].startswith("h")
    trace = Trace.read(here / "x.json")
    assert isinstance(trace, Trace)
    assert trace.document["decode"]["mode"] == "forced"
    assert trace.document["target"]["text"] == said["target"]


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("x.svg", b"<svg"),
        ("x.PNG", b"\x89PNG"),
        ("x.gif", b"GIF89a"),
        ("x.mp4", b"\0\0\0"),
        ("x.csv", b"t,"),
        ("x.html", b"<!doctype html>"),
        ("x.json", b"{"),
        ("x.json.gz", b"\x1f\x8b"),
    ],
)
def test_the_suffix_says_what_is_written(
    seqline: Seqline, recorded: Path, here: Path, name: str, begins: bytes
) -> None:
    (here / name).write_text("what was there before")
    done = seqline("explain", recorded, "--out", name)
    assert (done.code, done.stderr, done.lines[-1]) == (0, "", f"written: {name}")
    assert (here / name).read_bytes().startswith(begins)
    assert set(everything_in(here)) == {name, *(["x-frames.png"] if name == "x.gif" else [])}


def test_a_view_takes_its_state(seqline: Seqline, recorded: Path, here: Path) -> None:
    for number in (1, 2):
        assert (
            seqline("explain", recorded, "--view", "beam", "--set", f"t={number}", "--out", f"{number}.svg").code == 0
        )
    assert (here / "1.svg").read_bytes() != (here / "2.svg").read_bytes()


@pytest.mark.slow
def test_all_views_make_a_folder(seqline: Seqline, recorded: Path, here: Path) -> None:
    done = seqline("explain", recorded, "--view", "all", "--out", "views")
    assert (done.code, done.stderr, done.lines[-1]) == (0, "", "written: views")
    found = set(everything_in(here / "views"))
    assert {"index.html", "timeline.svg", "timeline.gif", "align.png", "beam.svg", "train.svg"} <= found
    page = (here / "views" / "index.html").read_text(encoding="utf-8")
    assert all(name in page for name in found - {"index.html"} if "-frames" not in name)


def test_the_curves_of_the_training(seqline: Seqline, reversing_run: ReversingRun, here: Path) -> None:
    assert seqline("explain", reversing_run.folder, "a b", "--view", "train", "--out", "train.svg").code == 0
    drawn = (here / "train.svg").read_text(encoding="utf-8")
    assert 'data-line="loss"' in drawn
    assert 'data-line="lr"' in drawn


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "expected a text to explain"),
        (("  ",), "got a blank one"),
        (("a", "--view", "nothing"), "nothing"),
        (("a", "--out", "x.bmp"), "x.bmp"),
        (("a", "--out", "x"), "x"),
        (("a", "--set", "colour=1", "--out", "x.svg"), "colour"),
        (("a", "--set", "colour", "--out", "x.svg"), "colour"),
        (("a", "--set", "t=1", "--out", "x.json"), "a trace holds everything"),
        (("a", "--beam", "2", "--force", "1=b"), "has no meaning with --force"),
        (("a", "--set", "theme=pink", "--out", "x.svg"), "pink"),
        (("a", "--force", "2"), "expected STEP=WORD"),
        (("a", "--force", "two=a"), "expected STEP=WORD"),
        (("a", "--force", "0=a"), "a step from 1 up"),
        (("a", "--force", "1=zebra"), "is no piece of the vocabulary"),
        (("a", "--force", "1=b", "--force", "1=c"), "step 1 is given twice"),
        (("a", "--force", "999=b"), "a step up to"),
        (("a", "--beam", "0"), "--beam"),
        (("a", "--device", "abacus"), "abacus"),
        (("a", "--out", "folder/file/x.svg"), "folder/file"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(
    refused: Refused, reversing_run: ReversingRun, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_text("no folder")
    assert said in refused("explain", reversing_run.folder, *options)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--view", "nothing", "--out", "x.json"), "no view named 'nothing'"),
        (("--view", "nothing"), "no view named 'nothing'"),
        (("--out", "x.bmp"), "cannot write 'bmp' files"),
        (("--set", "colour=1"), "no setting 'colour'"),
        (("--view", "all", "--set", "colour=1"), "no setting 'colour'"),
        (("--view", "all", "--out", "x.png"), "makes a folder of files"),
        (("--set", "layer"), "write for instance layer=1"),
        (("--set", "layer=1", "--set", "layer=2"), "is given twice"),
        (("--set", "theme=pink"), "got 'pink'"),
        (("--set", "fps=2", "--out", "x.svg"), "takes no fps"),
    ],
)
def test_what_cannot_be_drawn_is_refused_before_anything_is_recorded(
    refused: Refused, options: tuple[str, ...], said: str
) -> None:
    assert said in refused("explain", "no-run-is-read", "a", *options)


def test_no_run_and_a_damaged_run(refused: Refused, reversing_run: ReversingRun, tmp_path: Path) -> None:
    assert "nowhere" in refused("explain", "nowhere", "a")
    shutil.copytree(reversing_run.folder, tmp_path / "run")
    weights = bytearray((tmp_path / "run" / "weights.safetensors").read_bytes())
    weights[-1] ^= 1
    (tmp_path / "run" / "weights.safetensors").write_bytes(weights)
    assert "weights.safetensors" in refused("explain", "run", "a")


def test_a_training_log_that_is_damaged(refused: Refused, reversing_run: ReversingRun, tmp_path: Path) -> None:
    shutil.copytree(reversing_run.folder, tmp_path / "run")
    with (tmp_path / "run" / "metrics.jsonl").open("a") as file:
        file.write('{"event": "step"\n')
    assert "metrics.jsonl line" in refused("explain", "run", "a", "--view", "train")


@pytest.mark.parametrize("more", [("a",), ("--beam", "2"), ("--force", "1=a")])
def test_a_recorded_trace_takes_no_text(refused: Refused, recorded: Path, more: tuple[str, ...]) -> None:
    assert "is a recorded trace" in refused("explain", recorded, *more)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b"\x1f\x8b\x08broken", b'{"schema": "trace/2"}'])
def test_a_recorded_trace_that_is_damaged(refused: Refused, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "one.json").write_bytes(content)
    assert "one.json" in refused("explain", "one.json", "--out", "x.svg")


def test_an_existing_folder_of_views_is_kept(refused: Refused, recorded: Path, tmp_path: Path) -> None:
    (tmp_path / "views").mkdir()
    (tmp_path / "views" / "mine.txt").write_text("mine")
    assert "views" in refused("explain", recorded, "--view", "all", "--out", "views")


def test_neither_help_nor_a_recorded_trace_needs_torch(recorded: Path, tmp_path: Path) -> None:
    code = """
import sys
from seqline.cli import main
for arguments in (["explain", "--help"], ["explain", sys.argv[1], "--out", "x.svg"], ["explain", sys.argv[1]]):
    try:
        main(arguments)
    except SystemExit as ended:
        assert ended.code == 0, arguments
assert "torch" not in sys.modules
"""
    done = subprocess.run(
        [sys.executable, "-c", code, recorded], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert set(everything_in(tmp_path)) == {"x.svg", "one-timeline.html"}


def test_a_view_of_what_was_not_recorded_is_refused(refused: Refused, recorded: Path) -> None:
    for name in ("x.svg", "x.html"):
        assert "view ttt: " in refused("explain", recorded, "--view", "ttt", "--out", name)
