"""Text from a language model: a prompt goes in, its continuation comes out, piece by piece as it was drawn."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import torch

from seqline.config import DataConfig
from seqline.data.plain import NEWLINE, decode_stream, encode_stream, stream_lines
from seqline.data.tokenizer import BOS, EOS, PAD, UNK, Tokenizer
from seqline.decoding.rules import Rule, forbid, whole_utf8
from seqline.decoding.sampling import Sampling, sample
from seqline.errors import UserError
from seqline.models.language_model import LanguageModel
from seqline.recording.continuation import Continuing, record_continuation
from seqline.recording.document import Options
from seqline.recording.facts import origin_of
from seqline.recording.forcing import Force
from seqline.run_folder import Run, load_run, require_task
from seqline.visualize.trace import Trace
from seqline.watch import LIMIT_MB


@dataclass(frozen=True)
class Generated:
    """A continuation, without its prompt.

    log_probability: natural logarithm of p(text | prompt), before temperature and cuts. num_tokens: its pieces, an end mark
    included. is_finished: it ended by itself (lines), not at the limit.
    """

    text: str
    log_probability: float
    num_tokens: int
    is_finished: bool


class Generator:
    """Generates with one language model.

    Args:
        model: in evaluation mode.
        tokenizer: its own.
        data: how the text is read: a stream, or lines.
    """

    def __init__(self, model: LanguageModel, tokenizer: Tokenizer, data: DataConfig) -> None:
        self.model, self.tokenizer, self.data = model, tokenizer, data
        self.run: Run | None = None
        has_bytes = any(value >= 0 for value in tokenizer.byte_values)
        never = [
            PAD,
            BOS,
            *([EOS] if self.is_stream else []),
            *([UNK] if has_bytes or tokenizer.kind == "char" else []),
        ]
        self._rules: list[Rule] = [forbid(tuple(never))]
        if has_bytes:
            self._rules.append(whole_utf8(tokenizer.byte_values))

    @classmethod
    def of(cls, run: Run) -> Generator:
        """Return the generator of a loaded run.

        Raises:
            UserError: a run for another task.
        """
        require_task(run, "language_model")
        generator = cls(cast("LanguageModel", run.model), run.tokenizers.source, run.config.data)
        generator.run = run
        return generator

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, device: str = "cpu") -> Generator:
        """Load a run folder.

        Raises:
            UserError: see `run_folder.load_run`; a run for another task.
        """
        return cls.of(load_run(Path(folder), device))

    @property
    def is_stream(self) -> bool:
        """Whether the model knows one long text, and not lines that end."""
        return self.data.unit != "lines"

    def encode(self, prompt: str) -> list[int]:
        """Turn a prompt into ids; an empty one into what stands before a line.

        Raises:
            UserError: a prompt of several lines for a model of single ones.
        """
        if self.is_stream:
            before = [i for i in self.tokenizer.encode(NEWLINE) if i != UNK] or [BOS]
            return encode_stream(self.tokenizer, prompt) or before
        if "\n" in prompt:
            what = "holds a line end, and this model knows single lines (data.unit lines)"
            raise UserError(what, where="prompt", fix="give the beginning of one line")
        return [BOS, *self.tokenizer.encode(prompt)]

    def num_unknown(self, prompt: str) -> int:
        """Count the pieces of a prompt that the vocabulary does not have."""
        return self.encode(prompt).count(UNK)

    def decode(self, ids: Sequence[int], prompt: str = "") -> str:
        """Turn generated ids into the text that follows a prompt; between two words stands a space."""
        text = decode_stream(self.tokenizer, ids) if self.is_stream else self.tokenizer.decode(ids)
        is_apart = self.tokenizer.kind == "word" and prompt[-1:].strip() and text[:1].strip()
        return f" {text}" if is_apart else text

    def explain(
        self,
        prompt: str = "",
        *,
        max_tokens: int = 20,
        temperature: float = 0.0,
        top_k: int | None = None,
        top_p: float = 1.0,
        force: Mapping[int, int | str] | None = None,
        timing: bool = True,
        seed: int = 0,
        limit_mb: float = LIMIT_MB,
    ) -> Trace:
        """Go on from a prompt and record everything on the way: a trace, which can be looked at, saved and exported.

        Args:
            prompt: text before it; empty: a new line.
            max_tokens: the most pieces.
            temperature: 0 = greedy.
            top_k: as in `generate`.
            top_p: as in `generate`.
            force: what if: tokens (ids, pieces or words) at output steps counted from 1; all others are the most probable.
            timing: with times, which differ from one recording to the next.
            seed: of every draw.
            limit_mb: the most that is recorded, in 10^6 bytes.

        Raises:
            UserError: as in `generate`; no such token to force; more than `limit_mb` to record.
        """
        subject = Continuing(
            self.model,
            self.tokenizer,
            self._rules,
            None if self.is_stream else EOS,
            lambda text: stream_lines(text, self.tokenizer.kind) if self.is_stream else [text],
            lambda ids: decode_stream(self.tokenizer, ids) if self.is_stream else self.tokenizer.decode(ids),
            origin_of(self.run),
        )
        sampling, options = Sampling(temperature, top_k, top_p, seed), Options(timing, seed, limit_mb)
        ids = self.encode(prompt)
        return record_continuation(subject, prompt, ids, max_tokens, sampling, Force(force or {}), options)

    def generate(
        self, prompt: str = "", *, max_tokens: int = 200, sampling: Sampling | None = None, num_samples: int = 1
    ) -> list[Generated]:
        """Go on from a prompt.

        Args:
            prompt: text before it; empty: a new line.
            max_tokens: the most pieces; a model of lines may end earlier.
            sampling: how to draw; with its seed the number of a sample decides every draw. None: from the whole distribution.
            num_samples: how many.

        Returns:
            One continuation a sample; sample i is the same whatever `num_samples` is.

        Raises:
            UserError: a prompt of several lines for a model of single ones.
        """
        device = next(self.model.parameters()).device
        found = sample(
            self.model,
            None,
            [self.encode(prompt)] * num_samples,
            torch.full((num_samples,), max_tokens, device=device),
            sampling=sampling or Sampling(),
            eos_id=None if self.is_stream else EOS,
            rules=self._rules,
        )
        return [Generated(self.decode(h.ids, prompt), h.log_probability, len(h.ids), h.is_finished) for h in found]
