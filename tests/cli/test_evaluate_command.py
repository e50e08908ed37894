"""`seqline evaluate`: what the report says, as text and as JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from seqline.api import evaluate
from seqline.judging.page import page
from seqline.report import Report
from seqline.translating.target_side import TargetSide

from ..small_run import ReversingRun
from .conftest import Refused, Seqline


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
    assert ended.lines[1:7] == [str(score) for score in report.scores]
    assert sum("case:lc" in line for line in ended.lines) == 3


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
    expected = json.loads(json.dumps(report.as_json()))
    assert (found.pop("run"), found.pop("data")) == (str(reversing_run.folder), str(reversing_run.data))
    assert found == {key: value for key, value in expected.items() if key not in ("run", "data")}
    assert list(expected)[:2] == ["run", "data"]


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
    monkeypatch.setattr(TargetSide, "max_length", lambda *_: 1)
    ended = seqline("evaluate", reversing_run.folder, "-", stdin=b"a b\tb a\nc d\tx y .\n")
    assert ended.code == 0
    assert "3 target pieces are outside the vocabulary (<unk>)" in ended.lines
    assert "2 outputs did not end by themselves and were cut at the length limit" in ended.lines
    assert ended.stderr.startswith("warning: 1 of 2 reference lines look tokenized (line 2)")


def test_more_metrics_are_added_in_their_order(seqline: Seqline, reversing_run: ReversingRun) -> None:
    folder, data = reversing_run.folder, reversing_run.data
    lines = seqline("evaluate", folder, data, "--metrics", "wer, ter,distinct").lines
    assert [line.split("|")[0] for line in lines[1:6]] == ["BLEU", "chrF2", "exact match", "WER", "TER"]
    assert [line.split(" = ")[0] for line in lines[7:11]] == [
        "distinct-1", "distinct-2", "commonest output", "repetition rate",
    ]  # fmt: skip
    assert len(lines) == 11
    everything = seqline("evaluate", folder, data, "--metrics", "all").lines
    assert {line.split("|")[0] for line in everything if "|" in line} == {
        "BLEU", "chrF2", "exact match", "TER", "WER", "PER", "CER", "ROUGE-1", "ROUGE-2", "ROUGE-L",
    }  # fmt: skip


def test_a_run_against_itself(seqline: Seqline, reversing_run: ReversingRun) -> None:
    folder, data = reversing_run.folder, reversing_run.data
    ended = seqline("evaluate", folder, data, "--against", folder, "--beam", 1, "--resamples", 50, "--seed", 3)
    assert (ended.code, ended.stderr) == (0, "")
    assert f"compared with {folder}, greedy (50 resamples, seed 3)" in ended.lines
    header, *rows = ended.lines[-5:]
    assert re.split(r"  +", header) == [
        "metric", "this", "other", "difference", "95 % interval", "p bootstrap", "p randomization", "verdict",
    ]  # fmt: skip
    for row, name in zip(rows, ("BLEU", "chrF2", "exact match", "nats per character"), strict=True):
        cells = re.split(r"  +", row)
        assert cells[0] == name
        assert cells[1] == cells[2]
        assert cells[5:] == ["1.0000", "1.0000", "no difference shown at p < 0.05"]


def test_against_a_file_of_outputs(seqline: Seqline, reversing_run: ReversingRun, tmp_path: Path) -> None:
    folder, data = reversing_run.folder, reversing_run.data
    path = tmp_path / "right.txt"
    path.write_text("".join(f"{target}\n" for _, target in reversing_run.test))
    arguments = ("evaluate", folder, data, "--beam", 1, "--by-length", "--frequencies", data, "--resamples", 200)
    ended = seqline(*arguments, "--against", path)
    assert (ended.code, ended.stderr) == (0, "")
    assert f"compared with {path} (200 resamples, seed 12345)" in ended.lines
    row = next(line for line in ended.lines if line.startswith("exact match  "))
    assert row.split()[3] == "100.00"
    assert row.endswith("worse")
    assert not any("nats per character  " in line for line in ended.lines)
    lengths = next(number for number, line in enumerate(ended.lines) if line.startswith("source words"))
    assert re.split(r"  +", ended.lines[lengths])[2:] == ["BLEU", "BLEU, other", "length ratio", "length ratio, other"]
    frequencies = next(number for number, line in enumerate(ended.lines) if line.startswith("seen in training"))
    assert [line.split("  ")[0] for line in ended.lines[frequencies + 1 :]] == [
        "0", "1", "2-5", "6-10", "11-100", "101-1000", "over 1000",
    ]  # fmt: skip
    again = seqline(*arguments, "--against", path)
    assert again == ended
    assert seqline(*arguments, "--against", "-", stdin=path.read_bytes()).lines[7:] == [
        line.replace(str(path), "standard input") for line in ended.lines[7:]
    ]


def test_the_page_and_the_json_hold_the_same(seqline: Seqline, reversing_run: ReversingRun, tmp_path: Path) -> None:
    folder, data, path = reversing_run.folder, reversing_run.data, tmp_path / "new" / "a.html"
    arguments = ("evaluate", folder, data, "--beam", 1, "--report", path, "--examples", 2)
    assert seqline(*arguments).lines[-1] == f"written: {path}"
    found = json.loads(seqline(*arguments, "--json").stdout)
    assert found.pop("report") == str(path)
    assert len(found["worst"]) == 2
    assert path.read_text(encoding="utf-8") == page(found)
    assert [each.name for each in path.parent.iterdir()] == ["a.html"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--metrics", "tre"), ("metrics: unknown metric 'tre'", "did you mean 'ter'?")),
        (("--metrics", "ter,"), ("unknown metric ''",)),
        (("--seed", "1"), ("--seed: has no meaning without --against",)),
        (("--resamples", "10"), ("--resamples: has no meaning without --against",)),
        (("--against", "short.txt"), ("short.txt: 2 lines for the 40 pairs of", "in the order of the pairs")),
        (("--against", "pieces.txt"), ("pieces.txt: lines 1, 2, 3", "still carry the subword mark")),
        (("--against", "none"), ("none: ", "no such file")),
        (("--against", "."), ("is not a run",)),
        (("--frequencies", "none"), ("none: ", "no such file")),
        (("--frequencies", "bad.tsv"), ("bad.tsv:2: expected source TAB target",)),
        (("--against", "-", "--frequencies", "-"), ("standard input can be read only once",)),
        (("--report", "a.json"), ("--report a.json: expected a name that ends in .html",)),
        (("--report", "folder.html"), ("--report folder.html: is no file",)),
        (("--report", "short.txt/a.html"), ("short.txt/a.html: cannot be made",)),
    ],
)
def test_an_evaluation_that_cannot_be_is_refused(
    refused: Refused, reversing_run: ReversingRun, tmp_path: Path, arguments: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    (tmp_path / "short.txt").write_text("a\nb\n")
    (tmp_path / "pieces.txt").write_text("a@@ b\n" * 40)
    (tmp_path / "bad.tsv").write_text("a\tb\nc\n")
    (tmp_path / "folder.html").mkdir()
    message = refused("evaluate", reversing_run.folder, reversing_run.data, *arguments)
    assert all(part in message for part in expected), message


def test_an_ensemble_and_settings_of_the_search_are_judged(seqline: Seqline, reversing_run: ReversingRun) -> None:
    run, data = reversing_run.folder, reversing_run.data

    def of(*options: str | Path) -> dict[str, Any]:
        return json.loads(seqline("evaluate", run, data, "--json", *options).stdout)

    plain, twice, short = of(), of("--ensemble", run), of("--set", "max_length=2")
    assert twice["scores"] == plain["scores"]
    assert twice["likelihood"]["nats_per_token"] == pytest.approx(plain["likelihood"]["nats_per_token"], abs=1e-5)
    assert short["num_cut"] > plain["num_cut"]
    code, out, err = seqline("evaluate", run, data, "--set", "max_lenght=2")
    assert (code, out) == (2, b"")
    assert "did you mean" in err
