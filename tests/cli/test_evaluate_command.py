"""`seqline evaluate`: what the report says, as text and as JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from seqline.api import evaluate
from seqline.report import Report
from seqline.translator import Translator

from ..small_run import ReversingRun
from .conftest import Seqline


@pytest.fixture(scope="module")
def report(reversing_run: ReversingRun) -> Report:
    return evaluate(reversing_run.folder, reversing_run.data, lowercase=True)


def test_the_report_as_text(seqline: Seqline, reversing_run: ReversingRun, report: Report) -> None:
    ended = seqline("evaluate", reversing_run.folder, reversing_run.data)
    assert (ended.code, ended.stderr) == (0, "")
    assert ended.lines[0] == "40 sentences, beam 5"
    cased = [score for score in report.scores if "case:lc" not in score.signature]
    assert ended.lines[1:4] == [str(score) for score in cased]
    assert re.fullmatch(r"BLEU\|nrefs:1\|case:mixed\|.*\|version:[\d.]+ = \d+\.\d\d", ended.lines[1])
    found = report.likelihood
    assert ended.lines[4] == (
        f"perplexity = {found.perplexity:.3f} per target piece with </s> ({found.nats_per_token:.4f} nats, "
        f"{found.num_tokens} pieces); {found.nats_per_character:.4f} nats per character"
    )
    assert len(ended.lines) == 5


def test_lowercased_scores_stand_beside_the_cased_ones(
    seqline: Seqline, reversing_run: ReversingRun, report: Report
) -> None:
    ended = seqline("evaluate", reversing_run.folder, reversing_run.data, "--lowercase")
    assert ended.lines[1:6] == [str(score) for score in report.scores]
    assert sum("case:lc" in line for line in ended.lines) == 2


def test_scores_by_length_cover_every_sentence(seqline: Seqline, reversing_run: ReversingRun) -> None:
    ended = seqline("evaluate", reversing_run.folder, reversing_run.data, "--by-length")
    header, *rows = ended.lines[5:]
    assert header.split() == ["source", "words", "sentences", "BLEU", "length", "ratio"]
    assert [row[:18].strip() for row in rows] == ["1-10", "11-20", "21-30", "31-40", "41-50", "over 50"]
    assert sum(int(row[18:].split()[0].replace(",", "")) for row in rows) == 40
    assert rows[1][18:].split() == ["0", "-", "-"]
    assert {len(row) for row in [header, *rows]} == {len(header)}


def test_the_report_for_machines(seqline: Seqline, reversing_run: ReversingRun, report: Report) -> None:
    ended = seqline("evaluate", reversing_run.folder, reversing_run.data, "--json", "--lowercase")
    assert (ended.code, ended.stderr) == (0, "")
    assert len(ended.lines) == 1
    found = json.loads(ended.lines[0])
    assert (found.pop("run"), found.pop("data")) == (str(reversing_run.folder), str(reversing_run.data))
    assert found == json.loads(json.dumps(report.as_json()))


def test_the_beam_and_the_batch_are_options(seqline: Seqline, reversing_run: ReversingRun) -> None:
    folder, data = reversing_run.folder, reversing_run.data
    greedy = seqline("evaluate", folder, data, "--beam", 1)
    assert greedy.lines[0] == "40 sentences, greedy"
    assert greedy.lines[1:] == seqline("evaluate", folder, data, "--beam", 1, "--batch", 3).lines[1:]


def test_standard_input_is_data(seqline: Seqline, reversing_run: ReversingRun) -> None:
    text = (reversing_run.data / "test.tsv").read_bytes()
    expected = seqline("evaluate", reversing_run.folder, reversing_run.data)
    assert seqline("evaluate", reversing_run.folder, "-", stdin=text) == expected


def test_keys_are_the_runs_own_or_an_option(seqline: Seqline, reversing_run: ReversingRun, tmp_path: Path) -> None:
    lines = [json.dumps({"fr": source, "en": target}) for source, target in reversing_run.test]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    expected = seqline("evaluate", reversing_run.folder, reversing_run.data).lines
    assert seqline("evaluate", reversing_run.folder, tmp_path / "a.jsonl", "--keys", "fr,en").lines == expected
    for keys in ("fr", "fr,fr", "fr,", "fr,en,de"):
        code, out, err = seqline("evaluate", reversing_run.folder, tmp_path / "a.jsonl", "--keys", keys)
        assert (code, out) == (2, b"")
        assert err.startswith(f"error: --keys: expected two different names with a comma between them, got {keys!r}")


def test_unknown_words_cut_outputs_and_warnings_are_said(
    seqline: Seqline, reversing_run: ReversingRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Translator, "max_length", lambda *_: 1)
    ended = seqline("evaluate", reversing_run.folder, "-", stdin=b"a b\tb a\nc d\tx y .\n")
    assert ended.code == 0
    assert "3 target pieces are outside the vocabulary (<unk>)" in ended.lines
    assert "2 outputs did not end by themselves and were cut at the length limit" in ended.lines
    assert ended.stderr.startswith("warning: 1 of 2 reference lines look tokenized (line 2)")
