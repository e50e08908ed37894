"""Scores: how well a query and a key fit, before the softmax.

Additive: Bahdanau et al. 2015 (1409.0473), section A.1.2. Dot, general, concat, location: Luong et al. 2015
(1508.04025), section 3.1.
Scaled dot: Vaswani et al. 2017 (1706.03762), section 3.2.1, where heads are: parts/self_attention.py and parts/head_attention.py.
What depends on the keys alone is computed once a source by `prepare`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import nn

from seqline.errors import UserError
from seqline.shapes import Bool, Float, Tensor


class Score(nn.Module, ABC):
    """score(q, k) for all queries and keys of a row; `score_name`: what it is called in a trace.

    max_source_length: the most keys that it knows, None = no end.
    """

    max_source_length: int | None = None

    score_name: str

    def prepare(self, keys: Float[Tensor, "B S D"], is_real: Bool[Tensor, "B S"]) -> Float[Tensor, "B S A"]:
        """Compute what depends on the source alone."""
        return keys

    @abstractmethod
    def forward(self, query: Float[Tensor, "B T Q"], keys: Float[Tensor, "B S A"]) -> Float[Tensor, "B T S"]:
        """Score prepared keys for each query."""


class DotScore(Score):
    """score = q . k; query and keys have one width."""

    score_name = "dot"

    def forward(self, query: Float[Tensor, "B T Q"], keys: Float[Tensor, "B S Q"]) -> Float[Tensor, "B T S"]:
        return query @ keys.transpose(1, 2)


class GeneralScore(Score):
    """score = q . (W_a k).

    Args:
        query_size: Q, width of the queries [B T Q] and of the prepared keys W_a k [B S Q].
        key_size: D, width of the keys [B S D].

    Source: Luong et al. 2015 (1508.04025), section 3.1.
    """

    score_name = "general"

    def __init__(self, query_size: int, key_size: int) -> None:
        super().__init__()
        self.project = nn.Linear(key_size, query_size, bias=False)

    def prepare(self, keys: Float[Tensor, "B S D"], is_real: Bool[Tensor, "B S"]) -> Float[Tensor, "B S Q"]:
        return self.project(keys)

    def forward(self, query: Float[Tensor, "B T Q"], keys: Float[Tensor, "B S Q"]) -> Float[Tensor, "B T S"]:
        return query @ keys.transpose(1, 2)


class AdditiveScore(Score):
    """score = v_a . tanh(W_a q + U_a k).

    Luong's concat, v_a . tanh(W_a [q; k]), is the same function: W_a and U_a here are the two halves of its matrix.

    Args:
        query_size: Q, width of the queries [B T Q].
        key_size: D, width of the keys [B S D].
        attention_size: A, width of v_a and of the prepared keys U_a k [B S A].
        name: additive or concat.

    Source: Bahdanau et al. 2015 (1409.0473), section A.1.2.
    """

    def __init__(self, query_size: int, key_size: int, attention_size: int, name: str = "additive") -> None:
        super().__init__()
        self.score_name = name
        self.query = nn.Linear(query_size, attention_size, bias=False)
        self.key = nn.Linear(key_size, attention_size, bias=False)
        self.energy = nn.Parameter(torch.empty(attention_size).uniform_(-1, 1) * attention_size**-0.5)

    def prepare(self, keys: Float[Tensor, "B S D"], is_real: Bool[Tensor, "B S"]) -> Float[Tensor, "B S A"]:
        return self.key(keys)

    def forward(self, query: Float[Tensor, "B T Q"], keys: Float[Tensor, "B S A"]) -> Float[Tensor, "B T S"]:
        return torch.tanh(self.query(query)[:, :, None] + keys[:, None]) @ self.energy


class LocationScore(Score):
    """score of position s = row s of W_a, times q: the query alone says where to look, whatever stands there.

    Args:
        query_size: width of the query.
        length: rows of W_a, the longest source that can be read.

    Source: Luong et al. 2015 (1508.04025), section 3.1, equation 8.
    """

    score_name = "location"

    def __init__(self, query_size: int, length: int) -> None:
        super().__init__()
        self.max_source_length = length
        self.place = nn.Linear(query_size, length, bias=False)

    def prepare(self, keys: Float[Tensor, "B S D"], is_real: Bool[Tensor, "B S"]) -> Float[Tensor, "B S D"]:
        """Refuse a source longer than W_a; padding may be.

        Raises:
            UserError: a row has more real positions than W_a has rows.
        """
        longest, length = int(is_real.sum(1).max()), self.place.out_features
        if longest > length:
            raise UserError(
                f"a source of {longest} tokens is longer than the {length} positions that the location score knows",
                where="model.location_length",
                fix="shorten the source, or train with a larger model.location_length",
            )
        return keys

    def forward(self, query: Float[Tensor, "B T Q"], keys: Float[Tensor, "B S A"]) -> Float[Tensor, "B T S"]:
        scores = self.place(query)
        length, known = keys.shape[1], scores.shape[2]
        # Columns beyond the table are padding, as `prepare` made sure; their score counts for nothing.
        return scores[..., :length] if length <= known else nn.functional.pad(scores, (0, length - known))
