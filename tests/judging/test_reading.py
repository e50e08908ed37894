"""What an evaluation reads: the text of the training in every form, and another system by its name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqline.errors import UserError
from seqline.judging.reading import read_system, read_training

from ..small_run import ReversingRun, pair_set

KEYS = ("source", "target")
WORDS = ["one two", "three", "four five"]


def write(path: Path, lines: list[str]) -> str:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def test_the_training_text_in_every_form(tmp_path: Path) -> None:
    plain = write(tmp_path / "plain.txt", WORDS)
    pairs = write(tmp_path / "train.tsv", [f"x\t{line}" for line in WORDS])
    records = write(tmp_path / "a.jsonl", [json.dumps({"source": "x", "target": line}) for line in WORDS])
    source = write(tmp_path / "source.txt", ["x"] * 3)
    for spec in (plain, pairs, records, f"{source},{plain}", str(tmp_path)):
        assert read_training(spec, KEYS) == WORDS


def test_blank_lines_before_the_pairs_do_not_hide_them(tmp_path: Path) -> None:
    assert read_training(write(tmp_path / "a.tsv", ["", "x\tone"]), KEYS) == ["", "one"]


def test_pairs_must_be_pairs_all_through(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", ["x\tone", "two"])
    with pytest.raises(UserError, match=r"a\.tsv:2: expected source TAB target"):
        read_training(path, KEYS)


def test_what_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no training set in this folder"):
        read_training(str(tmp_path), KEYS)
    with pytest.raises(UserError, match=r"none\.txt"):
        read_training(str(tmp_path / "none.txt"), KEYS)


@given(st.lists(st.text(alphabet=st.characters(exclude_characters="\t\r\n\0", exclude_categories=["Cs"]), max_size=8)))
def test_lines_without_tabs_come_back_as_they_are(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    path = tmp_path_factory.mktemp("lines") / "a.txt"
    path.write_bytes("".join(f"{line}\n" for line in lines).encode("utf-8"))
    expected = [lines[0].removeprefix("\ufeff"), *lines[1:]] if lines else []
    assert read_training(str(path), KEYS) == expected


def test_a_system_is_a_run_or_a_file(reversing_run: ReversingRun, tmp_path: Path) -> None:
    pairs = pair_set(("a", "b"))
    assert read_system(str(reversing_run.folder), pairs).num_searches == 1
    assert read_system(write(tmp_path / "out.txt", ["b"]), pairs).num_searches == 0
    with pytest.raises(UserError):
        read_system(str(tmp_path), pairs)  # a folder, and no run
    with pytest.raises(UserError, match="none"):
        read_system(str(tmp_path / "none"), pairs)
