"""sutskever: deep LSTMs, the source read from its last word to its first.

    encoder    h_t = LSTM stack(h_{t-1}, x'_t),  x' = x_{S-1} ... x_1 </s>
    decoder    h_n = LSTM stack(h_{n-1}, y_{n-1}),  h_0 = h_S, c_0 = c_S, layer by layer
    output     p(y_n | y_<n, x) = softmax(W tanh(W_z h_n) + b)
    training   maximize sum over n of log p(y_n | y_<n, x)

Symbols: x' the source with its words reversed and the end mark last, as the decoder's start follows it; so the source's first
    words are read just before the target's first are written.
Source: Sutskever et al. 2014 (1409.3215), sections 2 and 3.3; four layers are its base size.
Differs: a tanh layer stands before the logits and the head shares the target embedding, as in `encoder-decoder`; width and
    vocabulary are smaller than the paper's 1000 and 80,000.
"""

from __future__ import annotations

from typing import Any

from seqline.architectures.encoder_decoder import assemble
from seqline.architectures.recipe import Choices, Ends, Recipe, SizeName
from seqline.architectures.recurrent_stack import LEARNING_RATE, StackSettings
from seqline.models.encoder import ReversingEncoder
from seqline.models.encoder_decoder import EncoderDecoder
from seqline.models.readers import NeverReads
from seqline.parts.bridges import LastBridge
from seqline.parts.cells import Cell, LSTMCell
from seqline.parts.values import StepEmbedding

SIZES: dict[SizeName, dict[str, Any]] = {
    "tiny": {"embed_size": 96, "hidden_size": 96, "num_layers": 1, "dropout": 0.1},
    "small": {"embed_size": 256, "hidden_size": 256, "num_layers": 2, "dropout": 0.3},
    "base": {"embed_size": 512, "hidden_size": 512, "num_layers": 4, "dropout": 0.3},
}


class SutskeverSettings(StackSettings):
    """Encoder and decoder have `num_layers` LSTMs of `hidden_size` each."""

    def make_cell(self, input_size: int) -> Cell:
        """Return one layer's cell."""
        return LSTMCell(input_size, self.hidden_size)

    def reversing(self, embedding: StepEmbedding) -> ReversingEncoder:
        """Return the layers as an encoder that reads the words backwards."""
        return ReversingEncoder(embedding, self.stack(self.embed_size))


def build(settings: SutskeverSettings, vocab: Ends) -> EncoderDecoder:
    """Build the recipe."""
    return assemble(settings, vocab, NeverReads(), lambda _: LastBridge(), settings.reversing)


RECIPE = Recipe(
    name="sutskever",
    title="deep LSTMs, the source reversed",
    paper="Sutskever et al. 2014 (1409.3215)",
    choices=Choices("LSTM", "one direction, source reversed", "Last", "once, as the first state", "-", "-", "none"),
    settings=SutskeverSettings,
    sizes=SIZES,
    build=build,
    learning_rate=LEARNING_RATE,
)
