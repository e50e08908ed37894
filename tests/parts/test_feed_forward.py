"""Maps of one position alone, by hand."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import nn

from seqline.parts.feed_forward import FeedForward, Maxout, TanhLayer
from seqline.parts.residual import PostNorm

from ..small_models import jacobian_support, random_weights


def affine(layer: nn.Linear, x: list[float]) -> list[float]:
    rows = zip(layer.weight.tolist(), layer.bias.tolist(), strict=True)
    return [b + sum(w * v for w, v in zip(row, x, strict=True)) for row, b in rows]


def by_feed_forward(module: FeedForward, x: list[float]) -> list[float]:
    return affine(module.contract, [max(0.0, u) for u in affine(module.expand, x)])


def by_tanh(module: TanhLayer, x: list[float]) -> list[float]:
    return [math.tanh(u) for u in affine(module.project, x)]


def by_maxout(module: Maxout, x: list[float]) -> list[float]:
    u = affine(module.project, x)
    return [max(u[2 * j], u[2 * j + 1]) for j in range(len(u) // 2)]


MAPS: dict[str, tuple[Callable[[], nn.Module], Callable[..., list[float]], int]] = {
    "feed forward": (lambda: FeedForward(4, 9, 0.5), by_feed_forward, 4),
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


def test_post_norm_by_hand() -> None:
    module = random_weights(PostNorm(4, 0.5))
    x, change = torch.randn(2, 2, 3, 4, dtype=torch.float64).unbind()
    found = module(x, change)
    for b in range(2):
        for t in range(3):
            total = [u + v for u, v in zip(x[b, t].tolist(), change[b, t].tolist(), strict=True)]
            mean = sum(total) / 4
            deviation = math.sqrt(sum((v - mean) ** 2 for v in total) / 4 + 1e-5)
            scale, shift = module.norm.weight.tolist(), module.norm.bias.tolist()
            expected = [(v - mean) / deviation * w + s for v, w, s in zip(total, scale, shift, strict=True)]
            assert found[b, t].tolist() == pytest.approx(expected, abs=1e-12)


def test_post_norm_drops_the_change_and_never_the_input() -> None:
    module = PostNorm(100, 0.5).train()
    module.norm = nn.Identity()  # pyright: ignore[reportAttributeAccessIssue]
    x = torch.full((4, 5, 100), 3.0)
    values = module(x, torch.ones(4, 5, 100)).unique().tolist()
    assert values == [3.0, 5.0]
