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
    returns the embedding's width.
"""

from __future__ import annotations

from typing import Any

from seqline.architectures.recipe import Choices, Recipe, Settings, SizeName, Vocabulary, Width
from seqline.models.attentive_decoder import AttendFirstDecoder
from seqline.models.encoder import BidirectionalEncoder
from seqline.models.encoder_decoder import EncoderDecoder
from seqline.parts.attention import Attention
from seqline.parts.bridges import BackwardTanhBridge
from seqline.parts.cells import GRUCell
from seqline.parts.feed_forward import Maxout
from seqline.parts.heads import VocabularyHead
from seqline.parts.recurrent import Bidirectional, Recurrent
from seqline.parts.scores import AdditiveScore

SIZES: dict[SizeName, dict[str, Any]] = {
    "tiny": {"embed_size": 96, "hidden_size": 96, "attention_size": 96, "dropout": 0.1},
    "small": {"embed_size": 256, "hidden_size": 256, "attention_size": 128, "dropout": 0.3},
    "base": {"embed_size": 512, "hidden_size": 512, "attention_size": 512, "dropout": 0.3},
}


class BahdanauSettings(Settings):
    """`hidden_size` is the decoder's width and that of each direction of the encoder."""

    hidden_size: int = Width
    attention_size: int = Width


def build(settings: BahdanauSettings, vocab: Vocabulary) -> EncoderDecoder:
    """Build the recipe."""
    width, annotation_size = settings.hidden_size, 2 * settings.hidden_size
    source, target = settings.embeddings(vocab)
    both_ways = Bidirectional(
        Recurrent(GRUCell(settings.embed_size, width)), Recurrent(GRUCell(settings.embed_size, width))
    )
    decoder = AttendFirstDecoder(
        embedding=target,
        bridge=BackwardTanhBridge(width, width),
        attention=Attention(AdditiveScore(width, annotation_size, settings.attention_size)),
        cell=GRUCell(settings.embed_size + annotation_size, width),
        readout=Maxout(width + settings.embed_size + annotation_size, settings.embed_size),
        head=VocabularyHead(settings.embed_size, vocab.target_size, tied=target.weight),
    )
    return EncoderDecoder(BidirectionalEncoder(source, [both_ways], settings.dropout), decoder)


RECIPE = Recipe(
    name="bahdanau",
    title="attention before the cell, over a source read both ways",
    paper="Bahdanau et al. 2015 (1409.0473)",
    choices=Choices(
        "GRU", "both directions", "tanh of the backward end", "before the cell", "additive", "everywhere", "none"
    ),
    settings=BahdanauSettings,
    sizes=SIZES,
    build=build,
    learning_rate={"tiny": 5e-3, "small": 2e-3, "base": 7e-4},
)
