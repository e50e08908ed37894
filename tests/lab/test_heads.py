"""Heads: cut by hand, compared by hand, and the rules."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from seqline.evaluation.significance import Array, mean_value
from seqline.lab.experiment import Verdict
from seqline.lab.heads import EXPERIMENT, NUMBERS, Cuts, cut, divergence, losses, verdicts
from seqline.lab.laboratory import Lab
from seqline.parts.self_attention import MultiHeadAttention

from .planted import hits, measured, small_toy, states


def test_a_head_that_is_cut_gives_nothing() -> None:
    torch.manual_seed(1)
    part = MultiHeadAttention(8, 2)
    x = torch.randn(2, 5, 8)
    memory = part.prepare(x, torch.ones(2, 5, dtype=torch.bool))
    whole = part(x, memory)
    other = MultiHeadAttention(8, 2)
    other.load_state_dict(part.state_dict())
    with torch.no_grad():
        other.output.weight[:, 4:] = 0.0  # what the second head gives is not read
    with cut(part, [1]):
        torch.testing.assert_close(part(x, memory), other(x, memory))
    with cut(part, [0, 1]):
        torch.testing.assert_close(part(x, memory), part.output.bias.expand(2, 5, 8))
    assert torch.equal(part(x, memory), whole)


def test_heads_differ_in_bits() -> None:
    a, b = [1.0, 0.0], [0.0, 1.0]
    weights = torch.tensor([[[[a, a], [b, b], [a, [0.5, 0.5]]]]])  # one layer, three heads, two steps
    is_real = torch.tensor([[True, True]])
    found = divergence(weights, is_real)[0]
    half = (1 * math.log2(4 / 3) + 0.5 * math.log2(0.5 / 0.75) + 0.5 * math.log2(2)) / 2
    wanted = torch.tensor([[0, 1, half / 2], [1, 0, (1 + half) / 2], [half / 2, (1 + half) / 2, 0]])
    torch.testing.assert_close(found, wanted.double(), check_dtype=False, atol=1e-6, rtol=0)
    first = divergence(weights, torch.tensor([[True, False]]))[0]
    assert first[0, 2].item() == pytest.approx(0.0)


def planted(several: int, one: int, many: int, harmless: int) -> tuple[dict[int, list[Array]], list[Cuts]]:
    bleu = {n: [hits({1: one, 8: many}.get(n, several), 40)] for n in NUMBERS}
    whole = hits(40, 40)
    cuts = {f"a, head {n}": whole if n < harmless else hits(20, 40) for n in range(4)}
    return bleu, [Cuts(whole, cuts, {f"a{n}": each for n, each in enumerate(cuts.values())})]


def judged(bleu: dict[int, list[Array]], cuts: list[Cuts]) -> tuple[Verdict, ...]:
    return verdicts(bleu, mean_value, losses(cuts, "without"), losses(cuts, "alone"))


def test_claims_hold_fail_and_stay_open() -> None:
    def found(*numbers: int) -> dict[str, str]:
        bleu, cuts = planted(*numbers)
        return states(judged(bleu, cuts))

    assert set(found(40, 20, 25, 3).values()) == {"held"}
    assert set(found(10, 40, 30, 1).values()) == {"not held"}
    open_ = found(20, 20, 20, 3)
    assert (open_["single"], open_["many"]) == ("undecided", "undecided")
    bleu, cuts = planted(20, 20, 20, 4)
    few = [Cuts(np.ones((5, 2)), {"a, head 0": np.ones((5, 2))}, {"a": np.ones((5, 2))})]
    assert states(judged(bleu, few))["cut"] == "undecided"  # five sentences decide nothing
    assert states(judged(bleu, cuts))["cut"] == "held"


def test_models_are_shared_with_other_experiments(tmp_path: Path) -> None:
    from seqline.lab.pair import transformer

    lab = Lab(tmp_path, is_quick=True)
    assert transformer(lab, 1, is_toy=True) in EXPERIMENT.models(lab)


def test_a_whole_experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seqline.lab.heads.NUMBERS", (1, 4))
    found = measured(EXPERIMENT, tmp_path, {"pair": small_toy("fr-en"), "toy": small_toy("fr-en")})
    assert set(found.numbers["bleu"]) == {"1", "4"}
