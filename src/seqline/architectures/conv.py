"""conv: convolutions and attention, no recurrence.

    input      e_j = E[x_j] + p_j;  h^0 = W_in e
    gate       conv(h)_t = a * sigma(b),  [a; b] = W [h_{t-r}; ...; h_{t+r}] + c
    encoder    h^l = (h^{l-1} + conv(h^{l-1})) sqrt(0.5);  z = W_out h^L
    decoder    g_n = E[y_{n-1}] + p_n,  u^0 = W_in g,  and in each layer, from u to u', h_n = conv of u_n and the k - 1 before it
    attention  d_n = W_d h_n + b_d + g_n,  a_nj = softmax over j of d_n . z_j,  c_n = sqrt(S) sum over j of a_nj (z_j + e_j)
               u'_n = ((h_n + W_c c_n + b_c) sqrt(0.5) + u_n) sqrt(0.5)
    output     p(y_n | y_<n, x) = softmax(W W_out u^L_n + b)
    training   maximize sum over n of log p(y_n | y_<n, x), all n at once

As a language model: the decoder's convolutions without attention. As features: z.

Symbols: g target embedding with its position, r = (k - 1) / 2 with k `kernel_size`, S the source's length, d query, a weights,
    c context (in gate, c is a bias).
Source: Gehring et al. 2017 (1705.03122), sections 3.1 to 3.5.
Differs: no weight normalization, and no scaling of the encoder's gradient by the number of attention layers; W_in and W_out
    stand in the encoder and the decoder once each, and a matrix brings c back to the width of h, as in the authors' code; the
    optimizer is AdamW, not Nesterov's method; head and target embedding are tied.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator
from torch import nn

from seqline.architectures.recipe import Choices, Depth, Ends, Features, Recipe, Settings, SizeName, Vocabulary, Width
from seqline.models.conv_decoder import ConvDecoder, ConvDecoderBlock
from seqline.models.conv_encoder import ConvEncoder, ConvKeyValueEncoder
from seqline.models.encoder_decoder import EncoderDecoder
from seqline.models.language_model import LanguageModel
from seqline.parts.convolution import CausalConvolutionBlock, CentredConvolutionBlock
from seqline.parts.positions import AddPositions, LearnedPositions
from seqline.parts.recurrent import Each, Stack

SIZES: dict[SizeName, dict[str, Any]] = {
    "tiny": {"embed_size": 96, "hidden_size": 96, "num_layers": 3, "dropout": 0.1},
    "small": {"embed_size": 256, "hidden_size": 256, "num_layers": 4, "dropout": 0.2},
    "base": {"embed_size": 512, "hidden_size": 512, "num_layers": 8, "dropout": 0.2},
}


class ConvSettings(Settings):
    """`kernel_size`: positions a window holds, odd. `max_length`: positions learned; a longer text is refused."""

    hidden_size: int = Width
    num_layers: int = Depth
    kernel_size: int = Field(default=3, ge=1, le=63)
    max_length: int = Field(default=1024, ge=1, le=65536)

    @model_validator(mode="after")
    def _windows_have_a_centre(self) -> ConvSettings:
        if self.kernel_size % 2 == 0:
            raise ValueError(f"kernel_size {self.kernel_size} is even; a window centred on a position is odd")
        return self

    def parameters_at_most(self, vocab: Ends) -> int:
        """Return an upper bound: two convolutions and two projections a layer, tables, and what goes in and out."""
        width, embed = self.hidden_size, self.embed_size
        layer = 2 * (self.kernel_size * width + 1) * 2 * width + 2 * embed * width + embed + width
        ends = 4 * embed * width + 2 * (embed + width)
        tables = (vocab.source_size + vocab.target_size + 2 * self.max_length) * embed + vocab.target_size
        return self.num_layers * layer + ends + tables

    def positions(self) -> LearnedPositions:
        """Return a fresh table of positions."""
        return LearnedPositions(self.max_length, self.embed_size)

    def encoder_blocks(self) -> list[CentredConvolutionBlock]:
        """Return the encoder's layers, lowest first."""
        sizes = self.hidden_size, self.kernel_size, self.dropout
        return [CentredConvolutionBlock(*sizes) for _ in range(self.num_layers)]


def build(settings: ConvSettings, vocab: Ends) -> EncoderDecoder:
    """Build the recipe."""
    source, target = settings.embeddings(vocab)
    embed, width = settings.embed_size, settings.hidden_size
    sizes = embed, width, settings.kernel_size, settings.dropout
    decoder = ConvDecoder(
        embedding=target,
        positions=AddPositions(settings.positions()),
        enter=nn.Linear(embed, width),
        blocks=[ConvDecoderBlock(*sizes) for _ in range(settings.num_layers)],
        leave=nn.Linear(width, embed),
        head=vocab.head(embed, tied=target.weight),
    )
    encoder = ConvKeyValueEncoder(source, settings.positions(), embed, width, settings.encoder_blocks())
    return EncoderDecoder(encoder, decoder)


def language_model(settings: ConvSettings, vocab: Vocabulary) -> LanguageModel:
    """Build the decoder's convolutions without attention."""
    _, target = settings.embeddings(vocab)
    embed, width, dropout = settings.embed_size, settings.hidden_size, settings.dropout
    layers = [
        AddPositions(settings.positions()),
        Each(nn.Dropout(dropout)),
        Each(nn.Linear(embed, width)),
        *(CausalConvolutionBlock(width, settings.kernel_size, dropout) for _ in range(settings.num_layers)),
        Each(nn.Linear(width, embed)),
        Each(nn.Dropout(dropout)),
    ]
    return LanguageModel(target, Stack(layers, 0.0), vocab.head(embed, tied=target.weight))


def features(settings: ConvSettings, vocab: Ends) -> Features:
    """Build the encoder alone."""
    source, _ = settings.embeddings(vocab)
    embed, width = settings.embed_size, settings.hidden_size
    return Features(ConvEncoder(source, settings.positions(), embed, width, settings.encoder_blocks()), embed)


RECIPE = Recipe(
    name="conv",
    title="gated convolutions, attention in each layer of the decoder",
    paper="Gehring et al. 2017 (1705.03122)",
    choices=Choices("causal convolution, gated", "convolution", "-", "in each block", "dot", "everywhere", "learned"),
    settings=ConvSettings,
    sizes=SIZES,
    build=build,
    language_model=language_model,
    features=features,
    learning_rate={"tiny": 3e-3, "small": 2e-3, "base": 7e-4},
)
