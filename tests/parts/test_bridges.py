"""Bridges: a row's first decoder state is a function of that row's source."""

from __future__ import annotations

import math

import pytest
import torch

from seqline.parts.bridges import BackwardTanhBridge, LastBridge

from ..small_models import random_weights


def test_the_last_states_pass_layer_by_layer() -> None:
    final = ((torch.randn(2, 3), torch.randn(2, 3)), (torch.randn(2, 4), torch.randn(2, 4)))
    passed = LastBridge()(final)
    assert [
        [tensor is kept for tensor, kept in zip(a, b, strict=True)] for a, b in zip(passed, final, strict=True)
    ] == [
        [True, True],
        [True, True],
    ]


def test_the_backward_state_of_the_top_layer_by_hand() -> None:
    bridge = random_weights(BackwardTanhBridge(3, 2))
    forward, backward, below = (torch.randn(4, 3, dtype=torch.float64) for _ in range(3))
    state = bridge(((below, below), (forward, backward)))
    for row in range(4):
        for i in range(2):
            weights, bias = bridge.project.weight[i].tolist(), bridge.project.bias[i].item()
            total = bias + sum(w * h for w, h in zip(weights, backward[row].tolist(), strict=True))
            assert state[row, i].item() == pytest.approx(math.tanh(total), abs=1e-12)
