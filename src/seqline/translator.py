"""Raw text in, raw text out: a model, its tokenizers and a search, as `seqline translate` and validation use them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import torch

from seqline.config import DataConfig, DecodingConfig
from seqline.data.batch import source_batch
from seqline.data.loader import plan_in_order
from seqline.data.text import normalize_whitespace
from seqline.data.tokenizer import BOS, EOS, PAD, UNK
from seqline.decoding import Hypothesis, Rule, beam, forbid, greedy, min_length, parse_penalty, whole_utf8
from seqline.evaluation.alignment import Aligner, Forced, Reading
from seqline.evaluation.alignment_metrics import Link
from seqline.models.encoder_decoder import EncoderDecoder
from seqline.recording.by_hand import Rows
from seqline.recording.document import Options
from seqline.recording.facts import origin_of
from seqline.recording.forcing import Force
from seqline.recording.translation import Translating, record_translation
from seqline.run_folder import Run, Tokenizers, load_run, require_task
from seqline.visualize.trace import Trace
from seqline.watch import LIMIT_MB


@dataclass(frozen=True)
class Output:
    """One translation of a text.

    score: log-probability under the length penalty (higher is better). log_probability: natural logarithm of
    p(output | source). num_tokens: generated pieces, the end mark included. is_finished: False = cut at `max_tokens`.
    alignment: links (source word, word of `text`), words parted by white space and counted from 0; None = not asked for.
    """

    text: str
    score: float
    log_probability: float
    num_tokens: int
    max_tokens: int
    is_finished: bool
    alignment: tuple[Link, ...] | None = None


@dataclass(frozen=True)
class Translation:
    """A source text and its outputs, best first; a blank source has one empty output and was not searched."""

    source: str
    outputs: tuple[Output, ...]

    @property
    def text(self) -> str:
        """The best output."""
        return self.outputs[0].text


EMPTY = Output("", 0.0, 0.0, 0, 0, True)


class Translator:
    """Translates with one model.

    Args:
        model: in evaluation mode.
        tokenizers: its own.
        data: how sources are read.
        decoding: the defaults of a search.
    """

    def __init__(
        self, model: EncoderDecoder, tokenizers: Tokenizers, data: DataConfig, decoding: DecodingConfig
    ) -> None:
        self.model, self.tokenizers, self.data, self.decoding = model, tokenizers, data, decoding
        self.run: Run | None = None
        target = tokenizers.target
        has_bytes = any(value >= 0 for value in target.byte_values)
        # Bytes spell what the vocabulary lacks, so that <unk> is no output; without them it is one, and counted.
        never = (PAD, UNK, BOS) if has_bytes else (PAD, BOS)
        self._rules: list[Rule] = [forbid(never), min_length(decoding.min_length, EOS)]
        if has_bytes:
            self._rules.append(whole_utf8(target.byte_values))

    @classmethod
    def of(cls, run: Run) -> Translator:
        """Return the translator of a loaded run.

        Raises:
            UserError: a run for another task.
        """
        require_task(run, "translation")
        translator = cls(cast("EncoderDecoder", run.model), run.tokenizers, run.config.data, run.config.decoding)
        translator.run = run
        return translator

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, device: str = "cpu") -> Translator:
        """Load a run folder.

        Raises:
            UserError: see `run_folder.load_run`; a run for another task.
        """
        return cls.of(load_run(Path(folder), device))

    def encode(self, text: str) -> list[int]:
        """Turn a source text into ids, the end mark behind."""
        return [*self.tokenizers.source.encode(self._as_read(text)), EOS]

    def translate(
        self,
        texts: Sequence[str],
        *,
        beam_size: int | None = None,
        n_best: int = 1,
        batch_rows: int | None = None,
        on_done: Callable[[int], None] | None = None,
        alignments: bool | Reading = False,
    ) -> list[Translation]:
        """Translate texts; translation i belongs to text i, a blank text gives a blank one.

        Args:
            texts: raw text, one sentence each.
            beam_size: hypotheses kept a sentence; 1 is greedy; None: the run's own.
            n_best: outputs a sentence, at most `beam_size`.
            batch_rows: the most sentences searched at once; None: as many as `decoding.batch_tokens` allows.
            on_done: called with the number of texts finished since the call before.
            alignments: say which source word each output word came from; a `Reading` chooses a layer and a head.

        Returns:
            One translation a text.

        Raises:
            UserError: alignments of a model that does not attend to its source, or of a layer or head that it lacks.
        """
        results: list[Translation | None] = [None] * len(texts)
        aligner = self.aligner(None if alignments is True else alignments) if alignments is not False else None
        for rows, translations in self.translate_batches(texts, beam_size, n_best, batch_rows, aligner):
            for row, translation in zip(rows, translations, strict=True):
                results[row] = translation
            if on_done is not None:
                on_done(len(rows))
        return [result for result in results if result is not None]

    def translate_batches(
        self,
        texts: Sequence[str],
        beam_size: int | None,
        n_best: int,
        batch_rows: int | None,
        aligner: Aligner | None = None,
    ) -> Iterator[tuple[list[int], list[Translation]]]:
        """Yield the indices and translations of one batch after another, sentences of like length together."""
        beam_size = beam_size or self.decoding.beam_size
        blank = [i for i, text in enumerate(texts) if not text.strip()]
        if blank:
            empty = EMPTY if aligner is None else replace(EMPTY, alignment=())
            yield blank, [Translation(texts[i], (empty,)) for i in blank]
        rows = [i for i, text in enumerate(texts) if text.strip()]
        sources = [self.encode(texts[i]) for i in rows]
        budget = max(1, self.decoding.batch_tokens // beam_size)
        for plan in plan_in_order([len(source) for source in sources], budget, batch_rows):
            found = self.search([sources[i] for i in plan], beam_size, n_best)
            limits = [self.max_length(len(sources[i])) for i in plan]
            translations = [
                Translation(texts[rows[i]], tuple(self._output(h, limit) for h in hypotheses))
                for i, hypotheses, limit in zip(plan, found, limits, strict=True)
            ]
            if aligner is not None:
                pieces = [(sources[i], [h.ids for h in hypotheses]) for i, hypotheses in zip(plan, found, strict=True)]
                translations = self._aligned(aligner, translations, pieces)
            yield [rows[i] for i in plan], translations

    @torch.no_grad()
    def search(self, sources: Sequence[list[int]], beam_size: int, n_best: int = 1) -> list[list[Hypothesis]]:
        """Search one batch of encoded sources."""
        device = next(self.model.parameters()).device
        ids, is_real = (t.to(device) for t in source_batch(list(sources), range(len(sources))))
        memory = self.model.decoder.prepare(self.model.encoder(ids, is_real))
        limits = torch.tensor([self.max_length(len(source)) for source in sources], device=device)
        penalty = parse_penalty(self.decoding.length_penalty, where="decoding.length_penalty")
        if beam_size == 1:
            best = greedy(self.model.decoder, memory, limits, penalty=penalty, rules=self._rules)
            return [[hypothesis] for hypothesis in best]
        return beam(
            self.model.decoder, memory, limits, beam_size=beam_size, n_best=n_best, penalty=penalty, rules=self._rules
        )

    def aligner(self, reading: Reading | None = None) -> Aligner:
        """Return what aligns words by this model's attention, by the last layer's mean over its heads if not told otherwise.

        Raises:
            UserError: the model does not attend to its source, or has no such layer or head.
        """
        return Aligner(self.model, self.tokenizers.source, self.tokenizers.target, reading)

    def align(self, pairs: Sequence[tuple[str, str]], reading: Reading | None = None) -> list[tuple[Link, ...]]:
        """Return the links (source word, target word) of pairs of raw text, the target forced on the model.

        Raises:
            UserError: as `aligner`.
        """
        read = [(self._as_read(source), self._as_read(target)) for source, target in pairs]
        return self.aligner(reading).align(
            [Forced(s, t, self.encode(s), self.tokenizers.target.encode(t)) for s, t in read]
        )

    def _aligned(
        self,
        aligner: Aligner,
        translations: Sequence[Translation],
        pieces: Sequence[tuple[list[int], list[tuple[int, ...]]]],
    ) -> list[Translation]:
        """Return the translations with the alignment of each output; `pieces` holds the ids of source and outputs."""
        forced = [
            Forced(self._as_read(t.source), output.text, source, [i for i in ids if i != EOS])
            for t, (source, outputs) in zip(translations, pieces, strict=True)
            for output, ids in zip(t.outputs, outputs, strict=True)
        ]
        links = iter(aligner.align(forced))
        return [replace(t, outputs=tuple(replace(o, alignment=next(links)) for o in t.outputs)) for t in translations]

    def _as_read(self, text: str) -> str:
        return normalize_whitespace(text) if self.data.normalize_whitespace else text

    def explain(
        self,
        text: str,
        *,
        beam_size: int | None = None,
        force: Mapping[int, int | str] | None = None,
        attention_rows: Rows = (),
        timing: bool = True,
        seed: int = 0,
        limit_mb: float = LIMIT_MB,
    ) -> Trace:
        """Translate one text and record everything on the way: a trace, which can be looked at, saved and exported.

        Args:
            text: one sentence.
            beam_size: hypotheses kept; 1 is greedy; None: the run's own.
            force: what if: tokens (ids, pieces or words) at output steps counted from 1; all others are the most probable.
            attention_rows: what if: a weight for each source token at output steps counted from 1, in all layers and heads, or
                a list of `AttentionRow` that names them; the rest follows from it.
            timing: with times, which differ from one recording to the next.
            seed: noted in the trace; nothing is drawn.
            limit_mb: the most that is recorded, in 10^6 bytes.

        Raises:
            UserError: a blank text, no such token or row, a text longer than the model can read or than `limit_mb` holds.
        """
        subject = Translating(
            self.model,
            *(self.tokenizers.source, self.tokenizers.target),
            self._rules,
            self.decoding.length_penalty,
            self.max_length,
            origin_of(self.run),
            self.data.normalize_whitespace,
        )
        options = Options(timing, seed, limit_mb)
        return record_translation(
            subject, text, beam_size or self.decoding.beam_size, Force(force or {}), options, attention_rows
        )

    def max_length(self, source_length: int) -> int:
        """Return the most pieces an output may have, its end mark included, for a source of that many pieces."""
        limit = int(self.decoding.max_length_factor * source_length) + self.decoding.max_length_extra
        return max(limit, self.decoding.min_length + 1)

    def _output(self, hypothesis: Hypothesis, max_tokens: int) -> Output:
        text = self.tokenizers.target.decode(hypothesis.ids)
        return Output(
            text, hypothesis.score, hypothesis.log_probability, len(hypothesis.ids), max_tokens, hypothesis.is_finished
        )
