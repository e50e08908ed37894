"""What recipes made of recurrent layers share: the stack's settings and sizes, and the two models of a single text."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Literal

from pydantic import model_validator
from torch import nn

from seqline.architectures.recipe import Depth, Ends, Features, Settings, SizeName, Vocabulary, Width
from seqline.models.encoder import BidirectionalEncoder, RecurrentEncoder
from seqline.models.language_model import LanguageModel
from seqline.parts.cells import Cell, SimpleCell, SimpleIdentityCell, SimpleReluCell
from seqline.parts.embeddings import Embedding
from seqline.parts.feed_forward import TanhLayer
from seqline.parts.heads import VocabularyHead
from seqline.parts.recurrent import Bidirectional, Each, Recurrent, ResidualLayer, Stack
from seqline.parts.values import StepEmbedding

Activation = Literal["tanh", "relu", "identity"]
SIMPLE_CELLS: dict[Activation, type[Cell]] = {
    "tanh": SimpleCell,
    "relu": SimpleReluCell,
    "identity": SimpleIdentityCell,
}
SIZES: dict[SizeName, dict[str, Any]] = {
    "tiny": {"embed_size": 96, "hidden_size": 96, "num_layers": 1, "dropout": 0.1},
    "small": {"embed_size": 256, "hidden_size": 256, "num_layers": 1, "dropout": 0.3},
    "base": {"embed_size": 512, "hidden_size": 512, "num_layers": 2, "dropout": 0.3},
}
LEARNING_RATE: dict[SizeName, float] = {"tiny": 5e-3, "small": 2e-3, "base": 7e-4}


class StackSettings(Settings, ABC):
    """`num_layers` recurrent layers of `hidden_size`; `residual`: from the second on, a layer adds its output to its input."""

    hidden_size: int = Width
    num_layers: int = Depth
    residual: bool = False

    @model_validator(mode="after")
    def _residual_has_a_layer_to_add_to(self) -> StackSettings:
        if self.residual and self.num_layers < 2:
            raise ValueError("residual joins layers from the second on; it needs num_layers of 2 or more")
        return self

    @abstractmethod
    def make_cell(self, input_size: int) -> Cell:
        """Return one layer's cell."""

    def one_direction(self, embedding: StepEmbedding) -> RecurrentEncoder:
        """Return the layers as an encoder that reads left to right."""
        return RecurrentEncoder(embedding, self.stack(self.embed_size))

    def stack(self, input_size: int) -> Stack:
        """Return the layers, dropout between them."""
        sizes = [input_size] + [self.hidden_size] * (self.num_layers - 1)
        first, *others = (Recurrent(self.make_cell(size)) for size in sizes)
        if self.residual:
            return Stack([first, *(ResidualLayer(layer, self.dropout) for layer in others)], 0.0)
        return Stack([first, *others], self.dropout)


def language_model(settings: StackSettings, vocab: Vocabulary) -> LanguageModel:
    """Return h_n = f(h_{n-1}, y_{n-1}), p(y_n | y_<n) = softmax(E tanh(W h_n) + b), E the embedding's table."""
    embedding = Embedding(vocab.target_size, settings.embed_size, settings.dropout)
    layers = [
        Each(nn.Dropout(settings.dropout)),
        settings.stack(settings.embed_size),
        Each(nn.Dropout(settings.dropout)),
        Each(TanhLayer(settings.hidden_size, settings.embed_size)),
        Each(nn.Dropout(settings.dropout)),
    ]
    head = VocabularyHead(settings.embed_size, vocab.target_size, tied=embedding.weight)
    return LanguageModel(embedding, Stack(layers, 0.0), head)


def features(settings: StackSettings, vocab: Ends) -> Features:
    """Return h_t = f(h_{t-1}, x_t) for every position."""
    embedding = vocab.source_embedding(settings.embed_size, settings.dropout)
    return Features(settings.one_direction(embedding), settings.hidden_size)


class BothWaysSettings(Settings):
    """`hidden_size` is the width of one direction; the features have twice that."""

    hidden_size: int = Width
    num_layers: int = Depth


def both_ways(settings: BothWaysSettings, vocab: Ends, make_cell: Callable[[int], Cell]) -> Features:
    """Return h_t = [forward h_t; backward h_t] for every position; each layer reads both directions of the one below.

    Args:
        settings: widths, depth and dropout.
        vocab: what goes in.
        make_cell: input width to a cell of `hidden_size`.
    """
    sizes = [settings.embed_size] + [2 * settings.hidden_size] * (settings.num_layers - 1)
    layers = [Bidirectional(Recurrent(make_cell(size)), Recurrent(make_cell(size))) for size in sizes]
    embedding = vocab.source_embedding(settings.embed_size, settings.dropout)
    return Features(BidirectionalEncoder(embedding, layers, settings.dropout), 2 * settings.hidden_size)
