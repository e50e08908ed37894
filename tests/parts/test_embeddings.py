"""Embeddings: the row of an id, scaled or not."""

from __future__ import annotations

import math

import pytest
import torch

from seqline.parts.embeddings import Embedding
from seqline.watch import watch

from ..small_models import assert_equal


@pytest.mark.parametrize("is_scaled", [False, True])
def test_an_id_is_its_row(is_scaled: bool) -> None:
    embedding = Embedding(7, 5, 0.5, is_scaled).double()
    ids = torch.tensor([[0, 3, 6], [6, 6, 1]])
    x = embedding(ids)
    for b in range(2):
        for t in range(3):
            row = embedding.weight[ids[b, t]] * (math.sqrt(5) if is_scaled else 1)
            assert_equal([x[b, t]], [row])


@pytest.mark.parametrize("is_scaled", [False, True])
def test_the_table_starts_at_one_over_the_root_of_the_width(is_scaled: bool) -> None:
    embedding = Embedding(400, 64, 0.0, is_scaled)
    assert embedding.weight.std().item() == pytest.approx(1 / 8, rel=0.02)
    assert embedding(torch.arange(400)[None]).std().item() == pytest.approx(1.0 if is_scaled else 1 / 8, rel=0.02)


def test_looking_up_drops_nothing_and_is_shown() -> None:
    embedding = Embedding(7, 5, 0.9).train()
    ids = torch.arange(7)[None]
    with watch() as frames:
        x = embedding(ids)
    assert torch.equal(x[0], embedding.weight)
    assert [frame.part for frame in frames] == ["embedding"]
    assert torch.equal(frames[0].values["x"], x)
    assert (embedding.dropout(x) == 0).any()
