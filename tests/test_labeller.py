"""Raw text in, labels out: neither the batch, nor the order, nor blank neighbours change a label."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from seqline.data.tokenizer import EOS
from seqline.errors import UserError
from seqline.labeller import Classified, Labeller
from seqline.run_folder import Tokenizers

from .small_labels import CLASSES, TAGS, WORDS, make_labelling_run
from .small_run import ReversingRun

LINES = [" ".join(WORDS[(3 * i + j * j) % len(WORDS)] for j in range(n)) for i, n in enumerate((4, 1, 9, 2, 6, 3))]


@pytest.fixture
def tagger(tmp_path: Path) -> Labeller:
    """Return a labeller that tags, in float64."""
    loaded = Labeller.load(make_labelling_run(tmp_path / "tagging", "tagging"))
    loaded.model.double()
    return loaded


@pytest.fixture
def classifier(tmp_path: Path) -> Labeller:
    """Return a labeller that classifies, in float64."""
    loaded = Labeller.load(make_labelling_run(tmp_path / "classification", "classification"))
    loaded.model.double()
    return loaded


@torch.no_grad()
def logits_alone(labeller: Labeller, ids: list[int]) -> torch.Tensor:
    return labeller.model(torch.tensor([ids]), torch.ones(1, len(ids), dtype=torch.bool))[0]


@pytest.mark.parametrize("batch_rows", [1, 4, None])
def test_tags_are_those_of_the_line_alone(tagger: Labeller, batch_rows: int | None) -> None:
    expected = [
        [TAGS.decode(i) for i in logits_alone(tagger, tagger.tokenizer.encode(line)).argmax(-1)] for line in LINES
    ]
    assert len({tag for row in expected for tag in row}) >= 3
    assert tagger.tag(LINES, batch_rows=batch_rows) == expected
    assert tagger.tag(LINES[::-1], batch_rows=batch_rows) == expected[::-1]


@pytest.mark.parametrize("batch_rows", [1, 4, None])
def test_classes_are_those_of_the_text_alone(classifier: Labeller, batch_rows: int | None) -> None:
    found = classifier.classify(LINES, batch_rows=batch_rows)
    assert len({c.label for c in found}) >= 2
    for line, classified in zip(LINES, found, strict=True):
        probabilities = logits_alone(classifier, [*classifier.tokenizer.encode(line), EOS]).softmax(-1)
        assert classified.label == CLASSES.decode(int(probabilities.argmax()))
        assert classified.probability == pytest.approx(float(probabilities.max()), abs=1e-10)
    backwards = classifier.classify(LINES[::-1], batch_rows=batch_rows)
    assert [c.label for c in backwards[::-1]] == [c.label for c in found]


def test_blank_lines_stay_in_their_place(tagger: Labeller, classifier: Labeller) -> None:
    lines = ["", LINES[0], " \t", LINES[1], "\u2003"]
    assert tagger.tag(lines) == [[], *tagger.tag([LINES[0]]), [], *tagger.tag([LINES[1]]), []]
    found = classifier.classify(lines)
    assert [found[row] for row in (0, 2, 4)] == [Classified("", 0.0)] * 3
    assert [found[row].label for row in (1, 3)] == [c.label for c in classifier.classify(LINES[:2])]
    assert (tagger.tag([]), classifier.classify([])) == ([], [])


def test_there_is_a_tag_for_every_token_known_or_not(tagger: Labeller) -> None:
    for line in ("the  cat ", "zebra the\u00a0quagga", "\u2581 x"):
        assert [len(row) for row in tagger.tag([line])] == [len(line.split())]


def test_white_space_is_normalized_where_the_run_says_so(classifier: Labeller) -> None:
    data = classifier.data.model_copy(update={"normalize_whitespace": True})
    tokenizers = Tokenizers(classifier.tokenizer, classifier.tokenizer, CLASSES)
    normalizing = Labeller(classifier.model, tokenizers, data, classifier.decoding)
    assert (
        normalizing.classify(["  the   cat"]) == normalizing.classify(["the cat"]) == classifier.classify(["the cat"])
    )
    assert classifier.classify(["  the   cat"]) != classifier.classify(["the cat"])


def test_progress_counts_every_line_once(tagger: Labeller, classifier: Labeller) -> None:
    for call in (tagger.tag, classifier.classify):
        done: list[int] = []
        call(["", *LINES], batch_rows=2, on_done=done.append)
        assert sum(done) == 1 + len(LINES)


def test_a_model_that_gives_no_numbers_is_noticed(tagger: Labeller) -> None:
    with torch.no_grad():
        next(iter(tagger.model.parameters())).fill_(float("nan"))
    with pytest.raises(FloatingPointError, match="not finite"):
        tagger.tag(LINES)


def test_other_runs_are_refused(tagger: Labeller, classifier: Labeller, reversing_run: ReversingRun) -> None:
    assert tagger.run is not None
    with pytest.raises(
        UserError, match=r"for translation, expected one for tagging or classification; use `seqline tra"
    ):
        Labeller.load(reversing_run.folder)
    with pytest.raises(UserError, match=r"for tagging, expected one for classification; use `seqline tag`"):
        Labeller.load(tagger.run.folder, task="classification")
    with pytest.raises(UserError, match=r"classify: this model is for tagging, not classification; use `tag`"):
        tagger.classify(LINES)
    with pytest.raises(UserError, match=r"tag: this model is for classification, not tagging; use `classify`"):
        classifier.tag(LINES)
    with pytest.raises(ValueError, match="needs tokenizers with labels"):
        Labeller(tagger.model, Tokenizers(tagger.tokenizer, tagger.tokenizer), tagger.data, tagger.decoding)
