"""encoder-decoder: a memory read once (the plain form of Cho et al. 2014 and Sutskever et al. 2014).

    encoder    h_t = f(h_{t-1}, x_t)                     t = 1 ... S, left to right
    context    c = h_S                                    the whole source in one vector
    decoder    h_n = f(h_{n-1}, y_{n-1}),  h_0 = c        the memory enters here and never again
    output     z_n = h_n,  p(y_n | y_<n, x) = softmax(W tanh(W_z z_n) + b)
    training   maximize sum over n of log p(y_n | y_<n, x), the true y_<n given (teacher forcing)

Symbols: x source, y target, h hidden state (f: `cell`), c context, W_z `readout`, W `head`.
Source: Cho et al. 2014 (1406.1078), equations 1, 3 and 4, without c at each step; Sutskever et al. 2014 (1409.3215), section 2.
Differs: neither paper's own system (those are other recipes). The source is read unreversed; a tanh layer stands before
    the logits, as in `luong`, so that the two differ in the reading of the memory only; the head shares the target embedding.
"""

from __future__ import annotations

from typing import Any, Literal

from seqline.architectures.recipe import Choices, Depth, Recipe, Settings, SizeName, Vocabulary, Width
from seqline.models.decoder import RecurrentDecoder
from seqline.models.encoder import RecurrentEncoder
from seqline.models.encoder_decoder import EncoderDecoder
from seqline.models.readers import NeverReads, Reader
from seqline.parts.bridges import LastBridge
from seqline.parts.cells import CELLS
from seqline.parts.feed_forward import TanhLayer
from seqline.parts.heads import VocabularyHead
from seqline.parts.recurrent import Recurrent, Stack

SIZES: dict[SizeName, dict[str, Any]] = {
    "tiny": {"embed_size": 96, "hidden_size": 96, "num_layers": 1, "dropout": 0.1},
    "small": {"embed_size": 256, "hidden_size": 256, "num_layers": 1, "dropout": 0.3},
    "base": {"embed_size": 512, "hidden_size": 512, "num_layers": 2, "dropout": 0.3},
}
LEARNING_RATE: dict[SizeName, float] = {"tiny": 5e-3, "small": 2e-3, "base": 7e-4}


class RecurrentSettings(Settings):
    """Settings of the recurrent recipes: encoder and decoder have the same cell, width and depth."""

    cell: Literal["simple", "lstm", "gru"] = "gru"
    hidden_size: int = Width
    num_layers: int = Depth

    def stack(self, input_size: int) -> Stack:
        """Return `num_layers` recurrent layers."""
        sizes = [input_size] + [self.hidden_size] * (self.num_layers - 1)
        return Stack([Recurrent(CELLS[self.cell](size, self.hidden_size)) for size in sizes], self.dropout)


def assemble(settings: RecurrentSettings, vocab: Vocabulary, reader: Reader) -> EncoderDecoder:
    """Build the model around the one thing that differs: how the decoder reads the memory."""
    source, target = settings.embeddings(vocab)
    decoder = RecurrentDecoder(
        embedding=target,
        bridge=LastBridge(),
        reader=reader,
        stack=settings.stack(settings.embed_size + reader.input_growth),
        readout=TanhLayer(settings.hidden_size + reader.output_growth, settings.embed_size),
        head=VocabularyHead(settings.embed_size, vocab.target_size, tied=target.weight),
    )
    return EncoderDecoder(RecurrentEncoder(source, settings.stack(settings.embed_size)), decoder)


def build(settings: RecurrentSettings, vocab: Vocabulary) -> EncoderDecoder:
    """Build the recipe."""
    return assemble(settings, vocab, NeverReads())


RECIPE = Recipe(
    name="encoder-decoder",
    title="a fixed context read once, as the decoder's first state",
    paper="after Cho et al. 2014 (1406.1078) and Sutskever et al. 2014 (1409.3215)",
    choices=Choices("any cell", "one direction", "Last", "once, as the first state", "-", "-", "none"),
    settings=RecurrentSettings,
    sizes=SIZES,
    build=build,
    learning_rate=LEARNING_RATE,
)
