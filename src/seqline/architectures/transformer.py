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
    too; source and target share one table only where the tokenizer is shared; the learning rate falls by a cosine.
"""

from __future__ import annotations

from typing import Any

from pydantic import model_validator

from seqline.architectures.recipe import Choices, Depth, Recipe, Settings, SizeName, Vocabulary, Width
from seqline.models.decoder import TransformerDecoder, TransformerDecoderLayer
from seqline.models.encoder import TransformerEncoder, TransformerEncoderLayer
from seqline.models.encoder_decoder import EncoderDecoder
from seqline.parts.heads import VocabularyHead

SIZES: dict[SizeName, dict[str, Any]] = {
    "tiny": {"embed_size": 96, "num_heads": 4, "inner_size": 384, "num_layers": 2, "dropout": 0.1},
    "small": {"embed_size": 256, "num_heads": 4, "inner_size": 512, "num_layers": 3, "dropout": 0.2},
    "base": {"embed_size": 512, "num_heads": 8, "inner_size": 2048, "num_layers": 6, "dropout": 0.1},
}


class TransformerSettings(Settings):
    """`inner_size` is the width inside the feed-forward map; encoder and decoder have `num_layers` each."""

    num_heads: int = Width
    inner_size: int = Width
    num_layers: int = Depth

    @model_validator(mode="after")
    def _heads_divide_width(self) -> TransformerSettings:
        if self.embed_size % self.num_heads:
            raise ValueError(f"embed_size {self.embed_size} is not divisible by num_heads {self.num_heads}")
        return self


def build(settings: TransformerSettings, vocab: Vocabulary) -> EncoderDecoder:
    """Build the recipe."""
    sizes = settings.embed_size, settings.num_heads, settings.inner_size, settings.dropout
    source, target = settings.embeddings(vocab, is_scaled=True)
    depth = range(settings.num_layers)
    return EncoderDecoder(
        TransformerEncoder(source, [TransformerEncoderLayer(*sizes) for _ in depth]),
        TransformerDecoder(
            target,
            [TransformerDecoderLayer(*sizes) for _ in depth],
            VocabularyHead(settings.embed_size, vocab.target_size, tied=target.weight),
        ),
    )


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
    build=build,
    learning_rate={"tiny": 3e-3, "small": 2e-3, "base": 7e-4},
)
