"""Scores: how well a query and a key fit, before the softmax.

Additive: Bahdanau et al. 2015 (1409.0473), section A.1.2. Dot, general, concat: Luong et al. 2015 (1508.04025), section 3.1.
Scaled dot: Vaswani et al. 2017 (1706.03762), section 3.2.1, in parts/self_attention.py, where heads are.
What depends on the keys alone is computed once a source by `prepare`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import nn

from seqline.shapes import Float, Tensor


class Score(nn.Module, ABC):
    """score(q, k) for all queries and keys of a row."""

    def prepare(self, keys: Float[Tensor, "B S D"]) -> Float[Tensor, "B S A"]:
        """Compute what depends on the keys alone."""
        return keys

    @abstractmethod
    def forward(self, query: Float[Tensor, "B T Q"], keys: Float[Tensor, "B S A"]) -> Float[Tensor, "B T S"]:
        """Score prepared keys for each query."""


class DotScore(Score):
    """score = q . k; query and keys have one width."""

    def forward(self, query: Float[Tensor, "B T Q"], keys: Float[Tensor, "B S Q"]) -> Float[Tensor, "B T S"]:
        return query @ keys.transpose(1, 2)


class GeneralScore(Score):
    """score = q . (W_a k)."""

    def __init__(self, query_size: int, key_size: int) -> None:
        super().__init__()
        self.project = nn.Linear(key_size, query_size, bias=False)

    def prepare(self, keys: Float[Tensor, "B S D"]) -> Float[Tensor, "B S Q"]:
        return self.project(keys)

    def forward(self, query: Float[Tensor, "B T Q"], keys: Float[Tensor, "B S Q"]) -> Float[Tensor, "B T S"]:
        return query @ keys.transpose(1, 2)


class AdditiveScore(Score):
    """score = v_a . tanh(W_a q + U_a k).

    Luong's concat, v_a . tanh(W_a [q; k]), is the same function: W_a and U_a here are the two halves of its matrix.
    """

    def __init__(self, query_size: int, key_size: int, attention_size: int) -> None:
        super().__init__()
        self.query = nn.Linear(query_size, attention_size, bias=False)
        self.key = nn.Linear(key_size, attention_size, bias=False)
        self.energy = nn.Parameter(torch.empty(attention_size).uniform_(-1, 1) * attention_size**-0.5)

    def prepare(self, keys: Float[Tensor, "B S D"]) -> Float[Tensor, "B S A"]:
        return self.key(keys)

    def forward(self, query: Float[Tensor, "B T Q"], keys: Float[Tensor, "B S A"]) -> Float[Tensor, "B T S"]:
        return torch.tanh(self.query(query)[:, :, None] + keys[:, None]) @ self.energy
