"""A run folder whose model gives P(next | previous) from a fixed table, whatever the source.

An encoder-decoder with an identity cell is enough: with tables E = c I, cell weights I / c and no memory of its own its state
is the one-hot of the previous word, and the readout tanh(W h) maps that to the logits over c.
"""

from __future__ import annotations

import math
from pathlib import Path

import torch

from seqline.config import Config
from seqline.data.tokenizer import BOS, EOS, train_tokenizer
from seqline.run_folder import Tokenizers, build_model, finish_run, start_run

SCALE = 100.0
Table = dict[str, dict[str, float]]


def make_table_run(folder: Path, table: Table) -> Path:
    """Write a finished run; in the table S is the beginning, E the end, all else are words."""
    names = sorted({name for row in table.values() for name in row} - {"E"})
    tokenizer = train_tokenizer([" ".join(names)] * 3, "word", None)
    tokenizers = Tokenizers(tokenizer, tokenizer)
    size = tokenizer.vocab_size
    own = {"cell": "simple", "activation": "identity", "embed_size": size, "hidden_size": size, "num_layers": 1}
    config = Config().replace(
        **{
            "tokenizer.kind": "word",
            "model.architecture": "encoder-decoder",
            "model.size": "tiny",
            "model.dropout": 0.0,
        },
        **{f"model.{key}": value for key, value in own.items()},
        **{"decoding.max_length_factor": 0.0, "decoding.max_length_extra": 6},
    )
    ids = {"S": BOS, "E": EOS, **{name: tokenizer.encode(name)[0] for name in names}}
    logits = torch.full((size, size), -0.99 * SCALE)
    for previous, following in table.items():
        for name, p in following.items():
            logits[ids[previous], ids[name]] = math.log(p)
    model = build_model(config, tokenizers.vocabulary)
    weights = {name: torch.zeros_like(parameter) for name, parameter in model.named_parameters()}
    for name, weight in weights.items():
        if name.endswith("table.weight"):
            weight.copy_(SCALE * torch.eye(size))
        if name.endswith("decoder.stack.layers.0.cell.weight_ih"):
            weight.copy_(torch.eye(size) / SCALE)
        if name == "decoder.readout.project.weight":
            weight.copy_(torch.atanh(logits.double().T / SCALE).float())
    start_run(folder, config, tokenizers)
    finish_run(folder, config, tokenizers, weights, {"task": "translation"})
    return folder
