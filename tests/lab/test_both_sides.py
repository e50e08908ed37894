"""Labels from the left, the right and both sides: their law, what adding two sides can reach, and planted numbers."""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from seqline.data.text import read_pairs
from seqline.evaluation.significance import Array
from seqline.lab.both_sides import (
    CEILING,
    CORPUS,
    EXPERIMENT,
    FAMILIES,
    LETTERS,
    LONGEST,
    MODELS,
    SHORTEST,
    make,
    of_families,
    sentence,
    statistics,
    tags,
    verdicts,
)
from seqline.lab.laboratory import Lab

from .planted import hits, measured, states


def test_labels_by_hand() -> None:
    assert tags(["a", "v", "left?", "right?", "b", "both?", "a"]) == ["-", "-", "a", "b", "-", "other", "-"]
    assert tags(["b", "both?", "left?", "both?", "b"]) == ["-", "same", "b", "same", "-"]


def test_texts_obey_their_law() -> None:
    draws = random.Random(3)
    for _ in range(200):
        words = sentence(draws)
        assert SHORTEST <= len(words) <= LONGEST
        assert words[0] in LETTERS
        assert words[-1] in LETTERS
        assert len(tags(words)) == len(words)


def test_no_text_stands_twice_and_all_is_the_same_again(tmp_path: Path) -> None:
    for name in ("one", "two"):
        make(tmp_path / name, Lab(tmp_path))
    sets = {name: [pair[:2] for pair in read_pairs(str(tmp_path / "one" / f"{name}.tsv")).pairs]
            for name in ("train", "valid", "test")}  # fmt: skip
    texts = [source for rows in sets.values() for source, _ in rows]
    assert len(set(texts)) == len(texts)
    assert all(target.split() == tags(source.split()) for source, target in sets["test"])
    assert (tmp_path / "one" / "train.tsv").read_bytes() == (tmp_path / "two" / "train.tsv").read_bytes()


def test_what_adds_two_sides_is_right_in_three_of_four_pairs() -> None:
    steps = np.linspace(-2, 2, 9)
    best = max(
        sum((f[left] + g[right] > 0) == (left == right) for left, right in product((0, 1), repeat=2))
        for f in product(steps, repeat=2)
        for g in product(steps, repeat=2)
    )
    assert best / 4 == CEILING


def test_answers_are_counted_by_family() -> None:
    text = "a left? right? b both? b"
    found = statistics([text], [tags(text.split())], [["x", "a", "a", "x", "other", "x"]])
    assert found[0].tolist() == [[1, 1], [0, 1], [0, 1]]
    assert of_families([found], *FAMILIES)[0].tolist() == [[1, 3]]


def planted(left: int, right: int, both: int) -> list[Array]:
    return [np.stack([hits(each, 40) for each in (left, right, both)], 1)]


def test_claims_hold_fail_and_stay_open() -> None:
    one, shallow, deep, attention = MODELS
    good = {
        one: planted(40, 20, 20),
        shallow: planted(40, 40, 20),
        deep: planted(40, 40, 40),
        attention: planted(40, 40, 39),
    }
    assert set(states(verdicts(good)).values()) == {"held"}
    bad = {
        one: planted(40, 40, 40),
        shallow: planted(20, 10, 40),
        deep: planted(0, 0, 10),
        attention: planted(0, 0, 10),
    }
    assert set(states(verdicts(bad)).values()) == {"not held"}
    assert set(states(verdicts(dict.fromkeys(MODELS, planted(20, 20, 20)))).values()) == {"undecided"}
    worse_left = {**good, shallow: planted(20, 40, 20)}
    assert states(verdicts(worse_left))["better"] == "not held"


def test_a_whole_experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seqline.lab.both_sides.COUNTS", {"train": 60, "valid": 10, "test": 30})
    found = measured(EXPERIMENT, tmp_path, {CORPUS: make})
    assert [row[0] for row in found.tables[0].rows] == list(MODELS)
    shares = [share["value"] for of in found.numbers["accuracy"].values() for share in of.values()]
    assert len(shares) == len(MODELS) * len(FAMILIES)
    assert all(0 <= share <= 1 for share in shares)
