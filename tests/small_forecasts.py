"""Small forecasting runs: series by formula, models of a few numbers, a few steps of training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from seqline.architectures import ARCHITECTURES
from seqline.config import Config
from seqline.data.series import Panel, SeriesOptions
from seqline.data.series.reading import read_panel
from seqline.forecasting.coder import fit_coder
from seqline.run import train
from seqline.run_folder import build_model, finish_run, start_run

SMALL = {
    "embed_size": 8, "hidden_size": 8, "attention_size": 6, "num_layers": 1, "num_heads": 2, "inner_size": 10, "dropout": 0.1,
}  # fmt: skip


def wave(length: int, level: float = 10.0, phase: int = 0) -> list[float]:
    """Return level + 3 sin(2 pi t / 12)."""
    return (level + 3 * np.sin(2 * np.pi * (np.arange(length) + phase) / 12)).round(3).tolist()


def panel_of(*series: list[Any], **how: Any) -> Panel:
    """Return series of months as a panel, the last one of each in January 2020."""
    return read_panel(columns_of(*series), target="y", **how)


def columns_of(*series: list[Any]) -> dict[str, list[Any]]:
    """Return series as columns in the long form."""
    ids = [chr(65 + n) for n, values in enumerate(series) for _ in values]
    months = [m for values in series for m in range(24240 - len(values), 24240)]
    ds = [f"{m // 12:04d}-{m % 12 + 1:02d}-01" for m in months]
    return {"unique_id": ids, "ds": ds, "y": [value for values in series for value in values]}


def write_csv(path: Path, columns: dict[str, list[Any]]) -> Path:
    """Write columns as CSV."""
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return path


def train_small(data: Path, out: Path, arch: str, **changes: Any) -> Path:
    """Train a tiny model for a few steps; `changes` by dotted key."""
    sizes = {f"model.{key}": value for key, value in SMALL.items() if key in ARCHITECTURES[arch].sizes["tiny"]}
    usual = {
        "data.task": "forecasting", "data.train": str(data), "data.horizon": 6, "data.lookback": 24, "model.size": "tiny",
        "model.architecture": arch, "training.max_steps": 3, "training.validate_every": 3, "training.checkpoint_every": 3,
        "training.validate_sentences": 8, "training.batch_tokens": 400,
    }  # fmt: skip
    train(Config().replace(**{**usual, **sizes, **changes}), out)
    return out


def covariate_columns(length: int = 40) -> dict[str, list[Any]]:
    """Return two series with a target, covariates known in advance and not, and two static columns, missing cells in it."""
    columns = columns_of(wave(length), wave(length - 5, 20.0, 3))
    count = len(columns["y"])
    columns["y"][3] = columns["y"][length + 4] = ""
    columns["promo"] = [n % 3 for n in range(count)]
    columns["seen"] = [round(20 + 0.1 * n, 1) for n in range(count)]
    columns["kind"] = ["shop" if one == "A" else "web" for one in columns["unique_id"]]
    columns["size"] = [1 if one == "A" else 4 for one in columns["unique_id"]]
    return columns


COVARIATES = {"known": ("promo",), "past": ("seen",), "static": ("kind", "size"), "missing": "mask"}


def make_untrained_forecaster(folder: Path, arch: str, **model: Any) -> Path:
    """Write a finished run whose parameters are all from N(0, 0.3^2): six steps of `covariate_columns`, up to 12 points."""
    sizes = {key: value for key, value in SMALL.items() if key in ARCHITECTURES[arch].sizes["tiny"]}
    data = {"task": "forecasting", "target": ("y",), "horizon": 6, "lookback": 12, "season": 12, **COVARIATES}
    config = Config().replace(
        **{f"data.{name}": value for name, value in data.items()},
        **{"model.architecture": arch, "model.size": "tiny"},
        **{f"model.{name}": value for name, value in (sizes | model).items()},
    )
    panel = read_panel(covariate_columns(), target="y", how=SeriesOptions(**COVARIATES))
    coder = fit_coder(panel, [len(one) for one in panel.series], horizon=6, longest=12, season=12)
    network = build_model(config, coder.vocabulary)
    generator = torch.Generator().manual_seed(8)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(0.3 * torch.randn(parameter.shape, generator=generator))
    start_run(folder, config, coder)
    finish_run(folder, config, coder, dict(network.named_parameters()), {"task": "forecasting"})
    return folder
