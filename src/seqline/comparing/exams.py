"""The exam of each task: translations and texts here, labels in label_exams.py; one table names them all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from seqline.comparing.exam import TIMED, Answers, Exam, Marking, Measure, PairExam, Speed, timed
from seqline.comparing.label_exams import ClassificationExam, TaggingExam
from seqline.comparing.nats import line_sums, stream_sums
from seqline.config import DataConfig
from seqline.data.plain import Text
from seqline.data.text import PairSet, normalize_whitespace
from seqline.decoding import Sampling
from seqline.evaluation.metrics import METRICS, Array, MetricOptions
from seqline.evaluation.significance import mean_statistics, mean_value
from seqline.evaluation.text_checks import choose_tokenizer
from seqline.generator import Generator
from seqline.run_folder import Run
from seqline.translator import Translator

GENERATED, SAMPLES = 128, 4
"""So many pieces are generated in each of so many samples, to be timed."""


class TranslationExam(PairExam):
    """Sources to translate by the run's own search; BLEU and chrF2, or other metrics of text."""

    unit = "sentences"

    def __init__(self, test: PairSet, data: DataConfig, marking: Marking) -> None:
        super().__init__(test)
        if data.normalize_whitespace:
            self.references = [normalize_whitespace(reference) for reference in self.references]
        self.tokenize = choose_tokenizer(self.references)
        self.measures = tuple(each for name in marking.metrics for each in self._measures(name, marking.lowercase))

    def _measures(self, name: str, lowercase: bool) -> list[Measure]:
        cased = self._measure(name, lowercase=False)
        lowered = self._measure(name, lowercase=True)
        return [cased, lowered] if lowercase and lowered.signature != cased.signature else [cased]

    def _measure(self, name: str, lowercase: bool) -> Measure:
        metric, options = METRICS[name], MetricOptions(lowercase, self.tokenize)
        score = metric.score(self.references, self.references, options)
        more = ("_lowercased", " lowercased") if lowercase else ("", "")
        return Measure(
            f"{name}{more[0]}",
            f"{score.name}{more[1]}",
            metric.is_higher_better,
            score.signature,
            2,
            lambda answers: metric.statistics(answers["outputs"], self.references, options),
            metric.value,
        )

    def answer(self, run: Run) -> dict[str, Any]:
        """Translate everything."""
        best = [translation.outputs[0] for translation in Translator.of(run).translate(self.sources)]
        loops = sum(output.repetition for output in best)
        return {"outputs": [o.text for o in best], "num_cut": sum(not o.is_finished for o in best), "num_loops": loops}

    def time(self, run: Run) -> Speed:
        """Translate the first sentences once more."""
        sources, translator = self.sources[:TIMED], Translator.of(run)
        return timed(len(sources), "sentences/s", lambda: translator.translate(sources))

    def reply(self, run: Run, text: str) -> str:
        """Translate one sentence."""
        return Translator.of(run).translate([text])[0].text

    def notes(self, answers: Answers) -> list[str]:
        """Say how many outputs were cut or go round in circles."""
        cut, loops = answers["num_cut"], answers["num_loops"]
        said = [f"{cut:,} of {self.num_examples:,} outputs stop at the length limit"] if cut else []
        return [
            *said,
            *([f"{loops:,} of {self.num_examples:,} outputs repeat themselves without end"] if loops else []),
        ]


class TextExam(Exam):
    """A text that a language model finds more or less probable; an example is a line of it."""

    unit, length = "lines", "line length"

    def __init__(self, test: Text, data: DataConfig, _: Marking) -> None:
        self.text, self.is_stream = test, data.unit != "lines"
        self.lines = test.text.removesuffix("\n").split("\n")
        if not self.is_stream:
            self.lines = [line for line in self.lines if line.strip()]
        self.num_examples = len(self.lines)
        self.measures = (
            Measure("nats", "nats/character", False, "natural logarithm, summed and divided once", 4,
                    self._sums, mean_value),
            Measure("bits", "bits/character", False, "nats divided by the logarithm of 2", 4,
                    self._sums, lambda sums: mean_value(sums) / np.log(2)),
        )  # fmt: skip

    def answer(self, run: Run) -> dict[str, Any]:
        """Say how improbable each line is, and its characters."""
        # Nothing comes behind the last line end of a stream, and nothing is no line.
        sums = stream_sums(run, self.text)[: self.num_examples] if self.is_stream else line_sums(run, self.lines)
        return {"nats": sums[:, 0].tolist(), "characters": [int(count) for count in sums[:, 1]]}

    def time(self, run: Run) -> Speed:
        """Generate some text from nothing."""
        generator = Generator.of(run)
        made: list[Any] = []
        speed = timed(0, "pieces/s", lambda: made.extend(generator.generate(max_tokens=GENERATED, num_samples=SAMPLES)))
        return speed._replace(number=sum(each.num_tokens for each in made))

    def reply(self, run: Run, text: str) -> str:
        """Go on from a text."""
        return Generator.of(run).generate(text, max_tokens=40, sampling=Sampling(temperature=0.0))[0].text

    def texts(self) -> Sequence[str]:
        """Return the lines."""
        return self.lines

    def middle(self) -> str:
        """Return the first half of a line of middle length, to be gone on from."""
        words = super().middle().split(" ")
        return " ".join(words[: max(1, len(words) // 2)])

    def _sums(self, answers: Answers) -> Array:
        return mean_statistics(answers["nats"], answers["characters"])


EXAMS: dict[str, Callable[[Any, DataConfig, Marking], Exam]] = {
    "translation": TranslationExam,
    "language_model": TextExam,
    "tagging": TaggingExam,
    "classification": ClassificationExam,
}
"""How each task is examined: made of its test set, how text is read, and how translations are marked."""
