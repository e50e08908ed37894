"""What a recipe is: a name in history, seven choices, settings with sizes, and pages that build models from parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from pydantic import Field
from torch import nn

from seqline.models.encoder_decoder import EncoderDecoder
from seqline.models.language_model import LanguageModel
from seqline.parts.embeddings import Embedding
from seqline.sections import Section

SizeName = Literal["tiny", "small", "base"]
Width = Field(ge=1, le=8192)
Depth = Field(ge=1, le=64)
Share = Field(ge=0.0, lt=1.0)


class Vocabulary(NamedTuple):
    """How many ids each side has, and whether both sides use one table."""

    source_size: int
    target_size: int
    is_shared: bool


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
    """A feature model: an encoder (ids [B S], is_real [B S]) -> Encoded, and the width of its outputs."""

    encoder: nn.Module
    size: int


class Settings(Section):
    """Base of every recipe's settings; the numbers come from the recipe's sizes."""

    embed_size: int = Width
    dropout: float = Share

    def parameters_at_most(self, vocab: Vocabulary) -> int:
        """Return a rough upper bound of the number of parameters: 16 square matrices of the widest a layer and side."""
        values = self.model_dump()
        widest = max(value for name, value in values.items() if name.endswith("_size") and value)
        return 32 * widest**2 * values.get("num_layers", 1) + 2 * widest * (vocab.source_size + vocab.target_size)

    def embeddings(self, vocab: Vocabulary, is_scaled: bool = False) -> tuple[Embedding, Embedding]:
        """Return the source's and the target's table, one and the same where the vocabulary is shared."""
        target = Embedding(vocab.target_size, self.embed_size, self.dropout, is_scaled)
        if vocab.is_shared:
            return target, target
        return Embedding(vocab.source_size, self.embed_size, self.dropout, is_scaled), target


@dataclass(frozen=True)
class Recipe:
    """One architecture of the line.

    name: what `--arch` takes. title: one line for people. paper: authors, year, identifier. choices: its seven choices.
    settings: its settings class. sizes: named defaults of those settings. learning_rate: the peak that suits it, by size.
    build: settings and vocabulary to an encoder-decoder; None: it has no decoder that reads a source.
    language_model: settings and vocabulary to a model of a text alone; None: it fits no text alone.
    features: settings and vocabulary to a feature model of the source, for tagging and classification; None: as above.
    carries_state: a language model is trained with its state carried from window to window; the state must then have one size.
    """

    name: str
    title: str
    paper: str
    choices: Choices
    settings: type[Settings]
    sizes: Mapping[SizeName, Mapping[str, Any]]
    learning_rate: Mapping[SizeName, float]
    build: Callable[[Any, Vocabulary], EncoderDecoder] | None = None
    language_model: Callable[[Any, Vocabulary], LanguageModel] | None = None
    features: Callable[[Any, Vocabulary], Features] | None = None
    carries_state: bool = False
