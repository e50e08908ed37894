"""Training, listing, generating and evaluating by task: what is printed, and what is refused in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seqline.api import evaluate_labels, evaluate_text
from seqline.architectures import ARCHITECTURES
from seqline.decoding import Sampling
from seqline.generator import Generator
from seqline.run_folder import load_run
from seqline.tasks import TASKS

from ..small_run import weights
from ..small_texts import quick, settings_for, write_classed, write_tagged, write_texts
from .conftest import Refused, Seqline

WRITE = {"language_model": write_texts, "tagging": write_tagged, "classification": write_classed}
ARCH = {"language_model": "gru", "tagging": "bilstm", "classification": "gru"}
SHORT = {"language_model": "lm"}
FEW = ("training.max_steps=2",)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return a folder a task with `data` and a finished `run`; and one with a run of lines."""
    found = {}
    for task, write in WRITE.items():
        found[task] = tmp_path_factory.mktemp(task)
        write(found[task] / "data")
        quick(SHORT.get(task, task), found[task] / "data", found[task] / "run", ARCH[task], *FEW)
    lines = ("data.unit=lines", "training.batch_tokens=60", *FEW)
    quick("lm", found["language_model"] / "data", found["language_model"] / "lines", "gru", *lines)
    return found


def options(task: str, *more: str) -> list[str]:
    """Return the settings of a quick run, without those that have options of their own."""
    settings = settings_for(SHORT.get(task, task), ARCH[task], *FEW, *more)
    return [f"--set={s}" for s in settings if not s.startswith(("data.task", "model.architecture"))]


@pytest.mark.parametrize("task", WRITE)
def test_a_task_is_trained_by_its_name(seqline: Seqline, runs: dict[str, Path], tmp_path: Path, task: str) -> None:
    run = tmp_path / "run"
    named = ("--task", SHORT.get(task, task), "--arch", ARCH[task])
    ended = seqline("train", runs[task] / "data", *named, "--out", run, *options(task))
    assert ended.code == 0, ended.stderr
    assert weights(run) == weights(runs[task] / "run")
    facts = load_run(run).manifest
    assert facts["task"] == task
    assert ended.lines[0] == f"{run}: {ARCH[task]}, {facts['num_parameters']:,} parameters, {facts['weights']}"
    nats = f"validation: {facts['validation']['nats_per_token']:.3f} nats a {TASKS[task].unit}, "
    assert ended.lines[1].startswith(nats + ("perplexity " if task == "language_model" else "accuracy "))
    command = TASKS[task].command
    assert ended.lines[2] == f"{command} with: seqline {command} {run}" + (" FILE" if command != "generate" else "")


def test_the_list_says_what_each_architecture_is(seqline: Seqline) -> None:
    ended = seqline("train", "--list")
    assert (ended.code, ended.stderr) == (0, "")
    blocks = [ended.lines[n : n + 4] for n in range(0, len(ended.lines), 4)]
    assert len(blocks) == len(ARCHITECTURES)
    for (name, paper, parts, tasks), recipe in zip(blocks, ARCHITECTURES.values(), strict=True):
        assert name == f"{recipe.name}: {recipe.title}"
        assert paper == f"    paper: {recipe.paper}"
        said = dict(part.split(" ", 1) for part in parts.removeprefix("    parts: ").split(" | "))
        assert said == {key: value for key, value in recipe.choices._asdict().items() if value != "-"}
        assert tasks.removeprefix("    tasks: ").split(", ") == fitting(recipe.name)


def fitting(name: str) -> list[str]:
    """Return the tasks for which a recipe has a model."""
    recipe = ARCHITECTURES[name]
    builds = {
        "translation": recipe.build,
        "language_model": recipe.language_model,
        "forecasting": recipe.build or recipe.features,
    }
    return [task for task in TASKS if builds.get(task, recipe.features) is not None]


def test_the_list_for_machines(seqline: Seqline) -> None:
    rows = json.loads(seqline("train", "--list", "--json").lines[0])
    assert [row["name"] for row in rows] == list(ARCHITECTURES)
    for row in rows:
        recipe = ARCHITECTURES[row["name"]]
        own = {"name": recipe.name, "title": recipe.title, "paper": recipe.paper}
        assert row == {**own, **recipe.choices._asdict(), "tasks": fitting(recipe.name)}
        assert row["tasks"]


def test_generating(seqline: Seqline, runs: dict[str, Path]) -> None:
    run = runs["language_model"] / "run"
    how = Sampling(temperature=0.8, seed=3, top_k=5)
    samples = Generator.load(run).generate("the cat\n", max_tokens=9, num_samples=2, sampling=how)
    how = ("--max-tokens", 9, "--samples", 2, "--seed", 3, "--top-k", 5, "--temperature", 0.8)
    ended = seqline("generate", run, "the cat\n", *how)
    assert (ended.code, ended.stderr) == (0, "")
    first, second = (f"the cat\n{sample.text}\n" for sample in samples)
    assert ended.stdout.decode() == f"{first}-----\n{second}"
    assert seqline("generate", run, "-", *how, stdin=b"the cat\n") == ended
    found = json.loads(seqline("generate", run, "the cat\n", *how, "--json").lines[0])
    assert found["prompt"] == "the cat\n"
    assert [row["text"] for row in found["samples"]] == [sample.text for sample in samples]
    assert [row["num_tokens"] for row in found["samples"]] == [9, 9]
    assert found["samples"][0]["log_probability"] == pytest.approx(samples[0].log_probability, abs=1e-5)
    assert seqline("generate", run, "--max-tokens", 5).stdout.decode() == (
        Generator.load(run).generate(max_tokens=5)[0].text + "\n"
    )


def test_generating_lines(seqline: Seqline, runs: dict[str, Path]) -> None:
    run = runs["language_model"] / "lines"
    ended = seqline("generate", run, "-", "--max-tokens", 9, stdin=b"the cat\n")
    assert ended.lines == ["the cat" + Generator.load(run).generate("the cat", max_tokens=9)[0].text]


@pytest.mark.parametrize("name", ["run", "lines"])
def test_evaluating_a_language_model(seqline: Seqline, runs: dict[str, Path], name: str) -> None:
    run, data = runs["language_model"] / name, runs["language_model"] / "data"
    report = evaluate_text(run, data)
    ended = seqline("evaluate", run, data)
    assert (ended.code, ended.stderr) == (0, "")
    assert ended.lines[0] == f"{report.num_characters} characters, {report.num_tokens} pieces"
    assert [line.removesuffix(":") for line in ended.lines[1::2]] == [found.name for found in report.protocols]
    first = report.protocols[0]
    assert ended.lines[2] == (
        f"  {first.nats_per_token:.4f} nats a piece (perplexity {first.perplexity:.3f}); "
        f"{first.nats_per_character:.4f} nats, {first.bits_per_character:.4f} bits per character"
    )
    found = json.loads(seqline("evaluate", run, data / "test.txt", "--json").lines[0])
    own = json.loads(json.dumps(report.as_json()))
    assert found == {"run": str(run), "data": str(data / "test.txt"), **own}
    odd = seqline("evaluate", run, "-", stdin=b"the xylophone\n")
    assert "pieces are outside the vocabulary (<unk>)" in odd.lines[1]


def test_evaluating_a_tagger(seqline: Seqline, runs: dict[str, Path]) -> None:
    run, data = runs["tagging"] / "run", runs["tagging"] / "data"
    report = evaluate_labels(run, data)
    assert report.tags is not None
    ended = seqline("evaluate", run, data, "--batch", 2)
    assert (ended.code, ended.stderr) == (0, "")
    assert ended.lines[:2] == [
        f"10 lines, {report.tags.num_tokens} tokens",
        f"accuracy = {100 * report.tags.accuracy:.2f}",
    ]
    assert [line.split()[0] for line in ended.lines[2:]] == ["label", "all", "NAME"]
    found = json.loads(seqline("evaluate", run, data, "--json").lines[0])
    assert found == {"run": str(run), "data": str(data), **json.loads(json.dumps(report.as_json()))}
    odd = seqline("evaluate", run, "-", stdin=b"the cat\tD X\n")
    assert "1 labels of the reference are not known to the model and count as missed" in odd.lines
    assert not any(line.startswith("label") for line in odd.lines)  # no entity stands there


def test_evaluating_a_classifier(seqline: Seqline, runs: dict[str, Path]) -> None:
    run, data = runs["classification"] / "run", runs["classification"] / "data"
    report = evaluate_labels(run, data)
    assert report.classes is not None
    ended = seqline("evaluate", run, data)
    assert (ended.code, ended.stderr) == (0, "")
    assert ended.lines[:2] == ["10 texts", f"accuracy = {100 * report.classes.accuracy:.2f}"]
    assert ended.lines[2].startswith(f"macro F1 = {100 * report.classes.macro_f1:.2f} ")
    assert [line[:7].strip() for line in ended.lines[3:]] == ["label", *report.classes.by_class]
    assert len({len(line) for line in ended.lines[3:]}) == 1
    found = json.loads(seqline("evaluate", run, data, "--json").lines[0])
    assert found == {"run": str(run), "data": str(data), **json.loads(json.dumps(report.as_json()))}


@pytest.mark.parametrize("task", WRITE)
def test_info_says_what_a_run_is_for(seqline: Seqline, runs: dict[str, Path], task: str) -> None:
    ended = seqline("info", runs[task] / "run")
    rows = {name: value.strip() for name, value in (line.split("  ", 1) for line in ended.lines)}
    run = load_run(runs[task] / "run")
    size, labels = run.tokenizers.source.vocab_size, run.tokenizers.labels
    assert rows["task"] == task
    assert rows["tokenizer"] == f"{TASKS[task].tokenizer_kind}; {size} pieces" + (
        f", {labels.size} labels" if labels else ""
    )
    found = json.loads(seqline("info", runs[task] / "run", "--json").lines[0])
    assert found["vocabulary"]["target_size"] == (labels.size if labels else size)


LM, OUT = ("--task", "lm"), ("--out", "run")
BAD_TRAINING: list[tuple[tuple[str, ...], tuple[str, ...]]] = [
    (("a.tsv", "--arch", "bilstm", *OUT), ("--arch: bilstm does not fit the task translation; it fits tagging",)),
    (("a.txt", *LM, "--arch", "luong", *OUT), ("luong does not fit the task language_model; it fits translation",)),
    (("a.tsv", "--task", "tag", "--arch", "gru", *OUT), ("--task", "'tag'", "tagging")),
    (("bad.tsv", "--task", "tagging", "--arch", "bilstm", *OUT), ("bad.tsv:2: 2 tokens but 1 tag",)),
    (("bare.tsv", "--task", "classification", "--arch", "gru", *OUT), ("bare.tsv:2: a text without a label",)),
    (("a.tsv", "--arch", "luong", *OUT, "--set", "data.unit=lines"), ("data.unit", "language_model", "translation")),
    (("a.txt", *LM, "--arch", "gru", *OUT, "--keys", "a,b"), ("data.keys", "plain text")),
    (("a.txt", *LM, "--arch", "gru", *OUT, "--set", "model.query=last"), ("model.query",)),
    (("a.txt", *LM, "--arch", "gru", *OUT, "--set", "decoding.beam_size=2"), ("decoding.beam_size", "translation")),
    (
        ("a.tsv", "--task", "tagging", "--arch", "bilstm", *OUT, "--set", "tokenizer.kind=char"),
        ("tokenizer.kind: tagging needs word, a tag for every token, got char",),
    ),
    (
        ("a.tsv", "--task", "classification", "--arch", "gru", *OUT, "--set", "model.query_score=cosine"),
        ("model.query_score", "'dot', 'general' or 'additive'"),
    ),
    (("one.tsv", "--task", "classification", "--arch", "gru", *OUT, "--valid", "one.tsv"), ("one.tsv", "2 different")),
    (("no.txt", *LM, "--arch", "gru", *OUT), ("no.txt", "no such file")),
    (("d", *LM, "--arch", "gru", *OUT), ("no training text in this folder", "train.txt")),
]


@pytest.mark.parametrize(("arguments", "words"), BAD_TRAINING, ids=" ".join)
def test_a_training_is_refused(
    refused: Refused, tmp_path: Path, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    (tmp_path / "d").mkdir()
    contents = {"a.tsv": "a b\tX Y\n", "a.txt": "a b\n" * 500, "bad.tsv": "a\tX\na b\tX\n", "bare.tsv": "a\tX\na\t\n"}
    for name, content in {**contents, "one.tsv": "a\tX\nb\tX\n"}.items():
        (tmp_path / name).write_text(content)
    message = refused("train", *arguments)
    for word in words:
        assert word in message


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("translate", "language_model"), ("is a run for language_model", "seqline generate")),
        (("tag", "language_model"), ("is a run for language_model", "seqline generate")),
        (("generate", "tagging"), ("is a run for tagging", "seqline tag")),
        (("generate", "classification"), ("is a run for classification", "seqline classify")),
        (("evaluate", "language_model", "a.txt", "--beam", "2"), ("--beam", "language_model", "leave it out")),
        (("evaluate", "language_model", "a.txt", "--by-length"), ("--by-length", "language_model")),
        (("evaluate", "language_model", "a.txt", "--lowercase"), ("--lowercase", "language_model")),
        (("evaluate", "language_model", "a.txt", "--metrics", "ter"), ("--metrics", "language_model")),
        (("evaluate", "language_model", "a.txt", "--against", "a.txt"), ("--against", "language_model")),
        (("evaluate", "tagging", "bad.tsv", "--report", "a.html"), ("--report", "tagging")),
        (("evaluate", "language_model", "a.txt", "--batch", "2"), ("--batch", "language_model")),
        (("evaluate", "language_model", "a.txt", "--keys", "a,b"), ("--keys", "language_model")),
        (("evaluate", "language_model", "blank.txt"), ("blank.txt", "no text in it")),
        (("evaluate", "language_model", "."), ("no test text in this folder",)),
        (("evaluate", "tagging", "bad.tsv"), ("bad.tsv:2: 2 tokens but 1 tag",)),
        (("evaluate", "tagging", "bad.tsv", "--beam", "2"), ("--beam", "tagging")),
        (("evaluate", "classification", "bad.tsv", "--by-length"), ("--by-length", "classification")),
        (("generate", "language_model", "a", "--temperature", "-1"), ("temperature", "-1")),
        (("generate", "language_model", "a", "--top-p", "2"), ("--top-p", "2")),
        (("generate", "language_model", "a", "--top-k", "0"), ("--top-k", "1")),
        (("generate", "language_model", "a", "--samples", "0"), ("--samples", "1")),
    ],
    ids=" ".join,
)
def test_a_command_is_refused(
    refused: Refused, tmp_path: Path, runs: dict[str, Path], arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    for name, content in {"a.txt": "a b\n", "blank.txt": "\n\n", "bad.tsv": "a\tX\na b\tX\n"}.items():
        (tmp_path / name).write_text(content)
    command, task, *more = arguments
    message = refused(command, runs[task] / "run", *more)
    for word in words:
        assert word in message


def test_a_prompt_of_several_lines_is_refused_by_a_model_of_lines(refused: Refused, runs: dict[str, Path]) -> None:
    message = refused("generate", runs["language_model"] / "lines", "the\ncat")
    assert message.startswith("error: prompt: holds a line end")
