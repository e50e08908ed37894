"""What a recipe is: a name in history, seven choices, settings with sizes, and pages that build models from parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

from pydantic import Field
from torch import Tensor, nn

from seqline.models.encoder_decoder import EncoderDecoder
from seqline.models.language_model import LanguageModel
from seqline.parts.embeddings import Embedding
from seqline.parts.heads import VocabularyHead
from seqline.parts.values import StepEmbedding, StepHead, ValueEmbedding, ValueHead
from seqline.sections import Section

SizeName = Literal["tiny", "small", "base"]
Width = Field(ge=1, le=8192)
Depth = Field(ge=1, le=64)
Share = Field(ge=0.0, lt=1.0)


class Ends(Protocol):
    """What goes into a model and what comes out, ids or numbers: the two ends that every recipe has, made on request."""

    @property
    def source_size(self) -> int:
        """Ids, or numbers a step, of the source."""
        ...

    @property
    def target_size(self) -> int:
        """Ids, or numbers a step, of the target."""
        ...

    @property
    def is_shared(self) -> bool:
        """Whether both sides use one embedding."""
        ...

    def source_embedding(self, embed_size: int, dropout: float, is_scaled: bool = False) -> StepEmbedding:
        """Return what turns a step of the source into a vector."""
        ...

    def target_embedding(self, embed_size: int, dropout: float, is_scaled: bool = False) -> StepEmbedding:
        """Return what turns a step of the target into a vector."""
        ...

    def head(self, width: int, tied: Tensor | None = None) -> StepHead:
        """Return what turns a vector into outputs; `tied`: the target's matrix, for a head that can share it."""
        ...


class Vocabulary(NamedTuple):
    """How many ids each side has, and whether both sides use one table."""

    source_size: int
    target_size: int
    is_shared: bool

    def source_embedding(self, embed_size: int, dropout: float, is_scaled: bool = False) -> Embedding:
        """Return a table of source ids."""
        return Embedding(self.source_size, embed_size, dropout, is_scaled)

    def target_embedding(self, embed_size: int, dropout: float, is_scaled: bool = False) -> Embedding:
        """Return a table of target ids."""
        return Embedding(self.target_size, embed_size, dropout, is_scaled)

    def head(self, width: int, tied: Tensor | None = None) -> VocabularyHead:
        """Return a head to one logit a target id."""
        return VocabularyHead(width, self.target_size, tied)


class Values(NamedTuple):
    """How many numbers a step of each side holds, and how many come out of a step of the target."""

    source_size: int
    target_size: int
    num_outputs: int

    @property
    def is_shared(self) -> bool:
        """False: the sides hold different things."""
        return False

    def source_embedding(self, embed_size: int, dropout: float, is_scaled: bool = False) -> ValueEmbedding:
        """Return a linear map of the source's numbers."""
        return ValueEmbedding(self.source_size, embed_size, dropout, is_scaled)

    def target_embedding(self, embed_size: int, dropout: float, is_scaled: bool = False) -> ValueEmbedding:
        """Return a linear map of the target's numbers."""
        return ValueEmbedding(self.target_size, embed_size, dropout, is_scaled)

    def head(self, width: int, tied: Tensor | None = None) -> ValueHead:
        """Return a head to the outputs; what goes in and what comes out differ, so nothing is tied."""
        return ValueHead(width, self.num_outputs)


class Choices(NamedTuple):
    """The seven choices that an architecture is, in words; "-" where there is nothing to choose."""

    layer: str
    encoder: str
    bridge: str
    reads: str
    score: str
    window: str
    positions: str


class Features(NamedTuple):
    """A feature model: an encoder (ids [B S] or numbers [B S F], is_real [B S]) -> Encoded, and the width of its outputs."""

    encoder: nn.Module
    size: int


class Settings(Section):
    """Base of every recipe's settings; the numbers come from the recipe's sizes."""

    embed_size: int = Width
    dropout: float = Share

    def parameters_at_most(self, vocab: Ends) -> int:
        """Return a rough upper bound of the number of parameters: 16 square matrices of the widest a layer and side."""
        values = self.model_dump()
        widest = max(value for name, value in values.items() if name.endswith("_size") and value)
        return 32 * widest**2 * values.get("num_layers", 1) + 2 * widest * (vocab.source_size + vocab.target_size)

    def embeddings(self, vocab: Ends, is_scaled: bool = False) -> tuple[StepEmbedding, StepEmbedding]:
        """Return the source's and the target's embedding, one and the same where the vocabulary is shared."""
        target = vocab.target_embedding(self.embed_size, self.dropout, is_scaled)
        return (target if vocab.is_shared else vocab.source_embedding(self.embed_size, self.dropout, is_scaled)), target


@dataclass(frozen=True)
class Recipe:
    """One architecture of the line.

    name: what `--arch` takes. title: one line for people. paper: authors, year, identifier. choices: its seven choices.
    settings: its settings class. sizes: named defaults of those settings. learning_rate: the peak that suits it, by size.
    build: settings and ends to an encoder-decoder; None: it has no decoder that reads a source.
    language_model: settings and vocabulary to a model of a text alone; None: it fits no text alone.
    features: settings and ends to a feature model of the source, for tagging, classification and forecasting; None: as above.
    carries_state: a language model is trained with its state carried from window to window; the state must then have one size.
    """

    name: str
    title: str
    paper: str
    choices: Choices
    settings: type[Settings]
    sizes: Mapping[SizeName, Mapping[str, Any]]
    learning_rate: Mapping[SizeName, float]
    build: Callable[[Any, Ends], EncoderDecoder] | None = None
    language_model: Callable[[Any, Vocabulary], LanguageModel] | None = None
    features: Callable[[Any, Ends], Features] | None = None
    carries_state: bool = False
