"""A run folder that is not as it was written: refused in one line that names the file, whatever was done to it."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load, save

from ..small_run import ReversingRun
from .conftest import Refused, Seqline

WEIGHTS, CONFIG, TOKENIZER, MANIFEST = "weights.safetensors", "config.toml", "tokenizer/shared.model", "manifest.json"
Tensors = dict[str, torch.Tensor]


@pytest.fixture
def run(reversing_run: ReversingRun, tmp_path: Path) -> Path:
    """Return a copy of the run that may be damaged."""
    return Path(shutil.copytree(reversing_run.folder, tmp_path / "run"))


def flip(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(data)


def vouch(run: Path, name: str, data: bytes) -> None:
    """Write a file and bring the manifest up to date, as one who changes it on purpose would."""
    (run / name).write_bytes(data)
    change_manifest(run, lambda m: m["files"].update({name: entry(data)}))


def entry(data: bytes) -> dict[str, Any]:
    return {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def change_manifest(run: Path, change: Callable[[dict[str, Any]], object]) -> None:
    manifest = json.loads((run / MANIFEST).read_text())
    del manifest["sha256"]
    change(manifest)
    digest = hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()
    (run / MANIFEST).write_text(json.dumps({**manifest, "sha256": digest}))


def all_commands_refuse(refused: Refused, run: Path) -> str:
    """Return the message, which is the same from every command that loads a run."""
    messages = {
        refused("info", run),
        refused("translate", run, "-", stdin=b"a b\n"),
        refused("evaluate", run, "data.tsv"),
    }
    assert len(messages) == 1
    return messages.pop()


@pytest.mark.parametrize("position", [0, 0.3, 0.6, -1])
@pytest.mark.parametrize("name", [WEIGHTS, CONFIG, TOKENIZER])
def test_a_flipped_bit_is_noticed(refused: Refused, run: Path, name: str, position: float) -> None:
    size = (run / name).stat().st_size
    flip(run / name, int(position * size) if position >= 0 else size - 1)
    message = all_commands_refuse(refused, run)
    assert f"{run / name}: does not match its hash" in message


@pytest.mark.parametrize("name", [WEIGHTS, CONFIG, TOKENIZER])
@pytest.mark.parametrize("size", [0, 100])
def test_a_truncated_file_is_noticed(refused: Refused, run: Path, name: str, size: int) -> None:
    data = (run / name).read_bytes()
    (run / name).write_bytes(data[:size])
    message = refused("info", run)
    assert f"{run / name}: does not match the manifest" in message
    assert f"{size} bytes, {len(data):,} expected" in message


@pytest.mark.parametrize("name", [WEIGHTS, CONFIG, TOKENIZER])
def test_a_missing_file_is_named(refused: Refused, run: Path, name: str) -> None:
    (run / name).unlink()
    assert f"{run / name}: no such file" in all_commands_refuse(refused, run)


@pytest.mark.parametrize("name", [WEIGHTS, CONFIG, TOKENIZER])
def test_a_folder_in_the_place_of_a_file_is_refused(refused: Refused, run: Path, name: str) -> None:
    (run / name).unlink()
    (run / name).mkdir()
    assert f"{run / name}: expected a file, this is a folder" in refused("info", run)


def test_an_unfinished_run_is_told_from_no_run(refused: Refused, run: Path) -> None:
    (run / MANIFEST).unlink()
    message = all_commands_refuse(refused, run)
    assert f"{run}: the run is not finished" in message
    assert "--resume" in message
    (run / CONFIG).unlink()
    assert f"{run}: is not a run: no manifest.json" in refused("info", run)


@pytest.mark.parametrize("content", ["", "{", "[]", "null", "{}", '{"format_version": 1}', '{"format_version": "1", "files": {}}',
                                     '{"format_version": 1, "files": []}', '{"format_version": 1, "files": {"a": 1}}', "[" * 9999,
                                     '{"format_version": 1, "files": {}}'])  # fmt: skip
def test_what_is_no_manifest_is_refused(refused: Refused, run: Path, content: str) -> None:
    (run / MANIFEST).write_text(content)
    assert str(run / MANIFEST) in refused("info", run)


@pytest.mark.parametrize("name", [WEIGHTS, CONFIG, TOKENIZER])
def test_a_manifest_without_one_of_the_files_is_refused(refused: Refused, run: Path, name: str) -> None:
    change_manifest(run, lambda m: m["files"].pop(name))
    assert str(run / MANIFEST) in refused("info", run)


@pytest.mark.parametrize("name", ["extra.bin", "../outside", "tokenizer/source.model", "metrics.jsonl", "/etc/passwd"])
def test_a_manifest_with_another_file_is_refused(refused: Refused, run: Path, name: str) -> None:
    (run / "tokenizer/source.model").write_bytes(b"x")
    (run.parent / "outside").write_bytes(b"x")
    change_manifest(run, lambda m: m["files"].update({name: entry(b"x")}))
    message = refused("info", run)
    assert str(run / MANIFEST) in message
    assert name in message


@pytest.mark.parametrize("version", [0, 999])
def test_another_format_version_is_refused_and_both_are_named(refused: Refused, run: Path, version: int) -> None:
    change_manifest(run, lambda m: m.update(format_version=version))
    message = all_commands_refuse(refused, run)
    assert f"format version {version}" in message
    assert "understands 1" in message


def test_a_bit_flipped_in_the_manifest_is_never_an_internal_error(seqline: Seqline, run: Path) -> None:
    whole = (run / MANIFEST).read_bytes()
    wrong = []
    for position in range(0, len(whole), 23):
        flip(run / MANIFEST, position)
        code, out, err = seqline("info", run)
        is_clean = code == 0 or (code == 2 and out == b"" and err.count("\n") == 1)
        if not is_clean:
            around = whole[max(0, position - 15) : position + 15].decode()
            wrong.append((position, around, err.strip()))
        (run / MANIFEST).write_bytes(whole)
    assert not wrong


@pytest.mark.parametrize("name", [WEIGHTS, CONFIG, TOKENIZER])
def test_a_bit_flipped_in_a_hash_or_a_name_is_noticed(refused: Refused, run: Path, name: str) -> None:
    whole = (run / MANIFEST).read_bytes()
    for text in (json.loads(whole)["files"][name]["sha256"], name):
        flip(run / MANIFEST, whole.index(text.encode()) + 3)
        message = refused("info", run)
        assert str(run / MANIFEST) in message or f"{run / name}: does not match its hash" in message
        (run / MANIFEST).write_bytes(whole)


def without_first(tensors: Tensors) -> str:
    name = sorted(tensors)[0]
    del tensors[name]
    return f"tensor {name} is missing"


def with_another(tensors: Tensors) -> str:
    tensors["decoder.spare"] = torch.zeros(2)
    return "tensor decoder.spare is not part of the model"


def renamed(tensors: Tensors) -> str:
    name = sorted(tensors)[0]
    tensors["zzz"] = tensors.pop(name)
    return f"tensor {name} is missing"


def reshaped(tensors: Tensors) -> str:
    name = sorted(name for name in tensors if tensors[name].dim() == 2)[0]
    tensors[name] = tensors[name][:-1].contiguous()
    rows, columns = tensors[name].shape
    return (
        f"tensor {name} is ({rows}, {columns}) torch.float32, the config and tokenizer expect ({rows + 1}, {columns})"
    )


def transposed(tensors: Tensors) -> str:
    name = sorted(name for name in tensors if tensors[name].dim() == 2 and len(set(tensors[name].shape)) == 2)[0]
    tensors[name] = tensors[name].T.contiguous()
    return f"tensor {name} is"


def retyped(tensors: Tensors) -> str:
    name = sorted(tensors)[0]
    tensors[name] = tensors[name].double()
    return f"tensor {name} is {tuple(tensors[name].shape)} torch.float64"


def with_nan(tensors: Tensors) -> str:
    name = sorted(tensors)[-1]
    tensors[name].view(-1)[-1] = float("nan")
    return f"tensor {name} holds NaN or infinity"


def with_infinity(tensors: Tensors) -> str:
    name = sorted(tensors)[0]
    tensors[name].view(-1)[0] = float("-inf")
    return f"tensor {name} holds NaN or infinity"


@pytest.mark.parametrize(
    "damage",
    [without_first, with_another, renamed, reshaped, transposed, retyped, with_nan, with_infinity],
    ids=lambda f: f.__name__,
)
def test_tensors_that_do_not_fit_are_refused_though_the_hash_agrees(
    refused: Refused, run: Path, damage: Callable[[Tensors], str]
) -> None:
    tensors = load((run / WEIGHTS).read_bytes())
    expected = damage(tensors)
    vouch(run, WEIGHTS, save(tensors))
    message = all_commands_refuse(refused, run)
    assert f"{run / WEIGHTS}: {expected}" in message


@pytest.mark.parametrize(
    "data", [b"", b"12345678", b"\xff" * 8 + b"{}", b"\x02" + b"\0" * 7 + b"{}", b"PK\x03\x04" * 9]
)
def test_weights_that_are_none_are_refused_though_the_hash_agrees(refused: Refused, run: Path, data: bytes) -> None:
    vouch(run, WEIGHTS, data)
    assert str(run / WEIGHTS) in refused("info", run)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("hidden_size = 32", "hidden_size = 16", ("weights.safetensors", "expect")),
        ("hidden_size = 32", "hidden_sise = 32", ("config.toml", "hidden_size", "is missing")),
        ("hidden_size = 32", "hidden_size = '32'", ("config.toml", "hidden_size", "'32'")),
        ('score = "dot"', 'score = "general"', ("weights.safetensors", "is missing")),
        ('architecture = "luong"', 'architecture = "long"', ("config.toml", "'long'", "'luong'")),
        ('architecture = "luong"', 'architecture = "os.system"', ("config.toml", "'os.system'", "luong")),
        ("[model]", "[model", ("config.toml", "not TOML")),
        ('kind = "word"', 'kind = "word"\nis_shared = false', ("manifest.json", "tokenizer/source.model")),
    ],
)
def test_a_config_that_does_not_fit_is_refused_though_the_hash_agrees(
    refused: Refused, run: Path, old: str, new: str, words: tuple[str, ...]
) -> None:
    text = (run / CONFIG).read_text()
    assert old in text
    vouch(run, CONFIG, text.replace(old, new, 1).encode())
    message = refused("info", run)
    for word in words:
        assert word in message


def test_a_tokenizer_of_another_size_is_refused_though_the_hash_agrees(refused: Refused, run: Path) -> None:
    from seqline.data.tokenizer import train_tokenizer

    vouch(run, TOKENIZER, train_tokenizer(["a b c"], "word", None).model)
    message = refused("info", run)
    assert str(run / WEIGHTS) in message
    assert "(12, 32)" in message
    assert "(7, 32)" in message


@pytest.mark.parametrize("data", [b"", b"nonsense", b"\x80" * 50])
def test_a_tokenizer_that_is_none_is_refused_though_the_hash_agrees(refused: Refused, run: Path, data: bytes) -> None:
    vouch(run, TOKENIZER, data)
    assert str(run / TOKENIZER) in refused("info", run)


def test_what_else_lies_in_the_folder_is_ignored(seqline: Seqline, run: Path) -> None:
    before = seqline("translate", run, "-", stdin=b"a b c\n")
    shutil.rmtree(run / "checkpoints")
    (run / "metrics.jsonl").write_text("broken")
    (run / "pytorch_model.bin").write_bytes(b"\x80\x04")
    assert before.code == 0
    assert seqline("translate", run, "-", stdin=b"a b c\n") == before
