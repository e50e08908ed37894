"""A mistake of the user: one line on stderr, exit status 2, nothing on stdout, nothing created."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ..small_run import ReversingRun, letter_pairs, settings, write_letters, write_tsv
from .conftest import Refused, Seqline

ARCH = ("--arch", "luong", "--out", "run")

# name, file contents, arguments of `seqline train`, words that the message must have
BAD_TRAINING: list[tuple[str, dict[str, bytes], tuple[str, ...], tuple[str, ...]]] = [
    ("missing file", {}, ("no.tsv", *ARCH), ("no.tsv", "no such file")),
    ("missing side", {"a": b"a\n"}, ("a,b", *ARCH), ("b: no such file",)),
    ("missing valid", {"a.tsv": b"a\tb\n"}, ("a.tsv", "--valid", "v.tsv", *ARCH), ("v.tsv", "no such file")),
    ("other counts", {"a": b"1\n2\n3\n", "b": b"1\n2\n"}, ("a,b", *ARCH), ("3 lines in a", "2 in b", "line 3")),
    ("not UTF-8", {"a.tsv": b"a\tb\nc\t\xff\n"}, ("a.tsv", *ARCH), ("a.tsv:2", "UTF-8")),
    ("not UTF-8, two files", {"a": b"a\nb\n", "b": b"a\n\xc3\n"}, ("a,b", *ARCH), ("b:2", "UTF-8")),
    ("NUL", {"a.tsv": b"a\tb\nc\t\0\n"}, ("a.tsv", *ARCH), ("a.tsv:2", "NUL")),
    ("no tab", {"a.tsv": b"a\tb\nc d\n"}, ("a.tsv", *ARCH), ("a.tsv:2", "tab")),
    ("two tabs", {"a.tsv": b"a\tb\nc\td\te\n"}, ("a.tsv", *ARCH), ("a.tsv:2", "3 columns")),
    ("bad JSON", {"a.jsonl": b'{"source": "a", "target": "b"}\n{\n'}, ("a.jsonl", *ARCH), ("a.jsonl:2",)),
    ("empty corpus", {"a.tsv": b""}, ("a.tsv", *ARCH), ("a.tsv", "no usable pairs")),
    ("blank corpus", {"a.tsv": b"\n \t \n"}, ("a.tsv", *ARCH), ("a.tsv", "no usable pairs")),
    ("empty folder", {"d/x.txt": b""}, ("d", *ARCH), ("no training set", "train.tsv")),
    ("too few to hold out", {"a.tsv": b"a\tb\n" * 30}, ("a.tsv", *ARCH), ("hold out", "--valid")),
    ("unknown recipe", {}, ("a.tsv", "--arch", "luonk", "--out", "run"), ("--arch", "'luonk'", "mean 'luong'")),
    ("no recipe", {"a.tsv": b"a\tb\n"}, ("a.tsv", "--out", "run"), ("--arch",)),
    ("no out", {"a.tsv": b"a\tb\n"}, ("a.tsv", "--arch", "luong"), ("--out is missing",)),
    ("no data", {}, ARCH, ("DATA is missing",)),
    ("unknown key", {}, ("a.tsv", *ARCH, "--set", "training.max_step=5"), ("training.max_step:", "'max_steps'")),
    ("unknown recipe key", {}, ("a.tsv", *ARCH, "--set", "model.scoer=dot"), ("model.scoer", "'score'")),
    ("unknown section", {}, ("a.tsv", *ARCH, "--set", "trainig.seed=5"), ("trainig", "'training'")),
    ("wrong type", {}, ("a.tsv", *ARCH, "--set", "training.max_steps=many"), ("training.max_steps", "whole number")),
    ("wrong recipe type", {}, ("a.tsv", *ARCH, "--set", "model.hidden_size=1.5"), ("hidden_size", "whole number")),
    ("out of range", {}, ("a.tsv", *ARCH, "--set", "training.label_smoothing=1"), ("label_smoothing", "below 1")),
    ("no key", {}, ("a.tsv", *ARCH, "--set", "max_steps"), ("--set", "key=value")),
    ("bad device", {"a.tsv": b"a\tb\n"}, ("a.tsv", *ARCH, "--device", "gpu"), ("device", "'gpu'", "cpu")),
    ("absent device", {"a.tsv": b"a\tb\n"}, ("a.tsv", *ARCH, "--device", "cuda:99"), ("--device", "cuda:99")),
    ("bad threads", {"a.tsv": b"a\tb\n"}, ("a.tsv", *ARCH, "--threads", "0"), ("--threads",)),
    ("bad seed", {"a.tsv": b"a\tb\n"}, ("a.tsv", *ARCH, "--seed", "one"), ("--seed", "integer")),
    ("bad minutes", {"a.tsv": b"a\tb\n"}, ("a.tsv", *ARCH, "--max-minutes", "-1"), ("max_minutes", "above 0")),
    ("resume nothing", {"a.tsv": b"a\tb\n"}, ("a.tsv", *ARCH, "--resume"), ("run", "is not a run")),
    ("no TOML file", {}, ("c.toml", *ARCH), ("c.toml", "no such file")),
    ("not TOML", {"c.toml": b"[training\n"}, ("c.toml", *ARCH), ("c.toml:1", "TOML")),
    ("TOML key", {"c.toml": b"[training]\nmax_step = 5\n"}, ("c.toml", *ARCH), ("c.toml: training.max_step", "'max_s")),
    (
        "TOML type",
        {"c.toml": b"[training]\nmax_steps = '5'\n"},
        ("c.toml", *ARCH),
        ("c.toml: training.max_steps", "'5'"),
    ),
    ("TOML without data", {"c.toml": b"[training]\nseed = 5\n"}, ("c.toml", *ARCH), ("c.toml: data.train",)),
]


@pytest.mark.parametrize(
    ("content", "arguments", "words"), [row[1:] for row in BAD_TRAINING], ids=[row[0] for row in BAD_TRAINING]
)
def test_training_is_refused(
    refused: Refused, tmp_path: Path, content: dict[str, bytes], arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    for name, data in content.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    message = refused("train", *arguments)
    for word in words:
        assert word in message


@pytest.mark.parametrize("kind", ["folder", "file", "link to nothing"])
def test_an_out_that_exists_is_refused_and_left_alone(refused: Refused, tmp_path: Path, kind: str) -> None:
    write_letters(tmp_path / "data")
    if kind == "folder":
        (tmp_path / "run").mkdir()
        (tmp_path / "run" / "mine.txt").write_text("mine")
    elif kind == "file":
        (tmp_path / "run").write_text("mine")
    else:
        os.symlink(tmp_path / "nowhere", tmp_path / "run")
    message = refused("train", "data", *ARCH)
    assert "run: exists already" in message
    assert "--out" in message


def test_pairs_that_are_all_too_long_are_refused_before_anything_is_created(seqline: Seqline, tmp_path: Path) -> None:
    data = write_letters(tmp_path / "data")
    write_tsv(data / "train.tsv", [pair for pair in letter_pairs(200, 1) if len(pair.source) > 3])
    more = (f"--set={setting}" for setting in settings("training.batch_tokens=3"))
    code, out, err = seqline("train", data, "--out", tmp_path / "run", *more)
    assert (code, out) == (2, b"")
    assert "training.batch_tokens" in err.splitlines()[-1]
    assert "at least 4" in err.splitlines()[-1]
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("frobnicate",), ("frobnicate",)),
        (("trian", "a.tsv"), ("trian", "train")),
        (("--bogus",), ("--bogus",)),
        (("train", "a.tsv", "--bogus"), ("--bogus",)),
        (("train", "a.tsv", "b.tsv", *ARCH), ("b.tsv",)),
        (("train", "a.tsv", "--arch"), ("--arch",)),
        (("translate",), ("'run'",)),
        (("evaluate", "run"), ("'data'",)),
        (("info", "no-run"), ("no-run", "no such run folder")),
        (("translate", "no-run"), ("no-run", "no such run folder")),
        (("evaluate", "no-run", "a.tsv"), ("no-run", "no such run folder")),
        (("info", "."), (".", "is not a run")),
        (("data", "toy"), ("--out",)),
        (("data", "toy", "--out", "toy", "--pair", "fr-de"), ("--pair", "'fr-de'")),
        (("data", "toy", "--out", "toy", "--size", "3"), ("--size", "20")),
        (("data", "toy", "--out", "toy", "--size", "300000"), ("300", "200,000")),
        (("data", "toys"), ("toys",)),
    ],
    ids=" ".join,
)
def test_a_wrong_command_line_is_refused(refused: Refused, arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    message = refused(*arguments)
    for word in words:
        assert word in message


@pytest.mark.parametrize("command", [("demo",), ("data", "toy", "--size", "20")], ids=" ".join)
def test_commands_that_make_a_folder_refuse_one_that_exists(
    seqline: Seqline, tmp_path: Path, command: tuple[str, ...]
) -> None:
    (tmp_path / "train.tsv").write_text("mine\tmine\n")
    code, out, err = seqline(*command, "--out", tmp_path)
    assert (tmp_path / "train.tsv").read_text() == "mine\tmine\n"
    assert [path.name for path in tmp_path.iterdir()] == ["train.tsv"]
    assert (code, out) == (2, b"")
    assert "exists already" in err.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("no.txt",), ("no.txt", "no such file")),
        (("bad.txt",), ("bad.txt:2", "UTF-8")),
        (("-",), ("standard input:3", "UTF-8")),
        (("ok.txt", "--n-best", "3", "--beam", "2"), ("--n-best", "3", "2")),
        (("ok.txt", "--n-best", "6"), ("--n-best", "6", "5")),
        (("ok.txt", "--n-best", "0"), ("--n-best", "1")),
        (("ok.txt", "--beam", "0"), ("--beam", "1")),
        (("ok.txt", "--beam", "two"), ("--beam", "integer")),
        (("ok.txt", "--batch", "0"), ("--batch", "1")),
        (("ok.txt", "--format", "xml"), ("--format", "text or jsonl", "'xml'")),
        (("ok.txt", "--device", "gpu"), ("--device", "'gpu'")),
        (("ok.txt", "--device", "meta"), ("--device", "'meta'")),
        (("ok.txt", "--bogus"), ("--bogus",)),
        (("ok.txt", "ok.txt"), ("ok.txt",)),
    ],
    ids=" ".join,
)
def test_a_translation_is_refused(
    refused: Refused, tmp_path: Path, reversing_run: ReversingRun, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    (tmp_path / "ok.txt").write_bytes(b"a b\n")
    (tmp_path / "bad.txt").write_bytes(b"a b\n\xe9\n")
    message = refused("translate", reversing_run.folder, *arguments, stdin=b"a\n\n\xe9\n")
    for word in words:
        assert word in message


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("no.tsv", ("no.tsv", "no such file")),
        ("empty.tsv", ("empty.tsv", "no usable pairs")),
        ("half.tsv", ("half.tsv", "no usable pairs")),
        ("short.src,long.tgt", ("1 lines in short.src", "2 in long.tgt")),
        ("folder", ("folder", "no test set")),
        ("untabbed.tsv", ("untabbed.tsv:1", "tab")),
    ],
)
def test_an_evaluation_is_refused(
    refused: Refused, tmp_path: Path, reversing_run: ReversingRun, data: str, words: tuple[str, ...]
) -> None:
    write_tsv(tmp_path / "folder" / "train.tsv", letter_pairs(3, seed=1))
    contents = {"empty.tsv": "", "half.tsv": "a\t\n", "short.src": "a\n", "long.tgt": "a\nb\n", "untabbed.tsv": "a b\n"}
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
    message = refused("evaluate", reversing_run.folder, data)
    for word in words:
        assert word in message


def test_debug_gives_the_traceback_instead(
    capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    from seqline.cli import main

    with pytest.raises(SystemExit) as ended:
        main(["info", "no-run", "--debug"])
    assert ended.value.code == 2
    printed = capsysbinary.readouterr()
    assert printed.out == b""
    assert b"Traceback" in printed.err
    assert printed.err.endswith(b"\n")


def test_our_own_fault_is_exit_status_1_in_one_line(seqline: Seqline, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("two\nlines")

    monkeypatch.setattr("seqline.run_folder.load_run", fail)
    code, out, err = seqline("info", "run")
    assert (code, out) == (1, b"")
    assert err == "internal error: RuntimeError: two lines; --debug shows where\n"
