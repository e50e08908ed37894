"""bottleneck, static-context and recency from end to end, on a few sentences and models that have learned nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from seqline.data.toy import make_corpus, write_corpus
from seqline.lab import bottleneck, pair, recency, static_context
from seqline.lab.experiment import Experiment
from seqline.lab.laboratory import Lab
from seqline.lab.results import Made, finished

from .small_lab import small_lab


def make(folder: Path, _lab: Lab) -> None:
    """Make a toy pair of few sentences."""
    write_corpus(make_corpus("fr-en", 40, seed=1), folder)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Yield a lab whose models say little: what has learned nothing finds no end."""
    with pytest.MonkeyPatch.context() as patch:
        short = {"decoding.beam_size": 1, "decoding.max_length_factor": 0.1, "decoding.max_length_extra": 3}
        patch.setattr(pair, "_TOY", {**pair._TOY, **short, "training.validate_sentences": 2})  # pyright: ignore[reportPrivateUsage]
        yield small_lab(tmp_path_factory.mktemp("lab"), corpora={"pair": make}, most_steps=1)


@pytest.mark.parametrize("experiment", [bottleneck.EXPERIMENT, static_context.EXPERIMENT, recency.EXPERIMENT])
def test_an_experiment_decides_every_claim(experiment: Experiment, lab: Lab) -> None:
    assert lab.train(experiment.models(lab)) == {}
    found = experiment.measure(lab)
    result = finished(experiment, found, Made({}))  # refuses a claim without a verdict, a verdict without numbers
    assert [verdict["claim"] for verdict in result["verdicts"]] == [claim.key for claim in experiment.claims]
    assert found.pictures
    assert all(picture.svg.startswith("<svg") for picture in found.pictures)
    assert all(len(row) == len(table.columns) for table in found.tables for row in table.rows)
