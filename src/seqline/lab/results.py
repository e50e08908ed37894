"""What an experiment found, as plain JSON: checked, written, and read again."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, get_args

from seqline import files
from seqline.lab.experiment import Experiment, Finding, State
from seqline.lab.pictures import standalone
from seqline.machine import described
from seqline.visualize.html import seqline_version

RESULT = "result.json"
FORMAT = 2
FINISHED, FAILED = "finished", "failed"

Result: TypeAlias = dict[str, Any]
"""What `result.json` holds."""


class Trained(NamedTuple):
    """One model of the zoo: its name there, and how large it is and how long it learned."""

    name: str
    parameters: int
    steps: int
    target_tokens: int


@dataclass(frozen=True)
class Made:
    """How an experiment was made. settings: what it depends on. models: names in the zoo. seconds: of the measurement.

    trained: of each model, what its training came to.
    """

    settings: Mapping[str, Any]
    models: Sequence[str] = ()
    seconds: float = 0.0
    trained: Sequence[Trained] = ()


def finished(experiment: Experiment, finding: Finding, made: Made) -> Result:
    """Return the result of an experiment.

    Raises:
        ValueError: a claim without exactly one verdict, or a verdict without what it is decided by.
    """
    check(experiment, finding)
    return {
        **_head(experiment, made),
        "state": FINISHED,
        "reason": None,
        "claims": [claim._asdict() for claim in experiment.claims],
        "verdicts": [plain(verdict._asdict()) for verdict in finding.verdicts],
        "tables": [plain(table._asdict()) for table in finding.tables],
        "pictures": [{"name": picture.name, "caption": picture.caption} for picture in finding.pictures],
        "notes": list(finding.notes),
        "numbers": plain(finding.numbers),
    }


def failed(name: str, reason: str, made: Made, experiment: Experiment | None = None) -> Result:
    """Return the result of an experiment that came to none. experiment: None where it could not even be read."""
    head = _head(experiment, made) if experiment else _named(name, name, "", made)
    claims = [claim._asdict() for claim in experiment.claims] if experiment else []
    nothing: dict[str, Any] = {key: [] for key in ("verdicts", "tables", "pictures", "notes")}
    return {**head, "state": FAILED, "reason": reason, "claims": claims, **nothing, "numbers": {}}


def _head(experiment: Experiment, made: Made) -> Result:
    return _named(experiment.name, experiment.title, experiment.question, made)


def _named(name: str, title: str, question: str, made: Made) -> Result:
    return {
        "format": FORMAT,
        "version": seqline_version(),
        "name": name,
        "title": title,
        "question": question,
        "settings": plain(made.settings),
        "models": list(made.models),
        "trained": [one._asdict() for one in made.trained],
        "seconds": round(made.seconds, 1),
        "machine": described(),
        "torch": version("torch"),
    }


def check(experiment: Experiment, finding: Finding) -> None:
    """Refuse a finding that does not answer its claims.

    Raises:
        ValueError: a claim without exactly one verdict, a verdict without rule or numbers, or a picture named twice.
    """
    claimed, judged = [c.key for c in experiment.claims], [v.claim for v in finding.verdicts]
    if sorted(claimed) != sorted(judged):
        raise ValueError(
            f"the claims are {', '.join(claimed)}, and there are verdicts on {', '.join(judged) or 'none'}"
        )
    for verdict in finding.verdicts:
        if verdict.state not in get_args(State):
            raise ValueError(f"{verdict.claim}: {verdict.state!r} is no verdict")
        if not verdict.rule.strip() or not verdict.said.strip() or not verdict.numbers:
            raise ValueError(f"{verdict.claim}: a verdict needs its rule, its numbers and a sentence")
    names = [picture.name for picture in finding.pictures]
    if len(set(names)) < len(names):
        raise ValueError(f"two pictures have one name: {', '.join(names)}")
    for table in finding.tables:
        if any(len(row) != len(table.columns) for row in table.rows):
            raise ValueError(f"a row of the table {table.title!r} has not {len(table.columns)} cells")


def plain(value: Any) -> Any:
    """Return a value as JSON holds it: what is no finite number is null, arrays and tuples are lists, keys are text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if hasattr(value, "tolist"):  # an array, a tensor, or a number of theirs
        return plain(value.tolist())
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    return [plain(each) for each in value]


def write(folder: Path, result: Result, finding: Finding | None) -> None:
    """Write the pictures, and then `result.json`: where it is, all is there."""
    for picture in finding.pictures if finding else ():
        files.write_text(folder / f"{picture.name}.svg", standalone(picture.svg))
    files.write_json(folder / RESULT, result)


def read(folder: Path) -> Result | None:
    """Return the result in a folder; None where there is none that this seqline understands, or a picture is missing."""
    path = folder / RESULT
    if not path.is_file():
        return None
    try:
        found = json.loads(files.read_bytes(path))
        is_whole = found["format"] == FORMAT and found["state"] in (FINISHED, FAILED)
        pictures = [folder / f"{picture['name']}.svg" for picture in found["pictures"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return found if is_whole and all(picture.is_file() for picture in pictures) else None


def is_same(known: Result, experiment: Experiment, made: Made) -> bool:
    """Tell whether a result is of these claims, settings and models, and came to an end."""
    claims = [claim._asdict() for claim in experiment.claims]
    is_as_asked = (known["settings"], known["models"]) == (plain(made.settings), list(made.models))
    return known["state"] == FINISHED and is_as_asked and known["claims"] == claims


def judged(result: Result) -> list[tuple[Mapping[str, str], Mapping[str, Any] | None]]:
    """Return each claim with its verdict; None where the experiment came to none."""
    verdicts = {verdict["claim"]: verdict for verdict in result["verdicts"]}
    return [(claim, verdicts.get(claim["key"])) for claim in result["claims"]]


def count_states(results: Sequence[Result]) -> dict[str, int]:
    """Count the verdicts of some experiments by state."""
    states = [verdict["state"] for result in results for verdict in result["verdicts"]]
    return {state: states.count(state) for state in get_args(State)}
