"""`seqline translate`: as many lines out as in, in their order, whatever the file looks like."""

from __future__ import annotations

import gzip
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from seqline.translator import Translator

from ..small_run import ReversingRun
from .conftest import Seqline


def lines_of(seqline: Seqline, run: Path, data: bytes, *options: str) -> list[str]:
    code, out, err = seqline("translate", run, *options, stdin=data)
    assert (code, err) == (0, "")
    return out.decode("utf-8").split("\n")[:-1]


def records_of(seqline: Seqline, run: Path, data: bytes, *options: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines_of(seqline, run, data, "-", "--json", *options)]


def test_a_file_and_standard_input_give_what_the_translator_gives(
    seqline: Seqline, reversing_run: ReversingRun, tmp_path: Path
) -> None:
    sources = reversing_run.sources
    expected = [t.text for t in Translator.load(reversing_run.folder).translate(sources)]
    data = "".join(f"{source}\n" for source in sources).encode()
    (tmp_path / "test.txt").write_bytes(data)
    code, out, err = seqline("translate", reversing_run.folder, tmp_path / "test.txt")
    assert (code, err) == (0, "")
    assert out.decode() == "".join(f"{text}\n" for text in expected)
    assert lines_of(seqline, reversing_run.folder, data, "-") == expected
    assert lines_of(seqline, reversing_run.folder, data) == expected
    right = sum(text == reference for text, (_, reference) in zip(expected, reversing_run.test, strict=True))
    assert right >= len(sources) // 2  # it has learnt something, so that the outputs below differ from each other


def test_gzip_and_a_missing_final_line_end_change_nothing(
    seqline: Seqline, reversing_run: ReversingRun, tmp_path: Path
) -> None:
    data = "\n".join(reversing_run.sources).encode()
    expected = lines_of(seqline, reversing_run.folder, data + b"\n")
    assert len(expected) == len(reversing_run.sources)
    assert lines_of(seqline, reversing_run.folder, data) == expected
    (tmp_path / "test.gz").write_bytes(gzip.compress(data))
    assert seqline("translate", reversing_run.folder, tmp_path / "test.gz").lines == expected
    assert lines_of(seqline, reversing_run.folder, gzip.compress(data), "-") == expected


@pytest.mark.parametrize("options", [(), ("--batch", "1"), ("--beam", "1"), ("--n-best", "2")], ids=" ".join)
def test_blank_lines_stay_blank_and_in_their_place(
    seqline: Seqline, reversing_run: ReversingRun, options: tuple[str, ...]
) -> None:
    lines = lines_of(seqline, reversing_run.folder, b"a b\n\nc\n \t\nd e", "-", *options)
    assert len(lines) == 5
    assert lines[1] == lines[3] == ""
    alone = [lines_of(seqline, reversing_run.folder, line, "-", *options) for line in (b"a b\n", b"c", b"d e\n")]
    assert [[lines[0]], [lines[2]], [lines[4]]] == alone
    assert all(lines[i] for i in (0, 2, 4))


@pytest.mark.parametrize(("data", "number"), [(b"", 0), (b"\n", 1), (b"\n\n\n", 3), (b" ", 1)])
def test_nothing_and_blank_lines_alone(seqline: Seqline, reversing_run: ReversingRun, data: bytes, number: int) -> None:
    assert lines_of(seqline, reversing_run.folder, data) == [""] * number
    records = records_of(seqline, reversing_run.folder, data)
    assert [record["text"] for record in records] == [""] * number


def test_only_a_line_feed_ends_a_line(seqline: Seqline, reversing_run: ReversingRun) -> None:
    data = b"\xef\xbb\xbfa\xe2\x80\xa8b\r\nc\xc2\x85d\r\ne\x0cf\r\ng\rh\r\ni\x0bj\x1ck\r\nl m"
    records = records_of(seqline, reversing_run.folder, data)
    assert [record["source"] for record in records] == ["a\u2028b", "c\x85d", "e\x0cf", "g\rh", "i\x0bj\x1ck", "l m"]
    assert len(lines_of(seqline, reversing_run.folder, data)) == 6


@pytest.mark.parametrize("option", [("--json",), ("--format", "jsonl")], ids=" ".join)
def test_json_lines_say_everything(seqline: Seqline, reversing_run: ReversingRun, option: tuple[str, ...]) -> None:
    lines = lines_of(seqline, reversing_run.folder, "a b c\n\n😀\n".encode(), "-", *option, "--n-best", "2")
    records = [json.loads(line) for line in lines]
    assert [record["source"] for record in records] == ["a b c", "", "😀"]
    assert "😀" in lines[2]  # readable, not escaped
    assert [len(record["outputs"]) for record in records] == [2, 1, 2]
    for record in records:
        assert record["text"] == record["outputs"][0]["text"]
        for output in record["outputs"]:
            assert set(output) == {
                *("text", "score", "log_probability", "num_tokens", "max_tokens", "is_finished", "repetition", "unmet")
            }
    best, second = records[0]["outputs"]
    assert best["score"] >= second["score"]
    assert best["text"] != second["text"]
    assert best["num_tokens"] == len(best["text"].split()) + 1  # with </s>
    assert best["score"] == pytest.approx(best["log_probability"] / best["num_tokens"])
    assert best["max_tokens"] == 2 * 4 + 50


def test_columns_of_scores_and_n_best(seqline: Seqline, reversing_run: ReversingRun) -> None:
    data = b"a b c\nd e\nf\n"
    records = records_of(seqline, reversing_run.folder, data, "--n-best", "3")
    outputs = [record["outputs"] for record in records]
    plain = lines_of(seqline, reversing_run.folder, data, "-", "--n-best", "3")
    assert [line.split("\t") for line in plain] == [[o["text"] for o in row] for row in outputs]
    scored = lines_of(seqline, reversing_run.folder, data, "-", "--n-best", "3", "--scores")
    expected = [[cell for o in row for cell in (f"{o['score']:.4f}", o["text"])] for row in outputs]
    assert [line.split("\t") for line in scored] == expected
    one = lines_of(seqline, reversing_run.folder, data, "-", "--scores")
    assert [line.split("\t") for line in one] == [row[:2] for row in expected]


def test_batches_and_order_change_no_output(seqline: Seqline, reversing_run: ReversingRun) -> None:
    sources = reversing_run.sources
    data = "\n".join(sources).encode()
    expected = lines_of(seqline, reversing_run.folder, data)
    assert lines_of(seqline, reversing_run.folder, data, "-", "--batch", "1") == expected
    backwards = "\n".join(reversed(sources)).encode()
    assert lines_of(seqline, reversing_run.folder, backwards, "-", "--batch", "3") == expected[::-1]


def test_a_beam_of_one_is_greedy_and_another_than_the_default(seqline: Seqline, reversing_run: ReversingRun) -> None:
    translator = Translator.load(reversing_run.folder)
    data = "\n".join(reversing_run.sources).encode()
    greedy = [t.outputs[0] for t in translator.translate(reversing_run.sources, beam_size=1)]
    records = records_of(seqline, reversing_run.folder, data, "--beam", "1")
    assert [r["text"] for r in records] == [o.text for o in greedy]
    beam = records_of(seqline, reversing_run.folder, data)
    scores = [(b["outputs"][0]["score"], o.score) for b, o in zip(beam, greedy, strict=True)]
    assert any(a > b + 1e-6 for a, b in scores)


def test_outputs_cut_at_the_limit_are_counted_on_stderr(seqline: Seqline, reversing_run: ReversingRun) -> None:
    short = ("--set", "max_length_factor=0", "--set", "max_length_extra=2")
    code, out, err = seqline("translate", reversing_run.folder, "-", "--json", *short, stdin=b"a b c d e\n\nb c d a\n")
    assert code == 0
    records = [json.loads(line) for line in out.splitlines()]
    assert [record["outputs"][0]["is_finished"] for record in records] == [False, True, False]
    assert err.startswith("2 of 3 outputs did not end by themselves")


@pytest.mark.parametrize(
    ("number", "code", "word"), [(signal.SIGINT, 130, "interrupted\n"), (signal.SIGTERM, 143, "terminated\n")]
)
def test_a_signal_ends_a_translation_with_one_word(
    seqline: Seqline, reversing_run: ReversingRun, monkeypatch: pytest.MonkeyPatch, number: int, code: int, word: str
) -> None:
    monkeypatch.setattr(Translator, "translate", lambda *_, **__: os.kill(os.getpid(), number))
    assert seqline("translate", reversing_run.folder, stdin=b"a\n") == (code, b"", word)
