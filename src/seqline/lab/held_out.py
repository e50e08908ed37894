"""The test set of a language pair of the lab."""

from __future__ import annotations

from seqline.config import DataConfig
from seqline.data.text import PairSet
from seqline.evaluation.text_metrics import source_lengths
from seqline.lab.corpora import SEED
from seqline.lab.laboratory import Lab


def test_set(lab: Lab, name: str) -> PairSet:
    """Return the test set of a corpus of the lab."""
    from seqline.comparing.sets import read_sets

    return read_sets(str(lab.corpus(name)), DataConfig(), "", SEED).test


def read_test(lab: Lab, name: str, *, at_least: int = 1, at_most: int = 10**6) -> list[tuple[str, str]]:
    """Return the test pairs whose target has so many words (characters of a script without spaces)."""
    pairs = [(pair.source, pair.target) for pair in test_set(lab, name).pairs]
    counts, _ = source_lengths([target for _, target in pairs])
    return [pair for pair, count in zip(pairs, counts, strict=True) if at_least <= count <= at_most]
