"""Judging a language model on a text: how probable it is, by stated protocols."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from seqline.data.batch import as_stream
from seqline.data.loader import plan_in_order
from seqline.data.plain import Text, encode_stream, lines_of
from seqline.data.stream import consecutive, overlapping
from seqline.data.tokenizer import UNK
from seqline.errors import UserError
from seqline.evaluation.likelihood import Nats, carried_nats, line_nats, window_nats
from seqline.generator import Generator
from seqline.language import context_of, is_carried
from seqline.run_folder import Run

BATCH_TOKENS = 8192


@dataclass(frozen=True)
class Protocol:
    """A text scored one way: every piece predicted once.

    name: how. nats_per_token, perplexity: per piece. nats_per_character, bits_per_character: they do not depend on the pieces.
    """

    name: str
    nats_per_token: float
    perplexity: float
    nats_per_character: float
    bits_per_character: float


@dataclass(frozen=True)
class LanguageReport:
    """What `seqline evaluate` found for a language model; the first protocol is the one to quote.

    num_characters: of the text; of lines without their ends. num_unknown: pieces outside the vocabulary.
    """

    num_tokens: int
    num_characters: int
    num_unknown: int
    protocols: tuple[Protocol, ...]

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)


def evaluate(run: Run, text: Text) -> LanguageReport:
    """Score a text.

    A stream is scored with the state carried through it where the model was trained so, else in windows of the training's
    length that overlap by half; and, beside it, in windows side by side, each from nothing: the expected value of the usual
    estimate by random windows. Lines are scored one by one, end marks included.

    Raises:
        UserError: nothing to score; a run for another task.
    """
    generator = Generator.of(run)
    if not text.text.strip():
        raise UserError("no text in it", where=text.name, fix="give a text of some lines")
    score = _stream if generator.is_stream else _lines
    return score(run, generator, text)


def _stream(run: Run, generator: Generator, text: Text) -> LanguageReport:
    ids = encode_stream(generator.tokenizer, text.text)
    model, stream, context = generator.model, as_stream(ids), context_of(run.config)
    rows, count = max(1, BATCH_TOKENS // context), len(text.text)
    if is_carried(run.config):
        first = "state carried from beginning to end", carried_nats(model, stream, context)
    else:
        nats = window_nats(model, stream, overlapping(len(ids), context), rows)
        first = f"windows of {context}, at least {context // 2} pieces before each but at the beginning", nats
    side_by_side = window_nats(model, stream, [(span, 0) for span in consecutive(len(ids), context)], rows)
    second = f"windows of {context} side by side, each from nothing", side_by_side
    protocols = tuple(_protocol(name, nats, count) for name, nats in (first, second))
    return LanguageReport(len(ids), count, ids.count(UNK), protocols)


def _lines(run: Run, generator: Generator, text: Text) -> LanguageReport:
    pairs = [pair for pair in lines_of(text).pairs if pair.target.strip()]
    lines = generator.tokenizer.encode_batch([pair.target for pair in pairs])
    plans = plan_in_order([len(line) + 1 for line in lines], BATCH_TOKENS)
    nats = line_nats(generator.model, lines, plans)
    count = sum(len(pair.target) for pair in pairs)
    protocol = _protocol("lines, each from nothing, end marks included", nats, count)
    return LanguageReport(nats.num_tokens, count, sum(line.count(UNK) for line in lines), (protocol,))


def _protocol(name: str, nats: Nats, num_characters: int) -> Protocol:
    per_token, per_character = nats.per_token, nats.total / num_characters
    return Protocol(name, per_token, math.exp(min(700.0, per_token)), per_character, per_character / math.log(2))
