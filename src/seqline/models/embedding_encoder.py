"""The plainest feature model: a source position is its token's embedding, and no position knows another."""

from __future__ import annotations

import torch
from torch import nn

from seqline.parts.positions import PositionScheme, positions_from
from seqline.parts.values import StepEmbedding
from seqline.shapes import Bool, Shaped, Tensor
from seqline.state import Encoded
from seqline.watch import show


class EmbeddingEncoder(nn.Module):
    """f_s = E[x_s], a bag of tokens, or with its position added; `final` is None, for nothing is carried along time.

    Args:
        embedding: of source ids.
        positions: what is added to the embeddings; None: nothing, and the order of the source is not seen.
    """

    def __init__(self, embedding: StepEmbedding, positions: PositionScheme | None = None) -> None:
        super().__init__()
        self.embedding, self.positions = embedding, positions

    def forward(self, ids: Shaped[Tensor, "B S *F"], is_real: Bool[Tensor, "B S"]) -> Encoded:
        """Encode right-padded sources."""
        x = self.embedding(ids)
        if self.positions is not None:
            start = torch.zeros(len(ids), dtype=torch.long, device=ids.device)
            x = self.positions(x, positions_from(start, is_real), is_real)
        outputs = self.embedding.dropout(x)
        show("encoder", ids=ids, outputs=outputs)
        return Encoded(outputs, is_real, None)
