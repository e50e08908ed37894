"""What went wrong in outputs, and how varied they are: counts, the lines that are meant, and sentences that say so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from seqline.evaluation.counted import Flags, Ratio, any_of
from seqline.evaluation.diversity import Commonest, commonest_output, distinct, repeating_outputs
from seqline.evaluation.faithfulness import (
    copied_outputs,
    copied_words,
    detached_outputs,
    oscillating_outputs,
    unknown_outputs,
    unknown_words,
)

_SAID = {
    "cut": (
        "1 output did not end by itself and was cut at the length limit",
        "{:,} outputs did not end by themselves and were cut at the length limit",
    ),
    "empty": (
        "1 output is empty, its source and reference are not",
        "{:,} outputs are empty, their sources and references are not",
    ),
    "loop": ("1 output goes round in circles", "{:,} outputs go round in circles"),
    "copied": (
        "1 output repeats its source where the reference does not",
        "{:,} outputs repeat their source where the reference does not",
    ),
    "truncated": (
        "1 source is longer than the model reads: it saw the beginning only",
        "{:,} sources are longer than the model reads: it saw their beginning only",
    ),
}
"""What is said of one output, and of several."""


class Lines(NamedTuple):
    """What outputs are judged against: one source and one reference each. numbers: their lines in the file, from 1."""

    sources: Sequence[str]
    references: Sequence[str]
    numbers: Sequence[int]

    def at(self, row: int) -> tuple[int, str, str]:
        """Return number, source and reference of one output, counted from 0."""
        return self.numbers[row], self.sources[row], self.references[row]


@dataclass(frozen=True)
class Faults:
    """What went wrong, as flags by output: which stop at a length limit, and so on; see `faults_of`.

    unknown_words, copied_words: of all words of the outputs, those that hold an `<unk>`, and those that stand in their source.
    """

    cut: Flags
    truncated: Flags
    empty: Flags
    loop: Flags
    unknown: Flags
    copied: Flags
    oscillating: Flags
    detached: Flags
    unknown_words: Ratio
    copied_words: Ratio

    @property
    def num_cut(self) -> int:
        """Outputs that stop at the length limit."""
        return self.cut.ratio.part

    @property
    def flags(self) -> dict[str, Flags]:
        """The flags by name."""
        return {
            "cut": self.cut,
            "truncated": self.truncated,
            "empty": self.empty,
            "loop": self.loop,
            "unknown": self.unknown,
            "copied": self.copied,
            "oscillating": self.oscillating,
            "detached": self.detached,
        }

    def as_json(self, numbers: Sequence[int]) -> dict[str, Any]:
        """Return counts and line numbers; numbers: the line of each output."""
        counts = {f"num_{name}": flags.ratio.part for name, flags in self.flags.items()}
        lines = {name: [numbers[row] for row in flags.rows] for name, flags in self.flags.items()}
        words = {"unknown_words": self.unknown_words._asdict(), "copied_words": self.copied_words._asdict()}
        return {**counts, **words, "lines": lines}

    @property
    def lines(self) -> list[str]:
        """A sentence for each fault that there is; none where all is well."""
        found = [(_SAID[name], flags.ratio.part) for name, flags in self.flags.items() if name in _SAID]
        lines = [one if count == 1 else many.format(count) for (one, many), count in found if count]
        if self.unknown_words.part:
            rate = f"<unk> rate = {100 * self.unknown_words.share:.2f} % of the words"
            lines.append(f"{rate}, in {_outputs(self.unknown)}")
        astray = any_of(self.oscillating, self.detached)
        if any(astray.of):
            kinds = (
                f"{self.detached.ratio.part:,} detached (sentence chrF2 below 10), "
                f"{self.oscillating.ratio.part:,} oscillating (repeats what the source does not)"
            )
            lines.append(f"hallucination rate = {100 * astray.share:.2f} % of the outputs: {kinds}")
        return lines


def _outputs(flags: Flags) -> str:
    return "1 output" if flags.ratio.part == 1 else f"{flags.ratio.part:,} outputs"


@dataclass(frozen=True)
class Diversity:
    """How varied the outputs are: distinct n-grams of all n-grams, the output given most often, and outputs that repeat."""

    distinct_1: Ratio
    distinct_2: Ratio
    commonest: Commonest
    repeating: Flags

    @property
    def lines(self) -> list[str]:
        """The numbers in words."""
        parts = ((1, self.distinct_1), (2, self.distinct_2))
        text, ratio = self.commonest
        return [
            *(f"distinct-{n} = {found.share:.4f} ({found.part:,} of {found.whole:,})" for n, found in parts),
            f"commonest output = {ratio.share:.4f} ({ratio.part:,} of {ratio.whole:,}): {text}",
            f"repetition rate = {self.repeating.share:.4f} ({self.repeating.ratio.part:,} of {self.repeating.ratio.whole:,})",
        ]

    def as_json(self) -> dict[str, Any]:
        """Return shares, counts and words."""
        ratios = {"distinct_1": self.distinct_1, "distinct_2": self.distinct_2, "repeating": self.repeating.ratio}
        shares = {name: {"share": ratio.share, **ratio._asdict()} for name, ratio in ratios.items()}
        text, ratio = self.commonest
        return {**shares, "commonest": {"text": text, "share": ratio.share, **ratio._asdict()}, "said": self.lines}


def faults_of(
    lines: Lines,
    texts: Sequence[str],
    is_cut: tuple[bool, ...],
    is_loop: tuple[bool, ...],
    is_truncated: tuple[bool, ...],
) -> Faults:
    """Find what went wrong.

    Args:
        lines: sources and references.
        texts: one output a source.
        is_cut: outputs that stop at a length limit.
        is_loop: outputs that go round in circles.
        is_truncated: sources that were not read to their end.
    """
    sources, references, _ = lines
    sides = zip(sources, references, texts, strict=True)
    copied = zip(copied_outputs(sources, texts).of, copied_outputs(sources, references).of, strict=True)
    return Faults(
        cut=Flags(is_cut),
        truncated=Flags(is_truncated),
        empty=Flags(tuple(bool(s.strip() and r.strip()) and not text.strip() for s, r, text in sides)),
        loop=Flags(is_loop),
        unknown=unknown_outputs(texts),
        copied=Flags(tuple(output and not reference for output, reference in copied)),
        oscillating=oscillating_outputs(sources, texts),
        detached=detached_outputs(texts, references),
        unknown_words=unknown_words(texts),
        copied_words=copied_words(sources, texts),
    )


def diversity_of(texts: Sequence[str]) -> Diversity:
    """Find how varied outputs are."""
    return Diversity(distinct(texts, 1), distinct(texts, 2), commonest_output(texts), repeating_outputs(texts))
