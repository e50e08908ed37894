"""`seqline verify`: the laws on a run of one's own, in plain words where one fails."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seqline.cli import series_options
from seqline.cli.options import Json, Threads, naming_options, option, prepare_torch, print_json, write_lines
from seqline.cli.series_options import OPTIONS, Reading
from seqline.errors import UserError

if TYPE_CHECKING:
    from seqline.verifying.verification import Verification


def verify(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    file: Annotated[
        str | None,
        typer.Argument(
            help="Your sentences, one a line, or source TAB target; series, of a forecasting run; - is standard input. Without "
            "it, some are made of what the run knows."
        ),
    ] = None,
    zone: series_options.Zone = None,
    missing: series_options.Missing = None,
    fill: series_options.Fill = False,
    sort: series_options.Sort = False,
    repeated: series_options.Repeated = None,
    skipped: series_options.Skipped = None,
    time_unit: series_options.TimeUnit = None,
    time_format: series_options.TimeFormat = None,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Check that a run obeys the laws: padding, batches, caches, searches, scores and what comes later change nothing.

    Ends with 0 where all hold, with 1 where one does not: then the run is damaged, or seqline has a fault.
    """
    prepare_torch("cpu", threads)

    from seqline.cli.progress import counting
    from seqline.run_folder import read_manifest
    from seqline.verifying.verification import NUM_CHECKS
    from seqline.verifying.verification import verify as verify_run

    read_manifest(run)  # refuse before the text is read
    reading = Reading(
        zone=zone, missing=missing, fill=fill, sort=sort, repeated=repeated, skipped=skipped, time_unit=time_unit,
        time_format=time_format,
    ).given()  # fmt: skip
    task = _task_of(run)
    for name in reading:
        if file is None or task != "forecasting":
            what = "is for reading series from a FILE, of a run that forecasts"
            raise UserError(what, where=option(name), fix="leave it out")
    texts = None if file is None else _read_for(task, file)
    with counting("checking", NUM_CHECKS) as on_done, naming_options(*OPTIONS):
        found = verify_run(run, texts, reading=reading, on_done=on_done)
    if as_json:
        print_json(found.as_json())
    else:
        write_lines(_lines(found))
    if not found.holds:
        raise typer.Exit(1)


def _task_of(run: Path) -> str:
    """Return the run's task; whether its config is damaged is told by the check."""
    from seqline.config import parse_toml
    from seqline.files import read_bytes
    from seqline.run_folder import CONFIG

    try:
        return parse_toml(read_bytes(run / CONFIG), CONFIG).data.task
    except UserError:
        return ""


def _read_for(task: str, file: str) -> Any:
    """Read what a run of a task is checked on; series are read by the run itself, which knows their columns."""
    return file if task == "forecasting" else _read(file, may_have_pairs=task != "language_model")


def _read(file: str, *, may_have_pairs: bool) -> list[str | tuple[str, str]]:
    """Read sentences, or pairs where every line that is not empty has one tab; in a plain text a tab is a character."""
    from seqline.data.text import read_lines

    lines, where = read_lines(file), "standard input" if file == "-" else file
    if not any(line.strip() for line in lines):
        raise UserError("no sentence in it", where=where, fix="give at least one line with text")
    counts = {line.count("\t"): number for number, line in reversed(list(enumerate(lines, 1))) if line.strip()}
    if set(counts) == {0} or not may_have_pairs:
        return list(lines)
    if set(counts) != {1}:
        tabs, line = max(counts.items()) if max(counts) > 1 else (0, counts[0])
        what = f"{tabs} tabs in this line, others have another number"
        raise UserError(
            what, where=f"{where}:{line}", fix="give sentences without tabs, or source TAB target in each line"
        )
    pairs = [line.split("\t") if line.strip() else ["", ""] for line in lines]
    return [(source, target) for source, target in pairs]


def _lines(found: Verification) -> list[str]:
    lines = [f"{found.run}: {found.architecture} for {found.task}"] if found.task else [found.run]
    lines += found.notes
    rows = [("law", "result", "number", "what it says")]
    rows += [(check.law, check.status, check.number, check.meaning) for check in found.checks]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
    lines += ["  ".join([*(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=False)), row[-1]]) for row in rows]
    if found.holds:
        return [*lines, f"all {len(found.checks)} laws hold"]
    lines += [f"{check.law}: {check.failure}" for check in found.failures]
    return [*lines, f"{len(found.failures)} of {len(found.checks)} laws do not hold"]
