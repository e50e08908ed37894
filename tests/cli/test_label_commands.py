"""`seqline tag` and `seqline classify`: as many lines out as in, in their order."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seqline.labeller import Labeller

from ..small_labels import make_labelling_run
from .conftest import Refused, Seqline

DATA = "the old cat\n\nParis sees  zebra \n \t\ndog"
LINES = DATA.split("\n")


@pytest.fixture
def tagging(tmp_path: Path) -> Path:
    """Return a run that tags."""
    return make_labelling_run(tmp_path / "tagging", "tagging")


@pytest.fixture
def classification(tmp_path: Path) -> Path:
    """Return a run that classifies."""
    return make_labelling_run(tmp_path / "classification", "classification")


def test_a_line_of_tags_for_a_line_of_tokens(seqline: Seqline, tagging: Path, tmp_path: Path) -> None:
    expected = [" ".join(tags) for tags in Labeller.load(tagging).tag(LINES)]
    assert [len(line.split()) for line in expected] == [3, 0, 3, 0, 1]
    outcome = seqline("tag", tagging, stdin=DATA.encode())
    assert (outcome.code, outcome.stderr, outcome.lines) == (0, "", expected)
    (tmp_path / "a.txt").write_text(DATA, encoding="utf-8")
    assert seqline("tag", tagging, tmp_path / "a.txt", "--batch", "1").lines == expected
    rows = [json.loads(line) for line in seqline("tag", tagging, "-", "--json", stdin=DATA.encode()).lines]
    assert rows == [{"tokens": line.split(), "tags": tags.split()} for line, tags in zip(LINES, expected, strict=True)]


def test_a_label_for_a_line_of_text(seqline: Seqline, classification: Path) -> None:
    expected = Labeller.load(classification).classify(LINES)
    outcome = seqline("classify", classification, stdin=DATA.encode())
    assert (outcome.code, outcome.stderr, outcome.lines) == (0, "", [c.label for c in expected])
    assert [bool(label) for label in outcome.lines] == [True, False, True, False, True]
    scored = seqline("classify", classification, "-", "--scores", stdin=DATA.encode()).lines
    assert scored == [f"{c.probability:.4f}\t{c.label}" if c.label else "" for c in expected]
    rows = [json.loads(line) for line in seqline("classify", classification, "--json", stdin=DATA.encode()).lines]
    assert [(row["text"], row["label"]) for row in rows] == [(t, c.label) for t, c in zip(LINES, expected, strict=True)]
    assert [row["probability"] for row in rows] == pytest.approx([c.probability for c in expected], abs=1e-6)


def test_no_lines_in_no_lines_out(seqline: Seqline, tagging: Path, classification: Path) -> None:
    assert seqline("tag", tagging).stdout == seqline("classify", classification).stdout == b""


def test_runs_for_another_task_are_refused(refused: Refused, tagging: Path, classification: Path) -> None:
    assert "use `seqline tag`" in refused("classify", tagging)
    assert "use `seqline classify`" in refused("tag", classification)
    assert "use `seqline tag`" in refused("translate", tagging)
