"""Value embedding and head against torch.nn.Linear."""

from __future__ import annotations

import torch

from seqline.parts.values import ValueEmbedding, ValueHead


def test_an_embedding_is_a_scaled_linear_map() -> None:
    x = torch.randn(2, 3, 5, generator=torch.Generator().manual_seed(1))
    for is_scaled in (False, True):
        part = ValueEmbedding(5, 4, 0.0, is_scaled)
        torch.nn.init.normal_(part.bias)
        plain = torch.nn.functional.linear(x, part.weight, part.bias)
        torch.testing.assert_close(part(x), plain * (2.0 if is_scaled else 1.0))


def test_a_head_is_a_linear_map() -> None:
    part, t = ValueHead(4, 6), torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(part(t), t @ part.weight.T + part.bias)
    assert tuple(part.weight.shape) == (6, 4)
