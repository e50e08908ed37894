"""encoder-decoder: a memory read once (the plain form of Cho et al. 2014 and Sutskever et al. 2014).

    encoder    h_t = f(h_{t-1}, x_t)                     t = 1 ... S, left to right
    context    c = h_S                                    the whole source in one vector
    decoder    h_n = f(h_{n-1}, y_{n-1}),  h_0 = c        the memory enters here and never again
    bridge     h_0 = c (`last`), 0 (`zeros`), W_b c + b_b (`linear`), tanh(W_b mean_t h_t + b_b) (`mean`), layer by layer
    output     z_n = h_n,  p(y_n | y_<n, x) = softmax(W tanh(W_z z_n) + b)
    training   maximize sum over n of log p(y_n | y_<n, x), the true y_<n given (teacher forcing)

Symbols: x source, y target, h hidden state (f: `cell`), c context, W_z `readout`, W `head`.
Source: Cho et al. 2014 (1406.1078), equations 1, 3 and 4, without c at each step; Sutskever et al. 2014 (1409.3215), section 2.
Differs: neither paper's own system (those are the recipes `cho` and `sutskever`). The source is read unreversed; a tanh layer
    stands before the logits, as in `luong`, so that the two differ in the reading of the memory only; the head shares the
    target embedding. The bridges other than `last` are ours here; with `zeros` the source is not seen at all, a floor for
    the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from pydantic import model_validator
from torch import nn

from seqline.architectures.recipe import Choices, Ends, Recipe
from seqline.architectures.recurrent_stack import LEARNING_RATE, SIMPLE_CELLS, SIZES, Activation, StackSettings
from seqline.models.decoder import RecurrentDecoder
from seqline.models.encoder_decoder import EncoderDecoder
from seqline.models.readers import NeverReads, Reader
from seqline.parts.bridges import LastBridge, LinearBridge, MeanBridge, ZeroBridge
from seqline.parts.cells import CELLS, Cell, PeepholeLSTMCell
from seqline.parts.feed_forward import TanhLayer
from seqline.parts.linear_cells import LINEAR_CELLS
from seqline.parts.recurrent import Stack
from seqline.parts.values import StepEmbedding


class RecurrentSettings(StackSettings):
    """Encoder and decoder have the same `cell`, width and depth; `bridge`: the decoder's first state.

    `activation` is for the simple cell (tanh when not given), `peepholes` for the LSTM.
    """

    cell: Literal["simple", "lstm", "gru", "ssru", "min-gru"] = "gru"
    activation: Activation | None = None
    peepholes: bool = False
    bridge: Literal["zeros", "last", "linear", "mean"] = "last"

    @model_validator(mode="after")
    def _cell_has_its_options(self) -> RecurrentSettings:
        if self.activation and self.cell != "simple":
            raise ValueError(f"activation is for the simple cell; cell is {self.cell}")
        if self.peepholes and self.cell != "lstm":
            raise ValueError(f"peepholes are for the lstm; cell is {self.cell}")
        return self

    def make_cell(self, input_size: int) -> Cell:
        """Return one layer's cell."""
        if self.cell == "simple":
            return SIMPLE_CELLS[self.activation or "tanh"](input_size, self.hidden_size)
        if self.peepholes:
            return PeepholeLSTMCell(input_size, self.hidden_size)
        return {**CELLS, **LINEAR_CELLS}[self.cell](input_size, self.hidden_size)

    def make_bridge(self, stack: Stack, source_size: int | None = None) -> nn.Module:
        """Return the bridge into the decoder's `stack`; `source_size` is the width of the encoder's outputs (hidden_size)."""
        if self.bridge == "zeros":
            return ZeroBridge(stack.initial_state)
        if self.bridge == "last":
            return LastBridge()
        if self.bridge == "linear":
            return LinearBridge(stack.initial_state)
        return MeanBridge(source_size or self.hidden_size, stack.initial_state)


def assemble(
    settings: StackSettings,
    vocab: Ends,
    reader: Reader,
    make_bridge: Callable[[Stack], nn.Module],
    make_encoder: Callable[[StepEmbedding], nn.Module],
) -> EncoderDecoder:
    """Build a model whose decoder reads a summary of the source, or nothing after its first state.

    Args:
        settings: widths and depth.
        vocab: what goes in and out.
        reader: how the decoder reads the memory.
        make_bridge: the decoder's stack to what makes its first state.
        make_encoder: the source's embedding to the encoder.
    """
    source, target = settings.embeddings(vocab)
    stack = settings.stack(settings.embed_size + reader.input_growth)
    decoder = RecurrentDecoder(
        embedding=target,
        bridge=make_bridge(stack),
        reader=reader,
        stack=stack,
        readout=TanhLayer(settings.hidden_size, settings.embed_size),
        head=vocab.head(settings.embed_size, tied=target.weight),
    )
    return EncoderDecoder(make_encoder(source), decoder)


def build(settings: RecurrentSettings, vocab: Ends) -> EncoderDecoder:
    """Build the recipe."""
    return assemble(settings, vocab, NeverReads(), settings.make_bridge, settings.one_direction)


RECIPE = Recipe(
    name="encoder-decoder",
    title="a fixed context read once, as the decoder's first state",
    paper="after Cho et al. 2014 (1406.1078) and Sutskever et al. 2014 (1409.3215)",
    choices=Choices(
        "any cell", "one direction", "Last; or zeros, linear, mean", "once, as the first state", "-", "-", "none"
    ),
    settings=RecurrentSettings,
    sizes=SIZES,
    build=build,
    learning_rate=LEARNING_RATE,
)
