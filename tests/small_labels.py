"""Runs that label, with random weights: enough to see that every label comes from its own line."""

from __future__ import annotations

from pathlib import Path

import torch

from seqline.config import Config
from seqline.data.labels import Labels
from seqline.data.tokenizer import train_tokenizer
from seqline.run_folder import Tokenizers, build_model, finish_run, start_run

WORDS = ["the", "a", "old", "new", "cat", "dog", "sees", "hears", "Paris", "in"]
TAGS = Labels(["O", "B-PER", "I-PER", "B-LOC"])
CLASSES = Labels(["French", "New Zealand", "Chinese"])


def make_labelling_run(folder: Path, task: str) -> Path:
    """Write a finished run for tagging or classification."""
    kind, labels = ("word", TAGS) if task == "tagging" else ("char", CLASSES)
    changes = {"embed_size": 8, "hidden_size": 8, "num_layers": 1, "dropout": 0.1}
    config = Config().replace(
        **{"data.task": task, "tokenizer.kind": kind, "model.architecture": "bilstm", "model.size": "tiny"},
        **{f"model.{key}": value for key, value in changes.items()},
    )
    tokenizer = train_tokenizer([" ".join(WORDS)] * 2, kind, None)
    tokenizers = Tokenizers(tokenizer, tokenizer, labels)
    model = build_model(config, tokenizers.vocabulary)
    generator = torch.Generator().manual_seed(8)
    with torch.no_grad():
        for parameter in model.parameters():
            scale = 1.0 if parameter.dim() > 1 else 0.1  # a large bias would give every text one label
            parameter.copy_(scale * torch.randn(parameter.shape, generator=generator))
    start_run(folder, config, tokenizers)
    finish_run(folder, config, tokenizers, dict(model.named_parameters()), {"task": task})
    return folder
