"""How well rare words come out: precision, recall and F1 of target words by how often the training text has them.

A word is a run of letters, digits and their marks, in lower case; in references written without word spaces every letter or
digit is a word. So a comma or a capital makes no word rare.

*Source*: Neubig, Dou, Hu, Michel, Pruthi and Wang 2019, "compare-mt: A Tool for Holistic Comparison of Language Generation
Systems" (word accuracy by bucket).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from seqline.evaluation.tag_metrics import Share
from seqline.evaluation.text_checks import check_lines, refuse_subword_marks
from seqline.evaluation.text_units import letters_only, split_units, splitter


class FrequencyBucket(NamedTuple):
    """Words that the training text has `least` to `most` times; most None = no upper end.

    words: those of the output that stand in the reference (num_right), those of the output (num_found) and of the reference
    (num_true), with precision, recall and F1 from 0 to 1.
    """

    least: int
    most: int | None
    words: Share

    @property
    def label(self) -> str:
        """Return the range in words: "0", "2-5", "over 1000"."""
        if self.most is None:
            return f"over {self.least - 1}"
        return str(self.least) if self.least == self.most else f"{self.least}-{self.most}"


def words_by_frequency(
    hypotheses: Sequence[str],
    references: Sequence[str],
    training: Iterable[str],
    edges: Sequence[int] = (0, 1, 5, 10, 100, 1000),
) -> list[FrequencyBucket]:
    """Count target words right, found and there, in buckets of how often the training text has them.

    A word of an output is right as often as its own reference has it, wherever it stands there.

    Args:
        hypotheses: Raw output, one sentence an item.
        references: Raw references, one a hypothesis, in the same order.
        training: Raw target lines of the training text; read once, and never held.
        edges: The most times of each bucket but the last, growing from 0 or more.

    Returns:
        One bucket an edge and one above the last edge, empty buckets included.

    Raises:
        UserError: No lines, unequal counts, or hypotheses with subword marks.
        ValueError: Edges that do not grow from 0 or more.

    *Source*: Neubig et al. 2019.
    """
    if list(edges) != sorted(set(edges)) or min(edges, default=0) < 0:
        raise ValueError(f"edges grow from 0 or more; got {tuple(edges)}")
    check_lines(hypotheses, references)
    refuse_subword_marks(hypotheses, references)
    sides = ([letters_only(line) for line in lines] for lines in (hypotheses, references))
    ours, theirs = split_units(*sides, like=references)
    found, true, right = Counter[str](), Counter[str](), Counter[str]()
    for output, reference in zip(ours, theirs, strict=True):
        found.update(output)
        true.update(reference)
        right.update(Counter(output) & Counter(reference))
    times = _times({*found, *true}, training, references)
    totals = [[0, 0, 0] for _ in range(len(edges) + 1)]
    for word in {*found, *true}:
        bucket = totals[bisect_left(edges, times[word])]
        for kind, counts in enumerate((right, found, true)):
            bucket[kind] += counts[word]
    lower = [0, *(edge + 1 for edge in edges)]
    ranges = zip(lower, [*edges, None], totals, strict=True)
    return [FrequencyBucket(least, most, Share(*counts)) for least, most, counts in ranges]


def _times(words: set[str], training: Iterable[str], like: Sequence[str]) -> Counter[str]:
    """Count these words in the training text, split as `like` is written."""
    split, times = splitter(like), Counter[str]()
    for line in training:
        times.update(word for word in split(letters_only(line)) if word in words)
    return times
