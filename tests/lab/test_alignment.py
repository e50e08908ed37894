"""Links by hand, a decoder that ignores its source, and verdicts of planted numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from seqline.evaluation.alignment_metrics import parse_gold
from seqline.evaluation.significance import Array
from seqline.lab.alignment import (
    BEST,
    CHANCE,
    DIAGONAL,
    EXPERIMENT,
    Aligned,
    by_chance,
    diagonal,
    error_rate,
    kept_when_permuted,
    statistics,
    verdicts,
)
from seqline.lab.gold import GoldSplit, moved, one_link_a_word
from seqline.translator import Translator

from ..small_run import ReversingRun
from .planted import hits, measured, small_toy, states

SPLIT = GoldSplit([("a b c", "x y z"), ("a b c d e", "x y z"), ("a", "x y")],
                  parse_gold(["0-0 1-2 2-1", "0-0 2-1 3-1 4-2", "0-0"], "gold"), {})  # fmt: skip


def test_the_diagonal_joins_both_ends() -> None:
    assert diagonal(SPLIT) == [[(0, 0), (1, 1), (2, 2)], [(0, 0), (2, 1), (4, 2)], [(0, 0), (0, 1)]]


def test_chance_links_every_word_inside_its_sentence() -> None:
    found = by_chance(SPLIT)
    assert found == by_chance(SPLIT)
    assert [len(links) for links in found] == [3, 3, 2]
    assert all(i < len(source.split()) for (source, _), links in zip(SPLIT.pairs, found, strict=True) for i, _ in links)


def test_error_rates_by_hand() -> None:
    of_diagonal = statistics(diagonal(SPLIT), SPLIT)
    assert of_diagonal.tolist() == [[3, 3, 1, 1], [3, 4, 3, 3], [2, 1, 1, 1]]
    assert float(error_rate(of_diagonal.sum(axis=0))) == pytest.approx(1 - 10 / 16)
    assert error_rate(np.zeros((2, 4))).tolist() == [0.0, 0.0]
    best = statistics(one_link_a_word(SPLIT.links), SPLIT)
    assert float(error_rate(best[0])) == 0.0
    assert float(error_rate(best[1])) == pytest.approx(1 / 7)
    late = moved([[(0, 1), (1, 3), (2, 2)], [], []], -1)
    assert float(error_rate(statistics(late, SPLIT)[0])) == 0.0


def test_predictions_stay_where_the_source_is_ignored(reversing_run: ReversingRun) -> None:
    translator = Translator.load(reversing_run.folder)
    pairs = reversing_run.test
    found = kept_when_permuted(translator, pairs)
    assert found[:, 1].tolist() == [len(target.split()) + 1 for _, target in pairs]
    assert found[:, 0].sum() < 0.9 * found[:, 1].sum()  # letters backwards cannot be guessed
    with torch.no_grad():
        readout = translator.model.decoder.readout.project.weight  # pyright: ignore[reportAttributeAccessIssue]
        readout[:, readout.shape[1] // 2 :] = 0.0  # [h; C] without C
    kept = kept_when_permuted(translator, pairs)
    assert (kept[:, 0] == kept[:, 1]).all()


def links(right: int, count: int = 40) -> Array:
    """Return statistics of sentences with one gold link and one found, of which the first `right` are right."""
    good = hits(right, count)[:, :1]
    return np.concatenate([np.ones((count, 2)), good, good], axis=1)


def aligned(right: int, head: int | None = None, later: int = 0) -> list[Aligned]:
    return [
        Aligned([links(right)], [links(0)], [links(later)], None if head is None else links(head), "layer 0, head 0")
    ]


def test_claims_hold_fail_and_stay_open() -> None:
    good = {"bahdanau": aligned(39), "luong": aligned(10, later=39), "transformer": aligned(20, head=38)}
    assert set(states(verdicts(good, links(15), [hits(39, 40)])).values()) == {"held"}
    bad = {"bahdanau": aligned(10), "luong": aligned(30), "transformer": aligned(38, head=20)}
    assert set(states(verdicts(bad, links(35), [hits(4, 40)])).values()) == {"not held"}
    open_ = {"bahdanau": aligned(20), "luong": aligned(20, later=20), "transformer": aligned(20, head=20, later=20)}
    assert set(states(verdicts(open_, links(20), [hits(20, 40)])).values()) == {"undecided"}


def test_a_whole_experiment(tmp_path: Path) -> None:
    found = measured(EXPERIMENT, tmp_path, {"pair": small_toy("fr-en")})
    names = [row[0] for row in found.tables[0].rows]
    assert {"bahdanau", "luong", "transformer, best head", DIAGONAL, CHANCE, BEST} <= set(names)
