"""`seqline train`: a corpus to a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from seqline.cli.options import Json, Keys, Threads, prepare_torch, print_json, say, split_keys, write_lines
from seqline.errors import UserError

OVERRIDES = {
    "max_minutes": "training.max_minutes",
    "seed": "training.seed",
    "device": "training.device",
    "keys": "data.keys",
}


def train(
    data: Annotated[
        str | None,
        typer.Argument(
            help="TSV, SRC,TGT (two files), JSONL or a folder with train/valid/test; plain text for lm; or a CONFIG.toml."
        ),
    ] = None,
    arch: Annotated[str | None, typer.Option(help="Architecture; --list names them all.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the run to make.")] = None,
    task: Annotated[
        str | None, typer.Option(help="translation, language_model (lm), tagging or classification.")
    ] = None,
    valid: Annotated[str | None, typer.Option(help="Validation data; without it 2 % are held out.")] = None,
    keys: Keys = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting, such as training.max_steps=500.")
    ] = None,
    max_minutes: Annotated[float | None, typer.Option(help="Fit the whole schedule into this time.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of everything random; 1 when not given.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")] = False,
    device: Annotated[str | None, typer.Option(help="Where to compute: cpu, cuda, cuda:N, mps.")] = None,
    threads: Threads = None,
    show_list: Annotated[bool, typer.Option("--list", help="Print every architecture and exit.")] = False,
    as_json: Json = False,
) -> int:
    """Train a model on pairs of text, plain text or labelled text and leave everything in one folder."""
    if show_list:
        _print_architectures(as_json)
        return 0
    if data is None or out is None:
        missing = "DATA" if data is None else "--out"
        raise UserError(f"{missing} is missing", where="train", fix="seqline train DATA --arch luong --out RUN")
    given = {"max_minutes": max_minutes, "seed": seed, "device": device}
    given["keys"] = split_keys(keys) if keys else None
    # The task goes with the settings: which of them have a meaning depends on it.
    config = _config(data, arch, valid, [*([f"data.task={_task(task)}"] if task else []), *(settings or [])], given)
    if not config.model.architecture and not resume:
        raise UserError("no architecture named", where="--arch", fix="seqline train --list names them all")
    prepare_torch(config.training.device, threads or config.training.threads)

    from seqline.run import train as train_run
    from seqline.training.callbacks import ProgressLine, stop_on_signals

    with stop_on_signals() as should_stop:
        trained = train_run(config, out, resume=resume, callbacks=[ProgressLine()], should_stop=should_stop, say=say)
    if as_json:
        print_json({"run": str(trained.folder), **trained.facts})
    else:
        write_lines(_summary(trained.folder, trained.facts))
    if trained.result.reason in ("interrupted", "terminated"):
        say("what was learned is kept; the same command with --resume goes on from here")
    return {"interrupted": 130, "terminated": 143}.get(trained.result.reason, 0)


def _task(name: str) -> str:
    from seqline.errors import did_you_mean
    from seqline.tasks import TASKS

    if name not in (*TASKS, "lm"):
        raise UserError(f"unknown task {name!r}", where="--task", fix=did_you_mean(name, [*TASKS, "lm"]))
    return name


def _config(data: str, arch: str | None, valid: str | None, settings: list[str], given: dict[str, Any]):
    from seqline.config import load_config

    is_config = data.endswith(".toml")
    config = load_config(data if is_config else None, settings)
    if not is_config and config.data.train:
        raise UserError("the corpus is named twice", where="--set data.train", fix="give it as DATA alone")
    if arch is not None and any(setting.startswith("model.architecture=") for setting in settings):
        raise UserError("the architecture is named twice", where="--set model.architecture", fix="use --arch alone")
    changes = {OVERRIDES[name]: value for name, value in given.items() if value is not None}
    if not is_config:
        changes["data.train"] = data
    if valid is not None:
        changes["data.valid"] = valid
    if arch is not None:
        changes["model.architecture"] = arch
    if is_config and not config.data.train:
        raise UserError("names no data", where=f"{data}: data.train", fix="set data.train in the [data] section")
    config = config.replace(**changes)
    if is_config and config.model.architecture:
        from seqline.budget import with_model
        from seqline.run_folder import find_recipe

        size = "tiny" if config.model.size == "auto" else config.model.size
        with_model(config, find_recipe(config.model.architecture), size, where=f"{data}: model")
    return config


def _summary(folder: Path, facts: dict) -> list[str]:
    from seqline.tasks import TASKS

    task = TASKS[facts["task"]]
    lines = [f"{folder}: {facts['architecture']}, {facts['num_parameters']:,} parameters, {facts['weights']}"]
    if found := facts["validation"]:
        scores = ", ".join(f"{name} {value:.2f}" for name, value in found.items() if name != "nats_per_token")
        how = " (greedy)" if task.name == "translation" else ""
        lines.append(f"validation{how}: {found['nats_per_token']:.3f} {task.loss} a {task.unit}, {scores}")
    what = "" if task.name == "language_model" else " FILE"
    return [*lines, f"{task.command} with: seqline {task.command} {folder}{what}"]


def _print_architectures(as_json: bool) -> None:
    from seqline.architectures import ARCHITECTURES
    from seqline.tasks import TASKS

    tasks = {name: [t.name for t in TASKS.values() if t.fits(recipe)] for name, recipe in ARCHITECTURES.items()}
    if as_json:
        rows = [
            {"name": r.name, "title": r.title, "paper": r.paper, **r.choices._asdict(), "tasks": tasks[r.name]}
            for r in ARCHITECTURES.values()
        ]
        print_json(rows)
        return
    lines = []
    for name, recipe in ARCHITECTURES.items():
        parts = " | ".join(f"{key} {value}" for key, value in recipe.choices._asdict().items() if value != "-")
        lines += [f"{name}: {recipe.title}", f"    paper: {recipe.paper}", f"    parts: {parts}"]
        lines += [f"    tasks: {', '.join(tasks[name])}"]
    write_lines(lines)
