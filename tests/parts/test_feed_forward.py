"""Maps of one position alone, by hand."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import nn

from seqline.parts.feed_forward import FeedForward, GatedFeedForward, Maxout, TanhLayer

from ..small_models import jacobian_support, random_weights


def affine(layer: nn.Linear, x: list[float]) -> list[float]:
    rows = zip(layer.weight.tolist(), layer.bias.tolist(), strict=True)
    return [b + sum(w * v for w, v in zip(row, x, strict=True)) for row, b in rows]


def by_feed_forward(module: FeedForward, x: list[float]) -> list[float]:
    return affine(module.contract, [max(0.0, u) for u in affine(module.expand, x)])


def by_gelu(module: FeedForward, x: list[float]) -> list[float]:
    inner = [u * (1 + math.erf(u / math.sqrt(2))) / 2 for u in affine(module.expand, x)]
    return affine(module.contract, inner)


def by_swiglu(module: GatedFeedForward, x: list[float]) -> list[float]:
    def times(layer: nn.Linear, x: list[float]) -> list[float]:
        return [sum(w * v for w, v in zip(row, x, strict=True)) for row in layer.weight.tolist()]

    pairs = zip(times(module.gate, x), times(module.expand, x), strict=True)
    return times(module.contract, [u / (1 + math.exp(-u)) * v for u, v in pairs])


def by_tanh(module: TanhLayer, x: list[float]) -> list[float]:
    return [math.tanh(u) for u in affine(module.project, x)]


def by_maxout(module: Maxout, x: list[float]) -> list[float]:
    u = affine(module.project, x)
    return [max(u[2 * j], u[2 * j + 1]) for j in range(len(u) // 2)]


MAPS: dict[str, tuple[Callable[[], nn.Module], Callable[..., list[float]], int]] = {
    "feed forward": (lambda: FeedForward(4, 9, 0.5), by_feed_forward, 4),
    "gelu": (lambda: FeedForward(4, 9, 0.5, nn.GELU()), by_gelu, 4),
    "swiglu": (lambda: GatedFeedForward(4, 9, 0.5), by_swiglu, 4),
    "tanh": (lambda: TanhLayer(4, 3), by_tanh, 3),
    "maxout": (lambda: Maxout(4, 3), by_maxout, 3),
}


@pytest.mark.parametrize("name", MAPS)
def test_a_map_by_hand(name: str) -> None:
    make, by_hand, width = MAPS[name]
    module, x = random_weights(make()), torch.randn(2, 5, 4, dtype=torch.float64)
    found = module(x)
    assert found.shape == (2, 5, width)
    for b in range(2):
        for t in range(5):
            assert found[b, t].tolist() == pytest.approx(by_hand(module, x[b, t].tolist()), abs=1e-12)


@pytest.mark.parametrize("name", MAPS)
def test_a_position_sees_itself_only(name: str) -> None:
    module = random_weights(MAPS[name][0]())
    assert torch.equal(jacobian_support(module, torch.randn(1, 5, 4, dtype=torch.float64)), torch.eye(5).bool())


def test_maxout_takes_the_larger_of_each_pair() -> None:
    maxout = Maxout(2, 2).double()
    with torch.no_grad():
        maxout.project.weight.copy_(torch.tensor([[1.0, 0], [0, 1], [-1, 0], [0, -1]]))
        maxout.project.bias.zero_()
    x = torch.tensor([[3.0, 5.0], [5.0, 3.0]], dtype=torch.float64)
    assert maxout(x).tolist() == [[5.0, -3.0], [5.0, -3.0]]
