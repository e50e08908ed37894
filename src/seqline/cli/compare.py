"""`seqline compare`: architectures at the same budget on one corpus."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Any

from seqline.cli import compare_options as of
from seqline.cli.options import Device, Json, Keys, prepare_torch, print_json, say, split_keys, write_lines
from seqline.errors import UserError

if TYPE_CHECKING:
    from seqline.comparing.asked import Given
    from seqline.comparing.compare import Compared


def compare(
    data: of.Data,
    archs: of.Archs,
    out: of.Out,
    seeds: of.Seeds = 1,
    budget: of.Budget = "5m",
    parameters: of.Parameters = None,
    task: of.Task = "translation",
    valid: of.Valid = "",
    test: of.Test = "",
    keys: Keys = None,
    settings: of.Settings = None,
    baseline: of.Baseline = None,
    metrics: of.Metrics = "bleu,chrf",
    lowercase: of.Lowercase = False,
    sentence: of.Sentence = None,
    jobs: of.Jobs = 1,
    threads: of.Threads = 1,
    device: Device = "cpu",
    as_json: Json = False,
) -> int:
    """Train architectures at the same budget and say which is better: scores, cost, significance, one page."""
    prepare_torch(device, threads)

    from seqline.comparing.asked import Asked
    from seqline.comparing.budget import parse_budget
    from seqline.comparing.compare import Running, Where, run
    from seqline.comparing.exam import Marking
    from seqline.comparing.parameters import parse_parameters
    from seqline.comparing.results import Judging

    names = tuple(name.strip() for name in archs.split(",") if name.strip())
    wanted = parse_parameters(parameters) if parameters else None
    given = tuple(_setting(each) for each in settings or ())
    asked = Asked(names, seeds, parse_budget(budget), _task(task), given, wanted, threads, device)
    marking = Marking(tuple(name.strip() for name in metrics.split(",") if name.strip()), lowercase)
    judging = Judging(baseline, sentence=sentence, marking=marking)
    where = Where(valid, test, split_keys(keys) if keys else Where.keys)
    found = run(data, asked, out, where, judging, Running(jobs, say, command=shlex.join(["seqline", *sys.argv[1:]])))
    _print(found, as_json)
    if found.num_failed:
        say(
            f"{found.num_failed} of {len(found.results['runs'])} runs failed; the reasons are in {found.folder / 'table.md'}"
        )
    return 0 if found.num_finished else 1


def _task(name: str) -> str:
    from seqline.errors import did_you_mean
    from seqline.tasks import TASKS

    if name not in (*TASKS, "lm"):
        raise UserError(f"unknown task {name!r}", where="--task", fix=did_you_mean(name, [*TASKS, "lm"]))
    return "language_model" if name == "lm" else name


def _setting(text: str) -> Given:
    """Read `[ARCH:]KEY=VALUE`; a colon behind the equals sign is the value's."""
    from seqline.tables import parse_override

    owner, colon, rest = text.partition(":")
    if not colon or "=" in owner:
        return ("", *parse_override(text))
    return (owner.strip(), *parse_override(rest))


def _print(found: Compared, as_json: bool) -> None:
    from seqline.comparing import table

    if as_json:
        kept: dict[str, Any] = {"folder": str(found.folder), "page": str(found.page), **found.results}
        print_json(kept)
        return
    lines = table.plain(table.summary(found.results))
    write_lines([*lines, "", *table.failures(found.results), f"the report, for any browser: {found.page}"])
