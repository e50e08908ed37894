"""`seqline train`, `seqline info`, `seqline data`: what is printed where, and the same run by every way."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from seqline.run_folder import load_run
from seqline.translator import Translator

from ..small_run import ReversingRun, letter_pairs, quick_run, settings, weights, write_letters, write_tsv
from .conftest import Seqline

RAW = [
    ("It's 7:30, Ana!", "Il est 7 h 30, Ana !"),
    ("Where is the café?", "Où est le café ?"),
    ("I don't know.", "Je ne sais pas."),
    ("He said: \"No\".", "Il a dit : « Non »."),
    ("Prices rose 3.5% (again).", "Les prix ont augmenté de 3,5 % (encore)."),
    ("See https://example.org/a_b?c=d", "Voir https://example.org/a_b?c=d"),
    ("Well-known 😀 people", "Des gens bien connus 😀"),
    ("It's raining; take a coat.", "Il pleut ; prends un manteau."),
    ("A  B", "A\u00a0B"),
    ("That's all, folks...", "C'est tout, les amis…"),
]  # fmt: skip


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_letters(tmp_path / "data")


def with_settings(*more: str) -> list[str]:
    return [f"--set={setting}" for setting in settings(*more)]


def test_results_go_to_stdout_and_everything_else_to_stderr(seqline: Seqline, data: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    ended = seqline("train", data, "--out", run, *with_settings())
    assert ended.code == 0
    facts = load_run(run).manifest
    assert ended.lines == [
        f"{run}: luong, {facts['num_parameters']:,} parameters, {facts['weights']}",
        ended.lines[1],
        f"translate with: seqline translate {run} FILE",
    ]
    assert ended.lines[1].startswith(
        f"validation (greedy): {facts['validation']['nats_per_token']:.3f} nats a token, BLEU "
    )
    assert "vocabulary: 12 pieces shared\n" in ended.stderr
    assert "kept 60 of 60\n" in ended.stderr
    assert "finished at step 12" in ended.stderr
    assert "\x1b" not in ended.stderr


def test_json_has_what_the_manifest_has(seqline: Seqline, data: Path, tmp_path: Path) -> None:
    ended = seqline("train", data, "--out", tmp_path / "run", *with_settings(), "--json")
    assert ended.code == 0
    assert len(ended.lines) == 1
    found = json.loads(ended.lines[0])
    assert found.pop("run") == str(tmp_path / "run")
    manifest = load_run(tmp_path / "run").manifest
    assert found == {key: manifest[key] for key in found}
    assert {"architecture", "num_parameters", "steps", "ended", "validation", "data_sha256"} <= found.keys()


def test_options_settings_and_a_file_make_the_same_run(seqline: Seqline, data: Path, tmp_path: Path) -> None:
    expected = weights(quick_run(data, tmp_path / "api", "training.seed=3").folder)
    by_options = [setting for setting in with_settings() if "architecture" not in setting]
    ended = seqline("train", data, "--arch", "luong", "--out", tmp_path / "a", "--seed", 3, *by_options)
    assert ended.code == 0
    assert weights(tmp_path / "a") == expected
    (tmp_path / "c.toml").write_text(
        f"[data]\ntrain = '{data}'\n[tokenizer]\nkind = 'word'\n[model]\narchitecture = 'luong'\nscore = 'dot'\n"
        "input_feeding = false\nembed_size = 8\nhidden_size = 8\ndropout = 0.3\n[training]\nseed = 9\nmax_steps = 12\n"
        "batch_tokens = 60\nvalidate_every = 4\ncheckpoint_every = 3\nvalidate_sentences = 4\n"
    )
    ended = seqline("train", tmp_path / "c.toml", "--out", tmp_path / "b", "--set", "training.seed=8", "--seed", 3)
    assert ended.code == 0
    assert weights(tmp_path / "b") == expected
    assert (tmp_path / "b/config.toml").read_bytes() == (tmp_path / "a/config.toml").read_bytes()


def test_the_form_of_the_data_does_not_matter(seqline: Seqline, data: Path, tmp_path: Path) -> None:
    expected = weights(quick_run(data, tmp_path / "api").folder)
    train, valid = letter_pairs(60, seed=1), letter_pairs(20, seed=2)
    for name, pairs in (("train", train), ("valid", valid)):
        (tmp_path / f"{name}.src").write_text("\n".join(pair.source for pair in pairs))
        (tmp_path / f"{name}.tgt").write_text("".join(f"{pair.target}\r\n" for pair in pairs))
        records = [json.dumps({"source": pair.source, "target": pair.target}) for pair in pairs]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(records))
    for name, pairs in (("train", train), ("valid", valid)):
        records = [json.dumps({"fr": pair.source, "en": pair.target, "id": pair.line}) for pair in pairs]
        (tmp_path / f"{name}-keyed.jsonl").write_text("\n".join(records))
    keyed = [f"{tmp_path}/train-keyed.jsonl", "--keys", "fr,en", "--valid", f"{tmp_path}/valid-keyed.jsonl"]
    ended = seqline("train", *keyed, "--out", tmp_path / "keyed", *with_settings())
    assert ended.code == 0
    assert weights(tmp_path / "keyed") == expected
    assert load_run(tmp_path / "keyed").config.data.keys == ("fr", "en")
    forms = {
        "two": (f"{tmp_path}/train.src,{tmp_path}/train.tgt", f"{tmp_path}/valid.src,{tmp_path}/valid.tgt"),
        "json": (f"{tmp_path}/train.jsonl", f"{tmp_path}/valid.jsonl"),
    }
    for name, (spec, valid_spec) in forms.items():
        ended = seqline("train", spec, "--valid", valid_spec, "--out", tmp_path / name, *with_settings())
        assert ended.code == 0
        assert weights(tmp_path / name) == expected


def test_resuming_by_command(seqline: Seqline, data: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert seqline("train", data, "--out", run, *with_settings("training.max_steps=7")).code == 0
    ended = seqline("train", data, "--out", run, "--resume", "--set", "training.max_steps=9")
    assert ended.code == 0
    assert "going on from" in ended.stderr
    assert load_run(run).manifest["steps"] == 9
    before = weights(run)
    ended = seqline("train", data, "--out", run, "--resume")
    assert ended.code == 0
    assert "already finished at step 9" in ended.stderr
    assert weights(run) == before
    code, out, err = seqline("train", data, "--out", run, "--resume", "--arch", "bahdanau")
    assert (code, out) == (2, b"")
    assert "model.architecture" in err
    assert "'luong'" in err


def test_a_moved_run_translates_raw_text_to_the_same_bytes_and_knows_no_path(seqline: Seqline, tmp_path: Path) -> None:
    work = tmp_path / "work"
    data = write_tsv(work / "raw.tsv", [])
    data.write_text("".join(f"{source}\t{target}\n" for source, target in RAW), encoding="utf-8")
    more = ["training.max_steps=60", "training.learning_rate=0.02", "training.validate_every=60", "model.dropout=0"]
    overrides = [f"--set={s}" for s in settings(*more, "training.batch_tokens=400") if "tokenizer" not in s]
    ended = seqline("train", data, "--valid", data, "--out", work / "run", *overrides)
    assert ended.code == 0
    raw = "".join(f"{source}\n" for source, _ in RAW).encode()
    before = seqline("translate", work / "run", stdin=raw)
    assert before.code == 0
    moved = tmp_path / "elsewhere" / "model"
    moved.parent.mkdir()
    shutil.move(work / "run", moved)
    shutil.rmtree(work)
    after = seqline("translate", moved, stdin=raw)
    assert after.stdout == before.stdout
    assert len(after.lines) == len(RAW)
    for mark in ("<unk>", "@@", "▁"):
        assert mark not in after.stdout.decode()
    for path in moved.rglob("*"):
        if path.is_file():
            assert str(tmp_path).encode() not in path.read_bytes(), path
            assert b"raw.tsv" not in path.read_bytes(), path
    tokenizer = Translator.load(moved).tokenizers.source
    assert [tokenizer.decode(tokenizer.encode(source)) for source, _ in RAW] == [source for source, _ in RAW]


def test_info_tells_what_a_run_is(seqline: Seqline, reversing_run: ReversingRun) -> None:
    ended = seqline("info", reversing_run.folder)
    assert (ended.code, ended.stderr) == (0, "")
    rows = dict(line.split("  ", 1) for line in ended.lines)
    rows = {name: value.strip() for name, value in rows.items()}
    manifest = load_run(reversing_run.folder).manifest
    assert rows["run"] == str(reversing_run.folder)
    assert rows["architecture"] == "luong (tiny)"
    assert rows["tokenizer"] == "word, word; 12 pieces shared"
    assert rows["parameters"].startswith(f"{manifest['num_parameters']:,} (encoder ")
    assert rows["weights"] == manifest["weights"]
    assert "hidden_size 32" in rows["model"]
    assert "120 steps" in rows["training"]
    assert rows["training"].endswith("finished")
    assert f"BLEU {manifest['validation']['BLEU']:.3f}" in rows["validation"]
    assert rows["files"] == "3 verified against their SHA-256"


def test_info_for_machines(seqline: Seqline, reversing_run: ReversingRun) -> None:
    ended = seqline("info", reversing_run.folder, "--json")
    assert (ended.code, ended.stderr) == (0, "")
    found = json.loads(ended.lines[0])
    manifest = {key: value for key, value in load_run(reversing_run.folder).manifest.items() if key != "files"}
    assert manifest.items() <= found.items()
    assert found["vocabulary"] == {"source_size": 12, "target_size": 12, "is_shared": True, "kinds": "word, word"}
    assert found["config"]["model"]["hidden_size"] == 32
    assert set(found["parts"]) == {"encoder", "decoder"}


def test_info_of_a_run_that_was_never_validated(seqline: Seqline, data: Path, tmp_path: Path) -> None:
    answers = iter([None, None, None])  # asked three times before training begins
    quick_run(data, tmp_path / "run", should_stop=lambda: next(answers, "interrupted"))
    for option in ((), ("--json",)):
        assert seqline("info", tmp_path / "run", *option).code == 0
    assert load_run(tmp_path / "run").manifest["weights"] == "last, at step 0"


@pytest.mark.parametrize("as_json", [False, True])
def test_toy_data_is_written_and_counted(seqline: Seqline, tmp_path: Path, as_json: bool) -> None:
    option = ["--json"] if as_json else []
    ended = seqline("data", "toy", "--out", tmp_path / "toy", "--size", 20, "--pair", "en-es", "--seed", 5, *option)
    assert (ended.code, ended.stderr) == (0, "")
    counts = {name: len((tmp_path / f"toy/{name}.tsv").read_text().splitlines()) for name in ("train", "valid", "test")}
    assert counts["train"] == 20
    if as_json:
        found = json.loads(ended.lines[0])
        assert counts.items() <= found.items()
        assert (found["pair"], found["seed"]) == ("en-es", 5)
    else:
        assert ended.lines[0].startswith(f"{tmp_path / 'toy'}: en-es, 20 train, ")
    again = seqline("data", "toy", "--out", tmp_path / "again", "--size", 20, "--pair", "en-es", "--seed", 5)
    assert again.code == 0
    assert (tmp_path / "again/train.tsv").read_bytes() == (tmp_path / "toy/train.tsv").read_bytes()
    alignments = (tmp_path / "toy/alignments/train.pharaoh").read_text().splitlines()
    assert len(alignments) == 20
