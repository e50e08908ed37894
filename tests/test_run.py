"""Training whole runs: exact resumes, exact repeats, and refusals that leave everything as it was."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load

from seqline.architectures import ARCHITECTURES
from seqline.config import load_config
from seqline.data.text import Pair
from seqline.errors import UserError
from seqline.evaluation.text_metrics import bleu, chrf
from seqline.report import likelihood
from seqline.run import Trained, num_parameters, train
from seqline.run_folder import load_run
from seqline.training.reports import EndReport, StepReport
from seqline.translator import Translator

from .small_run import (
    ReversingRun,
    config_for,
    content,
    letter_pairs,
    logged,
    pair_set,
    quick_run,
    settings,
    weights,
    without_times,
    write_letters,
    write_tsv,
)

STEPS = 12


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_letters(tmp_path_factory.mktemp("letters"))


@pytest.fixture(scope="module")
def whole(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """Return a run that nothing stopped."""
    return quick_run(data, tmp_path_factory.mktemp("whole") / "run")


def test_a_run_holds_what_it_promises(whole: Trained, data: Path) -> None:
    assert sorted(path.name for path in whole.folder.iterdir()) == [
        "checkpoints",
        "config.toml",
        "manifest.json",
        "metrics.jsonl",
        "tokenizer",
        "weights.safetensors",
    ]
    assert (whole.result.reason, whole.result.trained_steps) == ("finished", STEPS)
    assert whole.facts["architecture"] == "luong"
    assert whole.facts["steps"] == STEPS
    assert whole.facts["ended"] == "finished"
    assert whole.facts["threads"] == 1
    run = load_run(whole.folder)
    assert {key: run.manifest[key] for key in whole.facts} == whole.facts
    assert num_parameters(run.model) == whole.facts["num_parameters"]
    config = run.config
    assert config.model.size == "tiny"
    assert config.training.max_steps == STEPS
    assert config.training.learning_rate == ARCHITECTURES["luong"].learning_rate["tiny"]
    assert config.training.threads == 1
    assert (config.data.train, config.data.valid) == ("", "")
    assert config.data.fingerprint == whole.facts["data_sha256"]
    steps = [line for line in logged(whole.folder) if line["event"] == "step"]
    assert [line["step"] for line in steps] == list(range(1, STEPS + 1))
    assert sum(line["num_tokens"] for line in steps) == whole.facts["target_tokens_seen"]


def test_no_file_of_a_run_knows_where_it_was_trained(whole: Trained, data: Path) -> None:
    for name, found in content(whole.folder).items():
        for path in (data, whole.folder, Path.home()):
            assert str(path).encode() not in found, name


def test_the_same_seed_gives_the_same_weights_and_another_one_does_not(
    whole: Trained, data: Path, tmp_path: Path
) -> None:
    torch.manual_seed(12345)  # what was drawn before does not matter
    again = quick_run(data, tmp_path / "again")
    assert weights(again.folder) == weights(whole.folder)
    assert logged(again.folder) == logged(whole.folder)
    assert without_times(again.facts) == without_times(whole.facts)
    other = quick_run(data, tmp_path / "other", "training.seed=2")
    assert weights(other.folder) != weights(whole.folder)


def test_training_leaves_the_callers_chance_alone_but_for_the_seed(data: Path, tmp_path: Path) -> None:
    drawn = []
    for name in ("a", "b"):
        quick_run(data, tmp_path / name, "training.max_steps=2")
        drawn.append(torch.rand(3).tolist())
    assert drawn[0] == drawn[1]


def test_the_seed_of_hashes_changes_nothing(whole: Trained, data: Path, tmp_path: Path) -> None:
    """This process has a random one; tests/cli/test_locale.py trains with 2."""
    arguments = ["train", str(data), "--out", str(tmp_path / "run"), *(f"--set={setting}" for setting in settings())]
    subprocess.run(
        [sys.executable, "-m", "seqline", *arguments, "--threads=1"],
        env={**os.environ, "PYTHONHASHSEED": "1"},
        check=True,
        capture_output=True,
        timeout=100,
    )
    for name in ("weights.safetensors", "tokenizer/shared.model", "config.toml"):
        assert (tmp_path / "run" / name).read_bytes() == (whole.folder / name).read_bytes()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (("model.architecture=luonk",), "--arch: unknown architecture 'luonk'; did you mean 'luong'"),
        (("model.hidden_sizes=3",), r"model\.hidden_sizes: unknown key; did you mean 'hidden_size'"),
        (("data.train=none.tsv",), r"none\.tsv: no such file"),
        (("data.valid=none.tsv",), r"none\.tsv: no such file"),
        (("training.batch_tokens=1",), r"training\.batch_tokens: 1 tokens hold no example"),
        (("tokenizer.kind=unigram", "tokenizer.vocab_size=9"), r"tokenizer\.vocab_size: "),
        (("data.max_tokens=1", "training.batch_tokens=1"), r"training\.batch_tokens: 1 tokens hold no example"),
    ],
)
def test_a_refusal_creates_nothing(data: Path, tmp_path: Path, changes: tuple[str, ...], message: str) -> None:
    config = load_config(None, [*settings(), f"data.train={data}", *changes])
    with pytest.raises(UserError, match=message):
        train(config, tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_validation_sentences_that_are_all_too_long_are_refused_before_anything_is_created(
    data: Path, tmp_path: Path
) -> None:
    valid = write_tsv(tmp_path / "long.tsv", [Pair("a b c d e f", "a", 1)])
    with pytest.raises(UserError, match="no usable pairs"):
        quick_run(data, tmp_path / "run", f"data.valid={valid}", "data.max_tokens=5")
    assert [path.name for path in tmp_path.iterdir()] == ["long.tsv"]


def test_what_the_user_is_told(tmp_path: Path) -> None:
    pairs = letter_pairs(30, seed=1)
    pairs[3:6] = [Pair("", "a", 4), Pair("a b c d e f g h", "a", 5), Pair("a " * 200, "b", 6)]
    path = write_tsv(tmp_path / "all.tsv", pairs)
    said: list[str] = []
    trained = quick_run(
        path,
        tmp_path / "run",
        "training.batch_tokens=8",
        "data.max_tokens=100",
        "training.max_steps=1",
        say=said.append,
    )
    assert said == [
        "held out 10 of 29 pairs for validation (--valid gives your own)",
        "vocabulary: 12 pieces shared",
        said[2],
        *([said[3]] if len(said) == 5 else []),
        f"luong (tiny): {trained.facts['num_parameters']:,} parameters, 1 steps of at most 8 tokens",
    ]
    kept = said[-2]
    assert kept.startswith("kept ")
    assert "1 empty source (line 4)" in kept
    # The long pair is left out of the set it fell into, and that is said.
    assert ("1 source over 100 tokens (line 6)" in kept) != (
        said[2] == "validation: kept 9 of 10: 1 source over 100 tokens (line 6)"
    )


def test_pairs_over_the_batch_are_counted_by_line_and_the_rest_is_used(tmp_path: Path) -> None:
    pairs = [Pair("a b c d", "d c b a", line) for line in range(1, 101)]
    pairs[50] = Pair("a " * 60, "b", 51)
    path = write_tsv(tmp_path / "train.tsv", pairs)
    valid = write_tsv(tmp_path / "valid.tsv", pairs[45:55])
    said: list[str] = []
    quick_run(path, tmp_path / "run", f"data.valid={valid}", "training.batch_tokens=50", say=said.append)
    assert "kept 99 of 100: 1 over 50 batch tokens (line 51)" in said


def test_callbacks_see_every_step_and_the_end(data: Path, tmp_path: Path) -> None:
    class Watcher:
        def __init__(self) -> None:
            self.seen: list[Any] = []

        def on_start(self, report: Any) -> None:
            self.seen.append(report)

        on_step = on_validation = on_end = on_start

    watcher = Watcher()
    quick_run(data, tmp_path / "run", callbacks=[watcher])
    steps = [report for report in watcher.seen if isinstance(report, StepReport)]
    assert [report.step for report in steps] == list(range(1, STEPS + 1))
    assert isinstance(watcher.seen[-1], EndReport)
    assert all(report.num_tokens <= 60 for report in steps)


def test_the_best_weights_score_what_the_manifest_says(reversing_run: ReversingRun) -> None:
    translator = Translator.load(reversing_run.folder)
    assert translator.run is not None
    found = translator.run.manifest["validation"]
    valid = letter_pairs(20, seed=2)
    outputs = [t.text for t in translator.translate([pair.source for pair in valid], beam_size=1)]
    references = [pair.target for pair in valid]
    assert found["BLEU"] == pytest.approx(bleu(outputs, references).value, abs=1e-9)
    assert found["chrF2"] == pytest.approx(chrf(outputs, references).value, abs=1e-9)
    nats = likelihood(translator, pair_set(*[pair[:2] for pair in valid])).nats_per_token
    assert found["nats_per_token"] == pytest.approx(nats, rel=1e-6)
    assert found["BLEU"] > 30.0


def test_the_weights_are_the_best_ones_validated(data: Path, tmp_path: Path) -> None:
    trained = quick_run(data, tmp_path / "run")
    validations = [line for line in logged(trained.folder) if line["event"] == "validation"]
    assert [line["step"] for line in validations] == [4, 4, 8, 8, 12, 12]
    best = max(validations, key=lambda line: (line["score"], -line["nats_per_token"]))
    assert trained.facts["validation"]["nats_per_token"] == best["nats_per_token"]
    name = "averaged" if best["weights"] == "averaged" else "best"
    assert trained.facts["weights"] == f"{name} at step {best['step']}"


SMALL = {"embed_size": 8, "hidden_size": 8, "attention_size": 8, "num_heads": 2, "inner_size": 8, "num_layers": 1}


@pytest.mark.parametrize(
    ("arch", "kind"),
    [
        *((name, "word") for name, recipe in ARCHITECTURES.items() if recipe.build),
        *((name, "unigram") for name in ("luong", "transformer")),
    ],
)
def test_every_architecture_comes_back_from_its_folder(data: Path, tmp_path: Path, arch: str, kind: str) -> None:
    sizes = [f"model.{key}={value}" for key, value in SMALL.items() if key in ARCHITECTURES[arch].sizes["tiny"]]
    changes = [*sizes, "tokenizer.kind=" + kind, "training.max_steps=2", "training.average_decay=0"]
    if kind == "unigram":
        changes += ["tokenizer.is_shared=false", "tokenizer.vocab_size=280"]
    config = load_config(None, [f"data.train={data}", f"model.architecture={arch}", *changes])
    kept: list[Any] = []

    class Keep:
        def on_start(self, report: Any) -> None: ...

        on_step = on_end = on_start

        def on_validation(self, report: Any) -> None:
            kept.append(report.validation.loss)

    trained = train(config, tmp_path / "run", callbacks=[Keep()])
    run = load_run(tmp_path / "run")
    assert trained.result.best is not None
    saved = load(weights(tmp_path / "run"))
    assert saved.keys() == trained.result.best.weights.keys()
    for name, tensor in run.model.named_parameters():
        assert torch.equal(tensor, trained.result.best.weights[name]), name
    translator = Translator.load(tmp_path / "run")
    valid = pair_set(*[pair[:2] for pair in letter_pairs(20, seed=2)])
    assert likelihood(translator, valid).nats_per_token == pytest.approx(min(kept), rel=1e-5)
    assert translator.translate(["a b", ""])[1].text == ""


def test_a_time_budget_fixes_the_number_of_steps_and_ends(data: Path, tmp_path: Path) -> None:
    config = config_for(data, "training.max_minutes=0.01").replace(
        **{"training.max_steps": None, "training.validate_every": None, "training.checkpoint_every": None}
    )
    trained = train(config, tmp_path / "run")
    resolved = load_run(tmp_path / "run").config.training
    assert trained.result.reason in ("finished", "time limit")
    assert resolved.max_steps is not None
    assert 1 <= trained.facts["steps"] <= resolved.max_steps
    assert resolved.max_minutes == 0.01
    assert resolved.batch_tokens == 60
