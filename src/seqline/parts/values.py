"""Numbers in, numbers out: what stands in place of an embedding and of a vocabulary's head where a sequence is a time series."""

from __future__ import annotations

import torch
from torch import nn

from seqline.parts.embeddings import Embedding
from seqline.parts.heads import VocabularyHead
from seqline.shapes import Float, Tensor
from seqline.watch import show


class ValueEmbedding(nn.Module):
    """x = scale * (W v + b), v the numbers of a step; `dropout` is for the model to apply, after positions are added.

    Args:
        num_inputs: F, numbers a step.
        embed_size: D, width.
        dropout: share of values set to zero in training.
        is_scaled: multiply by sqrt(width), as an embedding of ids does before positions are added.
    """

    def __init__(self, num_inputs: int, embed_size: int, dropout: float, is_scaled: bool = False) -> None:
        super().__init__()
        # As a table of ids: entries of order 1/sqrt(width) before the scale, and of order 1 where there is none.
        scale = embed_size**-0.5 if is_scaled else 1.0
        self.weight = nn.Parameter(torch.empty(embed_size, num_inputs).normal_(std=scale * max(1, num_inputs) ** -0.5))
        self.bias = nn.Parameter(torch.zeros(embed_size))
        self.scale = embed_size**0.5 if is_scaled else 1.0
        self.dropout = nn.Dropout(dropout)

    def forward(self, values: Float[Tensor, "B T F"]) -> Float[Tensor, "B T D"]:
        """Map the numbers of each step to a vector."""
        x = torch.nn.functional.linear(values, self.weight, self.bias) * self.scale
        show("embedding", values=values, x=x)
        return x


class ValueHead(nn.Module):
    """outputs = W t + b, numbers such as the parameters of a distribution.

    Args:
        width: of the input.
        num_outputs: numbers a step.
    """

    def __init__(self, width: int, num_outputs: int) -> None:
        super().__init__()
        # Small at the start: the first forecasts are those of what the head's output is added to.
        self.weight = nn.Parameter(torch.empty(num_outputs, width).normal_(std=0.1 * width**-0.5))
        self.bias = nn.Parameter(torch.zeros(num_outputs))

    def forward(self, t: Float[Tensor, "B T D"]) -> Float[Tensor, "B T O"]:
        """Return the numbers of each step."""
        outputs = torch.nn.functional.linear(t, self.weight, self.bias)
        show("head", t=t, outputs=outputs)
        return outputs


StepEmbedding = Embedding | ValueEmbedding
"""What turns the steps of a sequence into vectors."""
StepHead = VocabularyHead | ValueHead
"""What turns vectors into what comes out of each step."""
