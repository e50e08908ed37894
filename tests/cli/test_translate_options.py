"""The options of `seqline translate` and `seqline score`: each gives what the translator gives, or is refused in one line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from seqline.decoding import Sampling
from seqline.translating.finding import More
from seqline.translating.requests import Request
from seqline.translator import Translator

from ..small_run import ReversingRun
from ..translating.table_run import make_table_run
from .conftest import Seqline

TEXTS = ["a b c", "", "d e", "h g f e"]
DATA = "".join(f"{text}\n" for text in TEXTS).encode()


def printed(seqline: Seqline, run: Path, *options: str | Path, data: bytes = DATA) -> list[str]:
    code, out, _ = seqline("translate", run, *options, stdin=data)
    assert code == 0
    return out.decode().split("\n")[:-1]


CASES: list[tuple[tuple[str, ...], dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    # options; settings of the search; wishes; arguments of translate
    (("--sample", "--seed", "4", "--n-best", "2"), {}, {}, {"n_best": 2, "more": More(Sampling(seed=4))}),
    (("--sample", "--temperature", "2", "--top-k", "3"), {}, {}, {"more": More(Sampling(2.0, 3))}),
    (("--sample", "--top-p", "0.7", "--typical-p", "0.9"), {}, {}, {"more": More(Sampling(top_p=0.7, typical_p=0.9))}),
    (("--mbr", "6", "--temperature", "1.5"), {}, {}, {"more": More(Sampling(1.5), mbr=6)}),
    (("--prefix", "c b"), {}, {"prefix": "c b"}, {}),
    (("--must", "f g", "--must", "a"), {}, {"must": ("f g", "a")}, {}),
    (("--must-not", "c", "--beam", "3"), {}, {"must_not": ("c",)}, {"beam_size": 3}),
    (("--set", "length_penalty=gnmt:0.6"), {"length_penalty": "gnmt:0.6"}, {}, {}),
    (("--set", "decoding.max_length=3"), {"max_length": 3}, {}, {}),
    (("--set", "min_length=7", "--set", "no_repeat_ngram=2"), {"min_length": 7, "no_repeat_ngram": 2}, {}, {}),
    (
        ("--set", "num_groups=2", "--set", "diversity=1.5", "--set", "beam_size=4"),
        {"num_groups": 2, "diversity": 1.5, "beam_size": 4}, {}, {},
    ),
    (("--set", "coverage_penalty=0.4"), {"coverage_penalty": 0.4}, {}, {}),
    (("--markup",), {}, {}, {"more": More(keep_markup=True)}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "settings", "wishes", "arguments"), CASES, ids=[" ".join(case[0]) for case in CASES]
)
def test_an_option_does_what_its_argument_does(
    seqline: Seqline,
    reversing_run: ReversingRun,
    tmp_path: Path,
    options: Sequence[str],
    settings: dict[str, Any],
    wishes: dict[str, Any],
    arguments: dict[str, Any],
) -> None:
    translator = Translator.load(reversing_run.folder).with_decoding(**settings)
    found = translator.translate([Request(text, **wishes) for text in TEXTS], **arguments)
    expected = ["\t".join(output.text for output in t.outputs) for t in found]
    assert printed(seqline, reversing_run.folder, *options) == expected
    (tmp_path / "in.txt").write_bytes(DATA)
    assert printed(seqline, reversing_run.folder, tmp_path / "in.txt", "--batch", "1", *options) == expected
    plain = [t.text for t in Translator.load(reversing_run.folder).translate(TEXTS)]
    changes_something = "--markup" not in options and "coverage_penalty=0.4" not in options
    assert not changes_something or expected != plain or "gnmt" in str(options) or "diversity" in str(options)


def test_wishes_of_single_lines(seqline: Seqline, reversing_run: ReversingRun) -> None:
    asked = [
        {"text": "a b c", "prefix": "h"},
        {"text": "a b c", "must": ["g g"]},
        {"text": "a b c", "must_not": ["b", "c"]},
        {"text": "a b c"},
    ]
    data = "".join(f"{json.dumps(one)}\n" for one in asked).encode()
    first, second, third, fourth = printed(seqline, reversing_run.folder, "--input", "jsonl", data=data)
    assert first.startswith("h")
    assert "g g" in second
    assert not {"b", "c"} & set(third.split())
    assert [fourth] == printed(seqline, reversing_run.folder, data=b"a b c\n")
    both = printed(seqline, reversing_run.folder, "--input", "jsonl", "--must", "f", data=data)
    assert all("f" in line.split() for line in both)
    assert both[0].startswith("h")


def test_ensembles_and_rerankers_are_runs(seqline: Seqline, reversing_run: ReversingRun, tmp_path: Path) -> None:
    run = reversing_run.folder
    plain = printed(seqline, run, "--scores")
    again = [line.split("\t") for line in printed(seqline, run, "--scores", "--ensemble", run)]
    assert [cells[-1] for cells in again] == [line.split("\t")[-1] for line in plain]
    doubled = [line.split("\t") for line in printed(seqline, run, "--scores", "--rerank", run)]
    assert [cells[-1] for cells in doubled] == [line.split("\t")[-1] for line in plain]
    for cells, line in zip(doubled, plain, strict=True):
        assert float(cells[0]) == pytest.approx(2 * float(line.split("\t")[0]), abs=2e-4)
    other = make_table_run(tmp_path / "table", {"S": {"a": 1.0}, "a": {"E": 1.0}})
    code, out, err = seqline("translate", run, "--ensemble", other, stdin=DATA)
    assert (code, out) == (2, b"")
    assert "ensemble: model 2 has another target vocabulary" in err


def test_a_stream_prints_what_greedy_search_finds(seqline: Seqline, reversing_run: ReversingRun) -> None:
    assert printed(seqline, reversing_run.folder, "--stream") == printed(seqline, reversing_run.folder, "--beam", "1")
    drawn = ("--sample", "--seed", "3", "--temperature", "1.5")
    assert printed(seqline, reversing_run.folder, "--stream", *drawn) == printed(seqline, reversing_run.folder, *drawn)


REFUSALS = [
    (("--temperature", "0.5"), "--temperature: has no meaning where nothing is drawn at random"),
    (("--seed", "1"), "--seed: has no meaning"),
    (("--sample", "--temperature", "nan"), "--temperature: must be a number from 0 up"),
    (("--sample", "--typical-p", "0"), "--typical-p"),
    (("--rerank-weight", "2"), "--rerank-weight: has no meaning without --rerank"),
    (("--stream", "--beam", "4"), "--beam: acts on a beam"),
    (("--sample", "--beam", "4"), "--beam: acts on a beam"),
    (("--mbr", "4", "--set", "num_groups=5"), "--set num_groups=5: acts on a beam"),
    (("--prefix", "a\nb"), "line ends or tabs"),
    (("--must-not", "\udcff"), "--must-not: is not UTF-8"),
    (("--stream", "--n-best", "2"), "--n-best: needs the whole output"),
    (("--stream", "--json"), "--json: needs the whole output"),
    (("--input", "xml"), "--input: expected text or jsonl, got 'xml'"),
    (("--set", "beam_sise=3"), "did you mean"),
    (("--set", "model.dropout=0.1"), "--set: only settings of the search change here"),
    (("--set", "max_length"), "--set: expected key=value"),
    (("--n-best", "6"), "--n-best: 6 outputs need as many candidates, there are 5"),
    (("--mbr", "4", "--n-best", "5"), "--n-best: 5 outputs need as many candidates, there are 4"),
    (("--mbr", "1"), "--mbr: expected from 2 to 1024"),
    (("--sample", "--must", "a"), "--must: a drawn output cannot be made to hold a phrase"),
    (("--must", "zebra"), "--must: the model's vocabulary cannot write 'zebra'"),
    (("--prefix", "zebra"), "--prefix: the model's vocabulary cannot write 'zebra'"),
    (("--must-not", " "), "--must-not: expected one word or more"),
    (("--markup", "--alignments"), "--alignments: count the words of a plain text"),
    (("--ensemble", "/nowhere"), "no such run folder"),
    (("--rerank", "/nowhere"), "no such run folder"),
    (("--set", "num_groups=2"), "num_groups"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "words"), REFUSALS, ids=[" ".join(options) for options, _ in REFUSALS])
def test_what_makes_no_sense_is_refused(
    seqline: Seqline, reversing_run: ReversingRun, options: Sequence[str], words: str
) -> None:
    code, out, err = seqline("translate", reversing_run.folder, *options, stdin=DATA)
    assert (code, out) == (2, b"")
    assert err.startswith("error: ")
    assert words in err
    assert len(err.splitlines()) == 1


def test_a_request_that_is_none_names_its_line(seqline: Seqline, reversing_run: ReversingRun, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"text": "a"}\n{"txt": "a"}\n', encoding="utf-8")
    code, out, err = seqline("translate", reversing_run.folder, tmp_path / "in.jsonl", "--input", "jsonl")
    assert (code, out) == (2, b"")
    assert f"{tmp_path / 'in.jsonl'}:2: " in err
    _, _, err = seqline("translate", reversing_run.folder, "--input", "jsonl", stdin=b"[]\n")
    assert "standard input:1: " in err


def test_a_text_with_line_ends_needs_json_out(seqline: Seqline, reversing_run: ReversingRun) -> None:
    data = b'{"text": "a b\\n\\nc {0}"}\n'
    code, out, err = seqline("translate", reversing_run.folder, "--input", "jsonl", "--markup", stdin=data)
    assert (code, out) == (2, b"")
    assert "line ends" in err
    [line] = printed(seqline, reversing_run.folder, "--input", "jsonl", "--markup", "--json", data=data)
    text = json.loads(line)["text"]
    assert text.count("\n") == 2
    assert text.count("{0}") == 1


def test_score_gives_the_log_probability_of_each_pair(seqline: Seqline, reversing_run: ReversingRun) -> None:
    pairs = [("a b", "b a"), ("c", "h h"), ("d e", "")]
    data = "".join(f"{source}\t{target}\n" for source, target in pairs).encode()
    expected = Translator.load(reversing_run.folder).score(pairs)
    code, out, err = seqline("score", reversing_run.folder, stdin=data)
    assert (code, err) == (0, "")
    assert out.decode().splitlines() == [f"{one.log_probability:.4f}\t{one.score:.4f}" for one in expected]
    lines = seqline("score", reversing_run.folder, "--tokens", stdin=data).lines
    assert [line.split("\t")[2].split(" ")[0].split("=")[0] for line in lines] == ["b", "h", "</s>"]
    records = [json.loads(line) for line in seqline("score", reversing_run.folder, "--json", stdin=data).lines]
    for record, one in zip(records, expected, strict=True):
        assert [token["log_probability"] for token in record["tokens"]] == pytest.approx(list(one.log_probabilities))
        assert record["log_probability"] == pytest.approx(sum(one.log_probabilities))
    _, _, err = seqline("score", reversing_run.folder, stdin=b"a\tzebra\n")
    assert err == "1 target pieces are outside the vocabulary and were scored as <unk>\n"


def test_what_was_found_scores_the_same(seqline: Seqline, reversing_run: ReversingRun) -> None:
    lines = printed(seqline, reversing_run.folder, "--scores", "--n-best", "3", data=b"a b c\n")
    cells = lines[0].split("\t")
    pairs = "".join(f"a b c\t{text}\n" for text in cells[1::2]).encode()
    again = [line.split("\t")[1] for line in seqline("score", reversing_run.folder, stdin=pairs).lines]
    assert [float(score) for score in again] == pytest.approx([float(score) for score in cells[::2]], abs=2e-4)
