"""ssru: a Transformer whose decoder carries one vector a layer in place of a cache.

    encoder    that of `transformer`
    mixer      f_n = sigma(W_f x_n + b_f),  c_n = f_n * c_{n-1} + (1 - f_n) * (W x_n),  m_n = max(0, c_n)
    decoder    u = LayerNorm(x + m);  v = LayerNorm(u + MultiHead(u, memory, memory));  x' = LayerNorm(v + FFN(v))
    output     p(y_n | y_<n, x) = softmax(W_o z_n + b),  z_n the top layer at n
    training   maximize sum over n of log p(y_n | y_<n, x), all n at once: c is a scan (parts/scan.py)

Symbols: f forget gate, c the state of a layer, memory the encoder's output.
Source: Kim et al. 2019, "From research to production and back: ludicrously fast neural machine translation" (WNGT).
Differs: the encoder has sinusoidal positions and the decoder none, whose state knows the order; all else is `transformer`. The
    language model and the feature model, the same decoder without attention to a source, are ours.
"""

from __future__ import annotations

from torch import nn

from seqline.architectures.recipe import Choices, Ends, Features, Recipe, Vocabulary
from seqline.architectures.transformer import SIZES, TransformerSettings, make_decoder, make_encoder
from seqline.models.blocks import CausalBlock
from seqline.models.encoder import RecurrentEncoder
from seqline.models.encoder_decoder import EncoderDecoder
from seqline.models.language_model import LanguageModel
from seqline.parts.linear_cells import SSRUCell
from seqline.parts.recurrent import Each, Recurrent, Stack


def build(settings: TransformerSettings, vocab: Ends) -> EncoderDecoder:
    """Build the recipe."""
    width = settings.embed_size
    source, target, tied = settings.tables(vocab)
    decoder = make_decoder(
        settings,
        target,
        vocab.head(width, tied=tied),
        make_mixer=lambda: Recurrent(SSRUCell(width, width)),
        before=Each(nn.Dropout(settings.dropout)),
    )
    return EncoderDecoder(make_encoder(settings, source), decoder)


def language_model(settings: TransformerSettings, vocab: Vocabulary) -> LanguageModel:
    """Build the decoder alone, without attention to a source."""
    _, table, tied = settings.tables(vocab._replace(source_size=vocab.target_size, is_shared=True))
    layers = Stack([Each(nn.Dropout(settings.dropout)), *blocks(settings)], 0.0)
    return LanguageModel(table, layers, vocab.head(settings.embed_size, tied=tied))


def features(settings: TransformerSettings, vocab: Ends) -> Features:
    """Build the same blocks as an encoder that reads left to right."""
    table = vocab.source_embedding(settings.embed_size, settings.dropout, is_scaled=True)
    return Features(RecurrentEncoder(table, Stack(blocks(settings), 0.0)), settings.embed_size)


def blocks(settings: TransformerSettings) -> list[CausalBlock]:
    """Return the blocks of a model without a source."""
    width = settings.embed_size
    return [
        CausalBlock(Recurrent(SSRUCell(width, width)), settings.feed_forward_part(), settings.residual)
        for _ in range(settings.num_layers)
    ]


RECIPE = Recipe(
    name="ssru",
    title="a Transformer that decodes with one vector a layer",
    paper="Kim et al. 2019 (WNGT)",
    choices=Choices(
        "SSRU",
        "full self-attention",
        "-",
        "in each block",
        "scaled dot, heads",
        "everywhere",
        "encoder only: sinusoidal",
    ),
    settings=TransformerSettings,
    sizes=SIZES,
    learning_rate={"tiny": 3e-3, "small": 2e-3, "base": 7e-4},
    build=build,
    language_model=language_model,
    features=features,
    carries_state=True,
)
