"""What `verify` looks at in a run of each task: its sentences as ids, the laws that bind it, and what it serves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import torch
from torch import nn

from seqline.data.batch import Example, source_batch
from seqline.data.plain import decode_stream, encode_stream
from seqline.data.text import normalize_whitespace
from seqline.data.tokenizer import EOS, Tokenizer
from seqline.decoding import Sampling
from seqline.errors import UserError
from seqline.evaluation.sentences import Line, own_sentences
from seqline.evaluation.subject import LabelSubject, NoSource, Subject
from seqline.evaluation.verify import LABEL_LAWS, LAWS, Law
from seqline.evaluation.verify_served import MARGIN, Agreement, served, served_labels
from seqline.evaluation.verify_text import TextSubject
from seqline.generator import Generator
from seqline.labeller import Labeller
from seqline.models.encoder_decoder import EncoderDecoder
from seqline.run_folder import Run
from seqline.translator import Translator

MOST_WRITTEN = 24
"""The most tokens of an output that is compared as it is served; under the laws, half of it."""
LEAST_WRITTEN = 3


LANGUAGE_LAWS = {name: law for name, law in LAWS.items() if name not in ("row", "greedy", "exhaustive", "search")}


class Case(ABC):
    """A run, seen by the laws.

    laws: those that bind it, by name. outputs: what they are called.
    """

    laws: Mapping[str, Law]
    outputs: str

    def __init__(self, run: Run) -> None:
        self.run, self.tokenizer = run, run.tokenizers.source
        self.most_written = MOST_WRITTEN

    @abstractmethod
    def encode(self, text: str) -> list[int]:
        """Turn a text into the ids that the model reads."""

    def encode_target(self, text: str) -> list[int]:
        """Turn a target into ids."""
        return self.run.tokenizers.target.encode(text)

    @abstractmethod
    def subject(self, model: nn.Module, lines: Sequence[Line]) -> Any:
        """Return what the laws are checked on: a model, the run's own or a copy of it, and the lines as ids."""

    @abstractmethod
    def num_logits(self) -> int:
        """Count what the model gives for one token."""

    @abstractmethod
    def served(self, lines: Sequence[Line]) -> Agreement:
        """Compare logits in the run's own precision, alone, in a batch, and step by step."""

    @abstractmethod
    def compare_outputs(self, texts: Sequence[str]) -> Agreement:
        """Compare what users get for texts one at a time and all at once."""

    def own_lines(self) -> list[Line]:
        """Make lines of the vocabulary."""
        return [Line(text) for text in own_sentences(self.tokenizer)]

    def sides(self, lines: Sequence[Line]) -> dict[str, TextSubject]:
        """Return each tokenizer with the texts of its side, by the side's name."""
        return {"text": self._side(self.tokenizer, [line.source for line in lines])}

    def _side(self, tokenizer: Tokenizer, texts: Sequence[str]) -> TextSubject:
        joined = _joined if tokenizer.kind == "word" else str
        return TextSubject(tokenizer.encode, tokenizer.decode, joined, tokenizer.vocab_size, texts)

    def reads(self, line: Line) -> bool:
        """Tell whether the model can read a line and write as much as the laws ask for; a table of positions has an end."""
        try:
            with torch.no_grad():
                self._read(line)
        except UserError:
            return False
        return True

    def make_room(self, line: Line) -> None:
        """Ask for shorter outputs, where a learned table of positions holds too few for the usual ones beside a short line."""
        while not self.reads(line) and self.most_written // 2 >= LEAST_WRITTEN:
            self.most_written //= 2

    @abstractmethod
    def _read(self, line: Line) -> None:
        """Read a line as the laws do."""


def _joined(text: str) -> str:
    return " ".join(text.split())


class TranslationCase(Case):
    """A run that translates."""

    laws, outputs = LAWS, "translations"

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.target = run.tokenizers.target
        self.model = cast("EncoderDecoder", run.model)
        self.translator = Translator(self.model, run.tokenizers, run.config.data, run.config.decoding)

    def encode(self, text: str) -> list[int]:
        """Turn a source into ids, eos behind."""
        return self.translator.encode(text)

    def own_lines(self) -> list[Line]:
        """Make pairs of both vocabularies; the longest source has not the longest target."""
        sources, targets = own_sentences(self.tokenizer, 1), own_sentences(self.target, 2)
        return [Line(source, target) for source, target in zip(sources, [*targets[3:], *targets[:3]], strict=True)]

    def sides(self, lines: Sequence[Line]) -> dict[str, TextSubject]:
        """Return both sides; a target stands for each line that has none."""
        sources, targets = [line.source for line in lines], self._targets(lines)
        return {"source": self._side(self.tokenizer, sources), "target": self._side(self.target, targets)}

    def subject(self, model: nn.Module, lines: Sequence[Line]) -> Subject:
        """Return pairs as ids."""
        read = self._as_read
        targets = [self.target.encode(read(text)) for text in self._targets(lines)]
        examples = [Example(self.encode(line.source), target) for line, target in zip(lines, targets, strict=True)]
        return Subject(cast("EncoderDecoder", model), examples, self.most_written // 2)

    def num_logits(self) -> int:
        """Count the logits of a step."""
        return _step(self.model, [EOS + 1, EOS]).shape[-1]

    def served(self, lines: Sequence[Line]) -> Agreement:
        """Compare alone, in a batch and token by token."""
        return served(self.subject(self.model, lines))

    def compare_outputs(self, texts: Sequence[str]) -> Agreement:
        """Compare translations, greedy ones and those of the run's own beam."""
        lengths = {"max_length_factor": 0.0, "max_length_extra": self.most_written, "max_length": None, "min_length": 1}
        found, limits = Agreement(), {**lengths, "coverage_penalty": 0.0, "num_groups": 1, "diversity": 0.0}
        translator = self.translator.with_decoding(**limits)
        for size in sorted({1, translator.decoding.beam_size}):
            results = [
                [(t.text, t.outputs[0].log_probability / t.outputs[0].num_tokens) for t in translations]
                for translations in (translator.translate(texts, beam_size=size, batch_rows=n) for n in (None, 1))
            ]
            for row, (together, alone) in enumerate(zip(*results, strict=True)):
                found = found.joined(_same(together, alone, row, f"beam {size}"))
        return found

    def _as_read(self, text: str) -> str:
        return normalize_whitespace(text) if self.run.config.data.normalize_whitespace else text

    def _targets(self, lines: Sequence[Line]) -> list[str]:
        made = own_sentences(self.target, 2)
        return [line.target or made[(row + 3) % len(made)] for row, line in enumerate(lines)]

    def _read(self, line: Line) -> None:
        source, is_real = source_batch([self.encode(line.source)], [0])
        target = self.target.encode(line.target or "")
        self.model(source, is_real, torch.full((1, max(len(target) + 2, self.most_written)), EOS + 1))


class LanguageCase(Case):
    """A run for a language model; its memory is None, so that padding can enter by a prompt only."""

    laws, outputs = LANGUAGE_LAWS, "continuations"

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.generator = Generator.of(run)
        self.model = self.generator.model

    def encode(self, text: str) -> list[int]:
        """Turn a text into ids without marks."""
        return encode_stream(self.tokenizer, text) if self.generator.is_stream else self.tokenizer.encode(text)

    def sides(self, lines: Sequence[Line]) -> dict[str, TextSubject]:
        """Return the one side; a stream has a sign of its own for the end of a line."""
        (side,) = super().sides(lines).values()
        decode: Callable[[Sequence[int]], str] = (
            (lambda ids: decode_stream(self.tokenizer, ids)) if self.generator.is_stream else self.tokenizer.decode
        )
        return {"text": side._replace(encode=self.encode, decode=decode)}

    def subject(self, model: nn.Module, lines: Sequence[Line]) -> Subject:
        """Return each text as a target without a source."""
        examples = [Example([EOS], self.encode(line.source)) for line in lines]
        return Subject(_alone(model), examples, self.most_written // 2)

    def num_logits(self) -> int:
        """Count the logits of a step."""
        return _step(_alone(self.model), [EOS]).shape[-1]

    def served(self, lines: Sequence[Line]) -> Agreement:
        """Compare alone, in a batch and token by token."""
        return served(self.subject(self.model, lines))

    def compare_outputs(self, texts: Sequence[str]) -> Agreement:
        """Compare what one seed draws alone and among other samples, and greedy text drawn twice."""
        found = Agreement()
        for row, text in enumerate(texts):
            for temperature, number in ((1.0, 3), (0.0, 1)):
                first, again = (self._first(text, temperature, n) for n in (1, number))
                found = found.joined(_same(again, first, row, f"temperature {temperature:g}"))
        return found

    def _first(self, text: str, temperature: float, number: int) -> tuple[str, float]:
        """Return the first of some samples, and its mean log-probability."""
        first = self.generator.generate(
            text, max_tokens=self.most_written, num_samples=number, sampling=Sampling(temperature=temperature)
        )[0]
        return first.text, first.log_probability / first.num_tokens

    def _read(self, line: Line) -> None:
        ids = [EOS + 1] * (len(self.encode(line.source)) + self.most_written)
        self.model(torch.tensor([ids]), self.model.initial_state(None, 1))


class LabelCase(Case):
    """A run that labels: tags of tokens, or a class of a text."""

    laws, outputs = LABEL_LAWS, "labels"

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.labeller = Labeller.of(run)
        self.is_tagger = run.config.data.task == "tagging"

    def encode(self, text: str) -> list[int]:
        """Turn a text into ids, as its labeller does."""
        if self.is_tagger:
            return self.tokenizer.encode(text)
        read = normalize_whitespace(text) if self.run.config.data.normalize_whitespace else text
        return [*self.tokenizer.encode(read), EOS]

    def subject(self, model: nn.Module, lines: Sequence[Line]) -> LabelSubject:
        """Return texts as ids."""
        return LabelSubject(model, [self.encode(line.source) for line in lines])

    def num_logits(self) -> int:
        """Count the logits of a text or token."""
        return self.run.model(*source_batch([[EOS + 1, EOS]], [0])).shape[-1]

    def served(self, lines: Sequence[Line]) -> Agreement:
        """Compare alone and in a batch."""
        return served_labels(self.subject(self.run.model, lines))

    def compare_outputs(self, texts: Sequence[str]) -> Agreement:
        """Compare labels of one batch with those of texts one at a time."""
        together, alone, found = self._labels(texts, None), self._labels(texts, 1), Agreement()
        for row, (got, expected) in enumerate(zip(together, alone, strict=True)):
            found = found.joined(_same(got, expected, row, "alone and in a batch"))
        return found

    def _labels(self, texts: Sequence[str], rows: int | None) -> list[tuple[str, float | None]]:
        """Return the labels of each text and, of a class, its probability."""
        if self.is_tagger:
            return [(" ".join(tags), None) for tags in self.labeller.tag(texts, batch_rows=rows)]
        return [(c.label, c.probability) for c in self.labeller.classify(texts, batch_rows=rows)]

    def _read(self, line: Line) -> None:
        self.run.model(*source_batch([self.encode(line.source)], [0]))


CASES: dict[str, type[Case]] = {
    "translation": TranslationCase,
    "language_model": LanguageCase,
    "tagging": LabelCase,
    "classification": LabelCase,
}


def _alone(model: nn.Module) -> EncoderDecoder:
    """Return a language model as the laws take it; its own mode is left as it is."""
    whole = EncoderDecoder(NoSource(), model)
    whole.training = whole.encoder.training = False
    return whole


def _step(model: EncoderDecoder, source: list[int]) -> torch.Tensor:
    return model(*source_batch([source], [0]), torch.tensor([[EOS + 1]]))


def _same(got: tuple[str, float | None], expected: tuple[str, float | None], row: int, where: str) -> Agreement:
    """Compare two outputs of one text, each with its mean log-probability or none; nearly equally good ones may differ."""
    if got[1] is None or expected[1] is None:
        return Agreement(1, 0, int(got[0] != expected[0]), 0.0, row, where)
    apart = abs(got[1] - expected[1])
    if got[0] == expected[0]:
        return Agreement(1, 0, 0, apart / max(1.0, abs(expected[1])), row, where)
    is_close = apart <= MARGIN
    return Agreement(1, int(is_close), int(not is_close), 0.0 if is_close else apart, row, where)
