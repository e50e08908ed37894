"""The head: a linear map, with a matrix of its own or the embedding's."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from seqline.parts.embeddings import Embedding
from seqline.parts.heads import VocabularyHead

from ..small_models import random_weights


class TiedModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = Embedding(7, 4, 0.0)
        self.head = VocabularyHead(4, 7, tied=self.embedding.weight)


def test_a_logit_by_hand() -> None:
    head = random_weights(VocabularyHead(4, 7))
    t = torch.randn(2, 3, 4, dtype=torch.float64)
    logits = head(t)
    for b in range(2):
        for n in range(3):
            for v in range(7):
                expected = head.bias[v].item() + sum((head.weight[v] * t[b, n]).tolist())
                assert logits[b, n, v].item() == pytest.approx(expected, abs=1e-12)


def test_a_tied_matrix_is_one_and_counts_once() -> None:
    model = TiedModel()
    assert model.head.weight is model.embedding.weight
    assert model.head.weight.data_ptr() == model.embedding.weight.data_ptr()
    assert sum(parameter.numel() for parameter in model.parameters()) == 7 * 4 + 7


def test_it_stays_tied_when_moved_and_loaded() -> None:
    model = TiedModel().double()
    assert model.head.weight is model.embedding.weight
    other = TiedModel().double()
    other.load_state_dict(model.state_dict())
    assert other.head.weight is other.embedding.weight
    assert torch.equal(other.head.weight, model.head.weight)


def test_one_step_moves_both() -> None:
    model = TiedModel().double()
    before = model.embedding.weight.detach().clone()
    ids = torch.tensor([[0, 5]])
    model.head(model.embedding(ids)).logsumexp(-1).sum().backward()
    with torch.no_grad():
        for parameter in model.parameters():
            assert parameter.grad is not None
            parameter -= 0.1 * parameter.grad  # a step of SGD, each parameter once
    assert (model.embedding.weight != before).all()
    assert torch.equal(model.embedding(ids)[0, 1], model.head.weight[5])
    # The gradient is the sum of the two uses: that of the lookup reaches the read rows only.
    gradient = model.embedding.weight.grad
    assert gradient is not None
    alone = before.clone().requires_grad_()
    torch.nn.functional.linear(before[ids], alone, torch.zeros(7).double()).logsumexp(-1).sum().backward()
    assert alone.grad is not None
    differs = ((gradient - alone.grad).abs() > 1e-12).any(-1)
    assert differs.tolist() == [True, False, False, False, False, True, False]


def test_an_own_matrix_is_its_own() -> None:
    one, other = VocabularyHead(4, 7), VocabularyHead(4, 7)
    assert one.weight.data_ptr() != other.weight.data_ptr()
    assert one.weight.std().item() == pytest.approx(0.5, rel=0.4)
    assert (one.bias == 0).all()
