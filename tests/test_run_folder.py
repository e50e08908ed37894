"""The run folder: what is written comes back exactly, by hash, strictly, and never half."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load

from seqline import files
from seqline.architectures import ARCHITECTURES
from seqline.config import Config, dump_toml, parse_toml
from seqline.data.tokenizer import train_tokenizer
from seqline.errors import UserError
from seqline.models.encoder_decoder import EncoderDecoder
from seqline.run_folder import (
    FORMAT_VERSION,
    LIBRARIES,
    Tokenizers,
    build_model,
    find_recipe,
    finish_run,
    load_run,
    read_manifest,
    read_start,
    start_run,
)
from seqline.training.weights import Weights, weights_of

CONFIG = Config().replace(
    **{
        "tokenizer.kind": "word",
        "model.architecture": "luong",
        "model.size": "tiny",
        "model.embed_size": 6,
        "model.hidden_size": 6,
        "model.num_layers": 1,
        "model.dropout": 0.1,
        "decoding.beam_size": 3,
    }
)
APART = CONFIG.replace(**{"tokenizer.is_shared": False})


def shared() -> Tokenizers:
    tokenizer = train_tokenizer(["a b c", "c d"], "word", None)
    return Tokenizers(tokenizer, tokenizer)


def apart() -> Tokenizers:
    return Tokenizers(train_tokenizer(["a b c"], "word", None), train_tokenizer(["x y"], "word", None))


def write(folder: Path, config: Config, tokenizers: Tokenizers, **facts: Any) -> tuple[EncoderDecoder, Weights]:
    model = build_model(config, tokenizers.vocabulary)
    start_run(folder, config, tokenizers)
    finish_run(folder, config, tokenizers, weights_of(model), facts)
    return model, weights_of(model)


@pytest.mark.parametrize(("config", "tokenizers"), [(CONFIG, shared()), (APART, apart())], ids=["shared", "apart"])
def test_a_run_comes_back_exactly(tmp_path: Path, config: Config, tokenizers: Tokenizers) -> None:
    model, written = write(tmp_path / "run", config, tokenizers, steps=5, note="grüße")
    run = load_run(tmp_path / "run")
    assert run.folder == tmp_path / "run"
    assert run.config == config
    assert run.tokenizers.vocabulary == tokenizers.vocabulary
    assert run.tokenizers.files() == tokenizers.files()
    assert (run.manifest["steps"], run.manifest["note"]) == (5, "grüße")
    loaded = dict(run.model.named_parameters())
    assert loaded.keys() == dict(model.named_parameters()).keys()
    for name, parameter in model.named_parameters():
        assert torch.equal(loaded[name], parameter)
        assert loaded[name].requires_grad
    assert sum(t.numel() for t in written.values()) == sum(p.numel() for p in model.parameters())
    assert not any(module.training for module in run.model.modules())


def test_tied_tensors_are_written_once_and_stay_tied(tmp_path: Path) -> None:
    model, written = write(tmp_path / "run", CONFIG, shared())
    names = [name for name, _ in model.named_parameters(remove_duplicate=False)]
    assert len(written) < len(names)
    assert load((tmp_path / "run/weights.safetensors").read_bytes()).keys() == written.keys()
    loaded = dict(load_run(tmp_path / "run").model.named_parameters(remove_duplicate=False))
    pointers = {name: parameter.data_ptr() for name, parameter in model.named_parameters(remove_duplicate=False)}
    for one in names:
        for other in names:
            is_tied = pointers[one] == pointers[other]
            assert (loaded[one] is loaded[other]) == is_tied


def test_the_manifest_says_what_and_by_what(tmp_path: Path) -> None:
    write(tmp_path / "run", APART, apart(), steps=5)
    manifest = read_manifest(tmp_path / "run")
    assert manifest["format_version"] == FORMAT_VERSION == 1
    assert set(manifest["versions"]) == {"python", *LIBRARIES}
    assert set(manifest["files"]) == {
        "config.toml",
        "weights.safetensors",
        "tokenizer/source.model",
        "tokenizer/target.model",
    }
    for name, entry in manifest["files"].items():
        data = (tmp_path / "run" / name).read_bytes()
        assert entry == {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def test_loading_draws_nothing_and_takes_the_weights_of_the_file(tmp_path: Path) -> None:
    write(tmp_path / "run", CONFIG, shared())
    first = load_run(tmp_path / "run")
    torch.manual_seed(999)
    second = load_run(tmp_path / "run")
    for name, parameter in first.model.named_parameters():
        assert torch.equal(parameter, second.model.get_parameter(name))


def test_moving_a_run_changes_nothing(tmp_path: Path) -> None:
    write(tmp_path / "run", CONFIG, shared())
    before = load_run(tmp_path / "run")
    shutil.move(tmp_path / "run", tmp_path / "ein anderer Ort, größer")
    after = load_run(tmp_path / "ein anderer Ort, größer")
    assert after.manifest == before.manifest
    assert after.config == before.config


def test_a_started_run_can_be_read_but_not_loaded(tmp_path: Path) -> None:
    start_run(tmp_path / "run", APART, apart())
    config, tokenizers = read_start(tmp_path / "run")
    assert config == APART
    assert tokenizers.files() == apart().files()
    with pytest.raises(UserError, match=r"run: the run is not finished.*--resume"):
        load_run(tmp_path / "run")


def test_a_started_run_has_one_tokenizer_where_it_is_shared(tmp_path: Path) -> None:
    start_run(tmp_path / "run", CONFIG, shared())
    _, tokenizers = read_start(tmp_path / "run")
    assert tokenizers.source is tokenizers.target


def test_a_run_is_never_started_over_something(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    with pytest.raises(UserError, match="exists already"):
        start_run(tmp_path / "run", CONFIG, shared())
    assert list((tmp_path / "run").iterdir()) == []


def test_a_started_run_whose_tokenizer_is_gone_is_refused(tmp_path: Path) -> None:
    start_run(tmp_path / "run", CONFIG, shared())
    (tmp_path / "run/tokenizer/shared.model").unlink()
    with pytest.raises(UserError, match=r"tokenizer/shared\.model: no such file"):
        read_start(tmp_path / "run")


@pytest.mark.parametrize("name", ["config.toml", "weights.safetensors", "manifest.json"])
def test_finishing_again_vouches_for_no_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A disk that fails at any of the writes leaves a run that is the old one, the new one, or refused."""
    model, _ = write(tmp_path / "run", CONFIG, shared(), steps=1)
    real = files.write_bytes

    def failing(path: Any, data: bytes) -> None:
        if Path(path).name == name:
            raise UserError("cannot be written: the disk is full", where=str(path))
        real(path, data)

    monkeypatch.setattr(files, "write_bytes", failing)
    changed = {key: tensor + 1.0 for key, tensor in weights_of(model).items()}
    more = CONFIG.replace(**{"training.max_steps": 99})
    with pytest.raises(UserError, match="the disk is full"):
        finish_run(tmp_path / "run", more, shared(), changed, {"steps": 2})
    with pytest.raises(UserError, match="not finished"):
        load_run(tmp_path / "run")
    monkeypatch.undo()
    finish_run(tmp_path / "run", more, shared(), changed, {"steps": 2})
    run = load_run(tmp_path / "run")
    assert run.manifest["steps"] == 2
    assert torch.equal(next(run.model.parameters()), next(model.parameters()) + 1.0)


def test_weights_of_another_kind_are_stored_as_plain_tensors(tmp_path: Path) -> None:
    start_run(tmp_path / "run", CONFIG, shared())
    model = build_model(CONFIG, shared().vocabulary)
    odd = {name: t.mT.contiguous().mT if t.dim() == 2 else t.clone() for name, t in weights_of(model).items()}
    assert not all(tensor.is_contiguous() for tensor in odd.values())
    odd = {name: tensor.requires_grad_() for name, tensor in odd.items()}
    finish_run(tmp_path / "run", CONFIG, shared(), odd, {})
    loaded = load_run(tmp_path / "run").model
    assert all(torch.equal(p, model.get_parameter(n)) for n, p in loaded.named_parameters())


def test_facts_that_are_no_json_numbers_are_refused(tmp_path: Path) -> None:
    start_run(tmp_path / "run", CONFIG, shared())
    with pytest.raises(ValueError, match="JSON"):
        finish_run(tmp_path / "run", CONFIG, shared(), {}, {"loss": float("nan")})
    with pytest.raises(UserError, match="not finished"):
        load_run(tmp_path / "run")


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_recipes_are_found_by_name(name: str) -> None:
    assert find_recipe(name).name == name


@pytest.mark.parametrize("name", ["", "Luong", "os.system", "seqline.architectures.luong"])
def test_only_names_of_the_table_name_a_recipe(name: str) -> None:
    with pytest.raises(UserError, match=r"--arch: unknown architecture"):
        find_recipe(name)


def test_a_config_that_was_written_builds_the_same_model() -> None:
    again = parse_toml(dump_toml(CONFIG).encode(), "config.toml")
    torch.manual_seed(3)
    one = build_model(CONFIG, shared().vocabulary)
    torch.manual_seed(3)
    other = build_model(again, shared().vocabulary)
    assert all(torch.equal(p, other.get_parameter(n)) for n, p in one.named_parameters())


def test_no_file_of_a_run_is_a_pickle(tmp_path: Path) -> None:
    write(tmp_path / "run", CONFIG, shared())
    for path in (tmp_path / "run").rglob("*"):
        if path.is_file():
            assert path.suffix in (".toml", ".json", ".safetensors", ".model")
            assert not path.read_bytes().startswith((b"\x80", b"PK"))
    json.loads((tmp_path / "run/manifest.json").read_text())
