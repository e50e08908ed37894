"""Whole comparisons of a few steps: what is found, what is kept, what is refused, and what the page holds."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import torch

import seqline
from seqline import files
from seqline.api import evaluate, evaluate_labels, evaluate_text
from seqline.comparing import compare as module
from seqline.comparing import exams, explaining
from seqline.comparing.budget import parse_budget
from seqline.comparing.compare import Compared, More, Running
from seqline.comparing.exam import Marking, check_marking
from seqline.comparing.plan import PLAN
from seqline.comparing.results import Judging, off_budget
from seqline.config import Config
from seqline.data.text import Pair, PairSet
from seqline.errors import UserError
from seqline.run_folder import Run

from ..small_run import content
from .small import GREEDY, SMALL, InProcess, asked, compared, labels, letters, never, one_file, text


@pytest.fixture(autouse=True)
def little_to_draw(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw only where pictures are looked at, and generate little."""
    monkeypatch.setattr(exams, "GENERATED", 8)
    if "page_stays" not in request.node.name:
        monkeypatch.setattr(explaining, "installed_engines", lambda: ())


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Compared, list[str]]:
    """Compare two architectures by two seeds, once; nobody may change the folder."""
    folder, said = tmp_path_factory.mktemp("comparison"), []
    found = compared(letters(folder / "data"), folder / "out", asked(seeds=2), say=said.append)
    return folder, found, said


def strict(path: Path) -> dict[str, Any]:
    """Read JSON without NaN or infinity."""

    def refuse(name: str) -> None:
        raise AssertionError(name)

    return json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)


def test_results_are_strict_json_with_stable_keys(base: tuple[Path, Compared, list[str]]) -> None:
    folder, found, _ = base
    kept = strict(folder / "out" / "results.json")
    assert kept == json.loads(json.dumps(found.results))
    assert {"format", "version", "command", "task", "budget", "seeds", "threads", "measures", "architectures", "baseline",
            "significance", "runs", "notes", "versions", "example"} <= set(kept)  # fmt: skip
    assert kept["budget"] == {"kind": "steps", "amount": 4.0, "text": "4steps", "said": "4 steps"}
    assert [(run["name"], run["state"], run["steps"]) for run in kept["runs"]] == [
        (f"{arch}-seed{seed}", "finished", 4) for arch in ("encoder-decoder", "luong") for seed in (1, 2)
    ]
    for row in kept["architectures"]:
        for key in ("parameters", "training_tokens_per_second", "answers_per_second", "peak_memory_bytes"):
            assert row[key]["n"] == 2, key
        runs = [run["scores"]["bleu"] for run in kept["runs"] if run["architecture"] == row["name"]]
        assert row["scores"]["bleu"]["values"] == runs
        assert row["scores"]["bleu"]["mean"] == pytest.approx(sum(runs) / 2)
        assert row["peak_memory_bytes"]["values"] == [1001, 1002]


def test_scores_are_those_of_evaluate(base: tuple[Path, Compared, list[str]]) -> None:
    folder, found, _ = base
    for run in found.results["runs"][1:3]:
        report = evaluate(run["folder"], folder / "data")
        assert run["scores"]["bleu"] == pytest.approx(report.scores[0].value)
        assert run["scores"]["chrf"] == pytest.approx(report.scores[1].value)


def test_every_run_has_the_same_data_and_vocabulary(base: tuple[Path, Compared, list[str]]) -> None:
    folder, _, _ = base
    manifests = [strict(path) for path in (folder / "out" / "runs").glob("*/manifest.json")]
    assert len(manifests) == 4
    assert len({manifest["data_sha256"] for manifest in manifests}) == 1
    assert len({manifest["files"]["tokenizer/shared.model"]["sha256"] for manifest in manifests}) == 1


def test_progress_is_a_line_at_each_begin_and_end(base: tuple[Path, Compared, list[str]]) -> None:
    _, _, said = base
    assert said.count("luong-seed2: begins (4 of 4)") == 1
    assert sum(line.startswith("luong-seed2: finished after 4 steps") for line in said) == 1


def test_what_is_finished_is_not_trained_again(base: tuple[Path, Compared, list[str]]) -> None:
    folder, found, _ = base
    before = content(folder / "out" / "runs")
    said: list[str] = []
    again = compared(folder / "data", folder / "out", asked(seeds=2), start=never, say=said.append)
    assert content(folder / "out" / "runs") == before
    assert again.results["runs"] == found.results["runs"]
    assert not [line for line in said if "answers the test set" in line]


def test_architectures_and_seeds_may_be_added(tmp_path: Path) -> None:
    data, begun = letters(tmp_path / "data"), []
    compared(data, tmp_path / "out", asked(("luong",)))
    found = compared(data, tmp_path / "out", asked(("luong", "encoder-decoder")), say=begun.append)
    assert [line.split(":")[0] for line in begun if "begins" in line] == ["encoder-decoder-seed1"]
    assert found.num_finished == 2
    begun.clear()
    compared(data, tmp_path / "out", asked(("luong",), seeds=2), say=begun.append)
    assert [line.split(":")[0] for line in begun if "begins" in line] == ["luong-seed2"]
    less = compared(data, tmp_path / "out", asked(("luong",)), start=never)
    assert [run["name"] for run in less.results["runs"]] == ["luong-seed1"]
    assert len(strict(tmp_path / "out" / PLAN)["runs"]) == 3


def test_a_run_that_was_cut_off_goes_on(base: tuple[Path, Compared, list[str]], tmp_path: Path) -> None:
    data = letters(tmp_path / "data")
    compared(data, tmp_path / "out", asked(("luong",), budget="6steps"))
    run = tmp_path / "out" / "runs" / "luong-seed1"
    whole = (run / "weights.safetensors").read_bytes()
    (run / "manifest.json").unlink()
    said: list[str] = []
    compared(data, tmp_path / "out", asked(("luong",), budget="6steps"), say=said.append)
    assert "luong-seed1: goes on (1 of 1)" in said
    assert (run / "weights.safetensors").read_bytes() == whole


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"budget": "5steps"}, "with budget '4steps', not '5steps'"),
        ({"threads": 2}, "with threads 1, not 2"),
        ({"settings": {"training.batch_tokens": 70}}, "with training.batch_tokens 60, not 70"),
        ({"settings": {"data.max_tokens": 100}}, "with data.max_tokens None, not 100"),
    ],
)
def test_other_settings_than_before_are_refused(
    base: tuple[Path, Compared, list[str]], changed: dict[str, Any], message: str
) -> None:
    folder, _, _ = base
    before = content(folder)
    with pytest.raises(UserError, match=re.escape(message)) as caught:
        compared(folder / "data", folder / "out", asked(**{"seeds": 2, **changed}), start=never)
    assert "\n" not in str(caught.value)
    assert content(folder) == before


def test_other_data_than_before_is_refused(base: tuple[Path, Compared, list[str]], tmp_path: Path) -> None:
    folder, _, _ = base
    with pytest.raises(UserError, match=r"holds a comparison with data \w{12}\.\.\., not \w{12}\.\.\."):
        compared(one_file(tmp_path / "all.tsv"), folder / "out", asked(seeds=2), start=never)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (asked(("luong", "lstn")), "--archs: unknown architecture 'lstn'; did you mean 'lstm'?"),
        (asked(("luong", "lstm")), "--archs: lstm does not do the task translation; these do: encoder-decoder, "),
        (asked(()), "--archs: names no architecture"),
        (asked(("luong", "luong")), "--archs: 'luong' is named twice"),
        (asked(settings={"model.num_heads": 2}), "encoder-decoder: model.num_heads: unknown key; "),
        (
            asked(settings={"training.max_steps": 2}),
            "--set training.max_steps: is set by the comparison itself; use --budget",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused_before_anything_is_made(tmp_path: Path, wanted: Any, message: str) -> None:
    with pytest.raises(UserError) as caught:
        compared(letters(tmp_path / "data"), tmp_path / "out", wanted, start=never)
    assert str(caught.value).startswith(message)
    assert not (tmp_path / "out").exists()


def test_bad_data_leaves_nothing_behind(tmp_path: Path) -> None:
    data = letters(tmp_path / "data")
    wanted = asked(budget="100tokens", settings={"data.max_tokens": 1, "training.batch_tokens": 1})
    with pytest.raises(UserError):
        compared(data, tmp_path / "out", wanted, start=never)
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_a_folder_that_is_no_comparison_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(UserError, match="exists already and holds no comparison"):
        compared(letters(tmp_path / "data"), tmp_path / "out", asked(), start=never)
    assert not list((tmp_path / "out").iterdir())


def test_a_run_that_fails_is_a_row_with_its_reason(tmp_path: Path) -> None:
    wanted = asked()
    bad = (*wanted.settings, ("luong", "training.learning_rate", 1e30), ("luong", "training.clip_norm", 0.0))
    wanted = type(wanted)(**{**vars(wanted), "settings": bad})
    found = compared(letters(tmp_path / "data"), tmp_path / "out", wanted)
    assert (found.num_finished, found.num_failed) == (1, 1)
    run = found.results["runs"][1]
    assert (run["state"], run["scores"]) == ("failed", None)
    assert "NaN or infinity" in run["reason"] or "no longer finite" in run["reason"]
    assert "luong-seed1 failed: " in (tmp_path / "out" / "report.html").read_text()
    assert "luong-seed1 failed: " in found.table
    strict(tmp_path / "out" / "results.json")


def test_a_run_that_cannot_be_examined_is_a_row_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    examine = exams.TranslationExam.answer

    def fails(exam: exams.TranslationExam, run: Run) -> dict[str, Any]:
        if run.folder.name == "luong-seed1":
            raise RuntimeError("not enough\nmemory")
        return examine(exam, run)

    monkeypatch.setattr(exams.TranslationExam, "answer", fails)
    found = compared(letters(tmp_path / "data"), tmp_path / "out", asked())
    assert [run["reason"] for run in found.results["runs"]] == [
        None, "cannot be examined: RuntimeError: not enough memory",
    ]  # fmt: skip
    assert found.results["baseline"] == "encoder-decoder"


def test_settings_that_the_comparison_has_defaults_for_may_be_set(tmp_path: Path) -> None:
    settings = {"training.patience": 3, "training.seed": 7}
    found = compared(letters(tmp_path / "data"), tmp_path / "out", asked(("luong",), seeds=2, settings=settings))
    assert found.results["seeds"] == [7, 8]
    for seed in (7, 8):
        config = content(tmp_path / "out" / "configs")[f"luong-seed{seed}.toml"].decode()
        assert "patience = 3" in config
        assert f"seed = {seed}" in config


def test_two_commands_do_not_work_in_one_folder(base: tuple[Path, Compared, list[str]], tmp_path: Path) -> None:
    folder, _, _ = base
    shutil.copytree(folder / "out", tmp_path / "out")
    before = {name: one for name, one in content(tmp_path / "out").items() if name != ".lock"}
    with files.alone_in(tmp_path / "out"), pytest.raises(UserError, match="out: another seqline works in it"):
        compared(folder / "data", tmp_path / "out", asked(("cho",), seeds=2), start=never)
    after = content(tmp_path / "out")
    assert {name: after[name] for name in after if name != ".lock"} == before


def test_a_signature_is_of_all_references() -> None:
    pairs = [Pair("a", "OK Go", 1), *(Pair("b", "我喜欢音乐", 2) for _ in range(9))]
    marking = Marking(("wer",))
    (mixed,) = exams.TranslationExam(PairSet("test", pairs), Config().data, marking).measures
    (chinese,) = exams.TranslationExam(PairSet("test", pairs[1:]), Config().data, marking).measures
    assert mixed.signature == chinese.signature


def test_a_run_off_its_time_is_told_of() -> None:
    assert off_budget(575.0, parse_budget("10m")) == []
    assert off_budget(565.0, parse_budget("10m"))[0].startswith("trained for 565 of 600 s: ")
    assert off_budget(640.0, parse_budget("10m"))[0].startswith("trained for 640 of 600 s: ")
    assert off_budget(1.0, parse_budget("10steps")) == []


def test_the_tokens_seen_are_equal_within_a_batch(tmp_path: Path) -> None:
    found = compared(letters(tmp_path / "data"), tmp_path / "out", asked(budget="300tokens"))
    seen = [run["target_tokens"] for run in found.results["runs"]]
    assert all(abs(tokens - 300) <= 30 for tokens in seen), seen  # half a batch of 60


@pytest.mark.parametrize("task", ["tagging", "classification"])
def test_labels_are_compared_too(tmp_path: Path, task: str) -> None:
    data = labels(tmp_path / "all.tsv", task)
    found = compared(data, tmp_path / "out", asked(("bilstm",), task=task))
    keys = [measure["key"] for measure in found.results["measures"]]
    assert keys == (["accuracy", "entity_f1"] if task == "tagging" else ["accuracy", "macro_f1"])
    run = found.results["runs"][0]
    report = evaluate_labels(run["folder"], tmp_path / "out" / "data").as_json()
    second = report["entities"]["f1"] if task == "tagging" else report["macro_f1"]
    assert run["scores"][keys[0]] == pytest.approx(100 * report["accuracy"])
    assert run["scores"][keys[1]] == pytest.approx(100 * second)


@pytest.mark.parametrize(("arch", "unit"), [("gru", "stream"), ("transformer", "stream"), ("lstm", "lines")])
def test_language_models_are_compared_too(tmp_path: Path, arch: str, unit: str) -> None:
    data = text(tmp_path / "all.txt", lines=300)
    settings = {"data.unit": unit, "tokenizer.kind": "char"}
    settings |= {"data.context": 16, "training.batch_tokens": 64} if unit == "stream" else {}
    found = compared(data, tmp_path / "out", asked((arch,), task="language_model", settings=settings))
    run = found.results["runs"][0]
    report = evaluate_text(run["folder"], tmp_path / "out" / "data").protocols[0]
    assert run["scores"]["nats"] == pytest.approx(report.nats_per_character, rel=1e-5)
    assert run["scores"]["bits"] == pytest.approx(report.bits_per_character, rel=1e-5)
    assert run["speed_unit"] == "pieces/s"
    lines = (tmp_path / "out" / "data" / "test.txt").read_text().splitlines()
    assert found.results["test"] == {"examples": len(lines), "unit": "lines"}


def test_a_baseline_is_what_others_are_tested_against(base: tuple[Path, Compared, list[str]]) -> None:
    folder, _, _ = base
    for baseline, other in (("luong", "encoder-decoder"), ("encoder-decoder", "luong")):
        found = compared(folder / "data", folder / "out", asked(seeds=2), Judging(baseline, trials=50), start=never)
        assert found.results["baseline"] == baseline
        assert list(found.results["significance"]["tests"]) == [other]
    with pytest.raises(UserError, match="--baseline: 'lstm' is not compared"):
        compared(folder / "data", folder / "out", asked(seeds=2), Judging("lstm"), start=never)


def test_the_page_stays_on_the_disk_and_runs_nothing(base: tuple[Path, Compared, list[str]]) -> None:
    folder, _, _ = base
    hostile = '<script>alert("x")</script> & <img src=http://evil.example/x>'
    found = compared(
        folder / "data",
        folder / "out",
        asked(seeds=2),
        Judging(sentence=hostile, marking=Marking(lowercase=True), trials=50),
        start=never,
    )
    page = found.page.read_text(encoding="utf-8")
    assert "<script" not in page
    assert "<img src=http" not in page
    assert "&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;" in page
    assert not re.findall(r"(?:src|href|srcset)=[\"'](?!data:image/svg\+xml;base64,)", page)
    assert not re.findall(r"url\(|@import|<link|<iframe|\son\w+=", page)
    assert "default-src 'none'" in page
    for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        ElementTree.fromstring(svg)
    for name in (
        "Summary",
        "By source length",
        "Learning curves",
        "Is a difference more than chance?",
        "One text, all models",
    ):
        assert f"<h2>{name}</h2>" in page
    assert page.count("<picture>") == 3
    assert [m["label"] for m in found.results["measures"]] == ["BLEU", "BLEU lowercased", "chrF2", "chrF2 lowercased"]
    assert found.results["example"]["text"] == hostile


def test_other_metrics_decide_when_named_first(base: tuple[Path, Compared, list[str]]) -> None:
    folder, _, _ = base
    how = Judging(marking=Marking(("exact", "ter"), lowercase=True), trials=50)
    found = compared(folder / "data", folder / "out", asked(seeds=2), how, start=never)
    assert [m["key"] for m in found.results["measures"]] == ["exact", "exact_lowercased", "ter"]
    wanted = [line.split("\t")[1] for line in (folder / "out/data/test.tsv").read_text(encoding="utf-8").splitlines()]
    for run in found.results["runs"]:
        answers = json.loads((folder / "out/scores" / f"{run['name']}.json").read_text(encoding="utf-8"))
        right = [one == other for one, other in zip(answers["answers"]["outputs"], wanted, strict=True)]
        assert run["scores"]["exact"] == pytest.approx(100 * sum(right) / len(right))


@pytest.mark.parametrize(
    ("marking", "task", "told"),
    [
        (Marking(("blue",)), "translation", "did you mean 'bleu'?"),
        (Marking(("bleu", "bleu")), "translation", "named twice"),
        (Marking(()), "translation", "names no metric"),
        (Marking(("exact",)), "tagging", "is for translation"),
        (Marking(lowercase=True), "language_model", "--lowercase: is for translation"),
    ],
)
def test_metrics_that_cannot_be_are_refused(marking: Marking, task: str, told: str) -> None:
    with pytest.raises(UserError) as found:
        check_marking(marking, task)
    assert told in str(found.value)


def test_without_the_engine_for_pictures_the_page_says_how_to_get_it(
    base: tuple[Path, Compared, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, _, _ = base
    monkeypatch.setattr(explaining, "installed_engines", lambda: ())
    found = compared(folder / "data", folder / "out", asked(seeds=2), Judging(trials=50), start=never)
    page = found.page.read_text(encoding="utf-8")
    assert "pip install &quot;seqline[pictures]&quot;" in page
    assert "<picture>" not in page
    assert "<summary>Every run</summary>" in page


def test_the_table_is_markdown(base: tuple[Path, Compared, list[str]]) -> None:
    folder, found, _ = base
    lines = (folder / "out" / "table.md").read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if line.startswith("| ")]
    assert rows[0].startswith("| architecture | BLEU | chrF2 | against ")
    assert {row.split(" | ")[0] for row in rows[2:4]} == {"| encoder-decoder", "| luong"}
    assert all("±" in row for row in rows[2:4])
    assert found.table.startswith("# encoder-decoder, luong: the same budget of 4 steps")


def test_python_mirrors_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "Running", lambda jobs, say: Running(jobs, say, start=InProcess))
    threads: list[int] = []
    examine = exams.TranslationExam.answer
    monkeypatch.setattr(
        exams.TranslationExam, "answer", lambda *args: threads.append(torch.get_num_threads()) or examine(*args)
    )
    settings = {**SMALL, **GREEDY, "luong:model.score": "dot", "luong:model.hidden_size": 8}
    found = seqline.compare(
        letters(tmp_path / "my data"), ["luong"], tmp_path / "out", budget="2steps", settings=settings,
        more=More(lowercase=True, test=tmp_path / "my data" / "test.tsv", threads=torch.get_num_threads() + 1),
    )  # fmt: skip
    assert found.num_finished == 1
    assert found.page.exists()
    assert threads == [torch.get_num_threads() + 1]
    command = shlex.split(found.results["command"])
    assert command[:2] == ["seqline", "compare"]
    assert "luong:model.score=dot" in command
    assert "--lowercase" in command
    assert command[command.index("--test") + 1] == str(tmp_path / "my data" / "test.tsv")
    assert "--metrics" not in command
    row = found.results["architectures"][0]
    assert row["settings"]["model.score"] == "dot"
    with pytest.raises(UserError, match="--seeds: expected 1 or more, got 0"):
        seqline.compare(tmp_path / "data", ["luong"], tmp_path / "out", seeds=0)
