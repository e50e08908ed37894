"""The laws on a run of one's own and sentences or series of one's own: what holds, and in plain words what does not.

A run's files and weights come first, then the laws of its model in float64, then the same in the precision that is
served, then what users get. A law that another one carries is not judged where that one fails.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from seqline import files
from seqline.errors import UserError
from seqline.evaluation.verify import LAWS
from seqline.run_folder import MANIFEST, Run, load_run, read_manifest
from seqline.tasks import TASKS
from seqline.verifying import of_series, of_text
from seqline.verifying.checks import FAILED, OK, Check, Findings

NUM_CHECKS = len(LAWS) + 8
"""How many checks there are at most, for a progress bar."""


@dataclass(frozen=True)
class Verification:
    """What `seqline verify` found.

    sentences: what the laws were checked on; histories, in words, of a forecasting run. notes: what was left out, cut or added.
    """

    run: str
    task: str
    architecture: str
    sentences: tuple[str, ...]
    notes: tuple[str, ...]
    checks: tuple[Check, ...]

    @property
    def holds(self) -> bool:
        """Whether no law failed."""
        return not self.failures

    @property
    def failures(self) -> list[Check]:
        """The laws that do not hold."""
        return [check for check in self.checks if check.status == FAILED]

    def as_json(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {"holds": self.holds, **asdict(self)}


def verify(
    run: str | os.PathLike[str] | Run,
    texts: Any = None,
    *,
    reading: Mapping[str, Any] | None = None,
    on_done: Callable[[int], None] | None = None,
) -> Verification:
    """Check the laws on a run, as `seqline verify RUN [FILE]`; nothing of the run is changed.

    Args:
        run: a run folder, or one that is loaded.
        texts: the user's sentences, or pairs (source, target) of a translation; series, as `Forecaster.predict` takes them, of
            a forecasting run; None: made of the run's vocabulary, or of its scales.
        reading: of a forecasting run, fields of `SeriesOptions` by which `texts` is read otherwise than the run's own data,
            such as {"sort": True}.
        on_done: told of each check.

    Raises:
        UserError: no finished run there, or nothing in `texts` to check it on.
    """
    findings, folder = Findings(on_done), run.folder if isinstance(run, Run) else Path(run)
    loaded = _load(run, folder, findings)
    if loaded is None:
        return Verification(str(folder), "", "", (), (), tuple(findings.checks))
    if next(loaded.model.parameters()).device.type != "cpu":
        raise UserError(
            "is on another device than the CPU, where laws are checked", where=str(folder), fix="name the folder"
        )
    task = loaded.config.data.task
    if TASKS[task].is_of_text:
        seen = of_text.examine(loaded, texts, findings)
    else:
        seen = of_series.examine(loaded, texts, findings, reading or {})
    return Verification(
        str(folder), task, loaded.config.model.architecture, seen.names, seen.notes, tuple(findings.checks)
    )


def _load(run: str | os.PathLike[str] | Run, folder: Path, findings: Findings) -> Run | None:
    """Check and load the folder; a damaged one is a finding, one that is no finished run is refused."""
    manifest = run.manifest if isinstance(run, Run) else read_manifest(folder)
    listed: Mapping[str, Any] = manifest.get("files", {})
    meaning = "every file is the one that the run was finished with"
    changed = [name for name, entry in listed.items() if not _is_as_listed(folder / name, entry)]
    if changed:
        names = ", ".join(changed)
        what = f"{names}: missing, or not what {MANIFEST} says of it; it was damaged or changed: copy the run again"
        findings.add(Check("files", meaning, FAILED, f"{len(changed)} of {len(listed)}", failure=what))
        return None
    findings.add(Check("files", meaning, OK, f"{len(listed)} files"))
    meaning = "config, tokenizer and weights fit, every weight is a number"
    try:
        loaded = run if isinstance(run, Run) else load_run(folder)
    except UserError as error:
        findings.add(Check("weights", meaning, FAILED, failure=str(error)))
        return None
    parameters = dict(loaded.model.named_parameters())
    wrong = [name for name, parameter in parameters.items() if not bool(torch.isfinite(parameter).all())]
    if wrong:
        findings.add(Check("weights", meaning, FAILED, failure=f"tensor {wrong[0]} holds NaN or infinity; train again"))
        return None
    findings.add(Check("weights", meaning, OK, f"{len(parameters)} tensors"))
    return loaded


def _is_as_listed(path: Path, entry: Mapping[str, Any]) -> bool:
    try:
        if path.stat().st_size != entry["size"]:
            return False
        return files.sha256(files.read_bytes(path)) == entry["sha256"]
    except (OSError, UserError):
        return False
