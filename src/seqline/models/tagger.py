"""The tagger: one label for every token, from a feature model of the whole row; p(tags | x) = product over t of p(tag_t | x)."""

from __future__ import annotations

from torch import nn

from seqline.parts.heads import VocabularyHead
from seqline.shapes import Bool, Float, Int, Tensor


class Tagger(nn.Module):
    """z_t the features at t, logits_t = W z_t + b.

    Args:
        encoder: (ids [B S], is_real [B S]) to Encoded.
        dropout: share of the features set to zero in training.
        head: to one logit a tag.
    """

    def __init__(self, encoder: nn.Module, dropout: float, head: VocabularyHead) -> None:
        super().__init__()
        self.encoder, self.dropout, self.head = encoder, nn.Dropout(dropout), head

    def forward(self, ids: Int[Tensor, "B S"], is_real: Bool[Tensor, "B S"]) -> Float[Tensor, "B S V"]:
        """Return the logits of every position's tag."""
        return self.head(self.dropout(self.encoder(ids, is_real).outputs))
