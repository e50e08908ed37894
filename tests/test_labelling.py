"""Taggers and classifiers trained on labelled text: runs that come back, and labels that nobody trained on."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from seqline import labelling
from seqline.data.batch import Tagged, collate_tagged
from seqline.data.text import read_pairs
from seqline.errors import UserError
from seqline.evaluation.tag_metrics import Share
from seqline.label_report import evaluate
from seqline.labeller import Labeller
from seqline.run import Trained
from seqline.run_folder import load_run

from .small_models import assert_equal
from .small_run import logged, weights
from .small_texts import NAMES, quick, write_classed, write_tagged

CASES = {
    "tagging-bilstm": ("tagging", "bilstm"),
    "tagging-transformer": ("tagging", "transformer"),
    "classification-learned-dot": ("classification", "gru", "model.query_score=dot"),
    "classification-learned-additive": ("classification", "gru", "model.query_score=additive"),
    "classification-last-dot": ("classification", "gru", "model.query=last"),
    "classification-last-general": ("classification", "gru", "model.query=last", "model.query_score=general"),
}
WRITE = {"tagging": write_tagged, "classification": write_classed}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {task: write(tmp_path_factory.mktemp(task)) for task, write in WRITE.items()}


@pytest.fixture(scope="module", params=list(CASES))
def trained(
    request: pytest.FixtureRequest, folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Trained:
    task, arch, *more = CASES[request.param]
    return quick(task, folders[task], tmp_path_factory.mktemp("run") / "run", arch, *more)


def test_a_run_comes_back_and_has_the_validation_that_was_logged(trained: Trained, folders: dict[str, Path]) -> None:
    run, best = load_run(trained.folder), trained.result.best
    assert best is not None
    assert run.manifest["validation"] == {"nats_per_token": best.validation.loss, **best.validation.scores}
    assert best.validation.loss in [x["nats_per_token"] for x in logged(trained.folder) if x["event"] == "validation"]
    assert all(torch.equal(best.weights[name], parameter) for name, parameter in run.model.named_parameters())
    config = run.config.replace(**{"data.train": str(folders[run.config.data.task])})
    prepared = labelling.read(config).prepare(run.tokenizers, config)
    assert prepared.training_task(config).validate(run.model) == best.validation


def test_accuracy_is_counted_over_the_first_validation_texts(trained: Trained, folders: dict[str, Path]) -> None:
    run, best = load_run(trained.folder), trained.result.best
    assert best is not None
    is_tagging = run.config.data.task == "tagging"
    pairs = read_pairs(str(folders[run.config.data.task] / "valid.tsv")).pairs[:6]
    labeller = Labeller.of(run)
    found, true = [], []
    for pair in pairs:  # one at a time
        found += labeller.tag([pair.source])[0] if is_tagging else [labeller.classify([pair.source])[0].label]
        true += pair.target.split() if is_tagging else [pair.target]
    right = sum(a == b for a, b in zip(found, true, strict=True))
    assert best.validation.scores == {"accuracy": 100 * right / len(true)}


def test_batches_hold_every_example_once(trained: Trained, folders: dict[str, Path]) -> None:
    run = load_run(trained.folder)
    config = run.config.replace(**{"data.train": str(folders[run.config.data.task])})
    task = labelling.read(config).prepare(run.tokenizers, config).training_task(config)
    for epoch in (0, 1):
        assert sorted(row for rows in task.plan_epoch(epoch) for row in rows) == list(range(30))
    rows = max(task.plan_epoch(0), key=len)[:4]
    with torch.no_grad():
        whole = task.compute_loss(run.model, task.make_batch(rows))
        parts = [task.compute_loss(run.model, task.make_batch([row])) for row in rows]
    assert whole.num_tokens == sum(part.num_tokens for part in parts)
    torch.testing.assert_close(whole.loss, torch.stack([part.loss for part in parts]).sum(), rtol=1e-5, atol=1e-5)
    assert task.describe_rows([0, 2]) == f"lines 1, 3 of {folders[run.config.data.task] / 'train.tsv'}"


def test_a_report_counts_over_the_test_set(trained: Trained, folders: dict[str, Path]) -> None:
    run = load_run(trained.folder)
    pairs = read_pairs(str(folders[run.config.data.task] / "test.tsv"))
    report = evaluate(run, pairs, batch_rows=3)
    assert report == evaluate(run, pairs) == evaluate(run, pairs, batch_rows=1)
    assert (report.num_examples, report.num_unknown) == (10, 0)
    labeller, sources = Labeller.of(run), [pair.source for pair in pairs.pairs]
    if run.config.data.task == "tagging":
        rows = zip(labeller.tag(sources), [pair.target.split() for pair in pairs.pairs], strict=True)
        both = [both for found, true in rows for both in zip(found, true, strict=True)]
        assert report.tags is not None
        assert report.classes is None
        assert (report.tags.num_right, report.tags.num_tokens) == (sum(a == b for a, b in both), len(both))
        assert report.tags.entities is not None
        assert report.tags.entities.num_true == sum(w in NAMES for source in sources for w in source.split())
    else:
        found = [c.label for c in labeller.classify(sources)]
        right = sum(a == pair.target for a, pair in zip(found, pairs.pairs, strict=True))
        assert report.classes is not None
        assert (report.classes.num_right, report.classes.num_texts) == (right, 10)
        assert sum(report.classes.confusion.values()) == 10


def test_the_report_for_machines(trained: Trained, folders: dict[str, Path]) -> None:
    run = load_run(trained.folder)
    report = evaluate(run, read_pairs(str(folders[run.config.data.task] / "test.tsv")))
    found, score = report.as_json(), report.tags or report.classes
    assert score is not None
    assert (found["num_examples"], found["num_unknown"], found["accuracy"]) == (10, 0, score.accuracy)
    if report.tags is not None:
        assert set(found["by_type"]) == {"NAME"}
        assert found["entities"].keys() == {"num_right", "num_found", "num_true", "precision", "recall", "f1"}
    if report.classes is not None:
        assert found["macro_f1"] == report.classes.macro_f1
        assert sum(count for _, _, count in found["confusion"]) == 10


@pytest.fixture
def tagger(folders: dict[str, Path], tmp_path: Path) -> Trained:
    return quick("tagging", folders["tagging"], tmp_path / "run", "bilstm", "training.max_steps=1")


def test_unknown_labels_are_missed_and_blank_lines_do_not_count(tagger: Trained, tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("the cat\tX B-NEW\n\n \t \nAna\tB-NAME\n")
    report = evaluate(load_run(tagger.folder), read_pairs(str(tmp_path / "a.tsv")))
    assert (report.num_examples, report.num_unknown) == (2, 2)
    assert report.tags is not None
    assert report.tags.num_tokens == 3
    assert report.tags.num_right <= 1
    assert report.tags.by_type["NEW"] == Share(0, 0, 1)
    for content, message in (
        ("Ana\tB-NAME\nthe cat\tD\n", r"a\.tsv:2: 2 tokens but 1 tag"),
        ("\n \t\n", "no usable pairs"),
    ):
        (tmp_path / "a.tsv").write_text(content)
        with pytest.raises(UserError, match=message):
            evaluate(load_run(tagger.folder), read_pairs(str(tmp_path / "a.tsv")))


def test_nothing_is_trained_on_a_label_that_is_not_there(tagger: Trained) -> None:
    model = load_run(tagger.folder).model.double()
    known = collate_tagged([Tagged([5, 6, 7], [0, 1, 2])], [0])
    partly = collate_tagged([Tagged([5, 6, 7], [0, -1, 2])], [0])
    logits = model(known.source, known.source_is_real)
    logits.retain_grad()
    model.forward = lambda *_: logits
    whole, part = (labelling.label_loss(model, batch, 0.0) for batch in (known, partly))
    assert (whole.num_tokens, part.num_tokens) == (3, 2)
    missing = -logits[0, 1].log_softmax(-1)[1]
    assert_equal([whole.loss - missing], [part.loss])
    (gradient,) = torch.autograd.grad(part.loss, logits)
    assert not gradient[0, 1].any()
    assert gradient[0, 0].any()


def test_a_validation_set_with_other_labels_is_refused(folders: dict[str, Path], tmp_path: Path) -> None:
    for task, line in (("tagging", "the cat\td n"), ("classification", "the cat\tNo Name")):
        (tmp_path / "v.tsv").write_text(f"{line}\n" * 3)
        with pytest.raises(UserError, match=r"v\.tsv: no label of the first 3 validation examples is among those"):
            quick(task, folders[task], tmp_path / "run", "bilstm", f"data.valid={tmp_path / 'v.tsv'}")
    assert not (tmp_path / "run").exists()


def test_lines_left_out_are_counted(tmp_path: Path) -> None:
    more = ("data.max_tokens=3", "training.max_steps=1")
    texts = [f"w{n} the{' w' * (n % 4)}" for n in range(30)]
    rows = [f"{text}\t{' '.join('N' if word[0] == 'w' else 'D' for word in text.split())}\n" for text in texts]
    (tmp_path / "a.tsv").write_text("\n" + "".join(rows))
    said: list[str] = []
    quick("tagging", tmp_path / "a.tsv", tmp_path / "run", "bilstm", *more, say=said.append)
    assert said[0].startswith("held out 10 of 30 examples for validation")
    tally = next(line for line in said if line.startswith("kept "))
    assert "1 empty (line 1)" in tally
    assert "over 3 tokens" in tally
    (tmp_path / "b.tsv").write_text("the cat sees the dog\tD N V D N\n" * 9)
    with pytest.raises(UserError, match="no usable examples"):
        quick("tagging", tmp_path / "b.tsv", tmp_path / "c", "bilstm", *more, f"data.valid={tmp_path / 'b.tsv'}")


@pytest.mark.parametrize("task", ["tagging", "classification"])
def test_a_stopped_run_goes_on_exactly(folders: dict[str, Path], tmp_path: Path, task: str) -> None:
    whole = quick(task, folders[task], tmp_path / "whole", "bilstm")
    asked = iter([None] * 6)
    quick(task, folders[task], tmp_path / "run", "bilstm", should_stop=lambda: next(asked, "interrupted"))
    resumed = quick(task, folders[task], tmp_path / "run", "bilstm", resume=True)
    assert resumed.result.trained_steps == 1
    assert weights(resumed.folder) == weights(whole.folder)
