"""transformer: attention without recurrence, as published (post-norm).

    position   x_t = sqrt(D) E[x_t] + PE(t)
    attention  Attention(Q, K, V) = softmax(Q K^T / sqrt(E)) V in each head; MultiHead = [head_1; ...; head_H] W^O
    encoder    u = LayerNorm(x + MultiHead(x, x, x));  x' = LayerNorm(u + FFN(u))
    decoder    the same, causal, with LayerNorm(u + MultiHead(u, memory, memory)) between the two
    output     p(y_n | y_<n, x) = softmax(W z_n + b),  z_n the top layer at n
    training   maximize sum over n of log p(y_n | y_<n, x), all n at once

Symbols: D width (`embed_size`), H `num_heads`, E = D / H, FFN `FeedForward`, memory the encoder's output.
Source: Vaswani et al. 2017 (1706.03762), sections 3 and 5.4.
Differs: the head and the projections of queries, keys, values and outputs have biases; dropout acts inside the feed-forward map
    too; source and target share one table only where the tokenizer is shared; the learning rate falls by a cosine. A language
    model is the decoder without attention to a source; a feature model is the encoder.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from pydantic import model_validator
from torch import Tensor, nn

from seqline.architectures.recipe import Choices, Depth, Ends, Features, Recipe, Settings, SizeName, Vocabulary, Width
from seqline.models.blocks import BlockDecoder, BlockEncoder, CausalBlock, DecoderBlock, EncoderBlock
from seqline.models.encoder_decoder import EncoderDecoder
from seqline.models.language_model import LanguageModel
from seqline.parts.attention_positions import AttentionPositions
from seqline.parts.feed_forward import FeedForward
from seqline.parts.positions import AddPositions, Sinusoid
from seqline.parts.recurrent import Each, Stack
from seqline.parts.residual import PostNorm, Residual
from seqline.parts.self_attention import CausalSelfAttention, MultiHeadAttention, SelfAttention
from seqline.parts.values import StepEmbedding, StepHead

SIZES: dict[SizeName, dict[str, Any]] = {
    "tiny": {"embed_size": 96, "num_heads": 4, "inner_size": 384, "num_layers": 2, "dropout": 0.1},
    "small": {"embed_size": 256, "num_heads": 4, "inner_size": 512, "num_layers": 3, "dropout": 0.2},
    "base": {"embed_size": 512, "num_heads": 8, "inner_size": 2048, "num_layers": 6, "dropout": 0.1},
}


class Tables(NamedTuple):
    """The embeddings of both sides, and the matrix that the head shares (None: it has its own)."""

    source: StepEmbedding
    target: StepEmbedding
    tied: Tensor | None


class TransformerSettings(Settings):
    """`inner_size` is the width inside the feed-forward map; encoder and decoder have `num_layers` each.

    The methods choose the parts; what is built of them is below, and `transformer-pre` builds the same of other parts.
    """

    num_heads: int = Width
    inner_size: int = Width
    num_layers: int = Depth

    @model_validator(mode="after")
    def _heads_divide_width(self) -> TransformerSettings:
        if self.embed_size % self.num_heads:
            raise ValueError(f"embed_size {self.embed_size} is not divisible by num_heads {self.num_heads}")
        return self

    def tables(self, vocab: Ends) -> Tables:
        """Return the tables of a translation model."""
        source, target = self.embeddings(vocab, is_scaled=True)
        return Tables(source, target, target.weight)

    def before(self) -> Stack:
        """Return what stands between embedding and blocks: positions and dropout."""
        return Stack([AddPositions(Sinusoid()), Each(nn.Dropout(self.dropout))], 0.0)

    def after(self) -> nn.Module:
        """Return what stands behind the last block."""
        return nn.Identity()

    def residual(self) -> Residual:
        """Return one residual connection."""
        return PostNorm(nn.LayerNorm(self.embed_size), self.dropout)

    def feed_forward_part(self) -> nn.Module:
        """Return one feed-forward map."""
        return FeedForward(self.embed_size, self.inner_size, self.dropout)

    def attention(self) -> MultiHeadAttention:
        """Return the heads of one attention."""
        return MultiHeadAttention(self.embed_size, self.num_heads)

    def attention_positions(self, is_causal: bool) -> AttentionPositions:
        """Return what positions do inside one self-attention."""
        return AttentionPositions()

    def drop_probability(self) -> float:
        """Return how often a layer is left out in training."""
        return 0.0

    def self_attention(self) -> CausalSelfAttention:
        """Return the decoder's mixer."""
        return CausalSelfAttention(self.attention(), self.attention_positions(is_causal=True))


def make_encoder(settings: TransformerSettings, source: StepEmbedding) -> BlockEncoder:
    """Put the encoder together."""

    def block() -> EncoderBlock:
        attention = SelfAttention(settings.attention(), settings.attention_positions(is_causal=False))
        return EncoderBlock(
            attention, settings.feed_forward_part(), settings.residual, layer_drop=settings.drop_probability()
        )

    blocks = [block() for _ in range(settings.num_layers)]
    return BlockEncoder(source, settings.before(), blocks, settings.after())


def make_decoder(
    settings: TransformerSettings,
    target: StepEmbedding,
    head: StepHead,
    make_mixer: Callable[[], nn.Module] | None = None,
    before: nn.Module | None = None,
) -> BlockDecoder:
    """Put the decoder together.

    Args:
        settings: choose the parts.
        target: embedding of target ids.
        head: to logits.
        make_mixer: makes each block's causal mixer; None = self-attention.
        before: positions and dropout; None = as the settings say.
    """
    blocks = [
        DecoderBlock(
            (make_mixer or settings.self_attention)(),
            settings.attention(),
            settings.feed_forward_part(),
            settings.residual,
            layer_drop=settings.drop_probability(),
        )
        for _ in range(settings.num_layers)
    ]
    return BlockDecoder(target, before or settings.before(), blocks, settings.after(), head)


def build(settings: TransformerSettings, vocab: Ends) -> EncoderDecoder:
    """Build the recipe."""
    source, target, tied = settings.tables(vocab)
    head = vocab.head(settings.embed_size, tied=tied)
    return EncoderDecoder(make_encoder(settings, source), make_decoder(settings, target, head))


def language_model(settings: TransformerSettings, vocab: Vocabulary) -> LanguageModel:
    """Build the decoder alone, without attention to a source."""
    _, table, tied = settings.tables(vocab._replace(source_size=vocab.target_size, is_shared=True))
    blocks = [
        CausalBlock(
            settings.self_attention(),
            settings.feed_forward_part(),
            settings.residual,
            layer_drop=settings.drop_probability(),
        )
        for _ in range(settings.num_layers)
    ]
    layers = Stack([settings.before(), *blocks, Each(settings.after())], 0.0)
    return LanguageModel(table, layers, vocab.head(settings.embed_size, tied=tied))


def features(settings: TransformerSettings, vocab: Ends) -> Features:
    """Build the encoder alone."""
    table = vocab.source_embedding(settings.embed_size, settings.dropout, is_scaled=True)
    return Features(make_encoder(settings, table), settings.embed_size)


RECIPE = Recipe(
    name="transformer",
    title="self-attention and attention, no recurrence (post-norm)",
    paper="Vaswani et al. 2017 (1706.03762)",
    choices=Choices(
        "causal self-attention",
        "full self-attention",
        "-",
        "in each block",
        "scaled dot, heads",
        "everywhere",
        "sinusoidal",
    ),
    settings=TransformerSettings,
    sizes=SIZES,
    learning_rate={"tiny": 3e-3, "small": 2e-3, "base": 7e-4},
    build=build,
    language_model=language_model,
    features=features,
)
