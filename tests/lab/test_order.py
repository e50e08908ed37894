"""Neighbours and their jumps by hand, what a translation has of them, and verdicts of planted numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from seqline.data.toy import sample
from seqline.evaluation.alignment_metrics import GoldLinks, parse_gold
from seqline.evaluation.significance import Array
from seqline.lab.gold import GoldSplit
from seqline.lab.order import (
    CLASSES,
    COLUMNS,
    EXPERIMENT,
    PLACED,
    SWAPPED,
    Neighbours,
    looks,
    neighbours,
    of_kinds,
    statistics,
    verdicts,
)

from .planted import hits, measured, small_toy, states


def gold(line: str) -> GoldLinks:
    return parse_gold([line], "gold")[0]


# le fermier triste dort ici -> the sad farmer sleeps here
SWAP = gold("0-0 1-2 2-1 3-3 4-4")
SPLIT = GoldSplit([("le fermier triste dort ici", "the sad farmer sleeps here")], [SWAP], {})


def test_a_swap_is_one_jump_back() -> None:
    kinds = [each.kind for each in neighbours(5, SWAP)]
    assert kinds == ["in place", "back 1", "in place", "in place"]


@pytest.mark.parametrize(
    ("links", "expected"),
    [
        ("0-1 3-0", ["back 3-4"]),
        ("0-1 2-0", ["back 2"]),
        ("0-1 7-0", ["back 5+"]),
        ("0-0 0-1", []),  # one word for both: no order
        ("0-1 2-1 1-0", []),  # on both sides of its neighbour
        ("1-0", []),  # a word without a link
        ("0-1 1-1 4-0 5-0", ["back 3-4"]),
    ],
)
def test_the_jump_is_between_the_nearest_sources(links: str, expected: list[str]) -> None:
    assert [each.kind for each in neighbours(2, gold(links))] == expected


def test_a_pair_counts_as_often_as_it_was_written() -> None:
    repeated = GoldSplit([("a b a b", "x y x y")], [gold("0-0 1-1 2-2 3-3")], {})
    found = statistics(repeated, ["x y"])
    assert found[0, CLASSES.index("in place")].tolist() == [1, 3]
    right = statistics(SPLIT, ["the sad farmer sleeps here"])
    assert right[0, :, 0].tolist() == right[0, :, 1].tolist() == [3, 1, 0, 0, 0, 0, 1]
    wrong = statistics(SPLIT, ["the farmer sad sleeps here"])
    assert wrong[0, :, 0].tolist() == [1, 0, 0, 0, 0, 0, 0]


def test_an_adjective_in_place_is_counted_beside_a_swapped_one() -> None:
    placed = GoldSplit([("la petite voiture", "the small car")], [gold("0-0 1-1 2-2")], {})
    found = statistics(placed, ["the small car"])[0, :, 1]
    assert [found[COLUMNS.index(name)] for name in ("in place", PLACED, SWAPPED)] == [2, 1, 0]


def test_looks_counts_words_of_swaps_with_a_gold_link() -> None:
    assert looks(SPLIT, [[(2, 1), (2, 2), (0, 0)]]).tolist() == [[1, 2]]


def test_french_swaps_and_chinese_jumps_far() -> None:
    shares = {}
    for pair in ("fr-en", "zh-en"):
        found = [each for item in sample(pair, 150) for each in
                 neighbours(len(item.target.split()), GoldLinks(frozenset(item.alignment), frozenset()))]  # fmt: skip
        shares[pair] = [sum(each.kind == kind for each in found) / len(found) for kind in ("back 1", "back 5+")]
    assert shares["fr-en"][0] > 0.03
    assert shares["zh-en"][1] > 0.01 > shares["fr-en"][1]


def planted(swapped: int, in_place: int = 40, far: int = 0) -> list[Array]:
    columns = {"in place": in_place, "back 1": swapped, "back 2": far, "back 3-4": far, "back 5+": far}
    columns |= {PLACED: in_place, SWAPPED: swapped}
    return [np.stack([hits(columns[kind], 40) for kind in COLUMNS], 1)]


def test_claims_hold_fail_and_stay_open() -> None:
    good = {"encoder-decoder": planted(10, 30), "attention": planted(40)}
    clause = {"encoder-decoder": planted(0, 35, far=5), "attention": planted(0, 40, far=35)}
    assert set(states(verdicts(good, clause, [hits(38, 40)])).values()) == {"held"}
    bad = {"encoder-decoder": planted(40), "attention": planted(10)}
    unlearned = {"encoder-decoder": planted(0, 5), "attention": planted(40)}
    assert states(verdicts(unlearned, None, [hits(20, 40)]))["swap"] == "undecided"
    near = {"encoder-decoder": planted(0, 5, far=5), "attention": planted(0, 40, far=12)}
    assert set(states(verdicts(bad, near, [hits(2, 40)])).values()) == {"not held"}
    same = {"encoder-decoder": planted(20, 20), "attention": planted(21, 23)}
    assert states(verdicts(same, None, [hits(20, 40)])) == {
        "swap": "undecided", "no-loss": "undecided", "looks": "undecided", "clause": "undecided"
    }  # fmt: skip


def test_kinds_are_added_up() -> None:
    assert of_kinds(planted(7, 3), "in place", "back 1")[0].sum(axis=0).tolist() == [10, 80]
    assert Neighbours(0, "in place").target == 0


def test_a_whole_experiment(tmp_path: Path) -> None:
    found = measured(EXPERIMENT, tmp_path, {"pair": small_toy("fr-en")})
    assert found.numbers["pair"]["accuracy"]["attention"]["in place"]["num_units"] > 5
    assert "right_links_in_swaps" in found.numbers["pair"]
