"""Embeddings: a vector for each id."""

from __future__ import annotations

from torch import nn

from seqline.shapes import Float, Int, Tensor
from seqline.watch import show


class Embedding(nn.Module):
    """x = scale * E[id]; `dropout` is for the model to apply, after positions are added.

    Args:
        vocab_size: rows of the table.
        embed_size: width.
        dropout: share of values set to zero in training.
        is_scaled: multiply by sqrt(width) (Vaswani et al. 2017, section 3.4); the table is drawn from N(0, 1/width),
            so that a head tied to it starts with small logits and scaled values have order 1.
    """

    def __init__(self, vocab_size: int, embed_size: int, dropout: float, is_scaled: bool = False) -> None:
        super().__init__()
        self.table = nn.Embedding(vocab_size, embed_size)
        nn.init.normal_(self.table.weight, std=embed_size**-0.5)
        self.scale = embed_size**0.5 if is_scaled else 1.0
        self.dropout = nn.Dropout(dropout)

    @property
    def weight(self) -> Tensor:
        """The table [V D], for a head that shares it."""
        return self.table.weight

    def forward(self, ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
        """Look up ids; positions, if any, are added by the model before `dropout`."""
        x = self.table(ids) * self.scale
        show("embedding", ids=ids, x=x)
        return x
