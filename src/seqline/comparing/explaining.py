"""One text through all models: what each answers, and a picture of how it reads, where the engine for pictures is installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from seqline.api import Explaining, explain
from seqline.comparing.exam import Exam
from seqline.comparing.measuring import Measured
from seqline.comparing.plan import Plan
from seqline.comparing.results import Judging
from seqline.comparing.table import ordered
from seqline.errors import UserError, told
from seqline.run_folder import load_run
from seqline.visualize.absent import absence
from seqline.visualize.engine import SceneError, installed_engines
from seqline.visualize.export import Drawing
from seqline.visualize.trace import Bundle, Trace

INSTALL = 'pip install "seqline[pictures]"'
VIEWS = ("align", "context", "rnn", "bi", "softmax")
"""What is drawn of a model: the first of these that it has something of."""
_HEAD = {"head": "mean"}


class Picture(NamedTuple):
    """One drawing in two themes, with its own sentence. dark, light: SVG."""

    title: str
    told: str
    light: str
    dark: str


class Reply(NamedTuple):
    """What one architecture answered. run: which of its runs, the best one. reason: why there is no picture."""

    arch: str
    run: str
    text: str
    picture: Picture | None
    reason: str


class Shown(NamedTuple):
    """One text and all that the models made of it. side_by_side: the best two in one picture."""

    text: str
    reference: str | None
    replies: tuple[Reply, ...]
    side_by_side: Picture | None

    def as_json(self) -> dict[str, Any]:
        """Return everything but the pictures."""
        replies = [{"architecture": r.arch, "run": r.run, "text": r.text, "reason": r.reason} for r in self.replies]
        return {"text": self.text, "reference": self.reference, "replies": replies}


def explain_all(
    plan: Plan, measured: Sequence[Measured], exam: Exam, judging: Judging, found: Mapping[str, Any]
) -> Shown:
    """Show one text to the best run of every architecture."""
    text = judging.sentence if judging.sentence is not None else exam.middle()
    replies, traces = [], {}
    for row in ordered(found):
        best = _best_run(row["name"], found)
        if best is None:
            continue
        one = next(m for m in measured if m.run.name == best)
        reply, trace = _reply(plan, one, exam, text)
        replies.append(reply)
        if trace is not None:
            traces[row["name"]] = trace
    return Shown(text, exam.expected(text), tuple(replies), _side_by_side(traces))


def _best_run(arch: str, found: Mapping[str, Any]) -> str | None:
    main = found["measures"][0]
    runs = [run for run in found["runs"] if run["architecture"] == arch and run["scores"] is not None]
    choose = max if main["is_higher_better"] else min
    return choose(runs, key=lambda run: run["scores"][main["key"]])["name"] if runs else None


def _reply(plan: Plan, one: Measured, exam: Exam, text: str) -> tuple[Reply, Trace | None]:
    """Return the answer of one run, and its recording."""
    try:
        run = load_run(plan.run_folder(one.run))
        answer = exam.reply(run, text)
    except Exception as error:  # a picture less, whatever it is: the comparison stands
        return Reply(one.run.arch, one.run.name, "", None, told(error)), None
    if not installed_engines():
        return Reply(one.run.arch, one.run.name, answer, None, f"pictures need one package more: {INSTALL}"), None
    beam = 1 if plan.facts["task"] == "translation" else None
    try:
        trace = explain(run, text, beam_size=beam, more=Explaining(timing=False))
        if not isinstance(trace, Trace):
            return Reply(one.run.arch, one.run.name, answer, None, ""), None
        picture = _drawn(trace, one.run.arch)
    except Exception as error:  # as above
        return Reply(one.run.arch, one.run.name, answer, None, told(error)), None
    return Reply(one.run.arch, one.run.name, answer, picture, ""), trace


def _drawn(trace: Trace | Bundle, title: str, views: Sequence[str] = VIEWS) -> Picture | None:
    """Draw the first view that the recording holds something of."""
    drawing = Drawing(trace, views[0], {})
    for view in views:
        if absence(drawing.engine, view, {}) is None:
            known = drawing.engine.call(view, "meta", {})["state"]
            state = _HEAD if "head" in known else {}
            light, dark = (_svg(drawing, view, {**state, "theme": theme}) for theme in ("light", "dark"))
            return Picture(title, drawing.ask("describe"), light, dark)
    return None


def _svg(drawing: Drawing, view: str, state: Mapping[str, Any]) -> str:
    drawing.use(view, state)
    return drawing.svg()


def _side_by_side(traces: Mapping[str, Trace]) -> Picture | None:
    """Draw the best two architectures beside one another, and where they read the same words, their difference.

    Two that attend are drawn before others: attention compares word by word, states of different widths do not.
    """
    names = sorted(traces, key=lambda name: not traces[name].document.get("attention"))  # keeps the order of equal ones
    for number, first in enumerate(names):
        for second in names[number + 1 :]:
            try:
                picture = _drawn(
                    Bundle([traces[first], traces[second]], [first, second]), f"{first}, {second}", ("compare",)
                )
            except (UserError, SceneError):
                continue
            if picture is not None:
                return picture
    return None
