"""The convolutional decoder: causal convolutions, each followed by attention to the source.

Source: Gehring et al. 2017 (1705.03122), sections 3.2 to 3.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from torch import nn

from seqline.parts.attention import Attention, KeyValues
from seqline.parts.convolution import RESIDUAL_SCALE, CausalConvolution, GatedConvolution
from seqline.parts.positions import AddPositions
from seqline.parts.scores import DotScore
from seqline.parts.values import StepEmbedding, StepHead
from seqline.shapes import Bool, Float, Shaped, Tensor
from seqline.state import Encoded
from seqline.watch import show


class ConvDecoderBlock(nn.Module):
    """h = conv(x);  d = W_d h + b_d + g;  c = W_c (sqrt(S) sum over j of a_j (z_j + e_j)) + b_c;  y = ((h + c) s + x) s.

    Symbols: a the softmax of d . z_j, g the target embedding, z and e the source's outputs and embeddings, S its length,
    s = sqrt(0.5).

    Args:
        embed_size: E, width of g [B T E], of d, and of z and e [B S E].
        hidden_size: D, width of x, h and y [B T D].
        kernel_size: k, the inputs a window holds; the state is the last k - 1 of them [B k-1 D].
        dropout: share of the convolution's inputs set to zero in training.

    Source: Gehring et al. 2017 (1705.03122), sections 3.2 to 3.4.
    Differs: W_c and b_c are not in the paper; they are in the authors' code.
    """

    def __init__(self, embed_size: int, hidden_size: int, kernel_size: int, dropout: float) -> None:
        super().__init__()
        self.convolution = CausalConvolution(GatedConvolution(hidden_size, kernel_size, dropout))
        self.query, self.attention = nn.Linear(hidden_size, embed_size), Attention(DotScore())
        self.context = nn.Linear(embed_size, hidden_size)

    def forward(
        self,
        x: Float[Tensor, "B T D"],
        embedded: Float[Tensor, "B T E"],
        state: Float[Tensor, "B K D"],
        memory: KeyValues,
        mask: Bool[Tensor, "B T"] | None,
    ) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B K D"]]:
        """Read new positions behind those in the state; `embedded` is g."""
        h, state = self.convolution(x, state, mask)
        context = self.attention(self.query(h) + embedded, memory)
        # A mean over S values has a smaller variance than one of them; the paper scales by S sqrt(1 / S) against it.
        lengths = memory.is_real.sum(1)[:, None, None].to(context.dtype)
        h = (h + self.context(context * lengths.sqrt())) * RESIDUAL_SCALE
        h = (h + x) * RESIDUAL_SCALE
        show("block", h=h)
        return h, state


class ConvState(NamedTuple):
    """How many real tokens each row has read [B], and each layer's last inputs [B k-1 D]."""

    num_read: Tensor
    layers: tuple[Tensor, ...]


class ConvDecoder(nn.Module):
    """g_n = E[y_{n-1}] + p_n;  h^0 = W_in g;  h^l a block of h^{l-1};  logits = W (W_out h^L) + b.

    Args:
        embedding: of target ids, width `embed_size`.
        positions: added to the embeddings.
        enter: W_in, embedding to hidden width.
        blocks: the layers, lowest first.
        leave: W_out, hidden to embedding width.
        head: to logits.
    """

    def __init__(
        self,
        embedding: StepEmbedding,
        positions: AddPositions,
        enter: nn.Linear,
        blocks: Sequence[ConvDecoderBlock],
        leave: nn.Linear,
        head: StepHead,
    ) -> None:
        super().__init__()
        self.embedding, self.positions, self.head = embedding, positions, head
        self.enter, self.blocks, self.leave = enter, nn.ModuleList(blocks), leave

    def prepare(self, encoded: Encoded) -> KeyValues:
        """Take outputs [z; e] apart: keys z, values z + e, the same for every layer."""
        z, e = encoded.outputs.chunk(2, dim=-1)
        show("keys and values", keys=z, values=z + e)
        return KeyValues(z, z + e, encoded.is_real)

    def initial_state(self, memory: KeyValues, batch_size: int) -> ConvState:
        """Return the state of rows that have read nothing."""
        layers = tuple(block.convolution.initial_state(batch_size) for block in self.blocks)  # pyright: ignore[reportCallIssue, reportAttributeAccessIssue]
        return ConvState(self.positions.initial_state(batch_size), layers)

    def forward(
        self,
        ids: Shaped[Tensor, "B T *F"],
        state: ConvState,
        memory: KeyValues,
        mask: Bool[Tensor, "B T"] | None = None,
    ) -> tuple[Float[Tensor, "B T V"], ConvState]:
        """Read target ids and return the logits of the next ones."""
        x, num_read = self.positions(self.embedding(ids), state.num_read, mask)
        embedded = self.embedding.dropout(x)
        h, layers = self.enter(embedded), []
        for block, before in zip(self.blocks, state.layers, strict=True):
            h, after = block(h, embedded, before, memory, mask)
            layers.append(after)
        return self.head(self.embedding.dropout(self.leave(h))), ConvState(num_read, tuple(layers))
