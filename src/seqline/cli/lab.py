"""`seqline lab`: the claims of the history, measured again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seqline.cli.options import Json, prepare_torch, print_json, say, write_lines
from seqline.errors import UserError

if TYPE_CHECKING:
    from seqline.lab.session import Measured


def lab(
    names: Annotated[str, typer.Argument(metavar="NAME[,NAME]|all", help="Experiments; --list names them.")] = "",
    out: Annotated[Path | None, typer.Option(help="Folder to make, or one to go on with.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Minutes instead of an hour; more stays undecided.")] = False,
    data: Annotated[
        str | None, typer.Option(metavar="DATA", help="Your own sentence pairs in place of the built-in toy pair.")
    ] = None,
    seeds: Annotated[int | None, typer.Option(min=1, max=100, help="Models of each kind. Default: 3, quick 1.")] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Training updates of each model of DATA. Default: 3000, quick 500.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, max=1024, help="Trainings at once.")] = 1,
    threads: Annotated[int, typer.Option(min=1, max=1024, help="CPU threads of each.")] = 1,
    is_list: Annotated[bool, typer.Option("--list", help="Name the experiments and what each asks.")] = False,
    as_json: Json = False,
) -> int:
    """Measure again what the literature claims: a picture, a table and a verdict for each claim, on one page."""
    if is_list:
        _list(as_json)
        return 0
    if not names:
        raise UserError("names no experiment", where="NAME", fix="write all, or see seqline lab --list")
    if out is None:
        raise UserError("is missing", where="--out", fix="name a folder to make, or one to go on with")

    from seqline.lab.catalogue import chosen

    wanted = chosen(names)
    prepare_torch("cpu", threads)

    from seqline.lab.laboratory import Lab
    from seqline.lab.session import run

    found = run(wanted, Lab(out, quick, seeds, data, jobs, threads, say, data_steps=steps))
    _print(found, as_json)
    return 0 if len(found.failed) < len(found.asked) else 1


def _list(as_json: bool) -> None:
    from seqline.lab.catalogue import QUESTIONS

    if as_json:
        print_json({"experiments": [{"name": name, "question": asked} for name, asked in QUESTIONS.items()]})
        return
    width = max(map(len, QUESTIONS))
    write_lines([f"{name:<{width}}  {asked}".rstrip() for name, asked in QUESTIONS.items()])


def _print(found: Measured, as_json: bool) -> None:
    from seqline.lab.written import report_lines

    if as_json:
        kept: dict[str, Any] = {"folder": str(found.folder), "page": str(found.page), "experiments": found.asked}
        print_json(kept)
        return
    write_lines([*report_lines(found.asked), "", f"the report, for any browser: {found.page}"])
