"""luong: attention after the cell.

    decoder    h_n = f(h_{n-1}, y_{n-1})                   without input feeding
               h_n = f(h_{n-1}, [y_{n-1}; z~_{n-1}])       with it
    attention  a_n(s) = softmax over s of score(h_n, h_s),  C_n = sum over s of a_n(s) h_s
    score      dot: h_n . h_s    general: h_n . (W_a h_s)    concat: v_a . tanh(W_a [h_n; h_s])
    output     z_n = [h_n; C_n],  z~_n = tanh(W_z z_n),  p(y_n | y_<n, x) = softmax(W z~_n + b)
    training   maximize sum over n of log p(y_n | y_<n, x)

Symbols: h_s the encoder's top outputs, both keys and values; h_n the query; z~_n the paper's attentional vector.
Source: Luong et al. 2015 (1508.04025), equations 5 to 8 (global attention) and section 3.3 (input feeding).
Differs: z~ has the width of the embedding and a bias; the paper writes z as [c; h], has an LSTM of four layers and reverses the
    source; here `cell` and depth are settings, the source is unreversed, and head and target embedding are tied. Input feeding is
    on by default, as in the paper; off, a whole target runs in one fused call, and the recipe is `encoder-decoder` but for the
    reading of the memory.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from seqline.architectures.encoder_decoder import LEARNING_RATE, SIZES, RecurrentSettings, assemble
from seqline.architectures.recipe import Choices, Recipe, Vocabulary
from seqline.models.attentive_decoder import InputFeedingDecoder
from seqline.models.encoder import RecurrentEncoder
from seqline.models.encoder_decoder import EncoderDecoder
from seqline.models.readers import ReadsAfterCell
from seqline.parts.attention import Attention
from seqline.parts.bridges import LastBridge
from seqline.parts.feed_forward import TanhLayer
from seqline.parts.heads import VocabularyHead
from seqline.parts.scores import AdditiveScore, DotScore, GeneralScore, Score


class LuongSettings(RecurrentSettings):
    """`score`: how query and key are compared. `input_feeding`: the attentional vector enters the next step."""

    score: Literal["dot", "general", "concat"] = "general"
    input_feeding: bool = True
    attention_size: int | None = Field(default=None, ge=1, le=8192)

    def make_score(self) -> Score:
        """Return the score part; `attention_size` is the width inside concat (hidden_size when not given)."""
        if self.score == "dot":
            return DotScore()
        if self.score == "general":
            return GeneralScore(self.hidden_size, self.hidden_size)
        return AdditiveScore(self.hidden_size, self.hidden_size, self.attention_size or self.hidden_size)


def build(settings: LuongSettings, vocab: Vocabulary) -> EncoderDecoder:
    """Build the recipe."""
    attention = Attention(settings.make_score())
    if not settings.input_feeding:
        return assemble(settings, vocab, ReadsAfterCell(attention, settings.hidden_size))
    source, target = settings.embeddings(vocab)
    decoder = InputFeedingDecoder(
        embedding=target,
        bridge=LastBridge(),
        attention=attention,
        stack=settings.stack(2 * settings.embed_size),
        readout=TanhLayer(2 * settings.hidden_size, settings.embed_size),
        head=VocabularyHead(settings.embed_size, vocab.target_size, tied=target.weight),
    )
    return EncoderDecoder(RecurrentEncoder(source, settings.stack(settings.embed_size)), decoder)


RECIPE = Recipe(
    name="luong",
    title="attention after the cell, scores dot, general or concat",
    paper="Luong et al. 2015 (1508.04025)",
    choices=Choices(
        "any cell",
        "one direction",
        "Last, layer by layer",
        "after the cell, input feeding on or off",
        "dot, general, concat",
        "everywhere",
        "none",
    ),
    settings=LuongSettings,
    sizes=SIZES,
    build=build,
    learning_rate=LEARNING_RATE,
)
