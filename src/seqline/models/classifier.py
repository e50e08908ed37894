"""The classifier: the general attention frame with one query for a whole text.

A feature model makes F = (f_1 ... f_S), keys and values alike; a query model makes q; score, softmax and weighted sum make the
context C; an output model turns it into logits (the frame as surveyed by Brauwers & Frasincar 2021, 2203.14263).
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import nn

from seqline.parts.attention import Attention
from seqline.parts.heads import VocabularyHead
from seqline.parts.summaries import final_output
from seqline.shapes import Bool, Float, Int, Tensor
from seqline.state import Encoded


class Query(nn.Module, ABC):
    """A query model: one query a text."""

    @abstractmethod
    def forward(self, encoded: Encoded) -> Float[Tensor, "B Q"]:
        """Return each row's query."""


class LearnedQuery(Query):
    """q is a parameter, the same for every text (the word context vector of Yang et al. 2016, section 2.2)."""

    def __init__(self, query_size: int) -> None:
        super().__init__()
        self.vector = nn.Parameter(torch.empty(query_size).normal_(std=query_size**-0.5))

    def forward(self, encoded: Encoded) -> Float[Tensor, "B Q"]:
        """Return the parameter once a row."""
        return self.vector.expand(len(encoded.outputs), -1)


class LastQuery(Query):
    """q = f_S: the features at each row's last real position."""

    def forward(self, encoded: Encoded) -> Float[Tensor, "B Q"]:
        """Return each row's last features."""
        return final_output(encoded)


class Classifier(nn.Module):
    """a = softmax over s of score(q, f_s);  C = sum over s of a_s f_s;  logits = W C + b.

    Args:
        encoder: the feature model, (ids [B S], is_real [B S]) to Encoded.
        query: the query model.
        attention: score and softmax.
        dropout: share of the context set to zero in training.
        head: the output model, to one logit a class.
    """

    def __init__(
        self, encoder: nn.Module, query: Query, attention: Attention, dropout: float, head: VocabularyHead
    ) -> None:
        super().__init__()
        self.encoder, self.query, self.attention = encoder, query, attention
        self.dropout, self.head = nn.Dropout(dropout), head

    def forward(self, ids: Int[Tensor, "B S"], is_real: Bool[Tensor, "B S"]) -> Float[Tensor, "B V"]:
        """Return the logits of every text's class."""
        encoded = self.encoder(ids, is_real)
        memory = self.attention.prepare(encoded.outputs, encoded.is_real)
        context = self.attention(self.query(encoded)[:, None], memory)
        return self.head(self.dropout(context))[:, 0]
