"""bahdanau: attention before the cell, over a source read both ways.

    encoder    h_j = [forward h_j; backward h_j]
    first      s_0 = tanh(W_s backward h_1)
    attention  e_ij = v_a . tanh(W_a s_{i-1} + U_a h_j),  a_ij = softmax over j of e_ij,  c_i = sum over j of a_ij h_j
    decoder    s_i = f(s_{i-1}, [y_{i-1}; c_i])
    output     t_i = maxout(W_o [s_i; y_{i-1}; c_i]),  p(y_i | y_<i, x) = softmax(W t_i + b)
    training   maximize sum over i of log p(y_i | y_<i, x)

Symbols: s decoder state, h annotation, e score (`AdditiveScore`), a weight, c context, f a GRU.
Source: Bahdanau et al. 2015 (1409.0473), equations 4 to 7 and section A.2.
Differs: the GRU's reset gate acts after the matrix product and its update gate keeps the old state (both as in torch); the output
    reads s_i, as the paper's equation 4 says, where its appendix prints s_{i-1}; head and target embedding are tied, so maxout
    returns the embedding's width. Coverage is that of Tu et al. 2016 (1601.04811). Ours: the score multi-head, the windows of
    `luong`, and encoders other than the bidirectional one, for which s_0 = tanh(W_s c), c the last output of the recurrent
    encoder and the mean of the others'.
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import nn

from seqline.architectures.attention_settings import AttentionSettings
from seqline.architectures.recipe import Choices, Ends, Recipe, SizeName, Width
from seqline.architectures.source_encoders import (
    SourceName,
    SourceSizes,
    has_final_states,
    make_source_encoder,
    source_size,
)
from seqline.models.attentive_decoder import AttendFirstDecoder
from seqline.models.encoder_decoder import EncoderDecoder
from seqline.parts.attention import SourceAttention
from seqline.parts.bridges import BackwardTanhBridge, FinalTanhBridge, MeanBridge
from seqline.parts.cells import GRUCell
from seqline.parts.feed_forward import Maxout
from seqline.parts.recurrent import Recurrent, Stack
from seqline.parts.scores import AdditiveScore

SIZES: dict[SizeName, dict[str, Any]] = {
    "tiny": {"embed_size": 96, "hidden_size": 96, "attention_size": 96, "dropout": 0.1},
    "small": {"embed_size": 256, "hidden_size": 256, "attention_size": 128, "dropout": 0.3},
    "base": {"embed_size": 512, "hidden_size": 512, "attention_size": 512, "dropout": 0.3},
}


class BahdanauSettings(AttentionSettings):
    """`hidden_size` is the decoder's width and that of each direction of the encoder, `attention_size` that inside the score.

    score: additive, or multi-head, which needs no `attention_size`. encoder: what reads the source, one layer of it.
    """

    attention_size: int = Width
    score: Literal["additive", "multi-head"] = "additive"
    encoder: SourceName = "bidirectional"

    @property
    def is_multi_head(self) -> bool:
        """Tell whether the score is that of several heads."""
        return self.score == "multi-head"

    @property
    def source_sizes(self) -> SourceSizes:
        """The encoder's widths, its one layer and dropout."""
        return SourceSizes(self.embed_size, self.hidden_size, 1, self.dropout)

    def make_layer(self, input_size: int) -> Recurrent:
        """Return a recurrent layer of the encoder."""
        return Recurrent(GRUCell(input_size, self.hidden_size))

    def make_attention(self, key_size: int) -> SourceAttention:
        """Return what reads an encoder's outputs of width `key_size`."""
        if self.is_multi_head:
            return self.make_heads(key_size)
        if self.coverage:
            return self.make_coverage(key_size, self.attention_size, "additive")
        return self.make_plain(AdditiveScore(self.hidden_size, key_size, self.attention_size))

    def make_bridge(self, key_size: int) -> nn.Module:
        """Return the bridge into the decoder's cell, whose state is one vector of `hidden_size`."""
        if self.encoder == "bidirectional":
            return BackwardTanhBridge(self.hidden_size, self.hidden_size)
        kind = FinalTanhBridge if has_final_states(self.encoder) else MeanBridge
        return kind(key_size, lambda batch_size: torch.empty(batch_size, self.hidden_size))


def build(settings: BahdanauSettings, vocab: Ends) -> EncoderDecoder:
    """Build the recipe."""
    key_size = source_size(settings.encoder, settings.source_sizes)
    context_size = settings.context_size(key_size)
    width, embed = settings.hidden_size, settings.embed_size
    source, target = settings.embeddings(vocab)
    encoder = make_source_encoder(
        settings.encoder,
        source,
        settings.source_sizes,
        lambda input_size: Stack([settings.make_layer(input_size)], settings.dropout),
        settings.make_layer,
    )
    decoder = AttendFirstDecoder(
        embedding=target,
        bridge=settings.make_bridge(key_size),
        attention=settings.make_attention(key_size),
        cell=GRUCell(embed + context_size, width),
        readout=Maxout(width + embed + context_size, embed),
        head=vocab.head(embed, tied=target.weight),
    )
    return EncoderDecoder(encoder, decoder)


RECIPE = Recipe(
    name="bahdanau",
    title="attention before the cell, over a source read both ways",
    paper="Bahdanau et al. 2015 (1409.0473)",
    choices=Choices(
        "GRU",
        "both directions; or one, convolution, embeddings",
        "tanh of the backward end",
        "before the cell",
        "additive; or several heads",
        "everywhere; or local-m, local-p",
        "none",
    ),
    settings=BahdanauSettings,
    sizes=SIZES,
    build=build,
    learning_rate={"tiny": 5e-3, "small": 2e-3, "base": 7e-4},
)
