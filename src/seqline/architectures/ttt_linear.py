"""ttt-linear: a hidden state that is a linear model, trained on the text while it reads.

    inner model  f(x; W) = x + LN(x W + b)                 one a head; LN's scale and shift, W_0 and b_0 are learned outside
    inner loss   l(W; x_t) = |f(k_t; W) - v_t|^2,          q_t, k_t, v_t = W_q x_t, W_k x_t, W_v x_t
    inner rate   eta_t = (eta_base / E) sigma(w . x_t + c)
    learning     W_t = W' - sum over s = t' ... t of eta_s grad l(W'; x_s),  W' the weights at the end of the last inner batch
    mixer        m_t = W_o LN(z_t),  z_t = f(q_t; W_t), heads side by side; its input x_t has passed a convolution of
                 `kernel_size` tokens, one a channel
    block        u = x + m(LayerNorm(x));  x' = u + FFN(LayerNorm(u)), LayerNorm behind the last block
    output       p(y_n | y_<n) = softmax(W z_n + b),  z_n the top layer at n
    training     maximize sum over n of log p(y_n | y_<n), through the inner steps of learning

Symbols: E = D / H the width of a head, t' the first token of the running inner batch (`inner_batch` tokens), eta_base
    `inner_learning_rate`, FFN `FeedForward` with GELU.
Source: Sun et al. 2024 (2407.04620), sections 2.1 to 2.7, dual form in section 2.5.
Differs: of the paper's Mamba backbone only the convolution before the mixer is here, not its gate (`kernel_size` 1: the
    Transformer backbone; without the convolution a small model learned little more than pairs of characters); blocks are
    those of `transformer-pre` (LayerNorm and GELU; the paper has RMSNorm and SwiGLU), so that the mixer alone differs; eta is
    divided by E and z is normalized before W_o, as in the authors' code, which also averages over the tokens of a batch read
    so far, where the paper and we sum. Rotary positions count from the start of an inner batch. Translation, the same mixer
    in a decoder that attends to a Transformer encoder, is ours; so is the feature model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator
from torch import nn

from seqline.architectures.recipe import Choices, Ends, Features, Recipe, SizeName, Vocabulary
from seqline.architectures.transformer import TransformerSettings, make_decoder, make_encoder
from seqline.models.blocks import CausalBlock
from seqline.models.encoder import RecurrentEncoder
from seqline.models.encoder_decoder import EncoderDecoder
from seqline.models.language_model import LanguageModel
from seqline.parts.convolution import CausalConvolution, DepthwiseConvolution
from seqline.parts.embeddings import Embedding
from seqline.parts.feed_forward import FeedForward
from seqline.parts.heads import VocabularyHead
from seqline.parts.inner_models import InnerModel
from seqline.parts.recurrent import Each, Stack
from seqline.parts.residual import PreNorm, Residual
from seqline.parts.ttt import TTT, with_rotary, without_positions

SIZES: dict[SizeName, dict[str, Any]] = {
    "tiny": {"embed_size": 96, "num_heads": 4, "inner_size": 384, "num_layers": 2, "dropout": 0.1},
    "small": {"embed_size": 192, "num_heads": 4, "inner_size": 512, "num_layers": 3, "dropout": 0.2},
    "base": {"embed_size": 512, "num_heads": 8, "inner_size": 2048, "num_layers": 6, "dropout": 0.1},
}
LEARNING_RATE: Mapping[SizeName, float] = {"tiny": 3e-3, "small": 2e-3, "base": 7e-4}
TURNS = {"none": without_positions, "rotary": with_rotary}
CHOICES = Choices(
    "inner model trained at test time",
    "- or full self-attention",
    "-",
    "never, or in each block",
    "scaled dot, heads",
    "everywhere",
    "rotary or none",
)


class TTTSettings(TransformerSettings):
    """`inner_batch`: tokens whose inner gradients are taken at the same weights. `inner_learning_rate`: eta_base.

    `positions`: whether the inner model's queries and keys are turned by their position in the inner batch.
    `kernel_size`: tokens that the convolution before the inner model sees, 1 = no convolution.
    `inner_size` is, as in `transformer`, the width inside the feed-forward map.
    """

    growths: ClassVar[tuple[int, ...]] = (1, 1)  # widths of the inner model, in head sizes

    inner_batch: int = Field(default=16, ge=1, le=1024)
    inner_learning_rate: float = Field(default=1.0, gt=0.0, le=100.0)
    positions: Literal["none", "rotary"] = "rotary"
    kernel_size: int = Field(default=4, ge=1, le=64)

    @model_validator(mode="after")
    def _rotary_turns_pairs(self) -> TTTSettings:
        head_size = self.embed_size // self.num_heads
        if self.positions == "rotary" and head_size % 2:
            raise ValueError(f"positions rotary turns pairs: embed_size / num_heads must be even, is {head_size}")
        return self

    def residual(self) -> Residual:
        """Return one residual connection, its norm first."""
        return PreNorm(nn.LayerNorm(self.embed_size), self.dropout)

    def after(self) -> nn.Module:
        """Return the norm behind the last block."""
        return nn.LayerNorm(self.embed_size)

    def feed_forward_part(self) -> nn.Module:
        """Return one feed-forward map."""
        return FeedForward(self.embed_size, self.inner_size, self.dropout, activation=nn.GELU())

    def mixer(self) -> nn.Module:
        """Return one layer of test-time training, a convolution before it."""
        head_size = self.embed_size // self.num_heads
        inner = InnerModel(self.num_heads, [growth * head_size for growth in self.growths])
        ttt = TTT(self.embed_size, inner, self.inner_batch, self.inner_learning_rate, TURNS[self.positions])
        if self.kernel_size == 1:
            return ttt
        convolution = CausalConvolution(DepthwiseConvolution(self.embed_size, self.kernel_size))
        return Stack([convolution, ttt], 0.0)

    def causal_stack(self) -> list[nn.Module]:
        """Return the blocks of a model without a source, and the norm behind them."""
        blocks = [CausalBlock(self.mixer(), self.feed_forward_part(), self.residual) for _ in range(self.num_layers)]
        return [*blocks, Each(self.after())]


def build(settings: TTTSettings, vocab: Ends) -> EncoderDecoder:
    """Build a Transformer encoder and a decoder whose mixer learns at test time."""
    source, target, tied = settings.tables(vocab)
    decoder = make_decoder(
        settings,
        target,
        vocab.head(settings.embed_size, tied=tied),
        make_mixer=settings.mixer,
        before=Each(nn.Dropout(settings.dropout)),
    )
    return EncoderDecoder(make_encoder(settings, source), decoder)


def language_model(settings: TTTSettings, vocab: Vocabulary) -> LanguageModel:
    """Build the recipe."""
    table = Embedding(vocab.target_size, settings.embed_size, settings.dropout, is_scaled=True)
    layers = Stack([Each(nn.Dropout(settings.dropout)), *settings.causal_stack()], 0.0)
    return LanguageModel(table, layers, VocabularyHead(settings.embed_size, vocab.target_size, tied=table.weight))


def features(settings: TTTSettings, vocab: Ends) -> Features:
    """Build the blocks as an encoder that reads left to right."""
    table = vocab.source_embedding(settings.embed_size, settings.dropout, is_scaled=True)
    return Features(RecurrentEncoder(table, Stack(settings.causal_stack(), 0.0)), settings.embed_size)


RECIPE = Recipe(
    name="ttt-linear",
    title="a hidden state that is a linear model, trained while it reads",
    paper="Sun et al. 2024 (2407.04620)",
    choices=CHOICES,
    settings=TTTSettings,
    sizes=SIZES,
    learning_rate=LEARNING_RATE,
    build=build,
    language_model=language_model,
    features=features,
)
