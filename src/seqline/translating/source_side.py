"""The source side of a translator: raw text becomes ids, and ids become the memory that a decoder reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from seqline.config import DataConfig
from seqline.data.batch import source_batch
from seqline.data.text import normalize_whitespace
from seqline.data.tokenizer import EOS, Tokenizer
from seqline.models.encoder_decoder import EncoderDecoder
from seqline.models.reading import longest_source


class Source(NamedTuple):
    """A source as a model reads it. ids end in the end mark; num_given: how many the whole text has, end mark included."""

    text: str
    ids: list[int]
    num_given: int

    @property
    def is_cut(self) -> bool:
        """Whether the model's positions end before the text does."""
        return len(self.ids) < self.num_given


class SourceSide:
    """One model's encoder and tokenizer.

    Args:
        model: in evaluation mode.
        tokenizer: of sources.
        data: how they are read.
    """

    def __init__(self, model: EncoderDecoder, tokenizer: Tokenizer, data: DataConfig) -> None:
        self.model, self.tokenizer, self.data = model, tokenizer, data
        self.longest = longest_source(model.encoder, model.decoder)  # pyright: ignore[reportArgumentType]

    def encode(self, text: str) -> list[int]:
        """Turn a whole text into ids, the end mark behind."""
        return [*self.tokenizer.encode(self.as_read(text)), EOS]

    def read(self, text: str) -> Source:
        """Turn a text into what the model can read of it: its beginning, where its positions end before the text does."""
        text = self.as_read(text)
        ids = [*self.tokenizer.encode(text), EOS]
        if self.longest is None or len(ids) <= self.longest:
            return Source(text, ids, len(ids))
        kept = ids[: self.longest - 1]
        return Source(self.tokenizer.decode(kept), [*kept, EOS], len(ids))

    def as_read(self, text: str) -> str:
        """Return a text with its white space as the run's settings want it."""
        return normalize_whitespace(text) if self.data.normalize_whitespace else text

    def prepare(self, sources: Sequence[list[int]]) -> Any:
        """Return the memory of a batch of encoded sources."""
        device = next(self.model.parameters()).device
        ids, is_real = (t.to(device) for t in source_batch(list(sources), range(len(sources))))
        return self.model.decoder.prepare(self.model.encoder(ids, is_real))
