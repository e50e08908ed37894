"""Positions: order that an encoder does not see, echoes that are counted, and the rules."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import torch

from seqline.evaluation.significance import Array
from seqline.lab.laboratory import Lab
from seqline.lab.positions import (
    CORPUS,
    DISTANCE,
    EXPERIMENT,
    LENGTH,
    PARTS,
    SCHEMES,
    change_when_permuted,
    count_echoes,
    line,
    make,
    make_encoder,
    verdicts,
)

from .planted import hits, measured, states


@pytest.mark.parametrize("scheme", SCHEMES)
def test_an_encoder_sees_order_by_positions_alone(scheme: str) -> None:
    torch.manual_seed(1)
    change = change_when_permuted(make_encoder(scheme))
    assert change < 1e-5 if scheme == "none" else change > 0.01


def test_lines_echo() -> None:
    texts = [line(random.Random(seed), 400) for seed in range(5)]
    assert texts == [line(random.Random(seed), 400) for seed in range(5)]
    echoes = [a == b for text in texts for a, b in zip(text, text[DISTANCE:], strict=False)]
    assert np.mean(echoes) == pytest.approx(0.9 + 0.1 / 8, abs=0.03)


def test_the_corpus_holds_no_line_twice(tmp_path: Path) -> None:
    make(tmp_path, Lab(tmp_path))
    texts = {name: (tmp_path / f"{name}.txt").read_text().split() for name in ("train", "valid", "test")}
    starts = [text[:LENGTH] for each in texts.values() for text in each]
    assert len(set(starts)) == len(starts)
    assert {len(text) for text in texts["train"]} == {LENGTH}
    assert {len(text) for text in texts["test"]} == {4 * LENGTH}


def test_echoes_are_counted_by_place() -> None:
    ids = torch.arange(4 * LENGTH + 1)[None] + 10
    said = ids.clone()
    for place in (5, LENGTH, 3 * LENGTH):
        ids[0, place] = ids[0, place - DISTANCE]  # an echo
    said[0, 5] = ids[0, 5]
    said[0, 3 * LENGTH] = ids[0, 3 * LENGTH]
    assert count_echoes(said, ids).tolist() == [[[1, 1], [0, 1], [1, 1]]]


def planted(*right: int) -> list[Array]:
    return [np.stack([hits(each, 40) for each in right], 1)]


def test_claims_hold_fail_and_stay_open() -> None:
    good = {scheme: planted(40, 30, 10) for scheme in SCHEMES} | {
        "alibi": planted(38, 38, 38),
        "none": planted(40, 40, 40),
    }
    open_ = {scheme: planted(20, 20, 20) for scheme in SCHEMES}
    bad = {scheme: planted(40, 40, 40) for scheme in SCHEMES} | {"none": planted(5, 5, 5)}
    changes = dict.fromkeys(SCHEMES, 0.5) | {"none": 1e-7}
    assert len(PARTS) == 3
    found = states(verdicts({**good, "alibi": planted(40, 40, 40), "none": planted(40, 40, 40)}, changes))
    assert found == {"bag": "held", "alibi": "held", "knows": "held", "longer": "undecided"}
    assert states(verdicts({**good, "alibi": planted(30, 30, 30)}, changes))["longer"] == "held"
    assert states(verdicts(bad, changes | {"none": 0.1})) == dict.fromkeys(found, "not held")
    assert states(verdicts(open_, changes)) == {"bag": "held"} | dict.fromkeys(
        ("alibi", "knows", "longer"), "undecided"
    )


def test_a_whole_experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seqline.lab.positions.COUNTS", {"train": (40, 8), "valid": (10, 8), "test": (20, 4 * LENGTH)})
    found = measured(EXPERIMENT, tmp_path, {CORPUS: make})
    assert set(found.numbers["right"]) == set(SCHEMES)
