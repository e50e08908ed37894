"""`seqline explain`: one text through one model, everything recorded, one picture, page or trace written."""

from __future__ import annotations

import os
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seqline.cli.options import Beam, Device, Json, Threads, check_utf8, prepare_torch, print_json, write_lines
from seqline.errors import UserError

if TYPE_CHECKING:
    from seqline.visualize.trace import Bundle, Trace

RECORDED = (".json", ".json.gz")
LEARNING = ("train", "all")
"""The views that look back on the training."""


def explain(
    run: Annotated[Path, typer.Argument(help="Folder of a run, or a recorded trace (.json, .json.gz).")],
    text: Annotated[
        str | None,
        typer.Argument(help="Text to translate, go on from or label; - is standard input. None for a recorded trace."),
    ] = None,
    view: Annotated[str, typer.Option(help="What to draw: timeline, align, softmax, ...; all makes a folder.")] = (
        "timeline"
    ),
    out: Annotated[
        Path | None,
        typer.Option(help="File to write: html, svg, png, gif, mp4, csv, or json for the trace. Default: a new page."),
    ] = None,
    beam: Beam = None,
    force: Annotated[
        list[str] | None, typer.Option(metavar="STEP=WORD", help="What if: this word as output STEP; may be repeated.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="The view's state, such as layer=1.")
    ] = None,
    device: Device = "cpu",
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Look inside: record one text with a trained model, or draw a trace that was recorded."""
    state = _state(settings or [])
    writes_trace = out is not None and out.name.lower().endswith(RECORDED)
    if writes_trace and state:
        raise UserError("is for a picture, and a trace holds everything", where="--set", fix="leave it out")
    path = out or _free_page(run, view)
    _check(path, view, state, writes_trace)
    if run.name.lower().endswith(RECORDED):
        trace = _recorded(run, text, beam, force)
    else:
        prepare_torch(device, threads)
        trace = _record(run, text, beam, force, device=device, training=view in LEARNING)
    if writes_trace:
        trace.write(path)
    else:
        from seqline.visualize.export import save

        save(trace, path, view, state)
    _say(trace, path, as_json)


def _state(settings: list[str]) -> dict[str, Any]:
    from seqline.tables import parse_override

    state: dict[str, Any] = {}
    for one in settings:
        key, value = parse_override(one, "layer=1")
        if key in state:
            raise UserError("is given twice", where=f"--set {key}", fix="give one value")
        state[key] = value
    return state


def _check(path: Path, view: str, state: dict[str, Any], writes_trace: bool) -> None:
    """Refuse before the model runs what could not be drawn behind it."""
    from seqline.visualize.export import check_request, check_view

    if writes_trace:
        check_view(view)
    else:
        check_request(path, view, state)


def _recorded(run: Path, text: str | None, beam: int | None, force: list[str] | None) -> Trace | Bundle:
    from seqline.visualize.trace import Trace

    if text is not None or beam or force:
        given = "a text" if text is not None else "--beam" if beam else "--force"
        raise UserError(
            f"is a recorded trace, which takes no {given.removeprefix('a ')}", where=str(run), fix="leave it out"
        )
    return Trace.read(run)


def _record(
    run: Path, text: str | None, beam: int | None, force: list[str] | None, *, device: str, training: bool
) -> Trace:
    from seqline.api import explain as record

    if beam and force:
        raise UserError("has no meaning with --force, which takes the best token", where="--beam", fix="leave it out")
    if text is None:
        raise UserError("expected a text to explain", where="TEXT", fix="give one behind the run, or - to read it")
    if text == "-":
        from seqline.data.lines import read_text

        text = read_text(text).removesuffix("\n")
    check_utf8(text, "TEXT")
    for one in force or []:
        check_utf8(one, "--force")
    wanted: dict[int, str] = {}
    for step, word in map(_forced, force or []):
        if step in wanted:
            raise UserError(f"step {step} is given twice", where="--force", fix="force one word a step")
        wanted[step] = word
    return record(run, text, beam_size=beam, force=wanted or None, device=device, training=training)


def _forced(option: str) -> tuple[int, str]:
    step, equals, word = option.partition("=")
    if not equals or not word or not step.isascii() or not step.isdigit():
        raise UserError(f"expected STEP=WORD, got {option!r}", where="--force", fix="write for instance 2=cat")
    return int(step), word


def _free_page(run: Path, view: str) -> Path:
    """Return the name of a page that is not there yet; of a folder for the view all."""
    stem = run.name.lower().removesuffix(".gz").removesuffix(".json") or "trace"
    ending = "" if view == "all" else ".html"
    names = chain([f"{stem}-{view}{ending}"], (f"{stem}-{view}-{n}{ending}" for n in count(2)))
    return next(Path(name) for name in names if not os.path.lexists(name))


def _say(trace: Trace | Bundle, path: Path, as_json: bool) -> None:
    from seqline.visualize.trace import Bundle

    documents = [one.document for one in trace.traces] if isinstance(trace, Bundle) else [trace.document]
    failed = [check["id"] for document in documents for check in document["checks"] if not check["ok"]]
    target: Any = (documents[0].get("target") or {}).get("text")
    if as_json:
        print_json({"file": str(path), "source": documents[0]["source"]["text"], "target": target, "failed": failed})
        return
    lines = [] if target is None else [target]
    lines += [f"a check did not hold: {name}" for name in failed]
    write_lines([*lines, f"written: {path}"])
