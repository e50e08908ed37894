"""weight-sharing: the sentences, the network without sharing against the one that shares, verdicts on planted answers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from seqline.lab import weight_sharing as lab_file
from seqline.lab.laboratory import Lab
from seqline.lab.years import (
    LONGER,
    LONGEST,
    SHORTEST,
    YEARS,
    Sentence,
    batch_of,
    hits,
    is_held_back,
    learn,
    make_sets,
    tied,
    untied,
)

SETS = make_sets(60, 40, seed=3)


def test_sentences_are_the_same_for_a_seed_and_stand_once() -> None:
    assert make_sets(60, 40, seed=3) == SETS
    assert make_sets(60, 40, seed=4) != SETS
    texts = [each.words for one in SETS for each in one]
    assert len(set(texts)) == len(texts) == 60 + 3 * 40


def test_one_year_stands_in_a_sentence_where_its_set_allows() -> None:
    for one in SETS:
        for each in one:
            assert [word for word in each.words if word in YEARS] == [YEARS[each.year]]
            assert each.place < LONGEST
    for each in [*SETS.train, *SETS.alike, *SETS.longer]:
        assert not is_held_back(each.year, each.place)
    assert all(is_held_back(each.year, each.place) for each in SETS.places)
    for one in (SETS.train, SETS.alike, SETS.places):
        assert {len(each.words) for each in one} <= set(range(SHORTEST, LONGEST + 1))
    assert {len(each.words) for each in SETS.longer} <= set(range(LONGEST + 1, LONGER + 1))


def test_every_year_is_learned_at_some_place_and_every_place_with_some_year() -> None:
    allowed = [(year, place) for year in range(len(YEARS)) for place in range(LONGEST) if not is_held_back(year, place)]
    assert {year for year, _ in allowed} == set(range(len(YEARS)))
    assert {place for _, place in allowed} == set(range(LONGEST))


def test_a_cell_a_step_with_equal_cells_is_the_tied_network() -> None:
    torch.manual_seed(1)
    shared, own = tied(6), untied(6, LONGEST)
    own.embedding, own.head = shared.embedding, shared.head
    for cell in own.layer.get_submodule("cells").children():
        cell.load_state_dict(shared.layer.get_submodule("cell").state_dict())
    batch = batch_of(SETS.train[:10])
    torch.testing.assert_close(own(batch.ids, batch.is_real), shared(batch.ids, batch.is_real))


def test_a_step_has_weights_of_its_own() -> None:
    torch.manual_seed(1)
    own = untied(6, LONGEST)
    batch = batch_of([each for each in SETS.train if len(each.words) == 5][:3])
    own(batch.ids, batch.is_real).sum().backward()
    cells = own.layer.get_submodule("cells").children()
    learned = [any(p.grad is not None and bool(p.grad.any()) for p in cell.parameters()) for cell in cells]
    assert learned == [step < 5 for step in range(LONGEST)]


def test_more_steps_than_cells_are_refused() -> None:
    own = untied(4, 5)
    batch = batch_of([Sentence(("I",) * 6 + (YEARS[0],), 0)])
    with pytest.raises(ValueError, match="7 steps, and cells for 5"):
        own(batch.ids, batch.is_real)


def test_sharing_does_not_depend_on_the_length_and_both_rivals_are_of_a_size() -> None:
    counts = {name: lab_file.count(name) for name in lab_file.NETWORKS}
    short, long = counts["tied"]
    assert short == long
    few, many = counts[lab_file.RIVAL]
    assert many > few > 5 * short
    assert counts["tied, as many weights"][0] == pytest.approx(few, rel=0.01)


def test_a_short_training_is_the_same_for_a_seed_and_learns() -> None:
    one, other = (learn(lambda: tied(16), SETS.train, 60, 1, lambda: None) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))
    assert np.mean(hits(one, SETS.train)) > 3 / len(YEARS)


def planted(**of_rival: float) -> dict[str, dict[str, list[np.ndarray]]]:
    """Return answers of two seeds: the tied networks are right in 90 of 100, but all in training; the rival as told."""
    tied_shares = {"train": 1.0, "alike": 0.9, "places": 0.9, "longer": 0.9}

    def rows(share: float) -> list[np.ndarray]:
        draws = np.random.default_rng(int(100 * share))
        return [draws.permutation(np.arange(100) < round(100 * share)).astype(float) for _ in range(2)]

    shares = {name: {**tied_shares, **(of_rival if name == lab_file.RIVAL else {})} for name in lab_file.NETWORKS}
    return {name: {test: rows(share) for test, share in of.items()} for name, of in shares.items()}


COUNTS = {"tied": (10, 10), "tied, as many weights": (50, 50), lab_file.RIVAL: (50, 100)}


@pytest.mark.parametrize(
    ("of_rival", "states"),
    [
        ({"alike": 0.5, "places": 0.2, "longer": 0.3}, ["held", "held", "held"]),
        ({"alike": 1.0, "places": 1.0, "longer": 1.0}, ["not held", "not held", "not held"]),
        ({"alike": 0.89, "places": 0.89, "longer": 0.91}, ["undecided"] * 3),
        ({"train": 0.6, "alike": 0.1, "places": 0.2, "longer": 0.3}, ["undecided"] * 3),
    ],
)
def test_verdicts_on_planted_answers(of_rival: dict[str, float], states: list[str]) -> None:
    found = lab_file.verdicts(planted(**of_rival), COUNTS)
    assert [verdict.claim for verdict in found] == [claim.key for claim in lab_file.CLAIMS]
    assert [verdict.state for verdict in found] == ["held", *states]


def test_a_gap_is_training_less_test() -> None:
    answers = planted(train=1.0, alike=0.6)
    assert [
        float(lab_file.gap_value(seed.sum(axis=0))) for seed in lab_file.gap(answers, lab_file.RIVAL)
    ] == pytest.approx([0.4] * 2)


def test_tied_that_grow_are_not_held() -> None:
    counts = {**COUNTS, "tied": (10, 20)}
    assert lab_file.verdicts(planted(), counts)[0].state == "not held"


def test_the_experiment_from_end_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("QUICK_STEPS", 3), ("SENTENCES", 40), ("TESTED", 30)):
        monkeypatch.setattr(lab_file, name, value)
    assert lab_file.EXPERIMENT.models(Lab(tmp_path)) == ()
    found = lab_file.EXPERIMENT.measure(Lab(tmp_path, is_quick=True))
    assert [verdict.state for verdict in found.verdicts] == [
        "held",
        "undecided",
        "undecided",
        "undecided",
    ]  # nothing is learned
    assert [len(table.rows) for table in found.tables] == [3, 3]
    assert found.pictures[0].svg.startswith("<svg")
