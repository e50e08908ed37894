"""luong: attention after the cell.

    decoder    h_n = f(h_{n-1}, y_{n-1})                   without input feeding
               h_n = f(h_{n-1}, [y_{n-1}; z~_{n-1}])       with it
    attention  a_n(s) = softmax over s of score(h_n, h_s),  C_n = sum over s of a_n(s) h_s
    score      dot: h_n . h_s    general: h_n . (W_a h_s)    concat: v_a . tanh(W_a [h_n; h_s])    location: row s of W_a, . h_n
    window     everywhere    local-m: |s - n| <= D only    local-p: around p_n = S sigmoid(v_p . tanh(W_p h_n)), a_n(s) times
               exp(-(s - p_n)^2 / (2 sigma^2)), sigma = D / 2
    output     z_n = [h_n; C_n],  z~_n = tanh(W_z z_n),  p(y_n | y_<n, x) = softmax(W z~_n + b)
    training   maximize sum over n of log p(y_n | y_<n, x)

Symbols: h_s the encoder's top outputs, both keys and values; h_n the query; z~_n the paper's attentional vector; D `window_size`.
Source: Luong et al. 2015 (1508.04025), equations 5 to 8 (global attention), sections 3.2 (local) and 3.3 (input feeding).
Differs: z~ has the width of the embedding and a bias; the paper writes z as [c; h], has an LSTM of four layers and reverses the
    source; here `cell` and depth are settings, the source is unreversed, and head and target embedding are tied. Input feeding is
    on by default, as in the paper; off, a whole target runs in one fused call, and the recipe is `encoder-decoder` but for the
    reading of the memory. Ours: the score multi-head, encoders other than the recurrent one, coverage (Tu et al. 2016) here.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from seqline.architectures.attention_settings import AttentionSettings
from seqline.architectures.encoder_decoder import RecurrentSettings
from seqline.architectures.recipe import Choices, Ends, Recipe
from seqline.architectures.recurrent_stack import LEARNING_RATE, SIZES
from seqline.architectures.source_encoders import SourceName, SourceSizes, make_source_encoder, source_size
from seqline.models.attentive_decoder import AttendAfterDecoder, InputFeedingDecoder
from seqline.models.encoder_decoder import EncoderDecoder
from seqline.parts.attention import SourceAttention
from seqline.parts.feed_forward import TanhLayer
from seqline.parts.recurrent import Recurrent
from seqline.parts.scores import AdditiveScore, DotScore, GeneralScore, LocationScore, Score
from seqline.sections import KeyFault

LOCATION_LENGTH = 257


class LuongSettings(AttentionSettings, RecurrentSettings):
    """`score`: how query and key are compared. `input_feeding`: the attentional vector enters the next step.

    attention_size: width inside concat (hidden_size when not given). location_length: the longest source that the score location
    can read, in tokens with the end mark (257 when not given). encoder: what reads the source; with another than the recurrent
    one the bridge is mean when not given, for there is no end of the decoder's form to pass on, and `cell` and `residual` are the
    decoder's (both directions have the same cell).
    """

    score: Literal["dot", "general", "concat", "location", "multi-head"] = "general"
    input_feeding: bool = True
    attention_size: int | None = Field(default=None, ge=1, le=8192)
    location_length: int | None = Field(default=None, ge=1, le=65536)
    encoder: SourceName = "recurrent"

    @property
    def is_multi_head(self) -> bool:
        """Tell whether the score is that of several heads."""
        return self.score == "multi-head"

    @model_validator(mode="before")
    @classmethod
    def _mean_where_there_is_no_last(cls, values: Any) -> Any:
        if isinstance(values, dict) and "bridge" not in values and values.get("encoder", "recurrent") != "recurrent":
            return {**values, "bridge": "mean"}
        return values

    @model_validator(mode="after")
    def _check_choices(self) -> LuongSettings:
        if self.location_length is not None and self.score != "location":
            raise KeyFault("location_length", f"location_length has no meaning with score {self.score}")
        if self.attention_size is not None and self.score != "concat":
            raise KeyFault("attention_size", f"attention_size is the width inside score concat; score is {self.score}")
        if self.coverage and not (self.input_feeding and self.score == "concat"):
            raise KeyFault("coverage", "coverage needs input_feeding on and score concat")
        if self.encoder != "recurrent" and self.bridge in ("last", "linear"):
            raise KeyFault("bridge", f"bridge {self.bridge} needs encoder recurrent; set bridge to mean or zeros")
        width = source_size(self.encoder, self.source_sizes)
        if self.score == "dot" and width != self.hidden_size:
            what = f"encoder {self.encoder} is {width} wide and the decoder {self.hidden_size}"
            raise KeyFault("score", f"score dot needs equal widths, but {what}; set score to general")
        return self

    def parameters_at_most(self, vocab: Ends) -> int:
        """Return a rough upper bound, the rows of the location score included."""
        rows = (self.location_length or LOCATION_LENGTH) if self.score == "location" else 0
        return super().parameters_at_most(vocab) + rows * self.hidden_size

    @property
    def source_sizes(self) -> SourceSizes:
        """The encoder's widths, depth and dropout."""
        return SourceSizes(self.embed_size, self.hidden_size, self.num_layers, self.dropout)

    def make_score(self, key_size: int) -> Score:
        """Return the score part."""
        if self.score == "dot":
            return DotScore()
        if self.score == "general":
            return GeneralScore(self.hidden_size, key_size)
        if self.score == "location":
            return LocationScore(self.hidden_size, self.location_length or LOCATION_LENGTH)
        return AdditiveScore(self.hidden_size, key_size, self.attention_size or self.hidden_size, name="concat")

    def make_attention(self, key_size: int) -> SourceAttention:
        """Return what reads an encoder's outputs of width `key_size`."""
        if self.is_multi_head:
            return self.make_heads(key_size)
        if self.coverage:
            return self.make_coverage(key_size, self.attention_size or self.hidden_size, "concat")
        return self.make_plain(self.make_score(key_size))


def build(settings: LuongSettings, vocab: Ends) -> EncoderDecoder:
    """Build the recipe."""
    key_size = source_size(settings.encoder, settings.source_sizes)
    context_size = settings.context_size(key_size)
    attention = settings.make_attention(key_size)
    source, target = settings.embeddings(vocab)
    stack = settings.stack((2 if settings.input_feeding else 1) * settings.embed_size)
    bridge = settings.make_bridge(stack, key_size)
    readout = TanhLayer(settings.hidden_size + context_size, settings.embed_size)
    head = vocab.head(settings.embed_size, tied=target.weight)
    if settings.input_feeding:
        decoder = InputFeedingDecoder(target, bridge, attention, stack, readout, head)
    else:
        decoder = AttendAfterDecoder(target, bridge, attention, stack, readout, head)
    encoder = make_source_encoder(
        settings.encoder,
        source,
        settings.source_sizes,
        settings.stack,
        lambda input_size: Recurrent(settings.make_cell(input_size)),
    )
    return EncoderDecoder(encoder, decoder)


RECIPE = Recipe(
    name="luong",
    title="attention after the cell, scores dot, general, concat or location, global or local",
    paper="Luong et al. 2015 (1508.04025)",
    choices=Choices(
        "any cell",
        "one direction; or both, convolution, embeddings",
        "Last, layer by layer; or linear, mean, zeros",
        "after the cell, input feeding on or off",
        "dot, general, concat, location; or several heads",
        "everywhere, local-m, local-p",
        "none",
    ),
    settings=LuongSettings,
    sizes=SIZES,
    build=build,
    learning_rate=LEARNING_RATE,
)
