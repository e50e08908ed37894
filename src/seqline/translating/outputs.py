"""What a translator gives back: outputs of a text, best first, with what is worth knowing of each."""

from __future__ import annotations

from dataclasses import dataclass

from seqline.evaluation.alignment_metrics import Link


@dataclass(frozen=True)
class Output:
    """One translation of a text.

    text: raw text. score: what outputs are ranked by (higher is better): the log-probability under the length penalty, with
    what a coverage penalty or a second model adds; for minimum Bayes risk the expected chrF2, 0 to 100.
    log_probability: natural logarithm of p(output | source). num_tokens: generated pieces, the end mark included.
    is_finished: False = cut at `max_tokens`. repetition: the output goes round in circles.
    alignment: links (source word, word of `text`), words parted by white space and counted from 0; None = not asked for.
    unmet: phrases that were asked for and found no room.
    """

    text: str
    score: float
    log_probability: float
    num_tokens: int
    max_tokens: int
    is_finished: bool
    repetition: bool = False
    alignment: tuple[Link, ...] | None = None
    unmet: tuple[str, ...] = ()


@dataclass(frozen=True)
class Translation:
    """A source text and its outputs, best first; a blank source has one empty output and was not searched.

    source_tokens: pieces of the source, end mark included. source_tokens_used: how many the model read; it is fewer where
    its positions end before the text does.
    """

    source: str
    outputs: tuple[Output, ...]
    source_tokens: int = 0
    source_tokens_used: int = 0

    @property
    def text(self) -> str:
        """The best output."""
        return self.outputs[0].text

    @property
    def truncated(self) -> bool:
        """Whether the model could not read the whole source."""
        return self.source_tokens_used < self.source_tokens


EMPTY = Output("", 0.0, 0.0, 0, 0, True)


@dataclass(frozen=True)
class Scored:
    """A pair of texts and how probable a model finds the target, the true prefix given at every step (teacher forcing).

    pieces: the target's, the end mark last. log_probabilities: of each, natural logarithms. score: their sum under the length
    penalty. num_unknown: pieces outside the vocabulary, each scored as `<unk>`.
    """

    source: str
    target: str
    pieces: tuple[str, ...]
    log_probabilities: tuple[float, ...]
    log_probability: float
    score: float
    num_unknown: int
