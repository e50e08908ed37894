"""Planted numbers and small corpora: what the tests of experiments start from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from seqline.data.toy import make_corpus, write_corpus
from seqline.evaluation.significance import Array
from seqline.lab.experiment import Experiment, Finding, Verdict, Wanted
from seqline.lab.laboratory import Lab, MakeCorpus
from seqline.lab.results import Made, finished

from ..comparing.small import InProcess


def hits(right: int, count: int) -> Array:
    """Return hits and cases [N 2] of `count` examples with one case each, of which the first `right` are right."""
    return np.stack([np.arange(count) < right, np.ones(count)], -1).astype(np.float64)


def states(verdicts: tuple[Verdict, ...]) -> dict[str, str]:
    """Return the state of each claim."""
    return {verdict.claim: verdict.state for verdict in verdicts}


def small_toy(pair: str) -> MakeCorpus:
    """Return what makes a small corpus of a toy pair."""

    def make(folder: Path, _lab: Lab) -> None:
        write_corpus(make_corpus(pair, 120, seed=1), folder)

    return make


def small(wanted: Wanted) -> Wanted:
    """Return a model of the same kind that is trained and asked in no time; a GRU's width is that of its words."""
    settings = {**dict(wanted.settings), "model.embed_size": 8, "training.validate_sentences": 2}
    if wanted.task == "translation":
        settings |= {"decoding.max_length_factor": 0.0, "decoding.max_length_extra": 6}
    blocks = {"model.inner_size": 8, "model.num_layers": 2}
    own = {
        "transformer": blocks,
        "transformer-pre": blocks,
        "ttt-linear": blocks,
        "bahdanau": {"model.attention_size": 8},
    }
    settings |= own.get(wanted.arch, {})
    if not wanted.arch.startswith(("transformer", "ttt")):
        settings["model.hidden_size"] = 8
    return replace(wanted, settings=tuple(settings.items()))


class SmallLab(Lab):
    """A lab whose models are small, whatever an experiment wants."""

    def train(self, wanted: Iterable[Wanted]) -> dict[Wanted, str]:
        return super().train([small(each) for each in wanted])

    def run(self, wanted: Wanted) -> Path:
        return super().run(small(wanted))


def measured(experiment: Experiment, folder: Path, corpora: Mapping[str, MakeCorpus], steps: int = 2) -> Finding:
    """Make a whole experiment with models of a few steps, check its result, and return what it found."""
    lab = SmallLab(folder, is_quick=True, corpora=corpora, start=InProcess, most_steps=steps)
    assert lab.train(experiment.models(lab)) == {}
    found = experiment.measure(lab)
    result = finished(experiment, found, Made({}))
    assert result["numbers"]
    assert all(picture.svg.startswith("<svg") and "NaN" not in picture.svg for picture in found.pictures)
    return found
