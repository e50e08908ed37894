"""Feature models of the source, by name: what an attention decoder can read from.

    recurrent           h_s, read left to right (Luong et al. 2015)
    bidirectional       [forward h_s; backward h_s] (Bahdanau et al. 2015)
    convolution         a window around s, wider with every layer (Gehring et al. 2016, 1611.02344)
    embedding           E[x_s], a bag of tokens
    position-embedding  sqrt(D) E[x_s] + PE(s)

Differs: the convolutional encoder of 1611.02344 makes keys and values by two networks with learned positions; here one network
makes both, with sinusoids. Reading from plain embeddings is ours.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from torch import nn

from seqline.models.conv_encoder import ConvEncoder
from seqline.models.embedding_encoder import EmbeddingEncoder
from seqline.models.encoder import BidirectionalEncoder, RecurrentEncoder
from seqline.parts.convolution import CentredConvolutionBlock
from seqline.parts.recurrent import Bidirectional, Recurrent, Stack
from seqline.parts.scaled_sinusoid import ScaledSinusoid
from seqline.parts.values import StepEmbedding

SourceName = Literal["recurrent", "bidirectional", "convolution", "embedding", "position-embedding"]
KERNEL_SIZE = 3


class SourceSizes(NamedTuple):
    """Width of the embedding, of a recurrent direction or a convolution, number of layers, and dropout between them."""

    embed_size: int
    hidden_size: int
    num_layers: int
    dropout: float


def source_size(name: SourceName, sizes: SourceSizes) -> int:
    """Return the width of the encoder's outputs."""
    return {"recurrent": sizes.hidden_size, "bidirectional": 2 * sizes.hidden_size}.get(name, sizes.embed_size)


def has_final_states(name: SourceName) -> bool:
    """Tell whether the reading ends in states that a bridge could pass on."""
    return name in ("recurrent", "bidirectional")


def make_source_encoder(
    name: SourceName,
    embedding: StepEmbedding,
    sizes: SourceSizes,
    stack: Callable[[int], Stack],
    layer: Callable[[int], Recurrent],
) -> nn.Module:
    """Build an encoder.

    Args:
        name: which one.
        embedding: of the source.
        sizes: its widths and depth.
        stack: input size to the layers of one direction.
        layer: input size to one recurrent layer.
    """
    if name == "recurrent":
        return RecurrentEncoder(embedding, stack(sizes.embed_size))
    if name == "bidirectional":
        inputs = [sizes.embed_size] + [2 * sizes.hidden_size] * (sizes.num_layers - 1)
        both_ways = [Bidirectional(layer(size), layer(size)) for size in inputs]
        return BidirectionalEncoder(embedding, both_ways, sizes.dropout)
    if name == "convolution":
        blocks = [
            CentredConvolutionBlock(sizes.hidden_size, KERNEL_SIZE, sizes.dropout) for _ in range(sizes.num_layers)
        ]
        return ConvEncoder(embedding, ScaledSinusoid(), sizes.embed_size, sizes.hidden_size, blocks)
    return EmbeddingEncoder(embedding, ScaledSinusoid() if name == "position-embedding" else None)
