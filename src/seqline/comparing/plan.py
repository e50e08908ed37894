"""What will be run: an architecture and a seed each, with one budget, one corpus, and the settings that were asked for.

The plan is written into the folder of the comparison, so that it can be gone on with, and is not mixed with another one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from seqline import files
from seqline.comparing.asked import Asked
from seqline.comparing.parameters import TOLERANCE, WIDTHS, match_parameters
from seqline.comparing.preparing import Preparing
from seqline.comparing.sets import FOLDER, Sets
from seqline.config import Config
from seqline.errors import UserError

PLAN, RUNS, CONFIGS, LOGS = "plan.json", "runs", "configs", "logs"
FORMAT = 1


@dataclass(frozen=True)
class Planned:
    """One run. name: of its folder."""

    name: str
    arch: str
    seed: int
    config: Config


@dataclass(frozen=True)
class Plan:
    """All runs of a comparison, architecture by architecture.

    facts: what is the same for all. notes: what a user should know.
    """

    folder: Path
    runs: tuple[Planned, ...]
    facts: Mapping[str, Any]
    notes: tuple[str, ...] = ()

    def run_folder(self, run: Planned) -> Path:
        """Return where a run is."""
        return self.folder / RUNS / run.name

    def config_file(self, run: Planned) -> Path:
        """Return what its training reads."""
        return self.folder / CONFIGS / f"{run.name}.toml"

    def log(self, run: Planned) -> Path:
        """Return where the words of its training go."""
        return self.folder / LOGS / f"{run.name}.log"

    def command(self, run: Planned) -> list[str]:
        """Return the command that makes the same run."""
        return ["seqline", "train", str(self.config_file(run)), "--out", str(self.run_folder(run))]


def make_plan(asked: Asked, sets: Sets, folder: Path, data: Path) -> Plan:
    """Plan the runs of a comparison.

    Args:
        asked: checked.
        sets: what all of them learn from.
        folder: of the comparison.
        data: where its sets are written by now.

    Raises:
        UserError: data that a training would refuse.
    """
    preparing, runs, notes = Preparing(), [], list(sets.notes)
    final = str(folder / FOLDER)
    for arch in asked.archs:
        matched, said = _matched(asked, arch, preparing, str(data))
        notes += said
        for seed in asked.seed_numbers():
            config = asked.config(arch, seed, str(data)).replace(**matched)
            if asked.budget.kind == "tokens":
                steps = preparing.steps_for(config, int(asked.budget.amount))
                config = config.replace(**{"training.max_steps": steps})
            runs.append(Planned(f"{arch}-seed{seed}", arch, seed, config.replace(**{"data.train": final})))
    facts = {
        "format": FORMAT,
        "task": asked.task,
        "budget": str(asked.budget),
        "parameters": asked.parameters,
        "threads": asked.threads,
        "device": asked.device,
        "data_sha256": sets.fingerprint,
    }
    return Plan(folder, tuple(runs), facts, tuple(notes))


def _matched(asked: Asked, arch: str, preparing: Preparing, data: str) -> tuple[dict[str, Any], list[str]]:
    """Return the widths that give a model the parameters asked for, and what to say about it."""
    if asked.parameters is None:
        return {}, []
    config = asked.config(arch, 1, data)
    ready = preparing.ready(config)
    fixed = config.model.settings
    settings = {
        key: value for key, value in ready.config.model.settings.items() if key not in WIDTHS or key not in fixed
    }
    matched = match_parameters(asked.parameters, settings, lambda changes: preparing.num_parameters(ready, changes))
    changes = {"model.size": ready.size, **matched.changes}
    off = matched.num_parameters / asked.parameters - 1
    if abs(off) <= TOLERANCE:
        return changes, []
    return changes, [
        f"{arch}: the nearest to {asked.parameters:,} parameters is {matched.num_parameters:,} ({off:+.1%})"
    ]


def open_plan(asked: Asked, sets: Sets, folder: Path) -> Plan:
    """Make the folder of a comparison with its sets and plan; or plan to go on in one of the same settings, left as it is.

    Raises:
        UserError: the folder holds something else, or a comparison with other settings. Nothing is created then.
    """
    if not folder.exists():
        with files.new_folder(folder) as new:
            sets.write(new / FOLDER)
            plan = make_plan(asked, sets, folder, new / FOLDER)
            _write(plan, new, {})
        return plan
    known = _read(folder)
    _refuse_other("data", known["facts"].get("data_sha256"), sets.fingerprint, folder)
    plan = make_plan(asked, sets, folder, folder / FOLDER)
    for name, value in plan.facts.items():
        _refuse_other(name, known["facts"].get(name), value, folder)
    for run in plan.runs:
        if run.name in known["runs"]:
            mine, theirs = (dict(leaves(table)) for table in (_as_table(run.config), known["runs"][run.name]))
            for key in sorted({*mine, *theirs} - {"data.train"}):
                _refuse_other(key, theirs.get(key), mine.get(key), folder)
    return plan


def keep(plan: Plan) -> None:
    """Write down what is to be run, beside what was planned before; for whoever is alone in the folder."""
    _write(plan, plan.folder, _read(plan.folder)["runs"])


def _refuse_other(name: str, known: Any, asked: Any, folder: Path) -> None:
    if known != asked:
        what = f"holds a comparison with {name} {_short(known)}, not {_short(asked)}"
        raise UserError(what, where=str(folder), fix="name another --out, or ask for the same")


def _short(value: Any) -> str:
    return f"{value[:12]}..." if isinstance(value, str) and len(value) > 40 else repr(value)


def _read(folder: Path) -> dict[str, Any]:
    path = folder / PLAN
    if not path.is_file():
        raise UserError("exists already and holds no comparison", where=str(folder), fix="name another --out")
    try:
        known = json.loads(files.read_bytes(path))
        if known["facts"]["format"] != FORMAT or not isinstance(known["runs"], dict):
            raise ValueError
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UserError("is not a plan of this seqline", where=str(path), fix="name another --out") from error
    return known


def _write(plan: Plan, folder: Path, known: Mapping[str, Any]) -> None:
    """Write the plan, beside runs that were planned before; and the configuration of every run."""
    runs = {**known, **{run.name: _as_table(run.config) for run in plan.runs}}
    files.write_json(folder / PLAN, {"facts": dict(plan.facts), "runs": runs})
    for run in plan.runs:
        files.write_text(folder / CONFIGS / f"{run.name}.toml", tomli_w.dumps(_as_table(run.config)))


def _as_table(config: Config) -> dict[str, Any]:
    """Return what was set, as JSON and TOML hold it."""
    return json.loads(config.model_dump_json(exclude_unset=True, exclude_none=True))


def leaves(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield dotted keys and values of nested tables."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
