"""The convolutional encoder: every position sees a window of the source, wider with every layer.

Source: Gehring et al. 2017 (1705.03122), sections 3.1 and 3.2.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import nn

from seqline.parts.convolution import CentredConvolutionBlock
from seqline.parts.positions import PositionScheme, positions_from
from seqline.parts.values import StepEmbedding
from seqline.shapes import Bool, Float, Shaped, Tensor
from seqline.state import Encoded
from seqline.watch import show


class ConvReader(nn.Module, ABC):
    """e_j = E[x_j] + p_j;  h^0 = W_in e;  h^l = (conv(h^{l-1}) + h^{l-1}) * sqrt(0.5);  z = W_out h^L.

    `final` is None, for nothing is carried along time.

    Args:
        embedding: of source ids, width `embed_size`.
        positions: what is added to the embeddings.
        embed_size: width of e and z.
        hidden_size: width of h.
        blocks: the layers, lowest first.
    """

    def __init__(
        self,
        embedding: StepEmbedding,
        positions: PositionScheme,
        embed_size: int,
        hidden_size: int,
        blocks: Sequence[CentredConvolutionBlock],
    ) -> None:
        super().__init__()
        self.embedding, self.positions, self.blocks = embedding, positions, nn.ModuleList(blocks)
        self.enter, self.leave = nn.Linear(embed_size, hidden_size), nn.Linear(hidden_size, embed_size)

    def read(
        self, ids: Shaped[Tensor, "B S *F"], is_real: Bool[Tensor, "B S"]
    ) -> tuple[Float[Tensor, "B S E"], Float[Tensor, "B S E"]]:
        """Return the outputs z and the embeddings e that went in."""
        start = torch.zeros(len(ids), dtype=torch.long, device=ids.device)
        x = self.positions(self.embedding(ids), positions_from(start, is_real), is_real)
        e = self.embedding.dropout(x)
        h = self.enter(e)
        for block in self.blocks:
            h = block(h, is_real)
        z = self.leave(h)
        show("encoder", ids=ids, outputs=z)
        return z, e

    @abstractmethod
    def forward(self, ids: Shaped[Tensor, "B S *F"], is_real: Bool[Tensor, "B S"]) -> Encoded:
        """Encode right-padded sources."""


class ConvEncoder(ConvReader):
    """Outputs z, of the embedding's width: a feature model for any decoder with attention."""

    def forward(self, ids: Shaped[Tensor, "B S *F"], is_real: Bool[Tensor, "B S"]) -> Encoded:
        """Encode right-padded sources."""
        return Encoded(self.read(ids, is_real)[0], is_real, None)


class ConvKeyValueEncoder(ConvReader):
    """Outputs [z; e] side by side, for a decoder whose keys are z and whose values are z + e."""

    def forward(self, ids: Shaped[Tensor, "B S *F"], is_real: Bool[Tensor, "B S"]) -> Encoded:
        """Encode right-padded sources."""
        return Encoded(torch.cat(self.read(ids, is_real), dim=-1), is_real, None)
