"""cho: one vector for the source, fed to the decoder's gates and to its output at every step.

    encoder    h_t = f(h_{t-1}, x_t)                                 t = 1 ... S, f a GRU
    context    c = h_S
    decoder    s_n = f'(s_{n-1}, [y_{n-1}; c]),  s_0 = tanh(V c + b)  c in reset gate, update gate and candidate
    output     t_n = maxout(O [s_n; y_{n-1}; c]),  p(y_n | y_<n, x) = softmax(W t_n + b)
    training   maximize sum over n of log p(y_n | y_<n, x)

Symbols: V the bridge, O the maxout layer, W the head.
Source: Cho et al. 2014 (1406.1078), equations 3 and 4 and appendix A.1.
Differs: c is h_S itself, where the appendix has tanh(V h_S) first; c stands beside y_{n-1} in the cell's input, where the
    appendix lets the reset gate scale it in the candidate; the reset gate acts after the matrix product, as in torch.nn.GRU;
    head and target embedding are tied, so maxout returns the embedding's width.
"""

from __future__ import annotations

from typing import Any

from seqline.architectures.recipe import Choices, Ends, Recipe, Settings, SizeName, Width
from seqline.architectures.recurrent_stack import LEARNING_RATE
from seqline.models.decoder import RecurrentDecoder
from seqline.models.encoder import RecurrentEncoder
from seqline.models.encoder_decoder import EncoderDecoder
from seqline.models.readers import ReadsSummary
from seqline.parts.bridges import FinalTanhBridge
from seqline.parts.cells import GRUCell
from seqline.parts.feed_forward import Maxout
from seqline.parts.recurrent import BesideInput, Recurrent, Stack
from seqline.parts.summaries import final_output

SIZES: dict[SizeName, dict[str, Any]] = {
    "tiny": {"embed_size": 96, "hidden_size": 96, "dropout": 0.1},
    "small": {"embed_size": 256, "hidden_size": 256, "dropout": 0.3},
    "base": {"embed_size": 500, "hidden_size": 1000, "dropout": 0.3},
}


class ChoSettings(Settings):
    """`hidden_size` is the width of the one layer on each side; the paper has 1000, and 500 maxout units."""

    hidden_size: int = Width


def build(settings: ChoSettings, vocab: Ends) -> EncoderDecoder:
    """Build the recipe."""
    embed_size, width = settings.embed_size, settings.hidden_size
    source, target = settings.embeddings(vocab)
    stack = Stack([Recurrent(GRUCell(embed_size + width, width))], 0.0)
    decoder = RecurrentDecoder(
        embedding=target,
        bridge=FinalTanhBridge(width, stack.initial_state),
        reader=ReadsSummary(width, final_output),
        stack=BesideInput(stack),  # the output layer sees [s_n; y_{n-1}; c]
        readout=Maxout(width + embed_size + width, embed_size),
        head=vocab.head(embed_size, tied=target.weight),
    )
    return EncoderDecoder(RecurrentEncoder(source, Stack([Recurrent(GRUCell(embed_size, width))], 0.0)), decoder)


RECIPE = Recipe(
    name="cho",
    title="a fixed context in the gates and in the output at every step",
    paper="Cho et al. 2014 (1406.1078)",
    choices=Choices("GRU", "one direction", "tanh", "every step, same summary, in cell and output", "-", "-", "none"),
    settings=ChoSettings,
    sizes=SIZES,
    build=build,
    learning_rate=LEARNING_RATE,
)
