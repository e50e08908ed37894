"""Every recipe learns a task that needs what it has; the attention models, one that the fixed context cannot hold."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import seqline

ATTENTIVE = ("bahdanau", "luong", "transformer")


def write_pairs(folder: Path, longest: int, count: int = 3000) -> Path:
    """Write sequences of letters and their reverse, none twice; the last 200 are the test set."""
    chance = random.Random(1)
    lines: dict[str, None] = {}
    while len(lines) < count + 200:
        letters = [chance.choice("abcdefghij") for _ in range(chance.randint(2, longest))]
        lines[f"{' '.join(letters)}\t{' '.join(reversed(letters))}"] = None
    rows = list(lines)
    folder.mkdir()
    (folder / "train.tsv").write_text("\n".join(rows[:count]) + "\n", encoding="utf-8")
    (folder / "test.tsv").write_text("\n".join(rows[count:]) + "\n", encoding="utf-8")
    return folder


def train(arch: str, data: Path, run: Path, steps: int) -> seqline.Translator:
    settings = {
        "tokenizer.kind": "word",
        "training.max_steps": steps,
        "training.validate_every": steps // 4,
        "model.dropout": 0.0,
    }
    seqline.train(data, arch, run, settings=settings)
    return seqline.Translator.load(run)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("arch", seqline.ARCHITECTURES)
def test_every_recipe_reverses_short_sequences(arch: str, tmp_path: Path) -> None:
    data = write_pairs(tmp_path / "data", longest=6)
    translator = train(arch, data, tmp_path / "run", steps=600)
    exact = seqline.evaluate(translator, data).scores[-1]
    assert exact.value >= (95 if arch in ATTENTIVE else 75), exact


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_greedy_outputs_depend_on_neither_batch_nor_order(tmp_path: Path) -> None:
    data = write_pairs(tmp_path / "data", longest=12)
    sources = [line.split("\t")[0] for line in (data / "test.tsv").read_text(encoding="utf-8").splitlines()]
    for arch in ("luong", "transformer"):
        translator = train(arch, data, tmp_path / arch, steps=200)
        expected = [t.text for t in translator.translate(sources, beam_size=1, batch_rows=1)]
        for rows in (3, 64):
            assert [t.text for t in translator.translate(sources, beam_size=1, batch_rows=rows)] == expected
            turned = translator.translate(sources[::-1], beam_size=1, batch_rows=rows)
            assert [t.text for t in turned][::-1] == expected
