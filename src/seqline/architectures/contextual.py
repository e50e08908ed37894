"""contextual: the same fixed context, fed to the decoder at every step.

    context    c = h_S (`final`)  or  c = (1/S) sum over t of h_t (`mean`)
    decoder    h_n = f(h_{n-1}, [y_{n-1}; c]),  h_0 = h_S (or another `bridge`)
    output     z_n = h_n,  p(y_n | y_<n, x) = softmax(W tanh(W_z z_n) + b)
    training   maximize sum over n of log p(y_n | y_<n, x)

All else is `encoder-decoder`.
Source: Cho et al. 2014 (1406.1078), equation 3: h_n = f(h_{n-1}, y_{n-1}, c).
Differs: c enters the cell's input only, not the output layer, and h_0 is h_S itself rather than a tanh of it (the paper's
    own system is the recipe `cho`); `mean` is ours.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import model_validator

from seqline.architectures.encoder_decoder import RecurrentSettings, assemble
from seqline.architectures.recipe import Choices, Ends, Recipe
from seqline.architectures.recurrent_stack import LEARNING_RATE, SIZES
from seqline.architectures.source_encoders import SourceSizes, make_source_encoder, source_size
from seqline.models.encoder_decoder import EncoderDecoder
from seqline.models.readers import ReadsSummary
from seqline.parts.recurrent import Recurrent
from seqline.parts.summaries import final_output, mean_output
from seqline.sections import KeyFault

SUMMARIES = {"final": final_output, "mean": mean_output}


class ContextualSettings(RecurrentSettings):
    """`summary`: which vector of the source enters every step. `encoder`: reads it left to right, or both ways.

    With both ways the bridge is mean when not given, for there is no one end of the decoder's width to pass on.
    """

    summary: Literal["final", "mean"] = "final"
    encoder: Literal["recurrent", "bidirectional"] = "recurrent"

    @model_validator(mode="before")
    @classmethod
    def _mean_where_there_is_no_last(cls, values: Any) -> Any:
        if isinstance(values, dict) and "bridge" not in values and values.get("encoder") == "bidirectional":
            return {**values, "bridge": "mean"}
        return values

    @model_validator(mode="after")
    def _both_ways_have_no_last(self) -> ContextualSettings:
        if self.encoder == "bidirectional" and self.bridge in ("last", "linear"):
            raise KeyFault("bridge", f"bridge {self.bridge} needs encoder recurrent; set bridge to mean or zeros")
        return self


def build(settings: ContextualSettings, vocab: Ends) -> EncoderDecoder:
    """Build the recipe."""
    sizes = SourceSizes(settings.embed_size, settings.hidden_size, settings.num_layers, settings.dropout)
    width = source_size(settings.encoder, sizes)
    return assemble(
        settings,
        vocab,
        ReadsSummary(width, SUMMARIES[settings.summary]),
        lambda stack: settings.make_bridge(stack, width),
        lambda source: make_source_encoder(
            settings.encoder, source, sizes, settings.stack, lambda size: Recurrent(settings.make_cell(size))
        ),
    )


RECIPE = Recipe(
    name="contextual",
    title="the same fixed context fed at every step",
    paper="after Cho et al. 2014 (1406.1078)",
    choices=Choices(
        "any cell",
        "one direction, or both",
        "Last; or zeros, linear, mean",
        "every step, same summary: final or mean",
        "-",
        "-",
        "none",
    ),
    settings=ContextualSettings,
    sizes=SIZES,
    build=build,
    learning_rate=LEARNING_RATE,
)
