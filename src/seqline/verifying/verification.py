"""The laws on a run of one's own and sentences of one's own: what holds, and in plain words what does not.

A run's files, weights and tokenizers come first, then the laws of its model in float64, then the same in the precision that is
served, then what users get. A law that another one carries is not judged where that one fails.
"""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from seqline import files
from seqline.errors import UserError
from seqline.evaluation.sentences import FEW_LINES, Line, Texts, choose
from seqline.evaluation.subject import Finding
from seqline.evaluation.verify import LAWS, Law
from seqline.evaluation.verify_served import MARGIN, SCORE_TOLERANCE, Agreement
from seqline.evaluation.verify_text import TextSubject, round_trip_law, sizes_law, special_law
from seqline.run_folder import MANIFEST, Run, load_run, read_manifest, require_text
from seqline.verifying.subjects import CASES, Case

OK, FAILED, NOT_CHECKED = "ok", "FAILED", "not checked"
MOST_LINES, LARGE_MODEL = 8, 20_000_000  # from so many parameters on, few lines
MOST_SHOWN = 60
TITLES = {"fixed": "dropout", "row": "padding", "split": "cache"}
COARSE = (
    f"{{text}} gets other tokens ({{many}} where the best leads by {MARGIN:g} nats or more) or scores ({{where}}; {{apart}}): in "
    "float64 the laws hold, so a part computes too coarsely in the precision that is served"
)
MIXED_UP = (
    "{text} gets another output alone than together with others ({where}; {many} differ; {apart}), although the laws of the "
    "model hold: outputs are put back in another order, or something is kept between calls; until it is mended, compute one at "
    "a time"
)
NUM_CHECKS = len(LAWS) + 8
"""How many checks there are at most, for a progress bar."""


@dataclass(frozen=True)
class Check:
    """One law on one run.

    law: its name. meaning: what it says. status: ok, FAILED or not checked. number: how much was compared, or how far it was
    apart. difference: the same as a number, None where there is none or it is infinite. failure: what is wrong, in a sentence.
    """

    law: str
    meaning: str
    status: str
    number: str = ""
    difference: float | None = None
    failure: str = ""


@dataclass(frozen=True)
class Verification:
    """What `seqline verify` found.

    sentences: what the laws were checked on. notes: what was left out, cut or added.
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


@dataclass
class _Findings:
    """The checks so far, and who is told of each."""

    on_done: Callable[[int], None] | None
    checks: list[Check] = field(default_factory=list)

    def add(self, check: Check) -> None:
        self.checks.append(check)
        if self.on_done is not None:
            self.on_done(1)

    @property
    def not_ok(self) -> list[str]:
        return [check.law for check in self.checks if check.status != OK]


def verify(
    run: str | os.PathLike[str] | Run, texts: Texts | None = None, *, on_done: Callable[[int], None] | None = None
) -> Verification:
    """Check the laws on a run, as `seqline verify RUN [FILE]`; nothing of the run is changed.

    Args:
        run: a run folder, or one that is loaded.
        texts: the user's sentences, or pairs (source, target) of a translation; None: made of the run's vocabulary.
        on_done: told of each check.

    Raises:
        UserError: no finished run there, or no sentence in `texts`.
    """
    findings, folder = _Findings(on_done), run.folder if isinstance(run, Run) else Path(run)
    loaded = _load(run, folder, findings)
    if loaded is None:
        return Verification(str(folder), "", "", (), (), tuple(findings.checks))
    require_text(loaded)
    task, config = loaded.config.data.task, loaded.config
    if next(loaded.model.parameters()).device.type != "cpu":
        raise UserError(
            "is on another device than the CPU, where laws are checked", where=str(folder), fix="name the folder"
        )
    case = CASES[task](loaded)
    most = MOST_LINES if sum(p.numel() for p in loaded.model.parameters()) < LARGE_MODEL else FEW_LINES
    case.make_room(case.own_lines()[0])
    lines, notes = choose(case, texts, most)
    with torch.no_grad():
        _check_text(case, lines, findings)
        _check_laws(case, lines, findings)
        _check_served(case, lines, findings)
    sentences = tuple(line.source for line in lines)
    return Verification(str(folder), task, config.model.architecture, sentences, notes, tuple(findings.checks))


def _load(run: str | os.PathLike[str] | Run, folder: Path, findings: _Findings) -> Run | None:
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


def _check_text(case: Case, lines: Sequence[Line], findings: _Findings) -> None:
    for name, side in case.sides(lines).items():
        count = f"{len(side.texts)} texts"
        found = round_trip_law(side)
        fault = "{where}: the tokenizer loses or changes text, so the model never sees what was written"
        meaning = f"{name} tokens turn back into the text"
        findings.add(_text_check(f"round trip {name}", meaning, found, side, fault, count))
        found = special_law(side)
        fault = "{where}: text can end, pad or begin a sentence by itself; the tokenizer is not one that seqline made"
        findings.add(_text_check(f"special {name}", f"no {name} spells a mark such as </s>", found, side, fault, count))
    vocabulary = case.run.tokenizers.vocabulary
    sizes = (vocabulary.source_size, vocabulary.target_size)
    found = sizes_law(case.run.model, sizes, case.num_logits())
    fault = "{where}: tokenizer and weights belong to different runs"
    number = " and ".join(f"{size:,}" for size in dict.fromkeys(sizes))
    findings.add(_text_check("sizes", "every id has its row in the tables", found, None, fault, number))


def _text_check(law: str, meaning: str, found: Finding, side: TextSubject | None, fault: str, number: str) -> Check:
    if found.difference == 0:
        return Check(law, meaning, OK, number)
    text = "" if side is None or found.row is None else f"{_quoted(side.texts[found.row])} "
    return Check(law, meaning, FAILED, number, failure=text + fault.format(where=found.where))


def _check_laws(case: Case, lines: Sequence[Line], findings: _Findings) -> None:
    """Check the laws of the model in float64, on a copy."""
    subject = case.subject(copy.deepcopy(case.run.model).double(), lines)
    for name, law in case.laws.items():
        title = TITLES.get(name, name)
        missing = _missing(law.needs, findings)
        if missing:
            findings.add(Check(title, law.meaning, NOT_CHECKED, f"see {missing}"))
            continue
        try:
            found = law.check(subject)
        except UserError:
            raise
        except Exception as error:  # whatever a damaged part raises: the law does not hold
            what = f"the check ended in an error, {type(error).__name__}: {error}"
            findings.add(Check(title, law.meaning, FAILED, "error", failure=what))
            continue
        findings.add(_law_check(title, law, found, lines))


def _law_check(title: str, law: Law, found: Finding, lines: Sequence[Line]) -> Check:
    is_finite = math.isfinite(found.difference)
    number, difference = (f"{found.difference:.0e}", found.difference) if is_finite else ("different", None)
    if found.difference == 0:
        number = "0"
    if found.holds(law.tolerance):
        return Check(title, law.meaning, OK, number, difference)
    text = "a sentence" if found.row is None else f"the sentence {_quoted(lines[found.row].source)}"
    size = f"largest difference {found.difference:.2g}" if is_finite else "they are not the same"
    failure = law.fault.format(text=text, size=size, where=found.where)
    return Check(title, law.meaning, FAILED, number, difference, failure)


def _missing(needs: Sequence[str], findings: _Findings) -> str:
    """Return the first law among `needs` that does not hold."""
    return next((TITLES.get(n, n) for n in needs if TITLES.get(n, n) in findings.not_ok), "")


def _check_served(case: Case, lines: Sequence[Line], findings: _Findings) -> None:
    """Check the run's own precision, and what users get."""
    needs = [name for name in ("finite", "fixed", "pure", "batch", "row", "causal", "split") if name in case.laws]
    others = [name for name in ("select", "rescore", "search", "sample") if name in case.laws]
    meaning, missing = "the same tokens in the precision that is served", _missing(needs, findings)
    if missing:
        findings.add(Check("float32", meaning, NOT_CHECKED, f"see {missing}"))
    else:
        findings.add(_served_check("float32", meaning, COARSE, case.served(lines), lines))
    meaning = f"{case.outputs} do not depend on what is computed with them"
    missing = _missing([*needs, *others, "float32"], findings)
    if missing:
        findings.add(Check("outputs", meaning, NOT_CHECKED, f"see {missing}"))
        return
    found = case.compare_outputs([line.source for line in lines])
    findings.add(_served_check("outputs", meaning, MIXED_UP, found, lines))


def _served_check(law: str, meaning: str, fault: str, found: Agreement, lines: Sequence[Line]) -> Check:
    close = f", {found.num_close} nearly tied" if found.num_close else ""
    number = f"{found.num_places} equal{close}; {found.difference:.0e}"
    difference = found.difference if math.isfinite(found.difference) else None
    if found.holds:
        return Check(law, meaning, OK, number, difference)
    number = f"{found.num_other} of {found.num_places} differ"
    text = "a sentence" if found.row is None else f"the sentence {_quoted(lines[found.row].source)}"
    many = f"{found.num_other} of {found.num_places}"
    apart = f"log-probabilities differ by up to {found.difference:.2g} nats a token ({SCORE_TOLERANCE:g} is rounding)"
    failure = fault.format(text=text, many=many, apart=apart, where=found.where)
    return Check(law, meaning, FAILED, number, difference, failure)


def _quoted(text: str) -> str:
    return repr(text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}...")
