"""`seqline compare`: architectures at the same budget on one corpus."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seqline.cli.options import Device, Json, Keys, prepare_torch, print_json, say, split_keys, write_lines
from seqline.errors import UserError

if TYPE_CHECKING:
    from seqline.comparing.asked import Given
    from seqline.comparing.compare import Compared


def compare(
    data: Annotated[
        str, typer.Argument(help="TSV, SRC,TGT, JSONL (plain text for lm), or a folder with train, valid and test.")
    ],
    archs: Annotated[str, typer.Option(metavar="A,B,...", help="Architectures; seqline train --list names them all.")],
    out: Annotated[Path, typer.Option(help="Folder to make, or one to go on with.")],
    seeds: Annotated[int, typer.Option(min=1, max=1000, help="Runs an architecture.")] = 1,
    budget: Annotated[str, typer.Option(metavar="5m|300s|2000steps|2Mtokens", help="What each run may spend.")] = "5m",
    parameters: Annotated[
        str | None, typer.Option(metavar="1M", help="Choose the widths so that every model has so many parameters.")
    ] = None,
    task: Annotated[
        str, typer.Option(help="translation, language_model (lm), tagging or classification.")
    ] = "translation",
    valid: Annotated[str, typer.Option(help="Validation data; the folder's own, or held out.")] = "",
    test: Annotated[str, typer.Option(help="Test data; the folder's own, or held out.")] = "",
    keys: Keys = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="[ARCH:]KEY=VALUE", help="A setting of all runs, or of one architecture's."),
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(metavar="ARCH", help="What the others are tested against. Default: the best.")
    ] = None,
    metrics: Annotated[
        str,
        typer.Option(
            metavar="A,B,...", help="Scores of translations: bleu, chrf, exact, ter, wer, ...; the first decides."
        ),
    ] = "bleu,chrf",
    lowercase: Annotated[
        bool, typer.Option("--lowercase", help="Add lowercased scores beside the cased ones.")
    ] = False,
    sentence: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What all models are shown. Default: one of the test set.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, max=1024, help="Trainings at once.")] = 1,
    threads: Annotated[int, typer.Option(min=1, max=1024, help="CPU threads of each.")] = 1,
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
    from seqline.training.callbacks import stop_on_signals

    names = tuple(name.strip() for name in archs.split(",") if name.strip())
    wanted = parse_parameters(parameters) if parameters else None
    given = tuple(_setting(each) for each in settings or ())
    asked = Asked(names, seeds, parse_budget(budget), _task(task), given, wanted, threads, device)
    marking = Marking(tuple(name.strip() for name in metrics.split(",") if name.strip()), lowercase)
    judging = Judging(baseline, sentence=sentence, marking=marking)
    where = Where(valid, test, split_keys(keys) if keys else Where.keys)
    with stop_on_signals() as should_stop:
        command = shlex.join(["seqline", *sys.argv[1:]])
        running = Running(jobs, say, should_stop, command=command)
        found = run(data, asked, out, where, judging, running)
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
