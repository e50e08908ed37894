"""The training that the tour looks back on: alignment error and attention at each copy of the weights."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from seqline.data.text import read_pairs
from seqline.evaluation.alignment_metrics import parse_gold, score_alignments
from seqline.tour.recordings import learning
from seqline.training.snapshots import FOLDER, read_snapshots
from seqline.training.weights import load_weights
from seqline.translator import Translator

from ..small_run import quick_run, write_letters


def test_a_point_stands_at_each_copy_of_the_weights(tmp_path: Path) -> None:
    data = write_letters(tmp_path / "data")
    pairs = read_pairs(str(data / "test.tsv")).pairs
    lengths = [len(pair.source.split()) for pair in pairs]
    lines = [" ".join(f"{i}-{n - 1 - i}" for i in range(n)) for n in lengths]
    (data / "alignments").mkdir()
    (data / "alignments" / "test.pharaoh").write_text("".join(f"{line}\n" for line in lines))
    run = quick_run(data, tmp_path / "run", "training.snapshots=3").folder
    translator = Translator.load(run)
    trace = translator.explain("a b c", beam_size=1, timing=False)

    found = learning(run, trace)
    block = found.document["training"]
    assert block["steps"].tolist() == [shot["step"] for shot in block["snapshots"]] == [1, 5, 12]
    assert {shot["weights"].shape for shot in block["snapshots"]} == {trace.document["attention"][0]["weights"].shape}
    assert np.abs(block["snapshots"][0]["weights"] - block["snapshots"][2]["weights"]).max() > 1e-6
    errors = []
    for _, weights in read_snapshots(run / FOLDER):
        load_weights(translator.model, weights, "a copy")
        links = translator.align([pair[:2] for pair in pairs])
        errors.append(score_alignments(links, parse_gold(lines, "gold")).error_rate)
    assert block["metrics"]["alignment error rate"] == pytest.approx(errors)
    assert found.to_json()

    shutil.rmtree(run / FOLDER)
    assert learning(run, trace) is trace
