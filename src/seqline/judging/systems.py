"""The two kinds of systems that are judged: a run, which is asked, and a file, which holds what some other system said."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from seqline.config import DecodingConfig
from seqline.data.text import PairSet, normalize_whitespace, read_lines
from seqline.decoding.repetition import is_loop
from seqline.errors import UserError
from seqline.evaluation.metrics import Array
from seqline.evaluation.significance import mean_statistics
from seqline.evaluation.text_checks import refuse_subword_marks
from seqline.evaluation.text_units import split_units
from seqline.judging.judge import Answers
from seqline.translator import Translator


@dataclass(frozen=True)
class Likelihood:
    """How probable the references are, the true prefix given (teacher forcing), over every pair with both sides.

    nats_per_token: minus log p, per target piece, `</s>` included; `perplexity` is its exponential. Pieces depend on the
    tokenizer; nats_per_character (of the references as they are scored, line ends not counted) do not.
    num_unknown: target words or characters outside the vocabulary, each scored as one `<unk>`.
    num_left_out: pairs with both sides, one of them longer than the model has positions for.
    statistics: [N 2], nats and characters of every pair, 0 for those without a likelihood.
    """

    nats_per_token: float
    perplexity: float
    nats_per_character: float
    num_tokens: int
    num_characters: int
    num_unknown: int
    num_left_out: int
    statistics: Array = field(repr=False, compare=False)

    def as_json(self) -> dict[str, float]:
        """Return everything but what single pairs add."""
        return {name: value for name, value in vars(self).items() if name != "statistics"}


class Search(NamedTuple):
    """How outputs are asked for. beam_size, batch_rows: None = the run's own. on_done: told how many more texts are done."""

    beam_size: int | None = None
    batch_rows: int | None = None
    on_done: Callable[[int], None] | None = None


class System(Protocol):
    """What can be judged."""

    @property
    def name(self) -> str:
        """A folder or a file."""
        ...

    @property
    def num_searches(self) -> int:
        """How often every source is searched for an answer."""
        ...

    def answer(self, pairs: PairSet, search: Search) -> Answers:
        """Return an output for every source."""
        ...

    def likelihood(self, pairs: PairSet) -> Likelihood | None:
        """Return how probable the references are, or None where there is no model to ask."""
        ...

    def settings(self, search: Search) -> Mapping[str, object]:
        """Return what two systems should share for their outputs to compare, as far as it is known."""
        ...


@dataclass(frozen=True)
class RunSystem:
    """A translator, asked for its outputs."""

    translator: Translator

    @property
    def name(self) -> str:
        """The run's folder."""
        return self.translator.name

    @property
    def num_searches(self) -> int:
        """Once."""
        return 1

    def answer(self, pairs: PairSet, search: Search) -> Answers:
        """Translate every source; a blank one has a blank output."""
        translations = self.translator.translate(
            [pair.source for pair in pairs.pairs],
            beam_size=search.beam_size,
            batch_rows=search.batch_rows,
            on_done=search.on_done,
        )
        best = [translation.outputs[0] for translation in translations]
        return Answers(
            self.name,
            _say_search(search.beam_size or self.translator.decoding.beam_size, self.translator.decoding),
            tuple(output.text for output in best),
            tuple(not output.is_finished for output in best),
            tuple(output.repetition for output in best),
            tuple(translation.truncated for translation in translations),
            tuple(translations),
        )

    def likelihood(self, pairs: PairSet) -> Likelihood:
        """Ask the model for the probability of every reference."""
        return likelihood(self.translator, pairs)

    def settings(self, search: Search) -> Mapping[str, object]:
        """Return how it searches, what it was trained on, and its vocabulary."""
        translator = self.translator
        decoding = {f"decoding.{key}": value for key, value in translator.decoding.model_dump().items()}
        del decoding["decoding.batch_tokens"]  # changes no output
        return {
            **decoding,
            "decoding.beam_size": search.beam_size or translator.decoding.beam_size,
            "data.normalize_whitespace": translator.data.normalize_whitespace,
            "data.fingerprint": translator.data.fingerprint,
            "vocabulary": translator.tokenizers.target.model,
        }


@dataclass(frozen=True)
class FileSystem:
    """Outputs read from a file, line n for pair n."""

    name: str
    lines: tuple[str, ...]
    num_searches: int = 0

    def answer(self, pairs: PairSet, search: Search) -> Answers:
        """Return the lines. Nobody knows which were cut; a loop shows in the words."""
        units = split_units(self.lines, like=[pair.target for pair in pairs.pairs])[0]
        loops = tuple(is_loop(_as_ids(words)) for words in units)
        unknown = (False,) * len(self.lines)
        return Answers(self.name, "", self.lines, unknown, loops, unknown)

    def likelihood(self, pairs: PairSet) -> None:
        """Return None: there is no model."""

    def settings(self, search: Search) -> Mapping[str, object]:
        """Return nothing, for nothing is known."""
        return {}


def read_outputs(path: str, pairs: PairSet) -> FileSystem:
    """Read the outputs of another system, a line for each pair.

    Raises:
        UserError: no such file, another number of lines than pairs, or lines whose pieces were not joined.
    """
    lines = read_lines(path)
    name = "standard input" if path == "-" else path
    if len(lines) != len(pairs.pairs):
        what = f"{len(lines):,} lines for the {len(pairs.pairs):,} pairs of {pairs.name}"
        raise UserError(what, where=name, fix="give one output a line, in the order of the pairs")
    try:
        refuse_subword_marks(lines, [pair.target for pair in pairs.pairs])
    except UserError as error:
        raise UserError(error.what, where=name, fix="join the pieces to raw text before scoring") from error
    return FileSystem(name, tuple(lines))


def _as_ids(words: list[str]) -> list[int]:
    numbers: dict[str, int] = {}
    return [numbers.setdefault(word, len(numbers)) for word in words]


def _say_search(size: int, decoding: DecodingConfig) -> str:
    """Return how outputs are searched: the beam, and every setting that is not the default."""
    usual = {**DecodingConfig().model_dump(), "beam_size": decoding.beam_size, "batch_tokens": decoding.batch_tokens}
    own = [f"{key} {value}" for key, value in decoding.model_dump().items() if value != usual[key]]
    return ", ".join(["greedy" if size == 1 else f"beam {size}", *own])


def likelihood(translator: Translator, pairs: PairSet) -> Likelihood:
    """Measure how probable the references are; sums over all pairs, divided once.

    Raises:
        UserError: no pair has both sides and fits the model.
    """
    texts = [(_as_scored(translator, pair.source), _as_scored(translator, pair.target)) for pair in pairs.pairs]
    has_both = [row for row, (source, target) in enumerate(texts) if source.strip() and target.strip()]
    rows = [row for row in has_both if _fits(translator, *texts[row])]
    if not rows:
        raise UserError("no usable pairs", where=pairs.name, fix="each line needs a source and a target")
    scored = translator.score([texts[row] for row in rows])
    nats, characters = np.zeros(len(texts)), np.zeros(len(texts))
    nats[rows] = [-one.log_probability for one in scored]
    characters[rows] = [len(texts[row][1]) for row in rows]
    total, num_tokens, num_characters = math.fsum(nats), sum(len(one.pieces) for one in scored), int(characters.sum())
    return Likelihood(
        nats_per_token=total / num_tokens,
        perplexity=math.exp(min(700.0, total / num_tokens)),
        nats_per_character=total / num_characters,
        num_tokens=num_tokens,
        num_characters=num_characters,
        num_unknown=sum(one.num_unknown for one in scored),
        num_left_out=len(has_both) - len(rows),
        statistics=mean_statistics(nats, characters),
    )


def _as_scored(translator: Translator, text: str) -> str:
    return normalize_whitespace(text) if translator.data.normalize_whitespace else text


def _fits(translator: Translator, source: str, target: str) -> bool:
    """Tell whether the model has positions for both sides, end marks included."""
    members = translator.members
    if any(read.is_cut for read in members.read(source)):
        return False
    return translator.can_write(target)
