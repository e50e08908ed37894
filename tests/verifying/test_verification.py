"""`verify` holds on a run of every recipe and task, on sentences of every kind, and names what is wrong with a folder."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load, save

from seqline import files
from seqline.errors import UserError
from seqline.run_folder import MANIFEST, WEIGHTS, Run, load_run
from seqline.verifying.checks import FAILED, TITLES
from seqline.verifying.subjects import CASES
from seqline.verifying.verification import Verification, verify

from ..untrained_run import EVERY, SENTENCES, make_untrained_run

Patch = pytest.MonkeyPatch


QUICK = {
    *(("tagging", name) for name in ("bilstm", "transformer")),
    *(("translation", name) for name in ("cho", "luong")),
    ("language_model", "gru"),
    ("classification", "lstm"),
}


@pytest.mark.parametrize(
    ("task", "name"),
    [pytest.param(*case, marks=() if case in QUICK else pytest.mark.slow) for case in EVERY],
)
def test_every_law_holds_on_a_run_of_every_recipe(runs: Any, task: str, name: str) -> None:
    found = verify(runs(task, name), SENTENCES)
    assert found.holds, found.failures
    assert {check.status for check in found.checks} == {"ok"}
    laws = {TITLES.get(law, law) for law in CASES[task].laws}
    assert laws | {"files", "weights", "sizes", "float32", "outputs"} < {check.law for check in found.checks}
    assert (found.task, found.architecture, found.sentences) == (task, name, tuple(SENTENCES))


def failed(found: Verification) -> dict[str, str]:
    """Return the failures by law."""
    return {check.law: check.failure for check in found.failures}


# Faults of the folder.


def copy_of(run: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(run, tmp_path / "run"))


def vouch(run: Path, name: str, data: bytes) -> None:
    """Write a file and bring the manifest up to date, as one who changes it on purpose would."""
    (run / name).write_bytes(data)
    manifest = json.loads((run / MANIFEST).read_text())
    del manifest["sha256"]
    manifest["files"][name] = {"size": len(data), "sha256": files.sha256(data)}
    digest = files.sha256(json.dumps(manifest, sort_keys=True).encode())
    (run / MANIFEST).write_text(json.dumps({**manifest, "sha256": digest}))


def test_a_changed_byte_is_named(runs: Any, tmp_path: Path) -> None:
    run = copy_of(runs("translation", "luong"), tmp_path)
    data = bytearray((run / WEIGHTS).read_bytes())
    data[-1] ^= 1
    (run / WEIGHTS).write_bytes(data)
    found = verify(run)
    assert [check.law for check in found.checks] == ["files"]
    assert failed(found)["files"].startswith(f"{WEIGHTS}: missing, or not what {MANIFEST} says of it")
    assert found.as_json()["holds"] is False


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_weight_that_is_no_number_is_named(runs: Any, tmp_path: Path, value: float) -> None:
    run = copy_of(runs("translation", "luong"), tmp_path)
    tensors = load((run / WEIGHTS).read_bytes())
    name = sorted(tensors)[0]
    tensors[name].flatten()[0] = value
    vouch(run, WEIGHTS, save(tensors))
    assert f"tensor {name} holds NaN or infinity" in failed(verify(run))["weights"]


def test_a_loaded_run_whose_weights_exploded_is_named(runs: Any) -> None:
    loaded = load_run(runs("translation", "luong"))
    with torch.no_grad():
        next(loaded.model.parameters()).flatten()[0] = float("nan")
    assert "holds NaN" in failed(verify(loaded))["weights"]


def test_weights_of_another_run_are_named(runs: Any, tmp_path: Path) -> None:
    run = copy_of(runs("translation", "luong"), tmp_path)
    vouch(run, WEIGHTS, (runs("translation", "transformer") / WEIGHTS).read_bytes())
    said = failed(verify(run))["weights"]
    assert "the weights belong to another config or tokenizer, or another version of seqline made the run" in said
    assert len(said.splitlines()) == 1


def test_what_is_no_finished_run_is_refused(runs: Any, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such run folder"):
        verify(tmp_path / "nothing")
    run = copy_of(runs("translation", "luong"), tmp_path)
    (run / MANIFEST).unlink()
    with pytest.raises(UserError, match="not finished"):
        verify(run)


# Sentences.


def test_without_sentences_some_are_made_of_the_vocabulary(runs: Any) -> None:
    for task, name in (("translation", "cho"), ("classification", "lstm")):
        found = verify(runs(task, name))
        assert found.holds, found.failures
        assert len(found.sentences) == 8
        if task == "translation":
            assert [len(s.split()) for s in found.sentences] == [1, 2, 3, 4, 5, 7, 9, 12]
        assert "made of the run's own vocabulary" in found.notes[0]


@pytest.mark.slow
def test_sentences_are_chosen_cut_and_counted(runs: Any) -> None:
    rng = random.Random(3)
    texts = [" ".join(rng.choices(SENTENCES[2].split(), k=1 + i % 50)) for i in range(1_200)]
    found = verify(runs("language_model", "lstm"), ["", " ", *texts, "cat " * 500, "zebra"])
    assert found.holds, found.failures
    assert found.notes[:3] == (
        "2 blank lines left out",
        "8 of 1,202 sentences, of different lengths",
        *([found.notes[2]] if len(found.notes) > 2 else []),
    )
    lengths = [len(s.split()) for s in found.sentences]
    assert len(lengths) == 8
    assert min(lengths) == 1
    assert 40 <= max(lengths) <= 60
    found = verify(runs("language_model", "lstm"), ["cat " * 500, "zebra in Paris"])
    assert found.notes[0].startswith("1 cut to what the laws need")
    assert found.notes[1].startswith("1 pieces outside the vocabulary")
    assert found.notes[2].startswith("2 sentences of the vocabulary added")
    assert len(found.sentences) == 4
    assert found.holds


def test_a_blank_text_is_no_sentence(runs: Any) -> None:
    with pytest.raises(UserError, match="no sentence in it"):
        verify(runs("language_model", "lstm"), ["", "  "])


def test_pairs_are_read_as_pairs(runs: Any) -> None:
    loaded = load_run(runs("translation", "cho"))
    found = verify(loaded, [("a cat sees", "cat a"), ("the old dog", ""), ("dog", "in Paris zebra")])
    assert found.holds
    assert found.sentences[:3] == ("a cat sees", "the old dog", "dog")
    number = {check.law: check.number for check in found.checks}
    assert number["round trip target"] == "4 texts"


@pytest.mark.slow
def test_a_short_table_of_positions_is_no_obstacle(tmp_path: Path) -> None:
    run = make_untrained_run(tmp_path / "run", "translation", "transformer-pre", positions="learned", max_length=12)
    found = verify(run, ["dog", "cat " * 30, "a cat"])
    assert found.holds, found.failures
    assert any("cut" in note for note in found.notes)


def test_nothing_of_the_run_is_changed(runs: Any) -> None:
    folder = runs("translation", "transformer")
    loaded: Run = load_run(folder)
    weights = {name: p.clone() for name, p in loaded.model.named_parameters()}
    before = {p.name: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    seed = torch.random.get_rng_state()
    first = verify(loaded, SENTENCES)
    assert torch.equal(seed, torch.random.get_rng_state())
    assert all(torch.equal(p, weights[name]) for name, p in loaded.model.named_parameters())
    assert not any(module.training for module in loaded.model.modules())
    assert before == {p.name: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    assert json.loads(json.dumps(first.as_json(), allow_nan=False))["holds"] is True
    assert not any(check.status == FAILED for check in first.checks)
