"""The zoo: the models that experiments want, each trained once, in a process of its own, and kept in the folder of the lab."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli_w

from seqline import files
from seqline.comparing.plan import Plan, Planned
from seqline.comparing.training import Child, is_finished, train_all
from seqline.config import Config
from seqline.errors import UserError
from seqline.lab.results import Trained
from seqline.run_folder import find_recipe, read_manifest

if TYPE_CHECKING:
    from seqline.lab.experiment import Wanted
    from seqline.lab.laboratory import Lab

ZOO = "zoo"
VALIDATIONS, VALIDATION_SENTENCES = 2, 100
LEARNED = 10.0
LEARNED_RULE = (
    f"undecided where a model of the language pair that it needs has a BLEU below {LEARNED:g} on the validation set"
)


def train_zoo(lab: Lab, wanted: Iterable[Wanted]) -> dict[Wanted, str]:
    """Train every wanted model that is not there yet.

    Args:
        lab: says where, at what scale, and how many at once.
        wanted: models; one that is named twice is trained once.

    Returns:
        The models that cannot be trained, each with the reason.

    Raises:
        Stopped: the user ended it; what was learned is kept.
    """
    failed: dict[Wanted, str] = {}
    runs: dict[str, Wanted] = {}
    planned: list[Planned] = []
    for each in dict.fromkeys(wanted):
        try:
            run = plan_one(lab, each)
            if is_finished(_plan(lab), run):
                continue
        except UserError as error:
            failed[each] = str(error)
            continue
        runs[run.name] = each
        planned.append(run)
    plan = _plan(lab, planned)
    for run in planned:
        # Only what was set: a default that is written down would be a wish, which a resumed run may refuse.
        table = json.loads(run.config.model_dump_json(exclude_unset=True, exclude_none=True))
        files.write_text(plan.config_file(run), tomli_w.dumps(table))
    outcomes = train_all(
        plan, jobs=lab.jobs, say=lab.say, should_stop=lab.should_stop, start=lab.start or Child
    )  # nothing is begun, and nothing said, where nothing is missing
    failed |= {runs[outcome.run.name]: outcome.reason for outcome in outcomes if outcome.reason is not None}
    return failed


def is_trained(lab: Lab, wanted: Wanted) -> bool:
    """Tell whether a model is there.

    Raises:
        UserError: its folder holds something else.
    """
    return is_finished(_plan(lab), _named(lab, wanted, Config()))


def run_folder(lab: Lab, wanted: Wanted) -> Path:
    """Return where a model is, or will be."""
    return _plan(lab).run_folder(_named(lab, wanted, Config()))


def trained(lab: Lab, wanted: Wanted) -> Trained:
    """Say how large a model is and how long it learned."""
    facts = read_manifest(run_folder(lab, wanted))
    return Trained(name_of(lab, wanted), facts["num_parameters"], facts["steps"], facts["target_tokens_seen"])


def unlearned(lab: Lab, wanted: Iterable[Wanted]) -> str | None:
    """Say which model has not learned its language pair, by its BLEU on the validation set."""
    for each in wanted:
        bleu = (read_manifest(run_folder(lab, each))["validation"] or {}).get("BLEU", 0.0)
        if bleu < LEARNED:
            name = name_of(lab, each)
            return f"Nothing is decided: {name} has not learned its pair, its BLEU is {bleu:.1f} (validation)."
    return None


def plan_one(lab: Lab, wanted: Wanted) -> Planned:
    """Return the training of a model; its corpus is made where it is missing.

    Raises:
        UserError: settings that no run could have, or no such corpus.
    """
    find_recipe(wanted.arch)
    return _named(lab, wanted, config_of(lab, wanted).replace(**{"data.train": str(lab.corpus(wanted.data))}))


def config_of(lab: Lab, wanted: Wanted) -> Config:
    """Return the settings of a model but for the place of its data; an early stop is off, so that all learn equally long."""
    steps = lab.steps(wanted)
    given: dict[str, Any] = {
        "data.task": wanted.task,
        "training.patience": 0,
        "training.validate_every": max(1, steps // VALIDATIONS),
        "training.validate_sentences": VALIDATION_SENTENCES,
        **dict(wanted.settings),
        "model.architecture": wanted.arch,
        "training.max_steps": steps,
        "training.seed": wanted.seed,
        "training.threads": lab.threads,
    }
    if given.get("training.warmup_steps") is not None:
        given["training.warmup_steps"] = min(steps, given["training.warmup_steps"])
    return Config().replace(**given)


def name_of(lab: Lab, wanted: Wanted) -> str:
    """Return the name of a model's folder: what is read at a glance, and a digest of the rest."""
    rest = json.dumps([wanted.task, wanted.settings, lab.steps(wanted)], sort_keys=True, default=list)
    return f"{wanted.data}-{wanted.arch}-{files.sha256(rest.encode())[:6]}-seed{wanted.seed}"


def _named(lab: Lab, wanted: Wanted, config: Config) -> Planned:
    return Planned(name_of(lab, wanted), wanted.arch, wanted.seed, config)


def _plan(lab: Lab, runs: Iterable[Planned] = ()) -> Plan:
    return Plan(lab.folder / ZOO, tuple(runs), {})
