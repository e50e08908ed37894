"""Run folders of every recipe and task, written without training: random weights, a small vocabulary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from seqline.architectures import ARCHITECTURES
from seqline.config import Config
from seqline.data.labels import Labels
from seqline.data.tokenizer import train_tokenizer
from seqline.run_folder import Tokenizers, build_model, finish_run, start_run
from seqline.tasks import TASKS

WORDS = ["the", "a", "old", "new", "cat", "dog", "sees", "hears", "Paris", "in"]
SENTENCES = ["dog", "a cat sees", "the old dog hears the new cat in Paris", "in Paris a cat hears"]
SMALL = {
    "embed_size": 8,
    "hidden_size": 8,
    "attention_size": 6,
    "num_layers": 2,
    "num_heads": 2,
    "inner_size": 10,
    "dropout": 0.3,
}
EVERY = [
    (task.name, name)
    for task in TASKS.values()
    if task.is_of_text
    for name, recipe in ARCHITECTURES.items()
    if task.fits(recipe)
]


def make_untrained_run(folder: Path, task: str, architecture: str, **more: Any) -> Path:
    """Write a finished run whose parameters are all from N(0, 0.3^2), so that none hides what it does by being zero.

    Args:
        folder: to make.
        task: a name in TASKS.
        architecture: a name in ARCHITECTURES.
        more: settings of the model.
    """
    kind = "char" if task == "classification" else "word"
    usual = ARCHITECTURES[architecture].sizes["tiny"]
    small = {**{name: value for name, value in SMALL.items() if name in usual}, **more}
    own = {"translation": {"decoding.beam_size": 3}, "language_model": {"data.unit": "lines"}}
    config = Config().replace(
        **{"data.task": task, "tokenizer.kind": kind, "model.architecture": architecture, "model.size": "tiny"},
        **own.get(task, {}),
        **{f"model.{name}": value for name, value in small.items()},
    )
    tokenizer = train_tokenizer([" ".join(WORDS)] * 2, kind, None)
    labels = Labels(["O", "B-PER", "I-PER", "B-LOC"]) if task in ("tagging", "classification") else None
    tokenizers = Tokenizers(tokenizer, tokenizer, labels)
    model = build_model(config, tokenizers.vocabulary)
    generator = torch.Generator().manual_seed(8)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.3 * torch.randn(parameter.shape, generator=generator))
    start_run(folder, config, tokenizers)
    finish_run(folder, config, tokenizers, dict(model.named_parameters()), {"task": task})
    return folder
