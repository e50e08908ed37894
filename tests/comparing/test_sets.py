"""The three sets: given ones are left as they are, missing ones are held out of the training set and shared by nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from seqline.comparing.sets import Sets, read_sets
from seqline.config import Config, DataConfig
from seqline.data.text import read_data, read_pairs
from seqline.errors import UserError

from ..small_run import letter_pairs, write_tsv
from .small import labels, letters, one_file, text


def data_config(**changes: object) -> DataConfig:
    return Config().replace(**{f"data.{key}": value for key, value in changes.items()}).data


def rows(content: bytes) -> list[tuple[str, str]]:
    pairs = [line.split("\t") for line in content.decode().splitlines()]
    return [(source, target) for source, target in pairs]


def num_lines(sets: Sets) -> dict[str, int]:
    return {name.split(".")[0]: len(content.splitlines()) for name, content in sets.contents.items()}


def test_a_folder_with_all_sets_is_written_as_it_is(tmp_path: Path) -> None:
    folder = letters(tmp_path / "data")
    sets = read_sets(str(folder), data_config(), "", 1)
    assert {name: (folder / name).read_bytes() for name in sets.contents} == sets.contents
    assert not [note for note in sets.notes if "held out" in note]
    assert num_lines(sets) == {"train": 60, "valid": 10, "test": 16}


def test_missing_sets_are_held_out_and_share_nothing(tmp_path: Path) -> None:
    path = one_file(tmp_path / "all.tsv")
    sets = read_sets(str(path), data_config(), "", 1)
    train, valid, test = (rows(sets.contents[f"{name}.tsv"]) for name in ("train", "valid", "test"))
    assert not set(train) & set(valid)
    assert not set(train) & set(test)
    assert not set(valid) & set(test)
    assert sorted(train + valid + test) == sorted(pair[:2] for pair in read_pairs(str(path)).pairs)
    assert [note.split(" as ")[1] for note in sets.notes] == ["the test set (seed 1)", "the valid set (seed 1)"]


def test_the_split_is_a_function_of_the_seed(tmp_path: Path) -> None:
    path = one_file(tmp_path / "all.tsv")
    first, again, other = (read_sets(str(path), data_config(), "", seed).fingerprint for seed in (1, 1, 2))
    assert first == again != other


def test_a_held_out_test_set_has_nothing_of_a_given_validation_set(tmp_path: Path) -> None:
    pairs = letter_pairs(60, seed=5)
    path, valid = write_tsv(tmp_path / "all.tsv", pairs), write_tsv(tmp_path / "valid.tsv", pairs[:25])
    sets = read_sets(str(path), data_config(valid=str(valid)), "", 1)
    assert not set(rows(sets.contents["test.tsv"])) & set(rows(sets.contents["valid.tsv"]))


def test_test_examples_of_the_training_set_are_told(tmp_path: Path) -> None:
    pairs = letter_pairs(60, seed=5)
    path, test = write_tsv(tmp_path / "all.tsv", pairs), write_tsv(tmp_path / "test.tsv", pairs[:7])
    sets = read_sets(str(path), data_config(), str(test), 1)
    assert any(note.endswith("of the 7 test examples stand in the training set too") for note in sets.notes)


def test_what_tsv_cannot_hold_is_written_as_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "all.jsonl"
    lines = [f'{{"de": "a\\tb {n}", "en": "c\\r {n}"}}' for n in range(50)]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    sets = read_sets(str(path), data_config(keys=("de", "en")), "", 1)
    sets.write(tmp_path / "out")
    found = read_data(str(tmp_path / "out"), "", ("source", "target"))
    assert found.valid is not None
    assert found.test is not None
    texts = {pair.source for pairs in (found.train, found.valid, found.test) for pair in pairs.pairs}
    assert texts == {f"a\tb {n}" for n in range(50)}


@pytest.mark.parametrize("task", ["tagging", "classification"])
def test_labelled_lines_are_held_out_too(tmp_path: Path, task: str) -> None:
    sets = read_sets(str(labels(tmp_path / "all.tsv", task)), data_config(task=task), "", 1)
    assert num_lines(sets)["test"] >= 10
    assert sum(num_lines(sets).values()) == 120


@pytest.mark.parametrize("unit", ["stream", "lines"])
def test_a_text_is_cut_into_three(tmp_path: Path, unit: str) -> None:
    path = text(tmp_path / "all.txt", lines=300)
    sets = read_sets(str(path), data_config(task="language_model", unit=unit), "", 1)
    parts = [sets.contents[f"{name}.txt"].decode() for name in ("train", "valid", "test")]
    assert sorted("".join(parts).split("\n")) == sorted(path.read_text().split("\n"))
    assert all(len(part) > 20 for part in parts)
    if unit == "stream":
        assert "".join(parts) == path.read_text()


def test_too_little_to_hold_out_is_refused(tmp_path: Path) -> None:
    path = write_tsv(tmp_path / "all.tsv", letter_pairs(15, seed=5))
    with pytest.raises(UserError, match=r"15 examples are too few to hold out a test set; give one with --test"):
        read_sets(str(path), data_config(), "", 1)


def test_a_tag_too_few_is_refused_before_anything_is_trained(tmp_path: Path) -> None:
    path = labels(tmp_path / "all.tsv", "tagging")
    test = tmp_path / "test.tsv"
    test.write_text("Ann sees\tB-PER\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"test.tsv:1: 2 tokens but 1 tag"):
        read_sets(str(path), data_config(task="tagging"), str(test), 1)
