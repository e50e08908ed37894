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

from typing import Literal

from seqline.architectures.encoder_decoder import RecurrentSettings, assemble
from seqline.architectures.recipe import Choices, Recipe, Vocabulary
from seqline.architectures.recurrent_stack import LEARNING_RATE, SIZES
from seqline.models.encoder_decoder import EncoderDecoder
from seqline.models.readers import ReadsSummary
from seqline.parts.summaries import final_output, mean_output

SUMMARIES = {"final": final_output, "mean": mean_output}


class ContextualSettings(RecurrentSettings):
    """`summary`: which vector of the source enters every step."""

    summary: Literal["final", "mean"] = "final"


def build(settings: ContextualSettings, vocab: Vocabulary) -> EncoderDecoder:
    """Build the recipe."""
    return assemble(settings, vocab, ReadsSummary(settings.hidden_size, SUMMARIES[settings.summary]))


RECIPE = Recipe(
    name="contextual",
    title="the same fixed context fed at every step",
    paper="after Cho et al. 2014 (1406.1078)",
    choices=Choices(
        "any cell",
        "one direction",
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
