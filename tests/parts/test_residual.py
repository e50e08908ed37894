"""Residual connections by hand: the norm behind or before, the dropout on the change alone; and layers left out."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import nn

from seqline.parts.residual import LayerDrop, PostNorm, PreNorm, Residual

from ..small_models import assert_equal, random_weights

NORMS: dict[str, Callable[[], nn.Module]] = {"layer": lambda: nn.LayerNorm(4), "rms": lambda: nn.RMSNorm(4, eps=1e-6)}

every_norm = pytest.mark.parametrize("norm", NORMS)


def by_hand(module: nn.Module, x: list[float]) -> list[float]:
    """Return (x - mean) / deviation * w + b, or x / sqrt(mean of squares) * w."""
    weights = module.get_parameter("weight").tolist()
    if isinstance(module, nn.RMSNorm):
        root = math.sqrt(sum(v * v for v in x) / len(x) + 1e-6)
        return [v / root * w for v, w in zip(x, weights, strict=True)]
    mean = sum(x) / len(x)
    deviation = math.sqrt(sum((v - mean) ** 2 for v in x) / len(x) + 1e-5)
    shifts = module.get_parameter("bias").tolist()
    return [(v - mean) / deviation * w + s for v, w, s in zip(x, weights, shifts, strict=True)]


@every_norm
def test_post_norm_by_hand(norm: str) -> None:
    module = random_weights(PostNorm(NORMS[norm](), 0.5))
    x, change = torch.randn(2, 2, 3, 4, dtype=torch.float64).unbind()
    assert torch.equal(module.before(x), x)
    found = module.after(x, change)
    for b in range(2):
        for t in range(3):
            assert found[b, t].tolist() == pytest.approx(by_hand(module.norm, (x + change)[b, t].tolist()), abs=1e-12)


@every_norm
def test_pre_norm_by_hand(norm: str) -> None:
    module = random_weights(PreNorm(NORMS[norm](), 0.5))
    x, change = torch.randn(2, 2, 3, 4, dtype=torch.float64).unbind()
    read = module.before(x)
    for b in range(2):
        for t in range(3):
            assert read[b, t].tolist() == pytest.approx(by_hand(module.norm, x[b, t].tolist()), abs=1e-12)
    assert_equal([module.after(x, change)], [x + change])


@pytest.mark.parametrize("kind", [PostNorm, PreNorm])
def test_a_residual_is_its_two_halves(kind: type[Residual]) -> None:
    module, inner = random_weights(kind(nn.LayerNorm(4), 0.0)), random_weights(nn.Linear(4, 4))
    x = torch.randn(2, 3, 4, dtype=torch.float64)
    assert_equal([module(x, inner)], [module.after(x, inner(module.before(x)))])


@pytest.mark.parametrize("kind", [PostNorm, PreNorm])
def test_the_change_is_dropped_and_never_the_input(kind: type[Residual]) -> None:
    module = kind(nn.Identity(), 0.5).train()
    x = torch.full((4, 5, 100), 3.0)
    assert module.after(x, torch.ones(4, 5, 100)).unique().tolist() == [3.0, 5.0]


def test_layers_are_left_out_in_training_only_and_as_often_as_asked() -> None:
    drop = LayerDrop(0.25).train()
    share = sum(drop.skips() for _ in range(4000)) / 4000
    assert share == pytest.approx(0.25, abs=0.03)
    assert not any(drop.eval().skips() for _ in range(100))


def test_chance_comes_from_torchs_generator_and_none_is_drawn_for_nothing() -> None:
    drop = LayerDrop(0.5).train()
    drawn = []
    for _ in range(2):
        torch.manual_seed(7)
        drawn.append([drop.skips() for _ in range(30)])
    assert drawn[0] == drawn[1]
    assert len(set(drawn[0])) == 2
    before = torch.get_rng_state()
    LayerDrop(0.0).train().skips()
    drop.eval().skips()
    assert torch.equal(torch.get_rng_state(), before)
