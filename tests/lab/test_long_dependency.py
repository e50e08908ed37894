"""long-dependency: the law of the texts, who is asked what, verdicts of planted hits, and a whole small experiment."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import torch

from seqline.lab import gap_texts
from seqline.lab import long_dependency as gaps
from seqline.lab.gap_texts import LANGUAGES, PLACES
from seqline.lab.laboratory import Lab
from seqline.run_folder import load_run

from .planted import SmallLab, hits, measured, states


@pytest.mark.parametrize("distance", gaps.DISTANCES)
@pytest.mark.parametrize("is_test", [True, False])
def test_the_language_stands_as_far_from_its_country_as_was_asked(distance: int, is_test: bool) -> None:
    question = gap_texts.far(distance, random.Random(distance), is_test=is_test)
    words = gap_texts.whole(question).split()
    [country] = [word for word in words if word in LANGUAGES]
    assert words[-1] == "."
    assert words[-2] == question.answer == LANGUAGES[country]
    assert len(words) - 2 - words.index(country) == distance
    assert question.answer not in question.text.split()


def test_the_place_stands_four_words_from_its_thing() -> None:
    question = gap_texts.near(50, random.Random(1), is_test=True)
    words = question.text.split()
    assert PLACES[words[-gap_texts.NEAR]] == question.answer
    assert len(words) == len(gap_texts.italy(50).text.split()) + 3 + len(words[: words.index(".")]) - 5


@pytest.mark.parametrize("distance", [4, 6, 9])
def test_a_distance_that_no_text_has_is_refused(distance: int) -> None:
    with pytest.raises(ValueError, match="no sentences"):
        gap_texts.far(distance, random.Random(1), is_test=True)


def test_nothing_that_is_kept_for_the_test_stands_in_the_training() -> None:
    draws = random.Random(1)
    train = [gap_texts.far(d, draws, is_test=False) for d in gap_texts.distances(50, 300, draws)]
    assert not any(question.text.startswith("I grew up in Italy") for question in train)
    assert not any("white clouds" in question.text for question in train)
    openings = {question.text.partition(" . ")[0] for question in train}
    test = {gap_texts.far(20, draws, is_test=True).text.partition(" . ")[0] for _ in range(100)}
    assert not openings & test
    assert {country for country in LANGUAGES if any(text.endswith(country) for text in test)} == set(LANGUAGES)


def test_distances_of_the_training_are_those_of_texts() -> None:
    found = gap_texts.distances(50, 500, random.Random(3))
    assert set(found) <= {5, *range(10, 51)}
    assert {5, 10, 50} <= set(found)
    assert found == gap_texts.distances(50, 500, random.Random(3))


def test_corpora_are_the_same_each_time_and_share_no_text(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        lab = Lab(tmp_path / folder, is_quick=True, corpora={"x": gaps.CORPORA["gap-texts"]})
        lab.corpus("x")
    texts = {name: (tmp_path / "a/data/x" / f"{name}.txt").read_text() for name in ("train", "valid", "test")}
    assert texts == {name: (tmp_path / "b/data/x" / f"{name}.txt").read_text() for name in texts}
    assert not set(texts["train"].splitlines()) & set(texts["test"].splitlines())


def planted(far: dict[int, int], near: int = 40) -> dict[tuple[str, int], list[np.ndarray]]:
    found = {("near", d): [hits(near, 40)] for d in gaps.DISTANCES}
    return found | {("far", d): [hits(far.get(d, 4), 40)] for d in gaps.DISTANCES}


def test_claims_hold_fail_and_stay_open() -> None:
    forgets, keeps = planted({5: 40}), planted(dict.fromkeys(gaps.DISTANCES, 40))
    learned_nothing = planted({}, near=20)
    half = planted(dict.fromkeys(gaps.DISTANCES, 20), near=36)
    named = [gaps.SIMPLE, gaps.LSTM, gaps.GRU, gaps.ATTENTION, gaps.TRANSFORMER, gaps.TTT]
    good = {**dict.fromkeys(named, keeps), gaps.SIMPLE: forgets, gaps.LSTM: planted({5: 40, 10: 40, 20: 40, 50: 40})}
    assert set(states(gaps.verdicts(good)).values()) == {"held"}
    bad = {**dict.fromkeys(named, forgets), gaps.SIMPLE: planted(dict.fromkeys(gaps.DISTANCES, 40), near=10)}
    assert set(states(gaps.verdicts(bad)).values()) == {"not held"}
    ill = gaps.verdicts(dict.fromkeys(named, learned_nothing))
    assert states(ill) == {"near": "not held", "simple-rnn": "undecided", "lstm": "not held", "attention": "undecided",
                           "transformer": "undecided", "ttt": "not held"}  # fmt: skip
    assert {"near", "simple-rnn", "attention", "transformer"} <= {
        key for key, state in states(gaps.verdicts(dict.fromkeys(named, half))).items() if state == "undecided"
    }


def test_a_whole_experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "QUICK_TEXTS": 60,
        "VALIDATION_TEXTS": 4,
        "QUICK_QUESTIONS": 3,
        "DISTANCES": (5, 10, 50),
    }.items():
        monkeypatch.setattr(gaps, name, value)
    monkeypatch.setattr(gaps, "MODELS", {name: model._replace(quick_steps=2) for name, model in gaps.MODELS.items()})
    found = measured(gaps.EXPERIMENT, tmp_path, gaps.CORPORA)
    assert len(found.tables) == 4
    assert len(found.tables[2].rows) == 6 * 3
    assert [len(row["words"]) for row in found.numbers["top_words"]["far"]] == [5] * 18
    lab = SmallLab(tmp_path, is_quick=True, corpora=gaps.CORPORA, most_steps=2)
    for name in (gaps.LSTM, gaps.ATTENTION):
        run = load_run(lab.run(gaps.wanted(name, 1)))
        texts = [gap_texts.italy(5).text, gap_texts.italy(20).text]
        both = gaps.next_words(run, texts)
        torch.testing.assert_close(both.sum(dim=-1), torch.ones(2))
        torch.testing.assert_close(both[:1], gaps.next_words(run, texts[:1]))  # what is padded beside changes nothing
