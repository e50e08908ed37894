"""`seqline explain`: one text through one model, everything recorded, one picture, page or trace written."""

from __future__ import annotations

import os
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seqline.cli import series_options
from seqline.cli.explain_question import OF_FORECASTS, OF_TEXTS, Force, Out, Question, State, Text, View
from seqline.cli.options import (
    Beam,
    Device,
    Json,
    Threads,
    naming_options,
    option,
    prepare_torch,
    print_json,
    say,
    write_lines,
)
from seqline.cli.series_options import OPTIONS, Reading, as_run
from seqline.errors import UserError
from seqline.files import refuse_inputs

if TYPE_CHECKING:
    from seqline.run_folder import Run
    from seqline.visualize.trace import Bundle, Trace

RECORDED = (".json", ".json.gz")
LEARNING = ("train", "all")
"""The views that look back on the training."""


def explain(
    run: Annotated[Path, typer.Argument(help="Folder of a run, or a recorded trace (.json, .json.gz).")],
    text: Text = None,
    view: View = "timeline",
    out: Out = None,
    beam: Beam = None,
    force: Force = None,
    settings: State = None,
    series: series_options.OneSeries = None,
    target: series_options.OneTarget = None,
    horizon: series_options.Horizon = None,
    quantiles: series_options.Quantiles = None,
    lengths: series_options.Lengths = None,
    hold_back: series_options.HoldBack = None,
    zone: series_options.Zone = None,
    missing: series_options.Missing = None,
    fill: series_options.Fill = False,
    sort: series_options.Sort = False,
    repeated: series_options.Repeated = None,
    skipped: series_options.Skipped = None,
    time_unit: series_options.TimeUnit = None,
    time_format: series_options.TimeFormat = None,
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
    refuse_inputs(path, run, *([] if text is None else [text]))
    reading = Reading(
        zone=zone, missing=missing, fill=fill, sort=sort, repeated=repeated, skipped=skipped, time_unit=time_unit,
        time_format=time_format,
    )  # fmt: skip
    asked = Question(text, beam, force, series, target, horizon, quantiles, lengths, hold_back, reading)
    if run.name.lower().endswith(RECORDED):
        trace, notes = _recorded(run, asked), ()
    else:
        prepare_torch(device, threads)
        trace, notes = _record(run, asked, device=device, training=view in LEARNING)
    _draw(trace, path, view, None if writes_trace else state)
    for note in notes:
        say(note)
    _say(trace, path, as_json)


def _draw(trace: Trace | Bundle, path: Path, view: str, state: dict[str, Any] | None) -> None:
    """Write a picture; the trace itself where there is no state."""
    if state is None:
        trace.write(path)
    else:
        from seqline.visualize.export import save

        save(trace, path, view, state)


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


def _recorded(run: Path, asked: Question) -> Trace | Bundle:
    from seqline.visualize.trace import Trace

    given = ["text"] if asked.text is not None else [option(name) for name in asked.given()]
    if given:
        raise UserError(f"is a recorded trace, which takes no {given[0]}", where=str(run), fix="leave it out")
    return Trace.read(run)


def _record(run: Path, asked: Question, *, device: str, training: bool) -> tuple[Trace, tuple[str, ...]]:
    """Return the trace, and what was found in the data."""
    from seqline.api import explain as record
    from seqline.run_folder import load_run
    from seqline.tasks import TASKS

    if asked.beam and asked.force:
        raise UserError("has no meaning with --force, which takes the best token", where="--beam", fix="leave it out")
    if asked.text is None:
        raise UserError("expected a text to explain", where="TEXT", fix="give one behind the run, or - to read it")
    loaded = load_run(run, device)
    task = TASKS[loaded.config.data.task]
    if not task.is_of_text:
        return _record_forecast(loaded, asked, training=training)
    for name in asked.given():
        if name not in OF_TEXTS:
            what = f"is for forecasting, and the run {loaded.folder.name} is for {task.name}"
            raise UserError(what, where=option(name), fix="leave it out")
    text, force = asked.read_text(), asked.forced()
    return record(loaded, text, beam_size=asked.beam, force=force, device=device, training=training), ()


def _record_forecast(run: Run, asked: Question, *, training: bool) -> tuple[Trace, tuple[str, ...]]:
    from seqline.api import Explaining
    from seqline.api import explain as record
    from seqline.predictor import Predictor

    for name in asked.given():
        if name in OF_TEXTS:
            what = f"is for a text, and the run {run.folder.name} forecasts series"
            raise UserError(what, where=option(name), fix="leave it out")
    with naming_options(*OPTIONS, *OF_FORECASTS):
        predictor = Predictor.of(run)
        panel = predictor.read(asked.text, as_run(predictor, asked.reading))
        trace = record(run, panel, training=training, more=Explaining(forecast=asked.forecast()))
    return trace, panel.notes


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
    forecasts = documents[0].get("forecast")
    lines = [] if target is None else [f"{forecasts['unit']}, forecast: {target}" if forecasts else target]
    lines += [f"a check did not hold: {name}" for name in failed]
    write_lines([*lines, f"written: {path}"])
