"""Labelled text keeps its lines: tokens and tags in step, a label to each text, and every misfit named by its line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqline.data.labelled import check_classes, check_tagging, split_tokens
from seqline.data.text import Pair, PairSet, Tally, read_data, read_pairs
from seqline.errors import UserError

Check = Callable[[PairSet, Tally], PairSet]


def write(path: Path, text: str) -> str:
    path.write_bytes(text.encode())
    return str(path)


def check(function: Check, spec: str) -> tuple[list[Pair], Tally]:
    pairs = read_pairs(spec)
    tally = Tally(len(pairs.pairs))
    kept = function(pairs, tally)
    assert kept.name == pairs.name
    return kept.pairs, tally


def refusal(function: Check, spec: str) -> str:
    with pytest.raises(UserError) as caught:
        check(function, spec)
    return str(caught.value)


def test_tokens_and_tags_stay_in_step(tmp_path: Path) -> None:
    spec = write(tmp_path / "a.tsv", "the cat sat\tD N V\n\n \t \nParis  sleeps \tN   V\n")
    kept, tally = check(check_tagging, spec)
    assert kept == [Pair("the cat sat", "D N V", 1), Pair("Paris  sleeps ", "N   V", 4)]
    assert [split_tokens(pair.target) for pair in kept] == [["D", "N", "V"], ["N", "V"]]
    assert str(tally) == "kept 2 of 4: 2 empty (line 2, 3)"


@pytest.mark.parametrize(
    ("line", "counts"),
    [
        ("the cat\tD N V", "2 tokens but 3 tags"),
        ("the cat\tD", "2 tokens but 1 tag"),
        ("cat\t", "1 token but 0 tags"),
        ("\tN", "0 tokens but 1 tag"),
        (" \tN V", "0 tokens but 2 tags"),
    ],
)
def test_other_counts_are_refused_with_file_and_line(tmp_path: Path, line: str, counts: str) -> None:
    spec = write(tmp_path / "a.tsv", f"a\tX\n{line}\n")
    assert refusal(check_tagging, spec) == (
        f"{spec}:2: {counts}; give each token one tag: tokens TAB tags, both separated by spaces"
    )


def test_json_lines_two_files_and_folders_are_read_by_the_same_rules(tmp_path: Path) -> None:
    write(tmp_path / "train.jsonl", '{"words": "a b", "tags": "X Y"}\n{"words": "", "tags": ""}\n')
    write(tmp_path / "valid.words", "c\n\n")
    write(tmp_path / "valid.tags", "Z\n\n")
    data = read_data(str(tmp_path), keys=("words", "tags"))
    assert data.valid is not None
    tally = Tally(4)
    assert check_tagging(data.train, tally).pairs == [Pair("a b", "X Y", 1)]
    assert check_tagging(data.valid, tally).pairs == [Pair("c", "Z", 1)]
    assert tally.reasons == {"empty": [2, 2]}


def test_texts_and_classes(tmp_path: Path) -> None:
    spec = write(tmp_path / "a.tsv", "Li Wei \t Chinese\n\n\tFrench\nO'Neil\tNew Zealand \n \t\n")
    kept, tally = check(check_classes, spec)
    assert kept == [Pair("Li Wei ", "Chinese", 1), Pair("O'Neil", "New Zealand", 4)]
    assert tally.reasons == {"empty": [2, 5], "empty text": [3]}


def test_a_text_without_a_label_is_refused(tmp_path: Path) -> None:
    spec = write(tmp_path / "a.tsv", "a\tX\n\nb\t \n")
    assert refusal(check_classes, spec) == f"{spec}:3: a text without a label; write text TAB label, or remove the line"


words = st.text(st.sampled_from("ab\u00a0\u2003 \x85é"), max_size=8)


@given(st.lists(st.tuples(words, words), max_size=8))
def test_every_line_is_kept_counted_or_refused(lines: list[tuple[str, str]]) -> None:
    pairs = PairSet("a", [Pair(*both, n) for n, both in enumerate(lines, 1)])
    uneven = [n for n, (source, target) in enumerate(lines, 1) if len(source.split()) != len(target.split())]
    tally = Tally(len(lines))
    if uneven:
        with pytest.raises(UserError, match=f"^a:{uneven[0]}: "):
            check_tagging(pairs, tally)
    else:
        kept = check_tagging(pairs, tally).pairs
        assert sorted([*(pair.line for pair in kept), *tally.reasons.get("empty", [])]) == list(
            range(1, len(lines) + 1)
        )
        assert all(pair == pairs.pairs[pair.line - 1] for pair in kept)
        assert tally.kept == len(kept)


@given(st.lists(st.tuples(words, words), max_size=8))
def test_every_text_is_kept_counted_or_refused(lines: list[tuple[str, str]]) -> None:
    pairs = PairSet("a", [Pair(*both, n) for n, both in enumerate(lines, 1)])
    bare = [n for n, (text, label) in enumerate(lines, 1) if text.strip() and not label.strip()]
    tally = Tally(len(lines))
    if bare:
        with pytest.raises(UserError, match=f"^a:{bare[0]}: "):
            check_classes(pairs, tally)
    else:
        kept = check_classes(pairs, tally).pairs
        assert [(pair.source, pair.target) for pair in kept] == [(t, label.strip()) for t, label in lines if t.strip()]
        assert tally.kept == len(kept)
