"""Questions by key and by offset: their law, how far the convolution has read, and planted numbers."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import torch

from seqline.architectures import ARCHITECTURES
from seqline.architectures.recipe import Vocabulary
from seqline.data.text import read_pairs
from seqline.evaluation.significance import Array
from seqline.lab.dynamic_weights import (
    CORPUS,
    DISTANCES,
    EXPERIMENT,
    FIELD,
    KERNEL,
    LAYERS,
    LENGTH,
    MODELS,
    NUM_ENTRIES,
    NUM_LEFT,
    make,
    part,
    questions,
    sentence,
    statistics,
    tags,
    verdicts,
)
from seqline.lab.laboratory import Lab

from ..small_models import random_weights
from .planted import hits, measured, states

TEXT = "c? a3 u <2 b1 v w x y z u v w c4 a?"


def test_labels_by_hand() -> None:
    expected = ["-"] * 15
    expected[0], expected[3], expected[14] = "4", "3", "3"
    assert tags(TEXT.split()) == expected
    assert [each.distance for each in questions(TEXT.split())] == [13, 2, 13]


def test_texts_obey_their_law() -> None:
    draws = random.Random(3)
    for _ in range(200):
        words = sentence(draws)
        found = questions(words)
        assert len(words) == LENGTH
        assert sum(each.is_by_key for each in found) == NUM_ENTRIES
        assert len(found) == NUM_ENTRIES + NUM_LEFT
        assert all(words[each.entry][1:] in "1234" for each in found)


def test_no_text_stands_twice(tmp_path: Path) -> None:
    make(tmp_path / "data", Lab(tmp_path))
    texts = [pair.source for name in ("train", "valid", "test") for pair in
             read_pairs(str(tmp_path / "data" / f"{name}.tsv")).pairs]  # fmt: skip
    assert len(set(texts)) == len(texts)


def test_the_convolution_has_read_its_field_and_no_more() -> None:
    recipe = ARCHITECTURES["conv"]
    settings = recipe.settings.model_validate(
        {"embed_size": 6, "hidden_size": 6, "num_layers": LAYERS, "kernel_size": KERNEL, "dropout": 0.0}
    )
    assert recipe.features is not None
    encoder = random_weights(recipe.features(settings, Vocabulary(9, 9, False)).encoder)
    ids, middle = torch.full((1, 31), 4), 15
    is_real = torch.ones_like(ids, dtype=torch.bool)
    before = encoder(ids, is_real).outputs[0, middle]
    changes = []
    for place in range(31):
        other = ids.clone()
        other[0, place] = 5
        if not torch.equal(encoder(other, is_real).outputs[0, middle], before):
            changes.append(abs(place - middle))
    assert max(changes) == FIELD
    assert len(changes) == 2 * FIELD + 1


def test_answers_are_counted_by_distance() -> None:
    found = statistics([TEXT], [["4", *["-"] * 2, "1", *["-"] * 10, "3"]])
    far = 1 + DISTANCES.index((13, 20))
    assert found[0, 0].tolist() == [0, 1]
    assert found[0, far].tolist() == [2, 2]
    assert found.sum() == 5
    assert part([found], "outside")[0].tolist() == [[2, 2]]
    assert part([found], "inside")[0].tolist() == [[0, 0]]


def planted(offset: int, inside: int, outside: int) -> list[Array]:
    columns = [offset, *(inside if high <= FIELD else outside for _, high in DISTANCES)]
    return [np.stack([hits(each, 40) for each in columns], 1)]


def test_claims_hold_fail_and_stay_open() -> None:
    good = {"convolution": planted(40, 15, 10), "attention": planted(39, 40, 40)}
    assert set(states(verdicts(good)).values()) == {"held"}
    bad = {"convolution": planted(20, 40, 40), "attention": planted(40, 30, 20)}
    assert set(states(verdicts(bad)).values()) == {"not held"}
    open_ = {"convolution": planted(20, 20, 20), "attention": planted(21, 20, 20)}
    assert set(states(verdicts(open_)).values()) == {"undecided"}
    unlearned = {"convolution": planted(10, 10, 10), "attention": planted(10, 10, 10)}
    assert states(verdicts(unlearned))["offset"] == "undecided"  # equal, and both by chance


def test_a_whole_experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seqline.lab.dynamic_weights.COUNTS", {"train": 60, "valid": 10, "test": 30})
    found = measured(EXPERIMENT, tmp_path, {CORPUS: make})
    assert set(found.numbers["accuracy"]) == set(MODELS)
    assert len(found.tables[0].rows) == 1 + len(DISTANCES)
