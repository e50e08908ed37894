"""Checkpoints: everything that a run needs to go on bit for bit, as safetensors and JSON in one folder a step.

`step-N/` is complete or absent. Its manifest, written last, holds the SHA-256 of every other file and of itself, so a
damaged checkpoint is noticed and an older one used. Only bytes are read, nothing from a checkpoint is ever run.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors.torch import load as parse_safetensors
from safetensors.torch import save as build_safetensors

from seqline import files
from seqline.errors import UserError
from seqline.training.progress import Best, Progress, TrainingState, Validation
from seqline.training.weights import Weights, fill_tensors, load_weights, weights_of

FORMAT_VERSION = 1
NUM_KEPT = 2
MANIFEST, PROGRESS = "manifest.json", "progress.json"
MODEL, OPTIMIZER, AVERAGE, BEST, RANDOM, CARRIED = "model", "optimizer", "average", "best", "random", "carried"
REQUIRED_FILES = {PROGRESS} | {f"{name}.safetensors" for name in (MODEL, OPTIMIZER, RANDOM)}
OPTIONAL_FILES = {f"{name}.safetensors" for name in (AVERAGE, BEST, CARRIED)}


class NonFiniteStateError(UserError):
    """A tensor to be saved holds NaN or infinity; `tensor` names it."""

    def __init__(self, tensor: str, path: Path) -> None:
        self.tensor = tensor
        fix = "lower training.learning_rate"
        super().__init__(f"not written, NaN or infinity in {tensor}", where=str(path), fix=fix)


class Checkpoint(NamedTuple):
    """A verified checkpoint in memory. notes: what a user should know, such as damaged newer ones passed over."""

    path: Path
    progress: dict[str, Any]
    tensors: dict[str, Weights]
    notes: tuple[str, ...]


def save_checkpoint(folder: Path, state: TrainingState) -> Path:
    """Write `step-N` atomically into `folder`, then remove all but the newest two.

    Returns:
        The folder of the new checkpoint.

    Raises:
        NonFiniteStateError: a tensor holds NaN or infinity; what was there before stays.
        UserError: the disk refuses; what was there before stays.
    """
    progress = state.progress
    path = folder / f"step-{progress.step}"
    tensors = {MODEL: weights_of(state.model), OPTIMIZER: _moments(state), RANDOM: _random_state()}
    if state.average is not None:
        tensors[AVERAGE] = state.average.weights
    if state.best is not None:
        tensors[BEST] = state.best.weights
    if state.carried is not None:
        tensors[CARRIED] = state.carried.tensors()
    _refuse_non_finite(tensors, path, {name for name, _ in state.model.named_buffers()})
    contents = {f"{name}.safetensors": _to_bytes(tensors[name]) for name in tensors}
    contents[PROGRESS] = _to_json(_progress_json(state))
    manifest = {
        "format_version": FORMAT_VERSION,
        "torch": torch.__version__,
        "num_threads": torch.get_num_threads(),
        "seconds": progress.seconds,  # here, so that two equal runs agree in every other file
        "files": {name: files.sha256(data) for name, data in contents.items()},
    }
    files.remove_folder(path)  # only an interrupted or damaged checkpoint of this very step can stand there
    with files.new_folder(path) as temporary:
        for name, data in contents.items():
            files.write_bytes(temporary / name, data)
        files.write_bytes(temporary / MANIFEST, _to_json({**manifest, "sha256": _digest(manifest)}))
    _prune(folder, progress.step)
    return path


def has_checkpoints(folder: Path) -> bool:
    """Tell whether a folder holds any checkpoint, sound or not."""
    return bool(_steps(folder))


def load_newest(folder: Path) -> Checkpoint | None:
    """Read the newest checkpoint whose files match their SHA-256; notes name the damaged ones passed over.

    Returns:
        None when the folder holds no checkpoint at all.

    Raises:
        UserError: every checkpoint is damaged, or one has a newer format than this version reads.
    """
    damaged: list[str] = []
    for step in sorted(_steps(folder), reverse=True):
        path = folder / f"step-{step}"
        try:
            checkpoint = _read(path, step)
        except _DamagedError as error:
            damaged.append(f"{path.name} is damaged ({error})")
            continue
        notes = (*(f"{text}; {path.name} is used instead" for text in damaged), *checkpoint.notes)
        return checkpoint._replace(notes=notes)
    if damaged:
        raise UserError(f"no sound checkpoint: {', '.join(damaged)}", where=str(folder), fix="start anew elsewhere")
    return None


def restore(checkpoint: Checkpoint, state: TrainingState) -> None:
    """Bring model, optimizer, average, best weights, progress and torch's random generator back to a checkpoint.

    Raises:
        UserError: the checkpoint is of another model or of other settings.
    """
    where, tensors = str(checkpoint.path), checkpoint.tensors
    load_weights(state.model, tensors[MODEL], f"{where}/{MODEL}.safetensors")
    _load_moments(state, tensors[OPTIMIZER], f"{where}/{OPTIMIZER}.safetensors")
    if (state.average is None) != (AVERAGE not in tensors):
        what = "holds averaged weights" if state.average is None else "holds no averaged weights"
        raise UserError(what, where=where, fix="keep training.average_decay as it was")
    if state.average is not None:
        fill_tensors(state.average.weights, tensors[AVERAGE], f"{where}/{AVERAGE}.safetensors")
    if state.carried is not None:
        state.carried.restore(tensors.get(CARRIED, {}))
    progress = dict(checkpoint.progress)
    best = progress.pop("best")
    if best is not None:
        state.best = Best(tensors[BEST], best["kind"], best["step"], Validation(**best["validation"]))
    for field in fields(Progress):
        setattr(state.progress, field.name, progress[field.name])
    torch.set_rng_state(tensors[RANDOM]["cpu"])
    if "cuda" in tensors[RANDOM] and torch.cuda.is_available():
        torch.cuda.set_rng_state(tensors[RANDOM]["cuda"])


class _DamagedError(Exception):
    """Why a checkpoint cannot be used."""


def _read(path: Path, step: int) -> Checkpoint:
    manifest = _read_manifest(path)
    if not REQUIRED_FILES <= set(manifest["files"]) <= REQUIRED_FILES | OPTIONAL_FILES:
        raise _DamagedError(f"{MANIFEST} names other files than a checkpoint has")
    contents = {name: _read_file(path, name) for name in manifest["files"]}
    for name, data in contents.items():
        if files.sha256(data) != manifest["files"][name]:
            raise _DamagedError(f"{name} does not match its SHA-256")
    progress = json.loads(contents.pop(PROGRESS))
    if progress["step"] != step:
        raise _DamagedError(f"it is of step {progress['step']}")
    # Sorted, because safetensors hands tensors out in a random order.
    tensors = {
        name.removesuffix(".safetensors"): dict(sorted(parse_safetensors(data).items()))
        for name, data in contents.items()
    }
    notes: list[str] = []
    for what, then, now in (
        ("torch", manifest["torch"], torch.__version__),
        ("number of threads", manifest["num_threads"], torch.get_num_threads()),
    ):
        if then != now:
            notes.append(f"not bit-exact: the {what} was {then}, now it is {now}")
    return Checkpoint(path, {**progress, "seconds": manifest["seconds"]}, tensors, tuple(notes))


def _read_manifest(path: Path) -> dict[str, Any]:
    try:
        manifest = json.loads(_read_file(path, MANIFEST))
        digest = manifest.pop("sha256")
        is_sound = digest == _digest(manifest)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        is_sound, manifest = False, {}
    if not is_sound:
        raise _DamagedError(f"{MANIFEST} does not match its SHA-256")
    version = manifest["format_version"]
    if version != FORMAT_VERSION:
        what = f"the checkpoint has format {version}, this version reads {FORMAT_VERSION}"
        raise UserError(what, where=str(path / MANIFEST), fix="use the version of seqline that wrote it")
    return manifest


def _read_file(path: Path, name: str) -> bytes:
    try:
        return files.read_bytes(path / name)
    except UserError as error:
        raise _DamagedError(f"{name}: {error.what}") from error


def _steps(folder: Path) -> list[int]:
    """Return the steps of the complete checkpoints; unfinished ones are called `step-N.tmp`."""
    if not folder.is_dir():
        return []
    found = (re.fullmatch(r"step-(0|[1-9][0-9]*)", entry.name) for entry in folder.iterdir())
    return [int(match[1]) for match in found if match]


def _prune(folder: Path, step: int) -> None:
    """Keep the newest two. Newer than the one just written are only damaged ones that a resumed run fell back from."""
    kept = sorted((s for s in _steps(folder) if s <= step), reverse=True)[:NUM_KEPT]
    for old in _steps(folder):
        if old not in kept:
            files.remove_folder(folder / f"step-{old}")
    for entry in folder.iterdir():
        if re.fullmatch(r"step-[0-9]+\.tmp", entry.name):
            files.remove_folder(entry)


def _moments(state: TrainingState) -> Weights:
    """Flatten the optimizer's tensors: `parameter name:moment name`."""
    moments: Weights = {}
    for name, parameter in state.model.named_parameters():
        for key, value in state.optimizer.state.get(parameter, {}).items():
            moments[f"{name}:{key}"] = value
    return moments


def _load_moments(state: TrainingState, moments: Weights, where: str) -> None:
    parameters = dict(state.model.named_parameters())
    groups = state.optimizer.state_dict()["param_groups"]
    numbers = {id(p): n for n, p in enumerate(p for group in state.optimizer.param_groups for p in group["params"])}
    found: dict[int, Weights] = {}
    for full_name, value in moments.items():
        name, _, key = full_name.rpartition(":")
        parameter = parameters.get(name)
        if parameter is None or id(parameter) not in numbers or value.shape not in (parameter.shape, torch.Size([])):
            raise UserError(f"moment {full_name!r} fits no parameter", where=where, fix="use the settings of that run")
        found.setdefault(numbers[id(parameter)], {})[key] = value
    state.optimizer.load_state_dict({"state": found, "param_groups": groups})


def _random_state() -> Weights:
    state = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        state["cuda"] = torch.cuda.get_rng_state()
    return state


def _refuse_non_finite(tensors: dict[str, Weights], path: Path, buffers: set[str]) -> None:
    """Look at all but the buffers, for a mask kept as a buffer may well hold infinity."""
    for file, weights in tensors.items():
        for name, tensor in weights.items():
            if name not in buffers and tensor.is_floating_point() and not tensor.isfinite().all():
                raise NonFiniteStateError(f"{'weight' if file == MODEL else file} {name!r}", path)


def _progress_json(state: TrainingState) -> dict[str, Any]:
    progress: dict[str, Any] = asdict(state.progress)
    del progress["seconds"]
    best = state.best
    if best is None:
        return {**progress, "best": None}
    scores = {name: score if math.isfinite(score) else None for name, score in best.validation.scores.items()}
    validation = best.validation._replace(scores={k: v for k, v in scores.items() if v is not None})
    return {**progress, "best": {"kind": best.kind, "step": best.step, "validation": validation._asdict()}}


def _to_bytes(tensors: Weights) -> bytes:
    return build_safetensors({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()})


def _to_json(value: dict[str, Any]) -> bytes:
    return (json.dumps(value, indent=2, allow_nan=False) + "\n").encode()


def _digest(manifest: dict[str, Any]) -> str:
    return files.sha256(json.dumps(manifest, sort_keys=True, separators=(",", ":"), allow_nan=False).encode())
