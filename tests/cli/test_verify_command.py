"""`seqline verify`: the table, the sentence of a failure, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seqline.evaluation import verify_search
from seqline.parts.heads import VocabularyHead

from ..untrained_run import SENTENCES, make_untrained_run
from .conftest import Refused, Seqline


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run that translates; nobody may change it."""
    return make_untrained_run(tmp_path_factory.mktemp("verified") / "run", "translation", "luong")


@pytest.fixture(scope="module")
def tagger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run that tags, which takes less time."""
    return make_untrained_run(tmp_path_factory.mktemp("verified") / "tagger", "tagging", "lstm")


@pytest.fixture(autouse=True)
def short_outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seqline.verifying.subjects.MOST_WRITTEN", 6)


def test_a_run_that_obeys(seqline: Seqline, run: Path, tmp_path: Path) -> None:
    file = tmp_path / "pairs.tsv"
    file.write_text("a cat\tcat a\n\nthe old dog hears\tthe dog\nin Paris\tin\ndog\tdog dog dog\n")
    ended = seqline("verify", run, file)
    assert (ended.code, ended.stderr) == (0, "")
    assert ended.lines[:2] == [f"{run}: luong for translation", "1 blank lines left out"]
    assert ended.lines[2].split() == ["law", "result", "number", "what", "it", "says"]
    *rows, last = ended.lines[3:]
    assert last == f"all {len(rows)} laws hold"
    assert all(row[len("round trip target") :].split()[0] == "ok" for row in rows)
    assert {"files", "padding", "cache", "rescore", "exhaustive", "float32"} <= {row.split()[0] for row in rows}


def test_a_law_that_fails_ends_in_1_and_is_said_in_words(
    seqline: Seqline, tagger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forward = VocabularyHead.forward
    monkeypatch.setattr(VocabularyHead, "forward", lambda self, t: forward(self, t) + 0.1 * forward(self, t).mean(0))
    ended = seqline("verify", tagger, "-", stdin="\n".join(SENTENCES).encode())
    assert (ended.code, ended.stderr) == (1, "")
    assert any(line.split()[:2] == ["batch", "FAILED"] for line in ended.lines)
    assert any(line.startswith("padding") and "not checked  see batch" in line for line in ended.lines)
    assert ended.lines[-2].startswith("batch: the sentence '")
    assert "rows of a batch mix" in ended.lines[-2]
    assert ended.lines[-1].endswith("laws do not hold")
    ended = seqline("verify", tagger, "-", "--json", stdin="\n".join(SENTENCES).encode())
    assert ended.code == 1
    found = json.loads(ended.lines[0])
    assert (found["holds"], found["task"], found["sentences"]) == (False, "tagging", SENTENCES)
    failed = [check for check in found["checks"] if check["status"] == "FAILED"]
    assert [check["law"] for check in failed] == ["batch"]
    assert failed[0]["difference"] > 0


def test_the_report_for_machines(seqline: Seqline, tagger: Path) -> None:
    ended = seqline("verify", tagger, "--json")
    assert (ended.code, ended.stderr, len(ended.lines)) == (0, "", 1)
    found = json.loads(ended.lines[0])
    assert found["holds"]
    assert {check["status"] for check in found["checks"]} == {"ok"}
    assert len(found["sentences"]) == 8


def test_a_damaged_run_ends_in_1(seqline: Seqline, tmp_path: Path) -> None:
    run = make_untrained_run(tmp_path / "run", "tagging", "lstm")
    (run / "config.toml").write_text("nonsense")
    ended = seqline("verify", run, "-", stdin=b"dog\n")
    assert ended.code == 1
    assert ended.lines[-2].startswith("files: config.toml: missing, or not what manifest.json says of it")


def test_mistakes_are_refused(refused: Refused, run: Path, tmp_path: Path) -> None:
    assert "no such run folder" in refused("verify", tmp_path / "nothing")
    assert "no such file" in refused("verify", run, tmp_path / "nothing.txt")
    assert "standard input: no sentence in it" in refused("verify", run, "-", stdin=b" \n\n")
    assert "standard input:2: 2 tabs in this line" in refused("verify", run, "-", stdin=b"a\tb\na\tb\tc\n")
    assert "standard input:2: 0 tabs in this line" in refused("verify", run, "-", stdin=b"a\tb\nc\n")
    assert "not UTF-8" in refused("verify", run, "-", stdin=b"\xff\n")
    assert "--sort: is for reading series from a FILE" in refused("verify", run, "-", "--sort", stdin=b"a\n")


def test_in_a_plain_text_a_tab_is_a_character(seqline: Seqline, tmp_path: Path) -> None:
    run = make_untrained_run(tmp_path / "run", "language_model", "simple-rnn")
    ended = seqline("verify", run, "-", "--json", stdin=b"a\tdog\nthe cat\n\tin\tParis\n")
    assert ended.code == 0
    assert json.loads(ended.lines[0])["sentences"][:3] == ["a\tdog", "the cat", "\tin\tParis"]


def test_an_error_inside_a_law_is_no_internal_error(
    seqline: Seqline, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("shapes differ")

    monkeypatch.setattr(verify_search, "beam", broken)
    ended = seqline("verify", run, "-", stdin="\n".join(SENTENCES).encode())
    assert ended.code == 1
    assert "pure: the check ended in an error, RuntimeError: shapes differ" in ended.lines
