"""The commands as functions."""

from __future__ import annotations

from pathlib import Path

import pytest

import seqline
from seqline.api import Explaining, Judging, evaluate, explain, read_scored, train
from seqline.errors import UserError
from seqline.report import evaluate as evaluate_pairs
from seqline.run_folder import load_run
from seqline.translator import Translator

from .small_run import ReversingRun, letter_pairs, pair_set, quick_run, settings, weights, write_letters, write_tsv

DOTTED = {
    "model.embed_size": 8,
    "model.hidden_size": 8,
    "model.input_feeding": False,
    "tokenizer.kind": "word",
    "training.max_steps": 3,
    "training.validate_every": 3,
}


def test_training_is_what_the_run_module_does(tmp_path: Path) -> None:
    data = write_letters(tmp_path / "data")
    values = dict(setting.split("=") for setting in settings() if not setting.startswith("model.architecture"))
    typed = {key: value for key, value in values.items() if key in ("tokenizer.kind", "model.score")}
    typed |= {"model.input_feeding": False}
    typed |= {key: float(value) if "." in value else int(value) for key, value in values.items() if value[0].isdigit()}
    trained = train(data, "luong", tmp_path / "api", settings=typed)
    quick_run(data, tmp_path / "run")
    assert weights(trained.folder) == weights(tmp_path / "run")


def test_arguments_become_settings(tmp_path: Path) -> None:
    data = write_letters(tmp_path / "data")
    valid = write_tsv(tmp_path / "own.tsv", letter_pairs(5, seed=7))
    trained = train(str(data), "luong", str(tmp_path / "run"), valid=valid, settings=DOTTED, max_minutes=5, seed=4)
    config = load_run(trained.folder).config
    assert (config.training.seed, config.training.max_minutes, config.training.max_steps) == (4, 5.0, 3)
    assert config.model.architecture == "luong"
    other = train(data, "luong", tmp_path / "other", settings=DOTTED, seed=4)
    assert other.facts["validation"] != trained.facts["validation"]


def test_a_run_is_resumed(tmp_path: Path) -> None:
    data = write_letters(tmp_path / "data")
    train(data, "luong", tmp_path / "run", settings=DOTTED)
    with pytest.raises(UserError, match="exists already"):
        train(data, "luong", tmp_path / "run", settings=DOTTED)
    more = train(data, "luong", tmp_path / "run", settings={**DOTTED, "training.max_steps": 5}, resume=True)
    assert more.result.trained_steps == 2


@pytest.mark.parametrize(
    ("arch", "changes", "message"),
    [
        ("lunog", {}, "unknown architecture 'lunog'; did you mean 'luong'"),
        ("luong", {"training.max_step": 5}, "unknown key; did you mean 'max_steps'"),
        ("luong", {"training.max_steps": "5"}, "expected a whole number"),
        ("luong", {"training.max_steps": True}, "expected a whole number, got true"),
    ],
)
def test_mistakes_are_user_errors(tmp_path: Path, arch: str, changes: dict[str, object], message: str) -> None:
    with pytest.raises(seqline.UserError, match=message):
        train(tmp_path / "none.tsv", arch, tmp_path / "run", settings=changes)
    assert list(tmp_path.iterdir()) == []


def test_evaluating_takes_a_folder_or_a_translator(reversing_run: ReversingRun) -> None:
    translator = Translator.load(reversing_run.folder)
    expected = evaluate_pairs(translator, pair_set(*reversing_run.test))
    assert evaluate(translator, reversing_run.data / "test.tsv").scores == expected.scores
    assert evaluate(str(reversing_run.folder), str(reversing_run.data)).scores == expected.scores
    assert len(evaluate(translator, reversing_run.data, lowercase=True).scores) == 6
    assert evaluate(translator, reversing_run.data, beam_size=1).beam_size == 1


KEYS = ("source", "target")


def test_of_a_folder_the_test_set_is_scored(tmp_path: Path) -> None:
    data = write_letters(tmp_path / "data")
    assert read_scored(str(data), KEYS).pairs == letter_pairs(40, seed=3)
    assert read_scored(str(data / "valid.tsv"), KEYS).pairs == letter_pairs(20, seed=2)
    (data / "test.tsv").unlink()
    with pytest.raises(UserError, match="no test set in this folder"):
        read_scored(str(data), KEYS)
    with pytest.raises(UserError, match="no such file"):
        read_scored(str(data / "test.tsv"), KEYS)


def test_json_lines_are_read_by_the_runs_own_keys(reversing_run: ReversingRun, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"fr": "a b", "en": "b a"}\n')
    with pytest.raises(UserError, match=r"a\.jsonl:1"):
        evaluate(reversing_run.folder, tmp_path / "a.jsonl")
    translator = Translator.load(reversing_run.folder)
    own = translator.data.model_copy(update={"keys": ("fr", "en")})
    keyed = Translator(translator.model, translator.tokenizers, own, translator.decoding)
    assert [t.source for t in evaluate(keyed, tmp_path / "a.jsonl").translations] == ["a b"]


def test_the_public_names_work_together(tmp_path: Path) -> None:
    data = write_letters(tmp_path / "data")
    run = seqline.train(data, "luong", tmp_path / "run", settings=DOTTED)
    [translation] = seqline.Translator.load(run.folder).translate(["a b"])
    assert isinstance(translation, seqline.Translation)
    assert isinstance(seqline.evaluate(run.folder, data), seqline.Report)
    assert "luong" in seqline.ARCHITECTURES
    assert len(seqline.make_corpus("fr-en", 20).train) == 20


def test_explaining_takes_what_the_task_knows(reversing_run: ReversingRun) -> None:
    found = explain(reversing_run.folder, "a b", force={1: "h"}, more=Explaining(timing=False, seed=4)).document
    assert (found["meta"]["seed"], found["meta"]["ms_total"], found["decode"]["mode"]) == (4, None, "forced")
    with pytest.raises(UserError, match=r"max_tokens: is for language_model, and the run .* is for translation"):
        explain(reversing_run.folder, "a b", more=Explaining(max_tokens=3))


def test_evaluating_against_another_system(reversing_run: ReversingRun, tmp_path: Path) -> None:
    data = reversing_run.data
    outputs = tmp_path / "outputs.txt"
    outputs.write_text("".join(f"{target}\n" for _, target in reversing_run.test))
    more = Judging(resamples=50, seed=2, num_examples=1)
    options = {"beam_size": 1, "metrics": ["ter"], "frequencies": data / "train.tsv", "more": more}
    report = evaluate(reversing_run.folder, data, against=outputs, **options)  # type: ignore[arg-type]
    assert report.comparison is not None
    assert [test.name for test in report.comparison.tests] == ["BLEU", "chrF2", "exact match", "TER"]
    assert (report.comparison.how.resamples, report.comparison.how.seed) == (50, 2)
    assert (len(report.comparison.losses), len(report.judged.worst)) == (1, 1)
    assert report.judged.by_frequency is not None
    assert sum(bucket.words.num_true for bucket in report.judged.by_frequency) == sum(
        len(target.split()) for _, target in reversing_run.test
    )
    translator = Translator.load(reversing_run.folder)
    for same in (translator, reversing_run.folder):
        comparison = evaluate(translator, data, against=same, **options).comparison  # type: ignore[arg-type]
        assert comparison is not None
        assert {test.difference for test in comparison.tests} == {0.0}
