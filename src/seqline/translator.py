"""Raw text in, raw text out: a run, or several as one, as `seqline translate` and validation use them."""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from seqline.config import Config, DataConfig, DecodingConfig
from seqline.data.loader import plan_in_order
from seqline.data.tokenizer import EOS, UNK
from seqline.decoding import Sampling
from seqline.errors import UserError
from seqline.evaluation.alignment import Aligner, Forced, Reading
from seqline.evaluation.alignment_metrics import Link
from seqline.models.encoder_decoder import EncoderDecoder
from seqline.models.reading import source_readers
from seqline.recording.by_hand import Rows
from seqline.recording.document import Options
from seqline.recording.facts import origin_of
from seqline.recording.forcing import Force
from seqline.recording.translation import Translating, record_translation
from seqline.run_folder import Run, Tokenizers, load_run, require_task
from seqline.translating.finding import Finder, How, More
from seqline.translating.marked import translate_marked
from seqline.translating.members import Members
from seqline.translating.outputs import EMPTY, Scored, Translation
from seqline.translating.requests import Request, as_request
from seqline.translating.source_side import SourceSide
from seqline.translating.target_side import TargetSide
from seqline.translating.wishes import unmet
from seqline.visualize.trace import Trace
from seqline.watch import LIMIT_MB


class Translator:
    """Translates with one model, or with several as one (`ensemble`).

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
        self.runs: tuple[Run | None, ...] = (None,)
        self.members = Members([SourceSide(model, tokenizers.source, data)], self._target_side())

    def _target_side(self) -> TargetSide:
        is_reversed = self.data.target_order == "right-to-left"
        return TargetSide(self.tokenizers.target, self.decoding, is_reversed=is_reversed)

    @classmethod
    def of(cls, run: Run) -> Translator:
        """Return the translator of a loaded run.

        Raises:
            UserError: a run for another task.
        """
        require_task(run, "translation")
        translator = cls(cast("EncoderDecoder", run.model), run.tokenizers, run.config.data, run.config.decoding)
        translator.runs = (run,)
        return translator

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, device: str = "cpu") -> Translator:
        """Load a run folder.

        Raises:
            UserError: see `run_folder.load_run`; a run for another task.
        """
        return cls.of(load_run(Path(folder), device))

    def ensemble(self, others: Sequence[Translator]) -> Translator:
        """Return a translator that asks this model and others at every step and takes the mean of their probabilities.

        Settings are this one's. The targets must have one vocabulary; each model reads the source by its own tokenizer.

        Raises:
            UserError: another target tokenizer, or another order of targets.
        """
        for number, other in enumerate(others, 2):
            if other.tokenizers.target.model != self.tokenizers.target.model:
                what = f"model {number} has another target vocabulary than the first one"
                fix = "train them with one tokenizer: the same data and tokenizer settings"
                raise UserError(what, where="ensemble", fix=fix)
            if other.data.target_order != self.data.target_order:
                what = f"model {number} writes {other.data.target_order}, the first one {self.data.target_order}"
                raise UserError(what, where="ensemble", fix="use the other one as a reranker")
        together = copy.copy(self)
        together.runs = tuple(run for translator in (self, *others) for run in translator.runs)
        sides = [side for translator in (self, *others) for side in translator.members.sides]
        together.members = Members(sides, self.members.target)
        return together

    def with_decoding(self, **changes: Any) -> Translator:
        """Return a translator of the same models with other settings of the search, such as `length_penalty="gnmt:0.6"`.

        Raises:
            UserError: an unknown setting, or a value that it does not take.
        """
        settings = Config().replace(
            **{f"decoding.{k}": v for k, v in {**self.decoding.model_dump(), **changes}.items()}
        )
        other = copy.copy(self)
        other.decoding = settings.decoding
        other.members = Members(self.members.sides, other._target_side())
        return other

    @property
    def run(self) -> Run | None:
        """The run that it was loaded from, of several the first."""
        return self.runs[0]

    @property
    def name(self) -> str:
        """The folder of the run, or of all that are asked together."""
        return " + ".join("model" if run is None else str(run.folder) for run in self.runs)

    def encode(self, text: str) -> list[int]:
        """Turn a source text into ids, the end mark behind."""
        return self.members.sides[0].encode(text)

    def max_length(self, source_length: int) -> int:
        """Return the most pieces an output may have, its end mark included, for a source of that many pieces."""
        return self.members.target.max_length(source_length)

    def translate(
        self,
        texts: Sequence[str | Request],
        *,
        beam_size: int | None = None,
        n_best: int = 1,
        batch_rows: int | None = None,
        on_done: Callable[[int], None] | None = None,
        alignments: bool | Reading = False,
        more: More | None = None,
    ) -> list[Translation]:
        """Translate texts; translation i belongs to text i, a blank text gives a blank one.

        Args:
            texts: raw text, one sentence each; a `Request` says what the output must begin with, hold, and not hold.
            beam_size: hypotheses kept a sentence; 1 is greedy; None: the run's own.
            n_best: outputs a sentence, at most `beam_size` of a beam.
            batch_rows: the most sentences searched at once; None: as many as `decoding.batch_tokens` allows.
            on_done: called with the number of texts finished since the call before.
            alignments: say which source word each output word came from; a `Reading` chooses a layer and a head.
            more: all else.

        Returns:
            One translation a text.

        Raises:
            UserError: a wish that cannot be met, options that exclude each other, alignments of a model that does not attend to
                its source, or of a layer or head that it lacks.
        """
        if isinstance(texts, str):
            raise UserError("expected a list of texts, got one text", where="texts", fix="write [text]")
        requests, more = [as_request(text) for text in texts], more or More()
        how = self._how(beam_size, n_best, alignments, more)
        if more.keep_markup:
            marked = translate_marked(requests, lambda plain, places: self._all(plain, how, batch_rows, None, places))
            if on_done is not None:
                on_done(len(marked))
            return marked
        return self._all(requests, how, batch_rows, on_done)

    def _how(self, beam_size: int | None, n_best: int, alignments: bool | Reading, more: More) -> How:
        beam_size = self.decoding.beam_size if beam_size is None else beam_size
        if alignments is not False and more.keep_markup:
            what = "count the words of a plain text, and here marks stand between them"
            raise UserError(what, where="alignments", fix="leave out one of the two")
        wants_links = alignments is not False or (more.keep_markup and self.can_align)
        aligner = self.aligner(alignments if isinstance(alignments, Reading) else None) if wants_links else None
        strength = 0.0 if more.is_drawn or beam_size == 1 else self.decoding.coverage_penalty
        how = How(beam_size, n_best, more, aligner, self._coverage_reader() if strength else None, strength)
        how.check()
        return how

    def _coverage_reader(self) -> Aligner:
        try:
            return self.aligner()
        except UserError as error:
            raise UserError(error.what, where="decoding.coverage_penalty", fix="set it to 0") from error

    def _all(
        self,
        requests: Sequence[Request],
        how: How,
        batch_rows: int | None,
        on_done: Callable[[int], None] | None,
        places: Sequence[int] | None = None,
    ) -> list[Translation]:
        """Translate plain requests; places: where each stands in the input, 0, 1, ... when not given."""
        results: list[Translation | None] = [None] * len(requests)
        places = range(len(requests)) if places is None else places
        for rows, translations in self._batches(requests, how, batch_rows, places):
            for row, translation in zip(rows, translations, strict=True):
                results[row] = translation
            if on_done is not None:
                on_done(len(rows))
        return [result for result in results if result is not None]

    def _batches(
        self, requests: Sequence[Request], how: How, batch_rows: int | None, places: Sequence[int]
    ) -> Iterator[tuple[list[int], list[Translation]]]:
        """Yield the indices and translations of one batch after another, sentences of like length together."""
        blank = [i for i, request in enumerate(requests) if not request.text.strip()]
        if blank:
            empty = EMPTY if how.aligner is None else replace(EMPTY, alignment=())
            yield (
                blank,
                [Translation(r.text, (replace(empty, unmet=unmet(r, "")),)) for r in map(requests.__getitem__, blank)],
            )
        rows = [i for i, request in enumerate(requests) if request.text.strip()]
        sources = [self.members.read(requests[i].text) for i in rows]
        finder, budget = Finder(self.members, how), max(1, self.decoding.batch_tokens // how.width)
        for plan in plan_in_order([len(source[0].ids) for source in sources], budget, batch_rows):
            chosen = [rows[i] for i in plan]
            found = finder.find([requests[i] for i in chosen], [sources[i] for i in plan], [places[i] for i in chosen])
            yield chosen, found

    def score(
        self,
        pairs: Sequence[tuple[str, str]],
        *,
        batch_rows: int | None = None,
        on_done: Callable[[int], None] | None = None,
        may_cut: bool = False,
    ) -> list[Scored]:
        """Return how probable given targets are, the true prefix given at every step; nothing is searched.

        Args:
            pairs: source and target, raw text.
            batch_rows: the most pairs at once; None: as many as `decoding.batch_tokens` allows.
            on_done: called with the number of pairs finished since the call before.
            may_cut: of a source longer than the model's positions the beginning is read, as in `translate`; else it is refused.

        Raises:
            UserError: a text longer than the model has positions for.
        """
        sources = [self.members.read(source) for source, _ in pairs]
        for number, source in enumerate(sources, 1):
            if source[0].is_cut and not may_cut:
                what = (
                    f"pair {number}: a source of {source[0].num_given} pieces, and the model reads {len(source[0].ids)}"
                )
                raise UserError(what, where="score", fix="shorten the source")
        as_read = self.members.sides[0].as_read
        targets = [[*self.members.target.encode(as_read(target)), EOS] for _, target in pairs]
        lengths = [max(len(source[0].ids), len(target)) for source, target in zip(sources, targets, strict=True)]
        results: list[Scored | None] = [None] * len(pairs)
        for plan in plan_in_order(lengths, self.decoding.batch_tokens, batch_rows):
            logits = self.members.forced([sources[i] for i in plan], [targets[i] for i in plan])
            for i, steps in zip(plan, logits, strict=True):
                results[i] = self._scored(*pairs[i], targets[i], *self.members.target.score(steps, targets[i]))
            if on_done is not None:
                on_done(len(plan))
        return [result for result in results if result is not None]

    def can_write(self, target: str) -> bool:
        """Tell whether the model has positions for a target, its end mark included."""
        longest = self.members.longest
        return longest is None or len(self.members.target.encode(self.members.sides[0].as_read(target))) < longest

    def _scored(self, source: str, target: str, ids: list[int], steps: list[float], score: float) -> Scored:
        pieces = tuple(self.tokenizers.target.pieces(ids))
        return Scored(source, target, pieces, tuple(steps), math.fsum(steps), score, ids.count(UNK))

    def stream(
        self, text: str | Request, *, sampling: Sampling | None = None, place: int = 0
    ) -> Generator[str, None, Translation]:
        """Yield a translation as it grows, piece by piece: greedy, or drawn at random; joined it is the output of `translate`.

        What it returns at its end (`whole = yield from ...`) is that translation.

        Args:
            text: one sentence; a blank one yields nothing.
            sampling: how to draw; None: the most probable piece at each step.
            place: where the text stands among others; it names the chance, as in `translate`.

        Raises:
            UserError: a phrase that must stand in the output, which only a beam can see to; a model that writes from the end.
        """
        request = as_request(text)
        if self.members.target.is_reversed:
            what = "writes targets from their end, so that no beginning can be shown before the end is there"
            raise UserError(f"this run {what}", where="stream", fix="translate without streaming")
        if not request.text.strip():
            return Translation(request.text, (replace(EMPTY, unmet=unmet(request, "")),))
        source = self.members.read(request.text)
        memory, limits = self.members.memory([source]), self.members.limits([source])
        growing = self.members.target.grow(
            self.members.decoder, memory, limits, request, sampling=sampling, place=place
        )
        hypothesis = yield from growing
        return Finder(self.members, self._how(1, 1, False, More())).translation(request, source, [hypothesis])

    @property
    def can_align(self) -> bool:
        """Whether one model with attention to its source writes left to right."""
        is_single = len(self.members.sides) == 1 and not self.members.target.is_reversed
        return is_single and bool(source_readers(self.model.decoder))  # pyright: ignore[reportArgumentType]

    def aligner(self, reading: Reading | None = None) -> Aligner:
        """Return what aligns words by this model's attention, by the last layer's mean over its heads if not told otherwise.

        Raises:
            UserError: the model does not attend to its source, or has no such layer or head; several models; one that writes
                from the end.
        """
        self._require_single("alignments")
        return Aligner(self.model, self.tokenizers.source, self.tokenizers.target, reading)

    def _require_single(self, what: str) -> None:
        if len(self.members.sides) > 1:
            raise UserError(
                "an ensemble has no states and no attention of its own", where=what, fix="ask one of its runs"
            )
        if self.members.target.is_reversed:
            raise UserError(
                "the run writes targets from their end", where=what, fix="use a run that writes left to right"
            )

    def align(self, pairs: Sequence[tuple[str, str]], reading: Reading | None = None) -> list[tuple[Link, ...]]:
        """Return the links (source word, target word) of pairs of raw text, the target forced on the model.

        Raises:
            UserError: as `aligner`.
        """
        side = self.members.sides[0]
        read = [(side.as_read(source), side.as_read(target)) for source, target in pairs]
        return self.aligner(reading).align(
            [Forced(s, t, self.encode(s), self.tokenizers.target.encode(t)) for s, t in read]
        )

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
        self._require_single("explain")
        subject = Translating(
            self.model,
            *(self.tokenizers.source, self.tokenizers.target),
            self.members.target.rules,
            self.decoding.length_penalty,
            self.max_length,
            origin_of(self.run),
            self.data.normalize_whitespace,
        )
        options = Options(timing, seed, limit_mb)
        return record_translation(
            subject, text, beam_size or self.decoding.beam_size, Force(force or {}), options, attention_rows
        )
