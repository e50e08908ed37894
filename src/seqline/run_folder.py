"""A run is one folder: config, tokenizers, weights and a manifest of their hashes. Nothing else is needed to translate.

Files are verified before they are parsed, and the bytes that were hashed are the bytes that are parsed. No pickle, no code
named by the config, no missing or extra tensor. What else lies in the folder (metrics, checkpoints) is never loaded here.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol, cast

import torch
from safetensors import SafetensorError
from safetensors.torch import load as parse_safetensors
from safetensors.torch import save as dump_safetensors
from torch.nn import Module

from seqline import files
from seqline.architectures import ARCHITECTURES
from seqline.architectures.recipe import Recipe, Vocabulary
from seqline.config import Config, dump_toml, parse_toml
from seqline.data.labels import Labels
from seqline.data.tokenizer import Tokenizer
from seqline.errors import UserError, did_you_mean
from seqline.forecasting.coder import SERIES, SeriesCoder
from seqline.sections import validate_section
from seqline.shapes import Tensor
from seqline.tasks import TASKS

FORMAT_VERSION = 1
OTHER_WEIGHTS = (
    "the weights belong to another config or tokenizer, or another version of seqline made the run: train it again"
)
MOST_PARAMETERS = 4_000_000_000  # by the rough bound of the recipe; priced before anything is allocated
MOST_MANIFEST_BYTES = 1 << 20
CONFIG, WEIGHTS, MANIFEST = "config.toml", "weights.safetensors", "manifest.json"
SHARED, SOURCE, TARGET = (f"tokenizer/{side}.model" for side in ("shared", "source", "target"))
LABELS = "tokenizer/labels.json"
METRICS, CHECKPOINTS = "metrics.jsonl", "checkpoints"
LIBRARIES = ("torch", "numpy", "sentencepiece", "safetensors", "sacrebleu")


class Coder(Protocol):
    """What turns the data of a task into what its model reads: tokenizers, or the scales of series."""

    @property
    def vocabulary(self) -> Any:
        """The sizes that the task builds a recipe's model of."""
        ...

    @property
    def line(self) -> str:
        """What it is, in one line."""
        ...

    def files(self) -> dict[str, bytes]:
        """Return what the run folder keeps of it, by name."""
        ...


@dataclass(frozen=True)
class Tokenizers:
    """What turns text into ids: the tokenizer of each side, one and the same object where they are shared.

    A task that answers with labels has `labels` and the source's tokenizer only, which then stands for both sides.
    """

    source: Tokenizer
    target: Tokenizer
    labels: Labels | None = None

    @property
    def vocabulary(self) -> Vocabulary:
        """The sizes a recipe needs."""
        if self.labels is not None:
            return Vocabulary(self.source.vocab_size, self.labels.size, is_shared=False)
        return Vocabulary(self.source.vocab_size, self.target.vocab_size, self.source is self.target)

    @property
    def line(self) -> str:
        """How many pieces there are, in one line."""
        source, target, is_shared = self.vocabulary
        if self.labels is not None:
            return f"vocabulary: {source:,} pieces, {target:,} labels"
        return (
            f"vocabulary: {source:,} pieces shared"
            if is_shared
            else f"vocabulary: {source:,} source, {target:,} target"
        )

    def files(self) -> dict[str, bytes]:
        """Return the models by their names in the run folder."""
        if self.labels is not None:
            return {SOURCE: self.source.model, LABELS: self.labels.to_bytes()}
        if self.source is self.target:
            return {SHARED: self.source.model}
        return {SOURCE: self.source.model, TARGET: self.target.model}


@dataclass(frozen=True)
class Run:
    """A loaded run: everything that its folder holds. `tokenizers` is for tasks of text, `series` for forecasting."""

    folder: Path
    config: Config
    coder: Coder
    model: Module
    manifest: Mapping[str, Any]

    @property
    def tokenizers(self) -> Tokenizers:
        """The tokenizers of a run whose data is text."""
        return cast("Tokenizers", self.coder)

    @property
    def series(self) -> SeriesCoder:
        """The scales of a forecasting run."""
        return cast("SeriesCoder", self.coder)


def find_recipe(name: str, where: str = "--arch") -> Recipe:
    """Return the recipe of that name.

    Raises:
        UserError: no such architecture; names the nearest.
    """
    if name not in ARCHITECTURES:
        raise UserError(f"unknown architecture {name!r}", where=where, fix=did_you_mean(name, ARCHITECTURES))
    return ARCHITECTURES[name]


def build_model(config: Config, vocabulary: Any, where: str = "model") -> Module:
    """Build the model that a config names, its size filled in; weights are drawn from torch's generator.

    Raises:
        UserError: an unknown architecture or one that does not fit the task, or a setting its recipe does not take.
    """
    task, recipe = TASKS[config.data.task], find_recipe(config.model.architecture, f"{where}.architecture")
    task.require(recipe, f"{where}.architecture")
    settings = validate_section(task.settings_of(recipe), config.model.settings, where, ("size",))
    price = settings.parameters_at_most(task.priced(vocabulary, settings))
    if price > MOST_PARAMETERS:
        what = f"these sizes ask for up to {price:,} parameters, more than {MOST_PARAMETERS:,}"
        raise UserError(what, where=where, fix="lower the widths or the number of layers")
    return task.build_model(recipe, settings, vocabulary)


def start_run(folder: Path, config: Config, tokenizers: Coder) -> None:
    """Create a run folder that holds config and tokenizers: complete or absent.

    Raises:
        UserError: the folder exists, or the disk refuses.
    """
    with files.new_folder(folder) as new:
        files.write_text(new / CONFIG, dump_toml(config))
        for name, data in tokenizers.files().items():
            files.write_bytes(new / name, data)


def finish_run(
    folder: Path, config: Config, tokenizers: Coder, weights: Mapping[str, Tensor], facts: Mapping[str, Any]
) -> None:
    """Write weights and, last, the manifest; only then can the run be loaded.

    Args:
        folder: made by `start_run`.
        config: as written there, or with more steps after a resume.
        tokenizers: as written there.
        weights: the model's parameters by name, tied ones once.
        facts: what the manifest records beside the hashes.
    """
    content = {
        CONFIG: dump_toml(config).encode(),
        **tokenizers.files(),
        WEIGHTS: dump_safetensors({name: tensor.detach().cpu().contiguous() for name, tensor in weights.items()}),
    }
    # The old manifest goes first: between the two writes the folder must not vouch for weights that are not its own.
    (folder / MANIFEST).unlink(missing_ok=True)
    for name in (CONFIG, WEIGHTS):
        files.write_bytes(folder / name, content[name])
    manifest = {
        "format_version": FORMAT_VERSION,
        **facts,
        "files": {name: {"size": len(data), "sha256": files.sha256(data)} for name, data in content.items()},
        "versions": {"python": platform.python_version(), **{name: version(name) for name in LIBRARIES}},
    }
    files.write_json(folder / MANIFEST, {**manifest, "sha256": _digest(manifest)})


def read_start(folder: Path) -> tuple[Config, Coder]:
    """Read config and tokenizers of a run that may not be finished, for `--resume`.

    Raises:
        UserError: not a run folder, or its files do not parse.
    """
    if not (folder / CONFIG).is_file():
        raise UserError(f"is not a run: it holds no {CONFIG}", where=str(folder), fix="name the folder given as --out")
    config = parse_toml(files.read_bytes(folder / CONFIG), str(folder / CONFIG))
    names = _tokenizer_files(config)
    return config, _load_tokenizers(folder, {name: files.read_bytes(folder / name) for name in names})


def load_run(folder: Path, device: str = "cpu") -> Run:
    """Verify and load a finished run, its model in evaluation mode.

    Raises:
        UserError: no run, unfinished, a damaged or missing file, a format too new, tensors that do not fit, NaN or infinity.
    """
    manifest = read_manifest(folder)
    content = {name: _verified(folder, name, entry) for name, entry in manifest["files"].items()}
    missing = sorted({CONFIG, WEIGHTS} - set(content))
    if missing:
        raise UserError(
            f"the manifest does not list {missing[0]}", where=str(folder / MANIFEST), fix="copy the run again"
        )
    config = parse_toml(content[CONFIG], str(folder / CONFIG))
    names = _tokenizer_files(config)
    if set(content) != {CONFIG, WEIGHTS, *names}:
        listed, expected = sorted(content), sorted({CONFIG, WEIGHTS, *names})
        what = f"the manifest lists {', '.join(listed)}; the config needs {', '.join(expected)}"
        raise UserError(what, where=str(folder / MANIFEST), fix="copy the run again")
    tokenizers = _load_tokenizers(folder, {name: content[name] for name in names})
    if TASKS[config.data.task].is_of_text:
        _check_kinds(folder, config, cast("Tokenizers", tokenizers))
    model = build_model(config, tokenizers.vocabulary, f"{folder / CONFIG}: model")
    _fill(model, content[WEIGHTS], str(folder / WEIGHTS))
    return Run(folder, config, tokenizers, model.to(device).eval(), manifest)


def _check_kinds(folder: Path, config: Config, tokenizers: Tokenizers) -> None:
    sides = {"source": tokenizers.source, "target": tokenizers.target}
    for side, loaded in sides.items() if config.data.task == "translation" else [("source", tokenizers.source)]:
        wanted = getattr(config.tokenizer, f"{side}_side").kind
        if loaded.kind != wanted:
            what = f"the {side} tokenizer is of kind {loaded.kind}, the config says {wanted}"
            raise UserError(what, where=str(folder / CONFIG), fix="copy the run again")


def require_task(run: Run, *names: str) -> None:
    """Refuse a run that was trained for another task than a command is for.

    Raises:
        UserError: names the command that the run is for.
    """
    task = TASKS[run.config.data.task]
    if task.name not in names:
        what = f"is a run for {task.name}, expected one for {' or '.join(names)}"
        raise UserError(what, where=str(run.folder), fix=f"use `seqline {task.command}`")


def require_text(run: Run) -> None:
    """Refuse a run that does not read text.

    Raises:
        UserError: names the command that the run is for.
    """
    require_task(run, *(task.name for task in TASKS.values() if task.is_of_text))


def _tokenizer_files(config: Config) -> list[str]:
    if not TASKS[config.data.task].is_of_text:
        return [SERIES]
    if config.data.task in ("tagging", "classification"):
        return [SOURCE, LABELS]
    is_shared = config.data.task == "language_model" or config.tokenizer.has_one_vocabulary
    return [SHARED] if is_shared else [SOURCE, TARGET]


def _load_tokenizers(folder: Path, models: Mapping[str, bytes]) -> Coder:
    if SERIES in models:
        return SeriesCoder.from_bytes(models[SERIES], str(folder / SERIES))
    labels = Labels.from_bytes(models[LABELS], str(folder / LABELS)) if LABELS in models else None
    loaded = [Tokenizer(model, where=str(folder / name)) for name, model in models.items() if name != LABELS]
    return Tokenizers(loaded[0], loaded[-1], labels)


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read and check the manifest of a finished run.

    Raises:
        UserError: no folder, unfinished, not a manifest, or of a newer format.
    """
    if not folder.is_dir():
        raise UserError("no such run folder", where=str(folder), fix="name a folder that `seqline train --out` made")
    path = folder / MANIFEST
    if not path.exists():
        unfinished = (folder / CONFIG).exists()
        what = "the run is not finished: it holds no weights yet" if unfinished else f"is not a run: no {MANIFEST}"
        fix = "go on with `seqline train ... --resume`" if unfinished else "name a folder that `seqline train` made"
        raise UserError(what, where=str(folder), fix=fix)
    if path.is_symlink() or (path.is_file() and path.stat().st_size > MOST_MANIFEST_BYTES):
        raise UserError("is not a manifest of seqline", where=str(path), fix="copy the run again")
    try:
        manifest = json.loads(files.read_bytes(path))
        format_version, entries = manifest["format_version"], manifest["files"]
        if not isinstance(format_version, int) or not isinstance(entries, dict):
            raise TypeError
        for entry in entries.values():
            if not isinstance(entry["size"], int) or not isinstance(entry["sha256"], str):
                raise TypeError
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UserError("is not a manifest of seqline", where=str(path), fix="copy the run again") from error
    if format_version == FORMAT_VERSION and manifest.pop("sha256", "") != _digest(manifest):
        raise UserError("does not match its own hash", where=str(path), fix="copy the run again")
    if format_version != FORMAT_VERSION:
        raise UserError(
            f"the run has format version {format_version}, this seqline understands {FORMAT_VERSION}",
            where=str(path),
            fix="install a newer seqline" if format_version > FORMAT_VERSION else "copy the run again",
        )
    return manifest


def _digest(manifest: Mapping[str, Any]) -> str:
    return files.sha256(json.dumps(manifest, sort_keys=True, ensure_ascii=True).encode())


def _verified(folder: Path, name: str, entry: Mapping[str, Any]) -> bytes:
    if name not in {CONFIG, WEIGHTS, SHARED, SOURCE, TARGET, LABELS, SERIES}:
        raise UserError(f"the manifest lists an unknown file {name!r}", where=str(folder / MANIFEST))
    path = folder / name
    if path.is_symlink():
        raise UserError("is a link", where=str(path), fix="a run holds its files itself: copy the run again")
    if path.is_file() and path.stat().st_size != entry["size"]:  # before a byte is read: it may be of any size
        came = f"{path.stat().st_size:,} bytes, {entry['size']:,} expected"
        raise UserError(f"does not match the manifest ({came})", where=str(path), fix="copy the run again")
    data = files.read_bytes(path)
    if files.sha256(data) != entry["sha256"]:
        raise UserError("does not match its hash in the manifest", where=str(path), fix="copy the run again")
    return data


def _fill(model: Module, data: bytes, where: str) -> None:
    """Copy tensors into the model, each exactly once and none left over; tied tensors stay tied."""
    try:
        given = parse_safetensors(data)
    except (SafetensorError, ValueError) as error:
        raise UserError(f"is not a safetensors file ({error})", where=where, fix="copy the run again") from error
    wanted = dict(model.named_parameters())
    for name in sorted(set(wanted) ^ set(given)):
        problem = "is missing" if name in wanted else "is not part of the model"
        raise UserError(f"tensor {name} {problem}", where=where, fix=OTHER_WEIGHTS)
    with torch.no_grad():
        for name, parameter in wanted.items():
            tensor = given[name]
            if tensor.shape != parameter.shape or tensor.dtype != parameter.dtype:
                came, expected = (f"{tuple(t.shape)} {t.dtype}" for t in (tensor, parameter))
                raise UserError(
                    f"tensor {name} is {came}, the config and tokenizer expect {expected}",
                    where=where,
                    fix=OTHER_WEIGHTS,
                )
            if not bool(torch.isfinite(tensor).all()):
                raise UserError(f"tensor {name} holds NaN or infinity", where=where, fix="train again")
            parameter.copy_(tensor)
