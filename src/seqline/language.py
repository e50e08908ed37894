"""The language model as something to train: a stream cut into windows, or lines; its loss and its validation."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any

import torch
from torch.nn import Module

from seqline import files
from seqline.architectures import ARCHITECTURES
from seqline.config import Config
from seqline.corpus import Corpus, Prepared
from seqline.data.batch import TextBatch, as_stream, collate_lines, collate_spans
from seqline.data.loader import longest_row, plan_epoch, plan_in_order, too_long
from seqline.data.plain import Text, TextData, encode_stream, hold_out_end, lines_of, read_plain_data, stream_lines
from seqline.data.stream import Windows, consecutive
from seqline.data.text import PairSet, Tally, hold_out
from seqline.data.tokenizer import Tokenizer, train_tokenizer
from seqline.errors import UserError
from seqline.evaluation.likelihood import Nats, carried_nats, line_nats, window_nats
from seqline.run_folder import Tokenizers
from seqline.training.carried import Carried
from seqline.training.loss import LossSum, smoothed_cross_entropy
from seqline.training.progress import Validation
from seqline.training.task import TrainingTask

CONTEXT = 256  # pieces in a window, where data.context says nothing
ROWS, LEAST_ROWS = 16, 4  # windows in a batch, where training.batch_tokens says nothing; fewer teach poorly
CHARACTERS_A_LINE = 100  # of a stream, to guess the size of a model from
VALIDATION_TOKENS, VALIDATION_LANES = 4096, 16


class StreamCorpus(Corpus):
    """One long text to train on and one to validate with."""

    def __init__(self, data: TextData) -> None:
        for text in data:
            if text is not None and len(text.text.strip()) < 2:
                raise UserError("no text in it", where=text.name, fix="give a text of some lines")
        train, valid = data if data.valid is not None else hold_out_end(data.train)
        assert valid is not None
        held = f"held out the last {len(valid.text):,} characters for validation (--valid gives your own)"
        self.notes = () if data.valid is not None else (held,)
        self.train, self.valid = train, valid
        self.fingerprint = files.sha256(f"{train.text}\0{valid.text}".encode())
        self.num_examples = len(train.text) // CHARACTERS_A_LINE

    def fill(self, config: Config) -> Config:
        """Fix the length of a window, how many there are in a batch, and whether the state is carried."""
        length = len(self.train.text)
        if config.data.context is not None and config.data.context > length:
            what = f"a window of {config.data.context:,} pieces, but the text has {length:,} characters"
            raise UserError(what, where="data.context", fix=f"give at most {length}")
        context = min(context_of(config), length)
        chosen = {"data.unit": "stream", "data.context": context, "data.carry_state": is_carried(config)}
        batch_tokens = config.training.batch_tokens or ROWS * context
        return config.replace(**chosen, **{"training.batch_tokens": batch_tokens})

    def train_tokenizers(self, config: Config) -> Tokenizers:
        """Train the tokenizer; the newline is one of its characters, also where the text has none."""
        return _one_tokenizer(stream_lines(f"{self.train.text}\n", config.tokenizer.kind), config)

    def prepare(self, tokenizers: Tokenizers, config: Config) -> Prepared:
        """Encode both texts whole."""
        return PreparedStream(self.train, self.valid, tokenizers.source, config)


class PreparedStream(Prepared):
    """A stream of ids and how it is cut."""

    def __init__(self, train: Text, valid: Text, tokenizer: Tokenizer, config: Config) -> None:
        self.notes = ()
        self.stream, self.valid = (as_stream(encode_stream(tokenizer, text.text)) for text in (train, valid))
        self.name, self.num_characters = train.name, len(train.text)
        self.context, self.is_carried = context_of(config), is_carried(config)
        self.windows = Windows(len(self.stream) - 1, self.context, config.training.seed)
        self.shortest, self.longest = self.context, LEAST_ROWS * self.context

    def _rows(self, batch_tokens: int) -> int:
        return max(1, batch_tokens // self.context)

    def _plan(self, epoch: int, batch_tokens: int) -> list[list[int]]:
        plan = self.windows.plan_carried if self.is_carried else self.windows.plan_shuffled
        return plan(epoch, self._rows(batch_tokens))

    def num_batches(self, batch_tokens: int) -> int:
        """Count the batches of the first epoch."""
        return len(self._plan(0, batch_tokens))

    def widest(self, batch_tokens: int) -> list[int]:
        """Return a whole window; the first of an epoch may be shorter."""
        return [min(1, self.windows.count(0) - 1)]

    def tally(self, batch_tokens: int) -> str:
        """Say how long the stream is and how it is cut."""
        how = "the state carried from each to the next" if self.is_carried else "each from an empty state"
        return (
            f"{self.num_characters:,} characters, {len(self.stream) - 1:,} pieces, in windows of {self.context}, {how}; "
            f"{self._rows(batch_tokens)} at a time"
        )

    def training_task(self, config: Config) -> TrainingTask:
        """Return windows, the loss of every piece in them, and validation by the same protocol."""
        training, device = config.training, torch.device(config.training.device)
        windows, carried = self.windows, Carried() if self.is_carried else None

        def make_batch(rows: Sequence[int]) -> TextBatch:
            return collate_spans(self.stream, [windows.span(row) for row in rows], rows).to(device)

        def compute_loss(model: Module, batch: TextBatch) -> LossSum:
            if carried is None:
                logits, _ = model(batch.inputs, model.initial_state(None, len(batch.rows)))  # pyright: ignore[reportCallIssue]
            else:
                initial_state: Any = model.initial_state
                state = carried.begin(batch.rows, windows.is_first(batch.rows[0]), lambda n: initial_state(None, n))
                logits, state = model(batch.inputs, state, None, batch.mask)
                carried.keep(state)
            return smoothed_cross_entropy(logits, batch.targets, batch.is_real, training.label_smoothing)

        def describe_rows(rows: Sequence[int]) -> str:
            spans = ", ".join("{:,}-{:,}".format(*windows.span(row)) for row in rows[:20])
            return f"pieces {spans} of {self.name}"

        return TrainingTask(
            plan_epoch=lambda epoch: self._plan(epoch, training.batch_tokens or 1),
            make_batch=make_batch,
            compute_loss=compute_loss,
            validate=lambda model: as_validation(self._validate(model, training.validate_sentences)),
            describe_rows=describe_rows,
            carried=carried,
        )

    def _validate(self, model: Module, num_windows: int) -> Nats:
        stream = self.valid[: num_windows * self.context + 1]
        if self.is_carried:
            return carried_nats(model, stream, self.context, VALIDATION_LANES)
        windows = [(span, 0) for span in consecutive(len(stream) - 1, self.context)]
        return window_nats(model, stream, windows, self._rows(VALIDATION_TOKENS))


class LinesCorpus(Corpus):
    """Lines, each a text of its own."""

    def __init__(self, data: TextData, seed: int) -> None:
        train, self.tally, said = _without_blank(data.train)
        valid = data.valid and _without_blank(data.valid)
        if valid is None:
            train, held = hold_out(train, seed)
            count = len(held.pairs)
            said = (*said, f"held out {count:,} of {self.tally.kept:,} lines for validation (--valid gives your own)")
            self.valid = held
        else:
            self.valid = valid[0]
        self.train, self.notes, self.num_examples = train, said, len(train.pairs)
        both = "\0".join("\n".join(pair.target for pair in pairs.pairs) for pairs in (self.train, self.valid))
        self.fingerprint = files.sha256(both.encode())

    def train_tokenizers(self, config: Config) -> Tokenizers:
        """Train the tokenizer on the lines."""
        return _one_tokenizer([pair.target for pair in self.train.pairs], config)

    def prepare(self, tokenizers: Tokenizers, config: Config) -> Prepared:
        """Encode the lines; what is too long is counted."""
        return PreparedLines(self, tokenizers.source, config.data.max_tokens)


class PreparedLines(Prepared):
    """Lines as ids, with what was left out."""

    def __init__(self, corpus: LinesCorpus, tokenizer: Tokenizer, max_tokens: int) -> None:
        self.left_out, unused = copy.deepcopy(corpus.tally), Tally(len(corpus.valid.pairs))
        self.name = corpus.train.name
        self.places, self.lines = _encode_lines(corpus.train, tokenizer, max_tokens, self.left_out)
        _, self.valid = _encode_lines(corpus.valid, tokenizer, max_tokens, unused)
        self.notes = (f"validation: {unused}",) if unused.reasons else ()
        self.lengths = [len(line) + 1 for line in self.lines]
        self.shortest, self.longest = min(self.lengths), max(self.lengths)

    def num_batches(self, batch_tokens: int) -> int:
        """Count the batches of the first epoch."""
        return len(plan_epoch(self.lengths, self.lengths, batch_tokens, 0, 0))

    def widest(self, batch_tokens: int) -> list[int]:
        """Return the longest one."""
        return [longest_row(self.lengths, self.lengths, self.lengths, batch_tokens)]

    def tally(self, batch_tokens: int) -> str:
        """Say how many lines are kept and why others are not."""
        tally = copy.deepcopy(self.left_out)
        for row in too_long(self.lengths, self.lengths, batch_tokens):
            tally.add(f"over {batch_tokens} batch tokens", self.places[row])
        return str(tally)

    def training_task(self, config: Config) -> TrainingTask:
        """Return batches of lines, the loss of every piece and end mark, and validation."""
        training, device, lines, places = config.training, torch.device(config.training.device), self.lines, self.places

        def compute_loss(model: Module, batch: TextBatch) -> LossSum:
            logits, _ = model(batch.inputs, model.initial_state(None, len(batch.rows)))  # pyright: ignore[reportCallIssue]
            return smoothed_cross_entropy(logits, batch.targets, batch.is_real, training.label_smoothing)

        some = self.valid[: training.validate_sentences]
        plans = plan_in_order([len(line) + 1 for line in some], VALIDATION_TOKENS)
        return TrainingTask(
            plan_epoch=lambda epoch: plan_epoch(
                self.lengths, self.lengths, training.batch_tokens or 1, training.seed, epoch
            ),
            make_batch=lambda rows: collate_lines(lines, rows).to(device),
            compute_loss=compute_loss,
            validate=lambda model: as_validation(line_nats(model, some, plans)),
            describe_rows=lambda rows: f"lines {', '.join(str(places[r]) for r in rows[:20])} of {self.name}",
        )


def read(config: Config) -> Corpus:
    """Read a text for a language model; without a validation text hold one out.

    Raises:
        UserError: a file that does not read, or too little in it; `data.carry_state` for an architecture that is not trained so.
    """
    if config.data.carry_state and not ARCHITECTURES[config.model.architecture].carries_state:
        what = (
            f"{config.model.architecture} is trained in windows that each begin from nothing, with no state carried on"
        )
        raise UserError(what, where="data.carry_state", fix="leave it out")
    data = read_plain_data(config.data.train, config.data.valid)
    return LinesCorpus(data, config.training.seed) if config.data.unit == "lines" else StreamCorpus(data)


def as_validation(nats: Nats) -> Validation:
    """Return what a validation shows: perplexity and bits per piece; the loss decides."""
    loss = nats.per_token
    scores = {"perplexity": math.exp(min(700.0, loss)), "bits": loss / math.log(2)}
    return Validation(loss, scores, -loss)


def context_of(config: Config) -> int:
    """Return the length of a window."""
    return config.data.context or CONTEXT


def is_carried(config: Config) -> bool:
    """Tell whether the state goes on from window to window: as `data.carry_state` says, else as suits the architecture."""
    said = config.data.carry_state
    return ARCHITECTURES[config.model.architecture].carries_state if said is None else said


def _one_tokenizer(lines: Sequence[str], config: Config) -> Tokenizers:
    settings = config.tokenizer
    tokenizer = train_tokenizer(lines, settings.kind, settings.vocab_size, byte_fallback=settings.byte_fallback)
    return Tokenizers(tokenizer, tokenizer)


def _without_blank(text: Text) -> tuple[PairSet, Tally, tuple[str, ...]]:
    lines = lines_of(text)
    tally = Tally(len(lines.pairs))
    for pair in lines.pairs:
        if not pair.target.strip():
            tally.add("empty", pair.line)
    kept = [pair for pair in lines.pairs if pair.target.strip()]
    if not kept:
        raise UserError("no line with text in it", where=text.name, fix="give a text of some lines")
    return PairSet(lines.name, kept), tally, ()


def _encode_lines(
    lines: PairSet, tokenizer: Tokenizer, max_tokens: int, tally: Tally
) -> tuple[list[int], list[list[int]]]:
    """Return the line numbers and ids of the lines that are short enough."""
    kept = []
    for pair, ids in zip(lines.pairs, tokenizer.encode_batch([p.target for p in lines.pairs]), strict=True):
        if len(ids) > max_tokens:
            tally.add(f"over {max_tokens} tokens", pair.line)
        else:
            kept.append((pair.line, ids))
    if not kept:
        raise UserError(f"no usable lines: {tally}", where=lines.name, fix="raise data.max_tokens")
    return [line for line, _ in kept], [ids for _, ids in kept]
