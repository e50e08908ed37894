"""Searches on table models with known best outputs, through every way into `translate`: file, pipe, Python, any batch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from seqline.translator import Translator

from ..decoding.table_model import EMPTY_WINS, LOOP, T1, T2
from ..translating.table_run import make_table_run
from .conftest import Seqline

Best = list[tuple[str, float]]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("tables")
    tables = {"T1": T1, "T2": T2, "EMPTY": EMPTY_WINS, "LOOP": LOOP}
    return {name: make_table_run(folder / name, table) for name, table in tables.items()}


def every_way(
    seqline: Seqline, run: Path, tmp_path: Path, settings: dict[str, Any], beam: int, n_best: int = 1
) -> Best:
    """Return the outputs, which must be the same from a file, a pipe, one batch, single rows, JSON lines and Python."""
    lines = ["a", "b c a", "c", "a b"]
    options = ["--beam", str(beam), "--n-best", str(n_best)]
    for name, value in settings.items():
        options += ["--set", f"{name}={value}"]
    (tmp_path / "in.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    asked = "".join(json.dumps({"text": line}) + "\n" for line in lines).encode()
    found = [
        seqline("translate", run, tmp_path / "in.txt", "--json", *options).lines,
        seqline("translate", run, "--json", *options, stdin="\n".join(lines).encode()).lines,
        seqline("translate", run, tmp_path / "in.txt", "--json", "--batch", "1", *options).lines,
        seqline("translate", run, "--json", "--input", "jsonl", *options, stdin=asked).lines,
    ]
    outputs = [[(o["text"], o["score"]) for o in json.loads(line)["outputs"]] for each in found for line in each]
    translator = Translator.load(run).with_decoding(**settings)
    whole = translator.translate(lines, beam_size=beam, n_best=n_best)
    alone = [translator.translate([line], beam_size=beam, n_best=n_best)[0] for line in lines]
    outputs += [[(o.text, o.score) for o in t.outputs] for t in [*whole, *alone]]
    assert len(outputs) == 6 * len(lines)
    for other in outputs[1:]:
        assert [text for text, _ in other] == [text for text, _ in outputs[0]]
        assert [score for _, score in other] == pytest.approx([score for _, score in outputs[0]], abs=1e-5)
    return outputs[0]


def check(found: Best, *expected: tuple[str, float]) -> None:
    assert [text for text, _ in found] == [text for text, _ in expected]
    assert [score for _, score in found] == pytest.approx([score for _, score in expected], abs=6e-5)


@pytest.mark.parametrize("beam", [2, 5, 50])
def test_the_beam_does_not_stop_too_early(seqline: Seqline, runs: dict[str, Path], tmp_path: Path, beam: int) -> None:
    plain = {"length_penalty": "none"}
    check(every_way(seqline, runs["T1"], tmp_path, plain, beam), ("b c", -1.0189))
    check(every_way(seqline, runs["T2"], tmp_path, plain, beam), ("a", -0.6733))
    check(every_way(seqline, runs["T2"], tmp_path, {}, beam), ("b c", -0.3121))


@pytest.mark.parametrize("beam", [1, 2, 5, 50])
def test_a_wider_beam_does_not_give_empty_output(
    seqline: Seqline,
    runs: dict[str, Path],
    tmp_path: Path,
    beam: int,
) -> None:
    plain = {"length_penalty": "none"}
    check(every_way(seqline, runs["EMPTY"], tmp_path, plain, beam), ("a", -1.6094))
    best = every_way(seqline, runs["EMPTY"], tmp_path, {**plain, "min_length": 0}, beam)
    check(best, ("a", -1.6094) if beam == 1 else ("", -1.2040))


def test_empty_outputs_are_counted(seqline: Seqline, runs: dict[str, Path]) -> None:
    options = ("--set", "length_penalty=none", "--set", "min_length=0", "--beam", "2")
    code, out, err = seqline("translate", runs["EMPTY"], *options, stdin=b"a\n\nb\n")
    assert (code, out) == (0, b"\n\n\n")
    assert err == "2 of 3 outputs are empty\n"


@pytest.mark.parametrize("n_best", [1, 2, 3, 4, 5])
def test_more_outputs_do_not_change_the_best(
    seqline: Seqline,
    runs: dict[str, Path],
    tmp_path: Path,
    n_best: int,
) -> None:
    expected = [("b c", -0.3121), ("a", -0.3367), ("a b c", -0.8817), ("a c", -1.1722), ("a a", -1.2230)]
    check(every_way(seqline, runs["T2"], tmp_path, {}, 5, n_best), *expected[:n_best])


def test_a_loop_is_cut_and_said(seqline: Seqline, runs: dict[str, Path]) -> None:
    options = ("--beam", "1", "--set", "max_length_extra=50")
    code, out, err = seqline("translate", runs["LOOP"], "--json", *options, stdin=b"a\nb\n")
    records = [json.loads(line) for line in out.decode().splitlines()]
    assert code == 0
    for record in records:
        [output] = record["outputs"]
        assert (output["num_tokens"], output["max_tokens"]) == (50, 50)
        assert (output["is_finished"], output["repetition"]) == (False, True)
        assert output["text"] == " ".join("a" * 50)
    assert err.splitlines() == [
        "2 of 2 outputs did not end by themselves and were cut at the length limit",
        "2 of 2 outputs go round in circles",
    ]
    tamed = seqline("translate", runs["LOOP"], "--json", *options, "--set", "max_repeats=3", stdin=b"a\n").lines
    assert json.loads(tamed[0])["text"] == "a a a"


def test_odd_lines_give_as_many_lines_within_the_limit(seqline: Seqline, runs: dict[str, Path]) -> None:
    data = "\na\n? ? ? ? ?\n" + " ".join("a" * 20) + "\nzzz\n😀\n"
    records = [json.loads(line) for line in seqline("translate", runs["T1"], "--json", stdin=data.encode()).lines]
    assert len(records) == 6
    assert all(o["num_tokens"] <= o["max_tokens"] for record in records for o in record["outputs"])
