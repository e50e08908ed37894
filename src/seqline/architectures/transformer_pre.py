"""transformer-pre: the Transformer with its norms before the sub-layers, and a choice of the parts used since.

    encoder    u = x + MultiHead(n, n, n), n = Norm(x);  x' = u + FFN(Norm(u));  a Norm behind the last block
    decoder    the same, causal, with u + MultiHead(Norm(u), memory, memory) between the two
    norm       layer: LayerNorm    rms: x / sqrt(mean(x^2)) * g
    FFN        relu, gelu: f(x W_1 + b_1) W_2 + b_2    swiglu: (swish(x W) * x V) W_2
    positions  added to the embeddings: sinusoidal, learned    inside self-attention: rotary, alibi, relative    none
    output     as in `transformer`

Symbols: as in `transformer`; f ReLU or GELU, g a learned gain.
Source: Xiong et al. 2020 (2002.04745), section 3. Parts: RMSNorm of Zhang & Sennrich 2019 (1910.07467), SwiGLU of Shazeer 2020
    (2002.05202), rotary of Su et al. 2021 (2104.09864), ALiBi of Press et al. 2022 (2108.12409), relative of Raffel et al. 2020
    (1910.10683), shared key heads of Ainslie et al. 2023 (2305.13245), left-out layers of Fan et al. 2020 (1909.11556).
Differs: the defaults are those that later models took up (GELU, rotary), not the paper's (ReLU, sinusoidal).
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator
from torch import nn

from seqline.architectures.recipe import Choices, Ends, Features, Recipe, SizeName
from seqline.architectures.transformer import SIZES as PUBLISHED_SIZES
from seqline.architectures.transformer import Tables, TransformerSettings, build, language_model
from seqline.architectures.transformer import features as encoder_features
from seqline.errors import UserError
from seqline.parts.attention_positions import Alibi, AttentionPositions, RelativeBias, Rotary
from seqline.parts.feed_forward import FeedForward, GatedFeedForward
from seqline.parts.positions import AddPositions, LearnedPositions, Sinusoid
from seqline.parts.recurrent import Each, Stack
from seqline.parts.residual import PreNorm, Residual
from seqline.parts.self_attention import MultiHeadAttention

SIZES: dict[SizeName, dict[str, Any]] = PUBLISHED_SIZES
MAX_LENGTH = 1024


class TransformerPreSettings(TransformerSettings):
    """`tie`: which matrices are one; target: head and target table, and the source's too where the vocabulary is shared.

    `max_length`: rows of the table of learned positions (1024 when not given). `num_key_heads`: heads of keys and values, each
    read by several query heads (`num_heads` when not given). `layer_drop`: probability of leaving a layer out in training.
    `attention_dropout`: share of attention weights set to zero in training.
    """

    norm: Literal["layer", "rms"] = "layer"
    feed_forward: Literal["relu", "gelu", "swiglu"] = "gelu"
    positions: Literal["sinusoidal", "learned", "rotary", "alibi", "relative", "none"] = "rotary"
    max_length: int | None = Field(default=None, ge=1, le=1_000_000)
    num_key_heads: int | None = Field(default=None, ge=1, le=8192)
    layer_drop: float = Field(default=0.0, ge=0.0, lt=1.0)
    attention_dropout: float = Field(default=0.0, ge=0.0, lt=1.0)
    tie: Literal["none", "target", "all"] = "target"

    @model_validator(mode="after")
    def _options_fit(self) -> TransformerPreSettings:
        if self.num_heads % (self.num_key_heads or self.num_heads):
            raise ValueError(f"num_heads {self.num_heads} is not divisible by num_key_heads {self.num_key_heads}")
        head_size = self.embed_size // self.num_heads
        if self.positions == "rotary" and head_size % 2:
            raise ValueError(f"positions rotary turns pairs: embed_size / num_heads must be even, is {head_size}")
        if self.max_length is not None and self.positions != "learned":
            raise ValueError(f"max_length is for positions learned; positions {self.positions} has no table")
        return self

    def parameters_at_most(self, vocab: Ends) -> int:
        """Return the bound of every recipe, and what the tables of positions and an untied head add."""
        rows = 2 * (self.max_length or MAX_LENGTH) if self.positions == "learned" else 0
        of_distances = 64 * self.num_heads * self.num_layers
        return super().parameters_at_most(vocab) + (rows + vocab.target_size) * self.embed_size + of_distances

    def tables(self, vocab: Ends) -> Tables:
        """Return the tables, as `tie` says."""
        if self.tie == "none":
            target = vocab.target_embedding(self.embed_size, self.dropout, is_scaled=True)
            return Tables(vocab.source_embedding(self.embed_size, self.dropout, is_scaled=True), target, None)
        if self.tie == "all" and not vocab.is_shared:
            raise UserError(
                "expected one vocabulary for source and target, got two",
                where="model.tie",
                fix="set tokenizer.is_shared=true, or model.tie='target'",
            )
        return super().tables(vocab)

    def before(self) -> Stack:
        """Return what stands between embedding and blocks: added positions, if any, and dropout."""
        layers: list[nn.Module] = [Each(nn.Dropout(self.dropout))]
        if self.positions == "sinusoidal":
            layers.insert(0, AddPositions(Sinusoid()))
        if self.positions == "learned":
            layers.insert(0, AddPositions(LearnedPositions(self.max_length or MAX_LENGTH, self.embed_size)))
        return Stack(layers, 0.0)

    def after(self) -> nn.Module:
        """Return the last norm."""
        return self.make_norm()

    def residual(self) -> Residual:
        """Return one residual connection."""
        return PreNorm(self.make_norm(), self.dropout)

    def make_norm(self) -> nn.Module:
        """Return one norm."""
        return nn.RMSNorm(self.embed_size, eps=1e-6) if self.norm == "rms" else nn.LayerNorm(self.embed_size)

    def feed_forward_part(self) -> nn.Module:
        """Return one feed-forward map."""
        sizes = self.embed_size, self.inner_size, self.dropout
        if self.feed_forward == "swiglu":
            return GatedFeedForward(*sizes)
        return FeedForward(*sizes, activation=nn.GELU() if self.feed_forward == "gelu" else nn.ReLU())

    def attention(self) -> MultiHeadAttention:
        """Return the heads of one attention."""
        return MultiHeadAttention(self.embed_size, self.num_heads, self.num_key_heads, self.attention_dropout)

    def attention_positions(self, is_causal: bool) -> AttentionPositions:
        """Return what positions do inside one self-attention."""
        if self.positions == "rotary":
            return Rotary()
        if self.positions == "alibi":
            return Alibi(self.num_heads)
        return RelativeBias(self.num_heads, is_causal) if self.positions == "relative" else AttentionPositions()

    def drop_probability(self) -> float:
        """Return how often a layer is left out in training."""
        return self.layer_drop


def features(settings: TransformerPreSettings, vocab: Ends) -> Features:
    """Build the encoder alone; no head is there to be tied.

    Raises:
        UserError: `tie` was set.
    """
    if settings.tie != "target":
        what = f"{settings.tie!r} ties a head to the embedding, and a feature model has none"
        raise UserError(what, where="model.tie", fix="leave it out")
    return encoder_features(settings, vocab)


RECIPE = Recipe(
    name="transformer-pre",
    title="the Transformer with norms before the sub-layers, and a choice of norm, feed-forward map and positions",
    paper="Xiong et al. 2020 (2002.04745)",
    choices=Choices(
        "causal self-attention",
        "full self-attention",
        "-",
        "in each block",
        "scaled dot, heads",
        "everywhere",
        "sinusoidal, learned, rotary, ALiBi, relative",
    ),
    settings=TransformerPreSettings,
    sizes=SIZES,
    learning_rate={"tiny": 3e-3, "small": 2e-3, "base": 7e-4},
    build=build,
    language_model=language_model,
    features=features,
)
