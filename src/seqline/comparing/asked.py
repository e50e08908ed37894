"""What a comparison is asked for, and the settings of one run that follow from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from seqline.architectures import ARCHITECTURES
from seqline.budget import with_model
from seqline.comparing.budget import FIVE_MINUTES, Budget
from seqline.config import Config
from seqline.errors import UserError, did_you_mean
from seqline.run_folder import find_recipe
from seqline.tasks import TASKS

SAME_FOR_ALL = ("data.", "tokenizer.", "decoding.")
OWN = {
    "model.architecture": "--archs",
    "data.train": "DATA",
    "data.valid": "--valid",
    "data.keys": "--keys",
    "data.task": "--task",
    "training.max_minutes": "--budget",
    "training.max_steps": "--budget",
    "training.max_epochs": "--budget",
    "training.threads": "--threads",
    "training.device": "--device",
}
"""What no `--set` says, and what says it."""

Given = tuple[str, str, Any]
"""A setting: the architecture it is for ("" = all), its key, its value."""


@dataclass(frozen=True)
class Asked:
    """What a comparison is asked for.

    settings: (architecture or "" for all, key, value). parameters: the number that every model shall have; None: as the
    recipes have them. threads: of each run.
    """

    archs: tuple[str, ...]
    seeds: int = 1
    budget: Budget = FIVE_MINUTES
    task: str = "translation"
    settings: tuple[Given, ...] = ()
    parameters: int | None = None
    threads: int = 1
    device: str = "cpu"

    def base(self) -> Config:
        """Return the settings of all architectures."""
        return Config().replace(**self._for_all())

    def config(self, arch: str, seed: int, data: str) -> Config:
        """Return the settings of one run."""
        own: dict[str, Any] = {"model.architecture": arch, "training.seed": seed, "data.train": data, "data.keys": None}
        own |= {"training.threads": self.threads, **self.budget.settings()}
        if self.device != "cpu":
            own["training.device"] = self.device
        return Config().replace(**{**self._for_all(), **self._given(arch), **own})

    def seed_numbers(self) -> range:
        """Return the seeds: from training.seed on."""
        first = self.base().training.seed
        return range(first, first + self.seeds)

    def _for_all(self) -> dict[str, Any]:
        """Return what is set for every run; an early stop is off unless asked for, so that each spends its budget."""
        return {"data.task": self.task, "training.patience": 0, **self._given("")}

    def _given(self, arch: str) -> dict[str, Any]:
        return {key: value for owner, key, value in self.settings if owner == arch}


def check_asked(asked: Asked) -> None:
    """Refuse, before any data is read, what no run could be made of.

    Raises:
        UserError: an unknown architecture, one that does not do the task, or a setting that it does not take.
    """
    if not asked.archs:
        raise UserError("names no architecture", where="--archs", fix="write for instance luong,transformer")
    if twice := [arch for arch in asked.archs if asked.archs.count(arch) > 1]:
        raise UserError(f"{twice[0]!r} is named twice", where="--archs", fix="name each architecture once")
    known = [task.name for task in TASKS.values() if task.is_of_text]
    if asked.task == "forecasting":
        fix = "compare forecasters with `seqline forecast backtest DATA --archs A,B`"
        raise UserError(f"{asked.task} is not compared here", where="--task", fix=fix)
    if asked.task not in known:
        raise UserError(f"unknown task {asked.task!r}", where="--task", fix=did_you_mean(asked.task, known))
    for owner, key, _ in asked.settings:
        _check_setting(owner, key, asked.archs)
    base, task = asked.base(), TASKS[asked.task]
    for arch in asked.archs:
        recipe = find_recipe(arch, "--archs")
        if not task.fits(recipe):
            fitting = ", ".join(name for name, each in ARCHITECTURES.items() if task.fits(each))
            raise UserError(f"{arch} does not do the task {task.name}", where="--archs", fix=f"these do: {fitting}")
        config = asked.config(arch, base.training.seed, "")
        try:
            with_model(config, recipe, "tiny" if config.model.size == "auto" else config.model.size)
        except UserError as error:
            fix = error.fix or "correct it"
            others = f"for one architecture alone write --set ARCH:{error.where}=VALUE"
            raise UserError(error.what, where=f"{arch}: {error.where}", fix=f"{fix}; {others}") from error


def _check_setting(owner: str, key: str, archs: Sequence[str]) -> None:
    if owner and owner not in archs:
        raise UserError(f"{owner!r} is not compared", where="--set", fix=did_you_mean(owner, archs))
    if key in OWN:
        raise UserError("is set by the comparison itself", where=f"--set {key}", fix=f"use {OWN[key]}")
    if owner and (key.startswith(SAME_FOR_ALL) or key == "training.seed"):
        what = "must be the same for all architectures, or they do not compare"
        raise UserError(what, where=f"--set {owner}:{key}", fix=f"write --set {key}")
